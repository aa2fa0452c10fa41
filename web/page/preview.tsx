import { render } from 'preact';
import type { PageForm, PageState } from '../../src/http/page-state.ts';
import { pageStyleOf } from '../../src/http/page-style.ts';
import type { PreviewReply, PreviewShow } from '../shared/preview-messages.ts';
import { newResponseId } from './saving/saver.ts';
import { Session } from './survey/session.ts';
import { App } from './views/app.tsx';
import type { Words } from './words/en.ts';

export interface PreviewOptions {
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
  let responseId = newResponseId();

  const tell = (reply: PreviewReply): void => window.parent.postMessage(reply, location.origin);

  /** The survey with what has been entered so far, unless another attempt begins. */
  const sessionOf = (show: PreviewShow): Session => {
    const isNew = show.trial !== shown?.trial;
    if (isNew) responseId = newResponseId();
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
    const isSelectedAnew = next.selected !== shown?.selected || next.trial !== shown?.trial;
    [session, shown] = [made, next];
    Object.assign(document.documentElement, { lang: next.language, dir: next.direction });
    document.documentElement.dataset['theme'] = next.colors.backgroundColor ? 'light' : '';
    colors.replaceSync(pageStyleOf(next.colors));
    if (next.trial === undefined) made.goTo(pageOf(made, next.selected));
    const { language, direction } = next;
    render(<App state={{ ...state, language, direction }} words={words} session={made} />, root);
    mark(next, isSelectedAnew);
  };

  /** Marks the question that is edited, and scrolls to it when it has just been selected. */
  const mark = ({ selected, trial }: PreviewShow, isScrolled: boolean): void =>
    void requestAnimationFrame(() => {
      for (const marked of root.querySelectorAll('.edited')) marked.classList.remove('edited');
      const question = trial === undefined ? document.getElementById(`q-${selected}`) : null;
      question?.classList.add('edited');
      if (!isScrolled) return;
      if (question) question.scrollIntoView({ block: 'center' });
      else scrollTo(0, 0);
    });

  addEventListener('message', ({ source, origin, data }: MessageEvent<unknown>) => {
    if (source !== window.parent || origin !== location.origin || source === window) return;
    if ((Object(data) as Partial<PreviewShow>).preview === 'show') show(data as PreviewShow);
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
