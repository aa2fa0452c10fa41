import { pageOpenedAtMs, pageResponseId } from '../../../src/domain/submission/page-response-id.ts';
import type { NoticeName } from '../../../src/http/page-state.ts';
import { newUuid } from '../../shared/uuid.ts';
import { noticeOf } from '../survey/outcomes.ts';
import type { Session } from '../survey/session.ts';
import type { Draft, Pending } from './draft-store.ts';
import type { KeptDraft } from './kept-draft.ts';
import { answersIn, type createRequests, longestIn, questionsAt, savedBy } from './requests.ts';
import type { SubmitResult } from './submit.ts';

interface RepliesOptions {
  session: Session;
  draft: KeptDraft;
  requests: ReturnType<typeof createRequests>;
  /** The response has ended, here or by another one of its invitation; undefined: how is not known here. */
  end(notice: NoticeName | undefined): Promise<void>;
  /** Loads the page anew, with the tokens of its link. */
  reload(): void;
  /**
   * The same if the service has been upgraded since, unless only this page has the answers: what is being uploaded or
   * written helps no page whose requests are refused. True if it does.
   */
  reloadIfStale(): Promise<boolean>;
}

/** A draft whose request was sent. */
type SentDraft = Draft & { pending: Pending };

const mostNewIds = 3;

/** Makes what does as each final reply to a request asks. It says whether there may be more to send. */
export function createReplies({ session, draft, requests, end, reload, reloadIfStale }: RepliesOptions) {
  const { words, form } = session.options;
  const types = new Map(form.survey.questions.map(({ id, type }) => [id, type]));
  // A file that no response has named for an hour is gone.
  const invalidAt = (id: string) => (types.get(id) === 'FILE_UPLOAD' ? words.errorNotUploaded : words.errorOther);
  let newIds = 0;

  return async (result: Exclude<SubmitResult, { kind: 'later' }>, sent: SentDraft): Promise<boolean> => {
    const { pending } = sent;
    draft.forgetReplied(pending);
    switch (result.kind) {
      case 'accepted':
        return accepted(result, pending);
      case 'alreadyComplete':
        await end(undefined);
        return false;
      case 'otherResponse':
        return beginOther(sent);
      case 'reload':
        await draft.withoutRefused(pending);
        // Where the answers would be lost with this page, the browser asks first, and the respondent may stay.
        draft.show(await draft.readOrBlank());
        session.setStatus('kept');
        reload();
        return false;
      case 'invalid':
        return refuseAnswers(questionsAt(result.paths, pending, types), invalidAt, sent);
      case 'tooLarge':
        if (!requests.canBeSplit(pending)) return refuseAnswers(longestIn(pending), () => words.errorTooMuch, sent);
        await draft.changeAfter(pending);
        return true;
      case 'refused':
        // The response that the invitation stands for cannot change any more.
        if (pending.isComplete && result.notice === 'usedInvitation') {
          await end(result.notice);
          return false;
        }
        await draft.withoutRefused(pending);
        leave(result.notice);
        return false;
    }
  };

  async function accepted(result: SubmitResult & { kind: 'accepted' }, pending: Pending): Promise<boolean> {
    if (result.isComplete || pending.isComplete) {
      await end(noticeOf(result.outcome));
      return false;
    }
    const { resumeToken } = result;
    const changed = await draft.changeAfter(pending, ({ notBefore: _past, ...current }) => ({
      ...current,
      ...(resumeToken !== undefined && { resumeToken }),
      ...savedBy(pending, current),
    }));
    session.setStatus('saved');
    draft.tellSaved();
    return changed?.isFinishing === true || (changed?.revision ?? 0) > pending.revision;
  }

  /** Goes on with what another page sent first, if that is why; else sends everything anew as another response. */
  async function beginOther({ pending, resumeToken: _token, ...rest }: SentDraft): Promise<boolean> {
    if (await draft.takeSent(pending)) return true;
    newIds += 1;
    if (newIds > mostNewIds) {
      session.show('unavailable');
      return false;
    }
    await draft.change((current) => ({
      ...rest,
      entries: current.entries,
      revision: current.revision,
      isFinishing: current.isFinishing,
      // The service's clock gave the id that the page was opened with; the device's may be days ahead.
      responseId: pageResponseId(newUuid(), pageOpenedAtMs(form.responseId) ?? Date.now()),
      savedRevision: -1,
      savedQuestions: [],
      savedAnswers: {},
    }));
    return true;
  }

  /**
   * The service refused answers that this page takes: each is marked, and left out of parts until it is changed. True:
   * the others are to be sent without them.
   */
  async function refuseAnswers(
    named: readonly string[],
    messageOf: (id: string) => string,
    { pending, isFinishing }: SentDraft,
  ): Promise<boolean> {
    await draft.withoutRefused(pending);
    if (named.length > 0) {
      const current = await draft.readOrBlank();
      session.restore({ ...current, entries: draft.withWriting(current), isFinishing: false });
      session.setStatus('kept');
      for (const id of named) {
        const answers = answersIn(pending).filter(({ questionId }) => questionId === id);
        if (answers.length > 0) session.refuse(id, answers, messageOf(id));
      }
      // Somebody who is still answering is not taken to the question.
      const isSent = (id: string) => pending.questions.includes(id);
      const errorAt = (id: string) => (isSent(id) ? messageOf(id) : words.errorRequired);
      if (isFinishing) session.showRefused(Object.fromEntries(named.map((id) => [id, errorAt(id)])));
      return named.some(isSent);
    }
    if (!(await reloadIfStale())) leave('unavailable');
    return false;
  }

  /** A notice that is no end of the response: what was entered stays on the device. */
  function leave(notice: NoticeName): void {
    draft.rest();
    session.show(notice);
  }
}
