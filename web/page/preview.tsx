import { render } from 'preact';
import type { PageForm, PageState } from '../../src/http/page-state.ts';
import { pageStyleOf } from '../../src/http/page-style.ts';
import type { PreviewReply, PreviewSelect, PreviewShow } from '../shared/preview-messages.ts';
import { newUuid } from '../shared/uuid.ts';
import { Session } from './survey/session.ts';
import { App } from './views/app.tsx';
import type { Words } from './words/en.ts';

interface PreviewOptions {
  state: PageState;
  words: Words;
  root: HTMLElement;
}

/**
 * Shows what the console hands over, and follows what is edited there. Nothing is kept on the device, and the policy of
 * this page lets no call leave.
 */
export function startPreview({ state, words, root }: PreviewOptions): void {
  const colors = new CSSStyleSheet();
  document.adoptedStyleSheets.push(colors);
  let session: Session | undefined;
  let shown: PreviewShow | undefined;
  let selected: string | undefined;
  let responseId = newUuid();

  const tell = (reply: PreviewReply): void => window.parent.postMessage(reply, location.origin);

  /** The survey with what has been entered so far, unless another attempt begins. */
  const sessionOf = (show: PreviewShow): Session => {
    const isNew = show.trial !== shown?.trial;
    if (isNew) responseId = newUuid();
    const form: PageForm = { ...show.form, responseId, maxUploadBytes: state.preview?.maxUploadBytes ?? 0 };
    const preview = show.trial === undefined ? 'edited' : 'trial';
    const next = new Session({ form, words, language: show.language, preview });
    if (session && !isNew) {
      next.restore({ entries: session.entries, responseId, page: session.page?.key, isFinishing: false });
      next.notice = preview === 'trial' ? session.notice : undefined;
    }
    next.persistence = {
      keep: () => undefined,
      keepPage: () => undefined,
      finish: () => {
        next.isFinishing = false;
        next.show(next.shown.outcome === 'SCREENED_OUT' ? 'screenedOut' : 'thanks');
        if (show.trial !== undefined) tell({ preview: 'ended', trial: show.trial });
      },
    };
    return next;
  };

  const show = (next: PreviewShow): void => {
    const made = sessionOf(next);
    const isNew = next.trial !== shown?.trial;
    [session, shown] = [made, next];
    Object.assign(document.documentElement, { lang: next.language, dir: next.direction });
    document.documentElement.dataset['theme'] = next.colors.backgroundColor ? 'light' : '';
    colors.replaceSync(pageStyleOf(next.colors));
    turn();
    const { language, direction } = next;
    render(<App state={{ ...state, language, direction }} words={words} session={made} />, root);
    follow(isNew);
  };

  const select = (next: string | undefined): void => {
    const isNew = next !== selected;
    selected = next;
    // After the end of the path the questions come back.
    if (isNew && shown?.trial === undefined && session) session.notice = undefined;
    turn();
    follow(isNew);
  };

  /** To the page of the question that is edited. */
  const turn = (): void => {
    if (shown?.trial === undefined && session) session.goTo(pageOf(session, selected));
  };

  /** Marks the question that is edited, and scrolls to it when it has just been selected. */
  const follow = (isScrolled: boolean): void =>
    void requestAnimationFrame(() => {
      for (const marked of root.querySelectorAll('.edited')) marked.classList.remove('edited');
      const question = shown?.trial === undefined ? document.getElementById(`q-${selected}`) : null;
      question?.classList.add('edited');
      if (!isScrolled) return;
      // scrollIntoView would scroll the console, too.
      const { top = 0, height = 0 } = question?.getBoundingClientRect() ?? {};
      scrollTo(0, question ? scrollY + top - Math.max(0, (innerHeight - height) / 2) : 0);
    });

  addEventListener('message', ({ source, origin, data }: MessageEvent<unknown>) => {
    if (source !== window.parent || origin !== location.origin || source === window) return;
    const message = Object(data) as Partial<PreviewShow> | Partial<PreviewSelect>;
    if (message.preview === 'show') show(message as PreviewShow);
    if (message.preview === 'select') select(message.selected);
  });
  root.addEventListener('click', ({ target }) => {
    const question = (target as Element).closest('.question');
    if (question && shown?.trial === undefined)
      tell({ preview: 'question', questionId: question.id.slice('q-'.length) });
  });
  root.replaceChildren();
  tell({ preview: 'ready' });
}

/** The page of a question, or of a section's first question. */
function pageOf({ shown, options, page }: Session, selected: string | undefined): string {
  const inSection = options.form.survey.questions.find(
    ({ id, sectionId }) => id === selected || sectionId === selected,
  );
  const found = shown.pages.find(
    ({ key, questions }) => key === selected || questions.some(({ id }) => id === selected || id === inSection?.id),
  );
  return (found ?? (selected === options.form.survey.id ? shown.pages[0] : page))?.key ?? '';
}
