import type { SentByInvitation } from '../../../src/http/page-state.ts';
import { noticeOf } from '../survey/outcomes.ts';
import { restMsOf } from './backoff.ts';
import type { DraftStore } from './draft-store.ts';
import { type SubmitResult, submit } from './submit.ts';
import { openTabs, type TabMessage } from './tabs.ts';
import { type Tokens, tabTokens } from './tokens.ts';
import { openUnwritten } from './unwritten.ts';

interface SentBefore extends SentByInvitation {
  store: DraftStore;
  link: string;
  /** By which the link was opened. */
  tokens: Tokens;
}

/**
 * The invitation of a draft is used. Where the respondent had sent it, but the reply never came, it is sent once more,
 * to learn whether it was this that used the invitation: another tab that has it still ends by that. Then nothing of it
 * is kept any longer; what was not sent stays, and so does all while the service gives no final reply.
 */
export async function settleSent({ surveyId, draftKey, store, link, tokens }: SentBefore): Promise<void> {
  const unwritten = openUnwritten(draftKey);
  const left = unwritten.readRequests().map(({ pending }) => pending);
  const { pending, notBefore } = (await store.read(draftKey)) ?? {};
  const sent = [pending, ...left].find((request) => request?.isComplete);
  if (!sent || restMsOf(notBefore) > 0) return;
  const result = await submit({
    surveyId,
    surveyToken: tokens.surveyToken,
    body: sent.body,
    isInvited: tokens.invitation !== undefined,
  });
  if (result.kind === 'later') return;
  const ended: TabMessage = { kind: 'ended', notice: noticeAfter(result) };
  // First of all, as a tab that has it still would wait for it.
  openTabs(draftKey)?.postMessage(ended);
  await store.change(draftKey, () => undefined);
  unwritten.forgetAll();
  tabTokens.forget(draftKey);
  await store.forgetTokens(link, tokens);
}

/** What other tabs show; undefined: the response has ended, and how is not known. */
function noticeAfter(result: SubmitResult): TabMessage['notice'] {
  if (result.kind === 'accepted') return noticeOf(result.outcome);
  return result.kind === 'alreadyComplete' ? undefined : 'usedInvitation';
}
