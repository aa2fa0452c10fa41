import { hydrate } from 'preact';
import type { PageState } from '../../src/http/page-state.ts';
import './page.css';
import { startEmbedding } from './embedding.ts';
import { openDraftStore, type Tokens } from './saving/draft-store.ts';
import { startSaver } from './saving/saver.ts';
import { Session } from './survey/session.ts';
import { App } from './views/app.tsx';
import type { Words } from './words/en.ts';

const tokenNames = ['invitation', 'surveyToken'] as const;

/** Takes the tokens of the link out of the address, so that they are neither seen nor passed on. */
function takeTokens(): Tokens {
  const address = new URL(location.href);
  const tokens: Tokens = {};
  for (const name of tokenNames) {
    const token = address.searchParams.get(name);
    if (token) tokens[name] = token;
    address.searchParams.delete(name);
  }
  history.replaceState(history.state, '', address);
  return tokens;
}

/** The address of this page with its tokens. */
function addressWith(tokens: Tokens, language?: string): string {
  const address = new URL(location.href);
  for (const name of tokenNames) {
    const token = tokens[name];
    if (token) address.searchParams.set(name, token);
  }
  if (language !== undefined) address.searchParams.set('lang', language);
  return address.href;
}

async function begin(state: PageState & { words: Words }): Promise<void> {
  const { words, form, language } = state;
  const root = document.getElementById('page') as HTMLElement;
  if (state.preview) {
    (await import('./preview.tsx')).startPreview({ state, words, root });
    return;
  }
  const given = takeTokens();
  const session = form ? new Session({ form, words, language }) : undefined;
  hydrate(
    <App
      state={state}
      words={words}
      session={session}
      surveyToken={given.surveyToken}
      addressIn={(other) => addressWith(given, other)}
    />,
    root,
  );
  const { isHosted } = startEmbedding({ state, session, content: root });
  const store = await openDraftStore(Date.now());
  const kept = await store.readTokens(state.link);
  const isTokenAway = kept && tokenNames.every((name) => given[name] === undefined);
  if (state.notice === 'private' || state.notice === 'invitationNeeded') {
    // A link that was opened with its token before, and reloaded without.
    if (isTokenAway) location.replace(addressWith(kept));
    return;
  }
  if (!session) return;
  if (Object.keys(given).length > 0) await store.keepTokens(state.link, given);
  followHistory(session);
  const { redirectUrl } = session.options.form.survey.appearance;
  session.onChange(() => {
    if (session.notice === 'thanks' && redirectUrl !== null && !isHosted()) location.replace(redirectUrl);
  });
  await startSaver({
    state,
    session,
    store,
    tokens: given,
    reload: () => location.replace(addressWith(given)),
  }).begin();
}

/** The browser's own back and forward go between the pages of the survey. */
function followHistory(session: Session): void {
  let key = session.page?.key;
  let isFollowing = false;
  history.replaceState({ page: key }, '');
  session.onChange(() => {
    const now = session.page?.key;
    if (now === key) return;
    key = now;
    if (!isFollowing) history.pushState({ page: now }, '');
  });
  addEventListener('popstate', ({ state }: PopStateEvent) => {
    const page = (state as { page?: string } | null)?.page;
    if (page === undefined || session.isFinishing) return;
    isFollowing = true;
    session.goTo(page);
    isFollowing = false;
  });
}

void begin(JSON.parse(document.getElementById('state')?.textContent ?? '{}') as PageState & { words: Words });
