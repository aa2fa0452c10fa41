import { useBlocker } from '@tanstack/react-router';

const block = () => true;

/**
 * Keeps a dialog open while it makes or shows what the service gives only once: the browser's Back leads nowhere, and
 * the browser asks before it reloads or closes the page.
 */
export const useShownOnce = (isKept: boolean): void =>
  void useBlocker({ shouldBlockFn: block, enableBeforeUnload: isKept, disabled: !isKept });
