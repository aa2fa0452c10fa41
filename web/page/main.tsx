import { hydrate } from 'preact';
import type { PageState } from '../../src/http/page-state.ts';
import './page.css';
import { startEmbedding } from './embedding.ts';
import { openDraftStore } from './saving/draft-store.ts';
import { startSaver } from './saving/saver.ts';
import { settleSent } from './saving/sent-before.ts';
import { type Tokens, tabTokens, tokenNames } from './saving/tokens.ts';
import { openUnwritten } from './saving/unwritten.ts';
import { Session } from './survey/session.ts';
import { App } from './views/app.tsx';
import type { Words } from './words/en.ts';

/** What this page notes at each entry of the history. */
interface EntryState {
  /** Key of the page of the survey. */
  page?: string | undefined;
  /** The link had tokens, which are hidden: the tab keeps them under this key. */
  tokensOf?: string;
}

const entryState = (): EntryState => (history.state as EntryState | null) ?? {};

/** The tokens of the link by which the page was opened, as the service took them. */
function tokensOf(query: string): Tokens {
  const taken = new URLSearchParams(query);
  const tokens: Tokens = {};
  for (const name of tokenNames) {
    const token = taken.get(name);
    if (token) tokens[name] = token;
  }
  return tokens;
}

/** Takes the tokens out of the address, so that they are neither seen nor passed on. */
function hideTokens(draftKey: string): void {
  const address = new URL(location.href);
  for (const name of tokenNames) address.searchParams.delete(name);
  history.replaceState({ ...entryState(), tokensOf: draftKey }, '', address);
}

/** The address of this page with its tokens, by which it is loaded anew. */
function addressWith(tokens: Tokens, language?: string): string {
  const address = new URL(location.href);
  // With a fragment the browser would only scroll.
  address.hash = '';
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
  const given = tokensOf(state.query);
  const inAddress = new URL(location.href).searchParams;
  const isTokenAway = tokenNames.every((name) => !inAddress.has(name));
  const { tokensOf: hiddenOf } = entryState();
  const hidden = isTokenAway && hiddenOf !== undefined && tabTokens.read(hiddenOf);
  const session = form ? new Session({ form, words, language }) : undefined;
  const takeEarly = enteredEarly(root);
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
  const unwritten = openUnwritten(hidden ? hiddenOf : (form?.draftKey ?? ''));
  const write = (finished?: 'unseen') =>
    session && unwritten.write({ entries: session.entries, isEarly: true, finished });
  // Until what was kept is shown.
  if (session) {
    session.persistence = { keep: () => write(), keepPage: () => undefined, finish: () => write('unseen') };
    followHistory(session);
  }
  await takeEarly();
  if (hidden) {
    // The link is loaded anew: what the service has sent is for those who were not invited.
    location.replace(addressWith(hidden));
    return;
  }
  const store = await openDraftStore(Date.now());
  const kept = await store.readTokens(state.link);
  if (state.notice === 'private' || state.notice === 'invitationNeeded') {
    // A link that was opened with its token before.
    if (kept && isTokenAway) location.replace(addressWith(kept));
    return;
  }
  const { link, sent } = state;
  if (sent) await settleSent({ ...sent, store, link, tokens: tokensOf(location.search) });
  // Tokens stay in the address where they may be wrong, or are not kept: a reload needs them.
  if (!session) return;
  const { draftKey, survey } = session.options.form;
  if (Object.keys(given).length > 0) {
    await store.keepTokens(state.link, given);
    if (store.isLasting && tabTokens.write(draftKey, given)) {
      hideTokens(draftKey);
      // Pages of the survey that were left meanwhile have them in their addresses.
      addEventListener('popstate', () => hideTokens(draftKey));
    }
  }
  session.onChange(() => {
    const { redirectUrl } = survey.appearance;
    const isComplete = session.notice === 'thanks' && session.isOutcomeKnown;
    if (isComplete && redirectUrl !== null && !isHosted()) location.replace(redirectUrl);
  });
  await startSaver({
    state,
    session,
    store,
    unwritten,
    tokens: given,
    async forgetTokens() {
      tabTokens.forget(draftKey);
      await store.forgetTokens(state.link, given);
    },
    reload: (other) => location.replace(addressWith(given, other)),
  }).begin();
}

/**
 * What somebody has entered before this script ran, on a slow network: the page would show it and not have it. Gives a
 * function that tells the page.
 */
function enteredEarly(root: HTMLElement): () => Promise<void> {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  const controls = [...root.querySelectorAll<HTMLInputElement>('input, select, textarea')];
  if (navigation?.type === 'back_forward') {
    // Then it is the browser that fills in what stood there once, be it sent meanwhile or not.
    for (const { form } of controls) form?.reset();
    return async () => undefined;
  }
  const entered = controls
    .map((control) => ({ control, value: control.value, isChoice: /^(radio|checkbox)$/.test(control.type) }))
    // A slider that nobody has moved stands in the middle, as the service drew it; a select has no default value.
    .filter(({ control, value, isChoice }) => (isChoice ? control.checked : value !== (control.defaultValue ?? '')));
  return async () => {
    for (const { control, value, isChoice } of entered) {
      if (isChoice) control.checked = true;
      else if (control.type !== 'file') control.value = value;
      control.dispatchEvent(new Event('input', { bubbles: true }));
      control.dispatchEvent(new Event('change', { bubbles: true }));
      // What is drawn of it comes before the next one, which adds to it.
      await undefined;
    }
  };
}

/** The browser's own back and forward go between the pages of the survey. */
function followHistory(session: Session): void {
  let key = session.page?.key;
  let isFollowing = false;
  const named = () => entryState().page;
  // After a reload the entry names the page that is restored from the database a moment later.
  if (named() === undefined) history.replaceState({ ...entryState(), page: key }, '');
  session.onChange(() => {
    const now = session.page?.key;
    if (now === key) return;
    const left = key;
    key = now;
    if (isFollowing || named() === now) return;
    // It was not restored where the database no longer had it.
    if (named() !== left) history.replaceState({ ...entryState(), page: left }, '');
    history.pushState({ ...entryState(), page: now }, '');
  });
  addEventListener('popstate', () => {
    const page = named();
    if (page === undefined || session.isFinishing) return;
    isFollowing = true;
    session.goTo(page);
    isFollowing = false;
  });
}

void begin(JSON.parse(document.getElementById('state')?.textContent ?? '{}') as PageState & { words: Words });
