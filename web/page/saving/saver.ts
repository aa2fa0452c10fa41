import type { NoticeName, PageState } from '../../../src/http/page-state.ts';
import { inOneTab } from '../../shared/in-one-tab.ts';
import type { Persistence, Session } from '../survey/session.ts';
import { Backoff, restMsOf } from './backoff.ts';
import type { Draft, DraftStore, Pending } from './draft-store.ts';
import { type DraftNews, KeptDraft } from './kept-draft.ts';
import { isOfOtherBuild, isServed } from './page-build.ts';
import { createReplies } from './replies.ts';
import { createRequests } from './requests.ts';
import { type SubmitResult, submit } from './submit.ts';
import { openTabs, type TabMessage } from './tabs.ts';
import type { Tokens } from './tokens.ts';
import type { SentRequest, UnwrittenStore } from './unwritten.ts';

interface SaverOptions {
  state: PageState;
  session: Session;
  store: DraftStore;
  unwritten: UnwrittenStore;
  tokens: Tokens;
  /** The response has ended: nothing keeps the tokens of its link. */
  forgetTokens(): Promise<void>;
  /** Loads the page anew, with the tokens of its link; in this language, or in that of its address. */
  reload(language?: string): void;
}

/** A pause of this length after a change begins a save. */
const pauseMs = 1500;
/** While somebody goes on typing, a save begins after this time at the latest. */
const longestPauseMs = 10_000;
/** A tab that sends tries again within a minute. After this time another one goes on: that tab may be closed. */
const takeOverAfterMs = 65_000;
/** After this time without a change another tab saves what a tab has entered: that tab may be closed. */
const saveForOthersAfterMs = 5000;
/** A page that was not looked at for so long may be of an earlier build. */
const staleAfterMs = 5 * 60_000;

/**
 * Keeps every change on the device at once, saves to the service after a pause, and sends the whole in the end. A
 * request is written down before it is sent, and repeated as it was until there is a reply, so that it counts once.
 * What a page has not written or sent when it is left is kept and sent in that moment.
 * Tabs with the same survey share one draft; one of them sends at a time. What one sends when it is left, beside the
 * others, lies where they look before they make a request of their own, and where theirs comes to the service second.
 */
