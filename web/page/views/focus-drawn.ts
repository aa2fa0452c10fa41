/** As a `ref`: the element gets the focus as soon as it is drawn, so that screen readers read it. */
export const focusDrawn = (element: HTMLElement | null): void => element?.focus();
