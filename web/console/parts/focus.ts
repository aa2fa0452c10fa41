const contentOf = (): HTMLElement | null => document.getElementById('content');

/**
 * Where what had the focus is gone, `find` names what takes it instead: the content of the page by default. Waits until
 * a menu or dialog that closes has given the focus back.
 */
export function focusIfLost(find = contentOf): void {
  const focus = () => {
    if (document.activeElement === document.body) find()?.focus({ preventScroll: find === contentOf });
  };
  requestAnimationFrame(() => requestAnimationFrame(focus));
}
