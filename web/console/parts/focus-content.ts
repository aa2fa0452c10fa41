/**
 * Gives the focus to the content where nothing has it, once a dialog has given its own back: screen readers read the
 * title of the view, and the Tab key goes on from there.
 */
export function focusContent(): void {
  const focus = () => {
    if (document.activeElement === document.body) document.getElementById('content')?.focus({ preventScroll: true });
  };
  requestAnimationFrame(() => requestAnimationFrame(focus));
}
