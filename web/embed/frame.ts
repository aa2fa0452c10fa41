import { marked, messageIn, webAddressIn } from './messages.ts';

export interface FrameOptions {
  /** Address of the respondent's page. */
  address: URL;
  title: string;
  /** Gets events; lies in the page around. */
  container: HTMLElement;
  /** `link` of the survey, for events. */
  survey: string;
  onHeight(height: number): void;
  onPage(): void;
  onEscape(): void;
}

/** After a load, a page that may be framed replies in this time, even on a slow phone. */
const replyWithinMs = 10_000;
const maxHeight = 100_000;

/** A frame with the respondent's page; what it says is heard only from its own window and origin. */
export function createFrame(options: FrameOptions): HTMLIFrameElement {
  const { address, container, survey } = options;
  const frame = document.createElement('iframe');
  frame.title = options.title;
  frame.referrerPolicy = 'no-referrer';
  frame.src = address.href;
  let waiting: ReturnType<typeof setTimeout> | undefined;

  const emit = (name: string, detail: object = {}): boolean =>
    container.dispatchEvent(
      new CustomEvent(`survey:${name}`, { bubbles: true, cancelable: true, detail: { survey, ...detail } }),
    );

  const onMessage = ({ source, origin, data }: MessageEvent<unknown>): void => {
    if (source !== frame.contentWindow || origin !== address.origin) return;
    const message = messageIn(data);
    if (!message) return;
    switch (message.type) {
      case 'ready':
        clearTimeout(waiting);
        if (typeof message['title'] === 'string' && message['title'] !== '') frame.title = message['title'];
        emit('ready');
        break;
      case 'size':
        if (typeof message['height'] === 'number' && message['height'] > 0)
          options.onHeight(Math.min(Math.ceil(message['height']), maxHeight));
        break;
      case 'page':
        options.onPage();
        break;
      case 'escape':
        options.onEscape();
        break;
      case 'unavailable':
        emit('unavailable', { notice: message['notice'] });
        break;
      case 'outcome': {
        const redirectUrl = webAddressIn(message['redirectUrl']);
        const isLeftToUs = emit('outcome', { outcome: message['outcome'], redirectUrl });
        if (isLeftToUs && redirectUrl !== null) location.assign(redirectUrl);
        break;
      }
    }
  };
  addEventListener('message', onMessage);

  // Also after the respondent has chosen another language, which loads the page anew.
  frame.addEventListener('load', () => {
    clearTimeout(waiting);
    // A page that the browser does not show here, since the survey does not allow this origin, never replies.
    waiting = setTimeout(() => emit('refused'), replyWithinMs);
    frame.contentWindow?.postMessage(marked({ type: 'hello' }), address.origin);
  });
  return frame;
}
