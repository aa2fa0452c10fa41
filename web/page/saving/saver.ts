import type { NoticeName, PageState } from '../../../src/http/page-state.ts';
import { inOneTab } from '../../shared/in-one-tab.ts';
import type { Entry } from '../survey/entries.ts';
import type { Persistence, Session } from '../survey/session.ts';
import { retryDelayMs } from './backoff.ts';
import type { Draft, DraftStore, Pending, Tokens } from './draft-store.ts';
import { isOfOtherBuild } from './page-build.ts';
import { answersIn, createRequests, longestIn, questionsAt, savedBy } from './requests.ts';
import { newResponseId } from './response-id.ts';
import { type SubmitResult, submit } from './submit.ts';
import type { SentRequest, UnwrittenStore } from './unwritten.ts';

export interface SaverOptions {
  state: PageState;
  session: Session;
  store: DraftStore;
  unwritten: UnwrittenStore;
  tokens: Tokens;
  /** Loads the page anew, with the tokens of its link. */
  reload(): void;
}

/** A pause of this length after a change begins a save. */
const pauseMs = 1500;
/** While somebody goes on typing, a save begins after this time at the latest. */
const longestPauseMs = 10_000;
/** A tab that sends tries again within a minute. After this time another one goes on: that tab may be closed. */
const takeOverAfterMs = 65_000;

/**
 * Keeps every change on the device at once, saves to the service after a pause, and sends the whole in the end. A
 * request is written down before it is sent, and repeated as it was until there is a reply, so that it counts once.
 * What a page has not written or sent when it is left is kept and sent in that moment.
 * Tabs with the same survey share one draft; one of them sends at a time.
 */
