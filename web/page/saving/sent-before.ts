import type { DraftStore } from './draft-store.ts';
import { openTabs, type TabMessage } from './tabs.ts';
import { type Tokens, tabTokens } from './tokens.ts';
import { openUnwritten } from './unwritten.ts';

export interface SentBefore {
  draftKey: string;
  store: DraftStore;
  link: string;
  /** By which the link was opened. */
  tokens: Tokens;
}

/**
 * The invitation of a draft is used. Where the respondent had sent it, and the page was left before the reply, nothing
 * of it is kept any longer; what was not sent stays.
 */
export async function forgetSent({ draftKey, store, link, tokens }: SentBefore): Promise<void> {
  const unwritten = openUnwritten(draftKey);
  const left = unwritten.readRequests().map(({ pending }) => pending);
  const { pending } = (await store.read(draftKey)) ?? {};
  if (![...left, pending].some((request) => request?.isComplete)) return;
  const ended: TabMessage = { kind: 'ended', notice: 'usedInvitation' };
  // Another tab that has it still would wait for it.
  openTabs(draftKey)?.postMessage(ended);
  await store.change(draftKey, () => undefined);
  unwritten.forgetAll();
  tabTokens.forget(draftKey);
  await store.forgetTokens(link, tokens);
}
