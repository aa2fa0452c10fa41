/** What to say where `copyText` could not. */
export const cannotCopy = 'This browser lets the page copy nothing.';

/** Copies a text. Resolves to whether the browser took it; call it while a press is handled. */
export async function copyText(text: string): Promise<boolean> {
  try {
    // Missing on plain http; a browser may also refuse it.
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** Selects the text in an element of its own for a moment. */
function copyBySelection(text: string): boolean {
  const element = document.createElement('span');
  element.textContent = text;
  element.setAttribute('aria-hidden', 'true');
  Object.assign(element.style, { position: 'fixed', inset: '0 auto auto 0', opacity: '0', whiteSpace: 'pre' });
  element.addEventListener('copy', (event) => {
    // Without the fonts and colours of the page.
    event.clipboardData?.setData('text/plain', text);
    event.preventDefault();
    event.stopPropagation();
  });
  // What is outside of an open dialog cannot be selected.
  const parent = document.activeElement?.closest('[role$="dialog"]') ?? document.body;
  parent.append(element);
  const selection = getSelection();
  try {
    selection?.selectAllChildren(element);
    return document.execCommand('copy');
  } finally {
    selection?.removeAllRanges();
    element.remove();
  }
}