export function startSaver({ state, session, store, unwritten, tokens, reload }: SaverOptions) {
  const form = session.options.form;
  const { survey, draftKey } = form;
  const questionIds = survey.questions.map(({ id }) => id);
  const requests = createRequests({ session, tokens });
  const tabs = openChannel(`survey-answers:${draftKey}`);
  const startedAt = new Date().toISOString();
  /** Changes that are being written; what another tab says of them is older. */
  const writing = new Map<string, number>();
  let failures = 0;
  let newIds = 0;
  /** On the clock of the page, which nobody sets. */
  let notBefore = 0;
  /** What the service asked for, which nothing undercuts. */
  let refusedUntil = 0;
  let firstChangeAt: number | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isEnded = false;
  let hasBegun = false;
  /** The draft as this page read or changed it last. */
  let known: Draft | undefined;
  let isFinishWritten = true;
  /** Requests that are on their way, or of which the reply is being written down. */
  let sending = 0;
  /** The request that is being written down, so that it can be sent. */
  let prepared: SentRequest | undefined;
  /** Another tab may send the same draft. */
  let hasCompany = false;
  /** Sent when the page was hidden, and not written down yet. */
  let sentAtLast: (SentRequest & { result: Promise<SubmitResult> }) | undefined;

  const blank = (): Draft => ({
    key: draftKey,
    responseId: form.responseId,
    startedAt,
    changedAt: Date.now(),
    entries: {},
    revision: 0,
    savedRevision: 0,
    savedQuestions: [],
    savedAnswers: {},
    isFinishing: false,
  });
  const edit = async (change: (draft: Draft) => Draft): Promise<Draft | undefined> => {
    const changed = await store.change(draftKey, (draft) => {
      // After the end a late change must not begin a new response.
      if (isEnded) return draft;
      return { ...change(draft ?? blank()), changedAt: Date.now() };
    });
    if (!store.isLasting) session.keepsNothing();
    known = changed;
    return changed;
  };
  const keepUnwritten = (): void => {
    const entries = hasBegun ? unwrittenEntries() : session.entries;
    const request = sentAtLast && { draft: sentAtLast.draft, pending: sentAtLast.pending };
    const finished = isFinishWritten ? undefined : 'seen';
    const isNothing = isEnded || !(request || finished || Object.keys(entries).length > 0);
    unwritten.write(isNothing ? undefined : { entries, finished, request });
  };

  const persistence: Persistence = {
    keep(questionId, entry) {
      if (failures === 0) session.setStatus('kept');
      writing.set(questionId, (writing.get(questionId) ?? 0) + 1);
      keepUnwritten();
      void edit((draft) => ({
        ...draft,
        entries: { ...draft.entries, [questionId]: entry },
        revision: draft.revision + 1,
      })).finally(() => {
        writing.set(questionId, (writing.get(questionId) ?? 1) - 1);
        keepUnwritten();
        tabs?.postMessage({ kind: 'changed' });
      });
      if (!requests.savesParts) return;
      firstChangeAt ??= Date.now();
      schedule(Math.min(pauseMs, Math.max(0, firstChangeAt + longestPauseMs - Date.now())));
    },
    keepPage: (page) => void edit((draft) => ({ ...draft, page })).catch(() => undefined),
    finish: () => void finish(),
  };

  async function finish(): Promise<void> {
    isFinishWritten = false;
    keepUnwritten();
    await edit((draft) => ({ ...draft, entries: session.entries, isFinishing: true }));
    isFinishWritten = true;
    keepUnwritten();
    tabs?.postMessage({ kind: 'changed' });
    await run();
  }

  /** The next attempt, never before the service wants to be asked again. */
  function schedule(delayMs: number): void {
    if (isEnded) return;
    clearTimeout(timer);
    timer = setTimeout(() => void run(), Math.max(delayMs, notBefore - performance.now()));
  }

  async function run(): Promise<void> {
    clearTimeout(timer);
    if (isEnded) return;
    firstChangeAt = undefined;
    // Where there are no locks, the service merges what comes at once.
    const isMore = await inOneTab(`survey-answers:${draftKey}`, step).catch(() => {
      schedule(pauseMs);
      return false;
    });
    if (isMore) await run();
  }

  /** Sends one request, if there is something to send. True: there may be more. */
  async function step(): Promise<boolean> {
    if (notBefore > performance.now()) {
      schedule(0);
      return false;
    }
    let sent = sentAtLast;
    if (sent) await writeDown(sent);
    const draft = await store.read(draftKey);
    // The page was hidden meanwhile: that request is the next one.
    if (sentAtLast !== sent) return true;
    sentAtLast = undefined;
    keepUnwritten();
    if (!draft || isEnded) return false;
    const pending = draft.pending ?? nextRequest(draft);
    if (!pending) return false;
    if (!draft.pending) {
      prepared = { draft, pending };
      await edit((current) => ({ ...current, pending })).finally(() => (prepared = undefined));
      tabs?.postMessage({ kind: 'changed' });
      sent = sentAtLast;
      sentAtLast = undefined;
      keepUnwritten();
    }
    if (session.status !== 'offline' && session.status !== 'busy') session.setStatus('saving');
    sending += 1;
    try {
      const result = await (sent?.pending.body === pending.body ? sent.result : sendRequest({ draft, pending }));
      return await settle(result, { ...draft, pending });
    } finally {
      sending -= 1;
    }
  }

  const sendRequest = ({ draft, pending }: SentRequest) =>
    submit({
      surveyId: survey.id,
      surveyToken: tokens.surveyToken,
      body: pending.body,
      continues: draft.resumeToken !== undefined || form.isNamedByInvitation,
      isInvited: tokens.invitation !== undefined,
    });

  /**
   * The page is being left, perhaps for good: a draft that has changed is sent at once, without the database. What is
   * made of it there is written down at the next visit, so that the request counts once. A tab that is not alone leaves
   * it to the others, which may be sending. Nothing is sent beside a request that is on its way: the first one brings
   * the token that the next one needs, and of two parts that one counts which comes last, be it the older one.
   */
  function sendAtLast(): void {
    const isBusy = sending > 0 || sentAtLast !== undefined || notBefore > performance.now();
    if (hasBegun && !isEnded && !isBusy && !hasCompany) {
      const request = prepared ?? requestAtLast();
      if (request) {
        sentAtLast = { ...request, result: sendRequest(request) };
        keepUnwritten();
      }
    }
    schedule(0);
  }

  /** What this page would send without the database. */
  function requestAtLast(): SentRequest | undefined {
    const base = known ?? blank();
    const revision = base.revision + [...writing.values()].reduce((sum, count) => sum + count, 0);
    const draft = { ...base, entries: withWriting(base), revision, isFinishing: session.isFinishing };
    const pending = draft.pending ?? nextRequest(draft);
    return pending && { draft, pending };
  }

  /** Makes a request that was sent at last the next one, unless the draft has gone on since without it. */
  const writeDown = ({ draft, pending }: SentRequest) =>
    store.change(draftKey, (current = draft) => {
      const goesOn =
        current.pending === undefined &&
        current.responseId === draft.responseId &&
        current.resumeToken === draft.resumeToken &&
        current.savedRevision === draft.savedRevision;
      return goesOn ? { ...current, pending, isFinishing: draft.isFinishing } : current;
    });

  function nextRequest(draft: Draft): Pending | undefined {
    if (!requests.isDue(draft)) return undefined;
    // Another tab may have changed what this one shows.
    restore(draft);
    return requests.next(draft);
  }

  async function settle(result: SubmitResult, draft: Draft & { pending: Pending }) {
    const { pending } = draft;
    const { pending: _, ...answered } = draft;
    if (result.kind === 'later') {
      failures += 1;
      session.setStatus(result.cause);
      notBefore = performance.now() + retryDelayMs(failures, result.retryAfterSeconds, Math.random);
      refusedUntil = performance.now() + (result.retryAfterSeconds ?? 0) * 1000;
      schedule(0);
      return false;
    }
    const wasAway = failures > 0;
    failures = 0;
    switch (result.kind) {
      case 'accepted': {
        if (result.isComplete || pending.isComplete) {
          await end(endNotice[result.outcome ?? ''] ?? 'thanks');
          return false;
        }
        const { resumeToken } = result;
        const changed = await edit(({ pending: _sent, ...current }) => ({
          ...current,
          ...(resumeToken !== undefined && { resumeToken }),
          ...savedBy(pending, current),
        }));
        session.setStatus('saved');
        if (wasAway) void reloadIfStale();
        return changed?.isFinishing === true || (changed?.revision ?? 0) > pending.revision;
      }
      case 'alreadyComplete':
        await end('thanks');
        return false;
      case 'otherResponse': {
        newIds += 1;
        if (newIds > 3) {
          session.show('unavailable');
          return false;
        }
        const { resumeToken: _token, ...rest } = answered;
        await edit((current) => ({
          ...rest,
          entries: current.entries,
          revision: current.revision,
          isFinishing: current.isFinishing,
          responseId: newResponseId(),
          savedRevision: -1,
          savedQuestions: [],
          savedAnswers: {},
        }));
        return true;
      }
      case 'reload':
        await withoutPending();
        reload();
        return false;
      case 'invalid':
        return refuseAnswers(questionsAt(result.paths, pending, questionIds), session.options.words.errorOther, draft);
      case 'tooLarge':
        if (!requests.canBeSplit(pending))
          return refuseAnswers(longestIn(pending), session.options.words.errorTooMuch, draft);
        await edit(({ pending: _tooLarge, ...current }) => current);
        return true;
      case 'refused':
        await withoutPending();
        leave(result.notice);
        return false;
    }
  }

  /** A notice that is no end of the response: what was entered stays on the device. */
  function leave(notice: NoticeName): void {
    isEnded = true;
    session.show(notice);
  }

  async function withoutPending(): Promise<void> {
    await edit(({ pending: _, ...draft }) => ({ ...draft, isFinishing: false }));
    tabs?.postMessage({ kind: 'changed' });
  }

  /**
   * The service refused answers that this page takes: each is marked, and left out of parts until it is changed. True:
   * the others are to be sent without them.
   */
  async function refuseAnswers(
    named: readonly string[],
    message: string,
    { pending, isFinishing }: Draft & { pending: Pending },
  ): Promise<boolean> {
    await withoutPending();
    if (named.length > 0) {
      const draft = (await store.read(draftKey)) ?? blank();
      session.restore({ ...draft, entries: withWriting(draft), isFinishing: false });
      session.setStatus('kept');
      for (const id of named) {
        const answers = answersIn(pending).filter(({ questionId }) => questionId === id);
        if (answers.length > 0) session.refuse(id, answers, message);
      }
      // Somebody who is still answering is not taken to the question.
      if (isFinishing) session.showErrors(Object.fromEntries(named.map((id) => [id, message])));
      return named.some((id) => pending.questions.includes(id));
    }
    if (!(await reloadIfStale())) leave('unavailable');
    return false;
  }

  /** Shows a draft, with what this page has not written into it yet. */
  function restore(draft: Draft): void {
    const isFinishing = draft.isFinishing || !isFinishWritten;
    session.restore({ ...draft, entries: withWriting(draft), isFinishing });
  }

  /** Entries with those that are not written yet. */
  function withWriting(draft: Draft): Draft['entries'] {
    return { ...draft.entries, ...unwrittenEntries() };
  }

  function unwrittenEntries(): Draft['entries'] {
    return Object.fromEntries(Object.entries(session.entries).filter(([id]) => (writing.get(id) ?? 0) > 0));
  }

  /** The service has the whole response: nothing of it stays here. */
  async function end(notice: NoticeName): Promise<void> {
    isEnded = true;
    clearTimeout(timer);
    await store.change(draftKey, () => undefined);
    await store.keepTokens(state.link, undefined);
    unwritten.forget('own');
    tabs?.postMessage({ kind: 'ended', notice });
    session.show(notice);
  }

  /** Loads the page anew if the service has been upgraded since. True if it does. */
  async function reloadIfStale(): Promise<boolean> {
    const isStale = await isOfOtherBuild(state.build);
    if (isStale) reload();
    return isStale;
  }

  const heard = async ({ data }: MessageEvent<{ kind: string; notice?: NoticeName }>) => {
    if (data.kind === 'ended' && data.notice) {
      isEnded = true;
      clearTimeout(timer);
      unwritten.forget('own');
      session.show(data.notice);
      return;
    }
    hasCompany = true;
    const draft = await store.read(draftKey);
    if (!draft || isEnded) return;
    known = draft;
    restore(draft);
    if (draft.isFinishing) schedule(takeOverAfterMs);
  };
  tabs?.addEventListener('message', heard);

  const goOn = () => {
    notBefore = Math.min(notBefore, Math.max(refusedUntil, performance.now()));
    schedule(0);
  };
  addEventListener('online', goOn);
  addEventListener('beforeunload', (event) => {
    const isWriting = [...writing.values()].some((count) => count > 0);
    if (!isEnded && (isWriting || session.isUploading)) event.preventDefault();
  });
  let hiddenAt = 0;
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'hidden') {
      hiddenAt = Date.now();
      sendAtLast();
    } else if (hiddenAt > 0 && Date.now() - hiddenAt > staleAfterMs) void reloadIfStale();
  });

  session.persistence = persistence;
  if (!store.isLasting) session.keepsNothing();
  return {
    /** Shows what was kept before, and goes on with what was not sent. */
    async begin(): Promise<void> {
      const left = unwritten.read();
      if (left.request) await writeDown(left.request);
      const draft = await store.read(draftKey);
      known = draft;
      // What was entered while the page was loading, or before the last one was left, counts more.
      const early = { ...left.entries, ...session.entries };
      const finished = left.finished ?? (session.isFinishing ? 'unseen' : undefined);
      session.restore({
        ...(draft ?? { responseId: form.responseId, isFinishing: session.isFinishing }),
        entries: { ...draft?.entries, ...early },
      });
      for (const [id, entry] of Object.entries(early)) persistence.keep(id, entry as Entry);
      hasBegun = true;
      unwritten.forget();
      // Sent before it could be written. Where something was kept that was not shown, it is looked at first.
      if (finished === 'seen' || (finished && !draft)) await finish();
      else if (draft && (draft.pending || draft.isFinishing || draft.revision > draft.savedRevision)) await run();
    },
  };
}

/** A page that was not looked at for so long may be of an earlier build. */
const staleAfterMs = 5 * 60_000;

const endNotice: Readonly<Record<string, NoticeName>> = {
  SCREENED_OUT: 'screenedOut',
  OVER_QUOTA: 'overQuota',
};

/** Undefined where the browser refuses it, as some do where cookies are blocked. */
function openChannel(name: string): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel(name);
  } catch {
    return undefined;
  }
}
