interface PopupOptions {
  /** Where button and dialog lie; styles of the page around do not reach into it. */
  root: ShadowRoot;
  title: string;
  buttonText: string;
  closeText: string;
  /** Elements of the page around that open the dialog; without any, a button is made. */
  openers: readonly HTMLElement[];
  /** Called at the first opening. */
  createFrame(): HTMLIFrameElement;
  onToggle(isOpen: boolean): void;
}

interface Popup {
  close(): void;
  setHeight(height: number): void;
}

/** A dialog over the page: it keeps the focus, ends with Escape, and gives the focus back to what opened it. */
export function createPopup(options: PopupOptions): Popup {
  const { root, title, openers } = options;
  addStyles(root);
  const dialog = document.createElement('dialog');
  dialog.setAttribute('aria-label', title);
  const close = closeButton(options.closeText);
  const bar = document.createElement('div');
  bar.className = 'bar';
  bar.append(close);
  dialog.append(bar);
  root.append(dialog);

  let frame: HTMLIFrameElement | undefined;
  let opener: HTMLElement | undefined;
  const open = (from: HTMLElement): void => {
    // A script of the page around can click an opener beneath the dialog.
    if (dialog.open) {
      frame?.focus();
      return;
    }
    opener = from;
    if (!frame) {
      frame = options.createFrame();
      dialog.append(frame);
    }
    dialog.showModal();
    frame.focus();
    options.onToggle(true);
  };

  close.addEventListener('click', () => dialog.close());
  // What is clicked beside the dialog is its backdrop, a part of the dialog itself.
  dialog.addEventListener('click', ({ target }) => {
    if (target === dialog) dialog.close();
  });
  dialog.addEventListener('close', () => {
    opener?.focus();
    options.onToggle(false);
  });

  for (const element of openers.length > 0 ? openers : [ownButton(root, options.buttonText)]) {
    element.setAttribute('aria-haspopup', 'dialog');
    element.addEventListener('click', (event) => {
      event.preventDefault();
      open(element);
    });
  }
  return {
    close: () => dialog.close(),
    setHeight: (height) => frame?.style.setProperty('--height', `${height}px`),
  };
}

function ownButton(root: ShadowRoot, text: string): HTMLButtonElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'open';
  button.part.add('button');
  button.textContent = text;
  root.prepend(button);
  return button;
}

function closeButton(label: string): HTMLButtonElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'close';
  button.setAttribute('aria-label', label);
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', 'M6 6l12 12M18 6L6 18');
  svg.append(path);
  button.append(svg);
  return button;
}

/** A sheet that is made by script, as the policy of the page around may forbid style elements. */
function addStyles(root: ShadowRoot): void {
  try {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(styles);
    root.adoptedStyleSheets = [sheet];
  } catch {
    // Safari makes none before 16.4.
    const element = document.createElement('style');
    element.textContent = styles;
    root.append(element);
  }
}

const styles = `
  :host { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
  button { font: inherit; cursor: pointer; }
  button:focus-visible { outline: 2px solid currentColor; outline-offset: 2px; }
  .open {
    min-block-size: 3rem; padding: 0.5rem 1.25rem; border: 0; border-radius: 0.5rem; font-weight: 500;
    background: var(--survey-button-background, #1f5fbf); color: var(--survey-button-color, #fff);
  }
  .open:focus-visible { outline-color: var(--survey-button-background, #1f5fbf); }
  dialog {
    inline-size: min(46rem, 100vw - 2rem); max-inline-size: none; max-block-size: none; padding: 0; border: 0;
    border-radius: 0.75rem; overflow: hidden; background: Canvas; color: CanvasText;
    box-shadow: 0 4px 32px rgb(0 0 0 / 30%);
  }
  dialog::backdrop { background: rgb(10 16 26 / 55%); }
  .bar { display: flex; justify-content: end; padding: 0.25rem; }
  .close {
    display: grid; place-items: center; inline-size: 2.75rem; block-size: 2.75rem; padding: 0; border: 0;
    border-radius: 0.5rem; background: none; color: inherit;
  }
  .close:hover { background: rgb(127 127 127 / 20%); }
  svg { inline-size: 1.5rem; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; }
  iframe {
    display: block; inline-size: 100%; border: 0;
    block-size: min(var(--height, 24rem), 100dvh - 6rem);
  }
  @media (max-width: 36rem) {
    dialog { inline-size: 100vw; min-block-size: 100dvh; margin: 0; border-radius: 0; }
    iframe { block-size: calc(100dvh - 3.25rem); }
  }
`;
