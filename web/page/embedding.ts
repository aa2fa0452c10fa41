import type { NoticeName, PageState } from '../../src/http/page-state.ts';
import { type EmbedOutcome, type FrameMessage, marked, messageIn } from '../embed/messages.ts';
import { outcomeOf } from './survey/outcomes.ts';
import type { Session } from './survey/session.ts';

interface EmbeddingOptions {
  state: PageState;
  session: Session | undefined;
  /** What is measured: as high as its content, whatever the height of the frame. */
  content: HTMLElement;
}

/**
 * Tells the page around this one how high the content is, and how the response ended. Only pages that the survey allows
 * can frame this one; which of them does is said by its first message, and nothing is told before. `isHosted`: there is
 * such a page, which follows the survey's redirect address itself.
 */
export function startEmbedding({ state, session, content }: EmbeddingOptions): { isHosted(): boolean } {
  if (window.parent === window) return { isHosted: () => false };
  document.documentElement.classList.add('embedded');
  let host: string | undefined;
  let pageKey = session?.page?.key;
  let told: EmbedOutcome | NoticeName | undefined;
  const tell = (message: FrameMessage): void => {
    if (host !== undefined) window.parent.postMessage(marked(message), host);
  };
  const tellSize = (): void => tell({ type: 'size', height: content.getBoundingClientRect().height });
  const tellNotice = (): void => {
    const notice = session?.notice ?? state.notice ?? undefined;
    if (host === undefined || notice === undefined) return;
    const outcome = session?.isOutcomeKnown ? outcomeOf(notice) : undefined;
    // An outcome may become known after the notice of an unknown one.
    if (told === (outcome ?? notice)) return;
    told = outcome ?? notice;
    const redirectUrl = state.form?.survey.appearance.redirectUrl ?? null;
    if (outcome) tell({ type: 'outcome', outcome, redirectUrl: outcome === 'COMPLETED' ? redirectUrl : null });
    else tell({ type: 'unavailable', notice });
  };

  addEventListener('message', ({ source, origin, data }: MessageEvent<unknown>) => {
    // Pages without an origin of their own, such as files, cannot be addressed.
    if (source !== window.parent || origin === 'null' || messageIn(data)?.type !== 'hello') return;
    host = origin;
    tell({ type: 'ready', title: document.title });
    tellSize();
    tellNotice();
  });
  new ResizeObserver(tellSize).observe(content);
  addEventListener('keydown', ({ key, defaultPrevented }) => {
    if (key === 'Escape' && !defaultPrevented) tell({ type: 'escape' });
  });
  session?.onChange(() => {
    tellNotice();
    const key = session.page?.key;
    if (key === pageKey) return;
    pageKey = key;
    tell({ type: 'page' });
  });
  return { isHosted: () => host !== undefined };
}
