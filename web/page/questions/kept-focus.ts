import { useLayoutEffect } from 'preact/hooks';

/**
 * Keeps the focus in a question when drawing it takes it away, as from a button that disappears: on the same control if
 * it is still there, or on `next`.
 */
export function useKeptFocus(questionId: string, next: () => Element | null | undefined): void {
  // Before it is drawn anew; the service, which draws too, has no document.
  const focused = globalThis.document?.activeElement;
  const wasHere = focused?.closest('.question')?.id === `q-${questionId}`;
  useLayoutEffect(() => {
    const isLost = document.activeElement === null || document.activeElement === document.body;
    if (!wasHere || !isLost) return;
    const kept = focused?.isConnected ? focused : next();
    if (kept instanceof HTMLElement) kept.focus();
  });
}