export function startSaver({ state, session, store, unwritten, tokens, forgetTokens, reload }: SaverOptions) {
  const form = session.options.form;
  const { survey, draftKey } = form;
  const requests = createRequests({ session, tokens });
  const tabs = openTabs(draftKey);
  const tell = (message: TabMessage) => tabs?.postMessage(message);
  const tellOthers = (kind: DraftNews = 'changed') => tell({ kind });
  const draft = new KeptDraft({ session, store, unwritten, tellOthers });
  const backoff = new Backoff();
  const settle = createReplies({
    session,
    draft,
    requests,
    end,
    reload,
    reloadIfStale: () => reloadIfStale(() => draft.isOnlyHere),
  });
  let firstChangeAt: number | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Requests that are on their way, or of which the reply is being written down. */
  let sending = 0;
  /** The request that is being written down, so that it can be sent. */
  let prepared: SentRequest | undefined;
  /** Sent when the page was hidden, and not looked at since. */
  let sentAtLast: (SentRequest & { result: Promise<SubmitResult> }) | undefined;
  /** Another tab has said that it changed the draft since this one was opened. */
  let isShared = false;
  /** On the clock of the page: when another tab that has finished is not waited for any longer. */
  let takeOverAtMs = 0;
  const isAway = () => session.status === 'offline' || session.status === 'busy';

  const persistence: Persistence = {
    keep(questionId, entry) {
      if (!backoff.hasFailed) session.setStatus('kept');
      draft.keepEntry(questionId, entry);
      if (!requests.savesParts) return;
      firstChangeAt ??= Date.now();
      schedule(Math.min(pauseMs, Math.max(0, firstChangeAt + longestPauseMs - Date.now())));
    },
    keepPage: (page) => void draft.change((current) => ({ ...current, page })).catch(() => undefined),
    finish: () => void finish(),
  };

  async function finish(): Promise<void> {
    await draft.keepFinish();
    await run();
  }

  /** The next attempt, never before the service wants to be asked again. */
  function schedule(delayMs: number): void {
    if (draft.isAtRest) return;
    clearTimeout(timer);
    timer = setTimeout(() => void run(), Math.max(delayMs, backoff.restMs));
  }

  async function run(): Promise<void> {
    clearTimeout(timer);
    if (draft.isAtRest || !draft.hasBegun) return;
    firstChangeAt = undefined;
    // Where there are no locks, several tabs may send at once, and the service merges that.
    const isMore = await inOneTab(`survey-answers:${draftKey}`, step).catch(() => {
      schedule(pauseMs);
      return false;
    });
    if (isMore) await run();
  }

  /** Sends one request, if there is something to send. True: there may be more. */
  async function step(): Promise<boolean> {
    if (backoff.restMs > 0) {
      schedule(0);
      return false;
    }
    const before = sentAtLast;
    await draft.takeSent();
    const stored = await readDraft();
    // The page was hidden meanwhile: that request is the next one.
    if (sentAtLast !== before) return true;
    if (!before && backoff.restMs > 0) {
      if (stored?.pending) session.setStatus('busy');
      schedule(0);
      return false;
    }
    if (!stored || draft.isAtRest) return false;
    // Another tab had finished.
    if (stored.isFinishing && !session.isFinishing) draft.show(stored);
    const pending = stored.pending ?? nextRequest(stored);
    if (!pending) {
      sentAtLast = undefined;
      if (stored.isFinishing) void visit();
      else showSettled(stored);
      return false;
    }
    if (!stored.pending) {
      prepared = { draft: stored, pending };
      const written = await draft.writeDown(pending).finally(() => (prepared = undefined));
      tellOthers();
      // Where there are no locks, another tab may have been first.
      if (written?.pending?.body !== pending.body) return true;
      unwritten.forgetRequest();
    }
    if (!isAway()) session.setStatus('saving');
    // Where the service has got another request since, the same one is sent anew: that other one may have come second.
    const sent = sentAtLast?.pending.body === pending.body && draft.goesOn(stored, sentAtLast) ? sentAtLast : undefined;
    sentAtLast = undefined;
    sending += 1;
    try {
      const result = await (sent ? sent.result : send(pending));
      return await settleOrWait(result, { ...stored, pending });
    } finally {
      sending -= 1;
    }
  }

  /** Another tab, in another language or version, has finished and does not send: this one becomes a visit in those. */
  async function visit(): Promise<void> {
    const restMs = takeOverAtMs - performance.now();
    if (restMs > 0) {
      schedule(restMs);
      return;
    }
    const now = !wouldLose() && (await isServed()) ? await readDraft() : undefined;
    // The other tab may have gone on while the service was asked.
    const isLeft = now?.isFinishing === true && !now.pending && !draft.isMadeHere(now);
    if (isLeft && !draft.isAtRest && !wouldLose()) reload(now.language);
    else schedule(takeOverAfterMs);
  }

  /** What the service asked another page to wait for is waited for here too. */
  async function readDraft(): Promise<Draft | undefined> {
    const stored = await draft.read();
    backoff.restAtLeast(restMsOf(stored?.notBefore));
    return stored;
  }

  /** Nothing of a draft is to be sent now, perhaps because another tab has sent it or was refused. */
  function showSettled({ revision, savedRevision }: Draft): void {
    // What was entered here meanwhile may be in no draft yet, and is sent soon.
    if (firstChangeAt !== undefined || draft.isWriting) return;
    backoff.succeed();
    if (session.status === 'kept' || isAway()) session.setStatus(revision > savedRevision ? 'kept' : 'saved');
  }

  const send = ({ body }: Pending) =>
    submit({
      surveyId: survey.id,
      surveyToken: tokens.surveyToken,
      body,
      isInvited: tokens.invitation !== undefined,
    });

  async function settleOrWait(result: SubmitResult, sent: Draft & { pending: Pending }): Promise<boolean> {
    if (result.kind === 'later') {
      backoff.fail(result.retryAfterSeconds);
      session.setStatus(result.cause);
      await draft.keepRest(result.retryAfterSeconds);
      schedule(0);
      return false;
    }
    const wasAway = backoff.hasFailed;
    backoff.succeed();
    const isMore = await settle(result, sent);
    if (wasAway && result.kind === 'accepted' && !draft.isEnded) void reloadIfStale();
    return isMore;
  }

  /**
   * What another tab entered in another language or version of the survey is for that one to send, and for visits: this
   * one could not show all that was asked there.
   */
  function nextRequest(current: Draft): Pending | undefined {
    if (!requests.isDue(current) || (isShared && !draft.isMadeHere(current))) return undefined;
    // Another tab may have changed what this one shows.
    draft.show(current);
    return requests.next(current);
  }

  /**
   * The page is being left, perhaps for good: a draft that has changed is sent at once, without the database. The
   * request is written down there by another tab or at the next visit, so that it counts once; where only the database
   * keeps something, it has the answers, and nothing is sent that it does not know of. Nothing is sent beside a request
   * of this page that is on its way: the first one brings the token that the next one needs, and of two parts that one
   * counts which comes last, be it the older one.
   */
  function sendAtLast(): void {
    const isBusy = sending > 0 || sentAtLast !== undefined || backoff.restMs > 0;
    if (draft.hasBegun && !draft.isAtRest && !isBusy) {
      const request = prepared ?? requestAtLast();
      // What the database has as the next one lies nowhere else: its last reply would not be known there.
      const isWritten = request?.draft.pending !== undefined && store.isLasting;
      const write = () => request && unwritten.writeRequest({ ...request, isUnkept: !store.isLasting });
      if (request && (isWritten || write() || !store.isLasting))
        sentAtLast = { ...request, result: send(request.pending) };
    }
    schedule(0);
  }

  /** What this page would send without the database. */
  function requestAtLast(): SentRequest | undefined {
    const { latest } = draft;
    const pending = latest.pending ?? nextRequest(latest);
    return pending && { draft: latest, pending };
  }

  /** The service has the whole response, or takes none any more from this invitation. */
  async function end(notice: NoticeName | undefined): Promise<void> {
    // First of all: if this page were closed before, another one would wait for it.
    tell({ kind: 'ended', notice });
    await draft.forget();
    await forgetTokens();
    session.end(notice);
  }

  /** Whether something that was entered or is being uploaded would be lost if the page were left now. */
  const wouldLose = () => draft.isOnlyHere || (!draft.isEnded && (draft.isWriting || session.isUploading));

  /** Loads the page anew if the service has been upgraded since and nothing keeps it from that. True if it does. */
  async function reloadIfStale(mustStay = wouldLose): Promise<boolean> {
    const isStale = (await isOfOtherBuild(state.build)) && !mustStay();
    if (isStale) reload();
    return isStale;
  }

  const heard = async ({ data }: MessageEvent<TabMessage>) => {
    if (data.kind === 'ended') endedElsewhere(data.notice);
    else await showChanged(data.kind);
  };
  function endedElsewhere(notice: NoticeName | undefined): void {
    draft.endedElsewhere();
    void forgetTokens();
    session.end(notice);
  }
  async function showChanged(kind: TabMessage['kind']): Promise<void> {
    isShared = true;
    if (!draft.hasBegun) return;
    const changed = await readDraft();
    if (!changed || draft.isEnded) return;
    draft.show(changed);
    if (changed.isFinishing) {
      takeOverAtMs = performance.now() + takeOverAfterMs;
      schedule(takeOverAfterMs);
    } else if (kind === 'refused') passBy(changed);
    else if (requests.savesParts) followOther(changed);
  }
  /** Another tab has changed the draft, or saved it. A change of this one is saved soon enough. */
  function followOther(changed: Draft): void {
    if (!requests.isDue(changed)) {
      showSettled(changed);
      return;
    }
    if (firstChangeAt === undefined) schedule(saveForOthersAfterMs);
    if (session.status === 'saved') session.setStatus('kept');
  }
  /** The service has refused what another tab sent. That tab says so; this one does not send the same once more. */
  function passBy(changed: Draft): void {
    if (firstChangeAt === undefined) clearTimeout(timer);
    showSettled(changed);
  }
  tabs?.addEventListener('message', heard);

  addEventListener('online', () => {
    backoff.cutShort();
    // What another tab has entered is for that one to send first.
    if (backoff.hasFailed) schedule(0);
  });
  // What other tabs said while the browser kept this page aside did not come here.
  addEventListener('pageshow', async ({ persisted }) => {
    if (!persisted || draft.isEnded) return;
    if (await draft.hasEndedUnheard()) {
      endedElsewhere(undefined);
      return;
    }
    await showChanged('changed');
    // Without a network there would be no page.
    if ((await isServed()) && !draft.isEnded && !wouldLose()) reload();
  });
  addEventListener('beforeunload', (event) => {
    if (wouldLose()) event.preventDefault();
  });
  let hiddenAt = 0;
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'hidden') {
      hiddenAt = Date.now();
      sendAtLast();
    } else if (hiddenAt > 0 && Date.now() - hiddenAt > staleAfterMs) void reloadIfStale();
  });

  return {
    /** Shows what was kept before, keeps what is entered from then on, and goes on with what was not sent. */
    async begin(): Promise<void> {
      const { draft: left, finished } = await draft.begin(persistence.keep);
      session.persistence = persistence;
      // Sent before it could be written. Where something was kept that was not shown, it is looked at first.
      if (finished === 'seen' || (finished && !left)) await finish();
      else if (left && (left.pending || left.isFinishing || left.revision > left.savedRevision)) await run();
    },
  };
}
