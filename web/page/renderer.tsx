import { renderToString } from 'preact-render-to-string';
import type { PageState } from '../../src/http/page-state.ts';
import { Session } from './survey/session.ts';
import { App } from './views/app.tsx';
import { wordsIn } from './words/all.ts';

/** The first paint, which the service makes: the body, the title of the window, and the state for the script. */
export function renderPage(state: PageState): { body: string; title: string; state: object } {
  const words = wordsIn(state.language);
  const session = state.form ? new Session({ form: state.form, words, language: state.language }) : undefined;
  const title = session?.shown.title ?? state.title;
  return {
    body: renderToString(<App state={state} words={words} session={session} />),
    title: title ?? (state.notice ? words[`${state.notice}Title`] : ''),
    state: { ...state, words },
  };
}
