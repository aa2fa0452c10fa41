import { type ActorRefFrom, createActor } from 'xstate';
import { type CompiledSurvey, compileSurvey } from '../domain/submission/answers.ts';
import { createFastSubmissionReader, type FastSubmissionReader } from '../domain/submission/fast-submission-reader.ts';
import type { SurveyStatus, SurveyWithQuestions } from '../domain/survey.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { createSingleFlight } from '../platform/single-flight.ts';
import type { Audit } from '../stores/postgres/audit.ts';
import type { SurveyStore } from '../stores/postgres/surveys.ts';
import type { DefinitionStore } from '../stores/redis/intake/definitions.ts';
import { type AnnouncedSurvey, deletedRevision, type Intake } from '../stores/redis/intake/intake.ts';
import { createAnonymity } from './anonymity.ts';
import { type CompressedSurvey, compressSurvey, decompressSurvey } from './compressed-survey.ts';
import { createPostgresFallback, type PostgresFallback } from './postgres-fallback.ts';
import { createStoredDefinitions } from './stored-definitions.ts';
import { createSupersededVersionRepair } from './superseded-version.ts';
import { contextOf, type SurveyEvent, stateOf, surveyMachine } from './survey-machine.ts';
import { transitionSurvey, withQuotaRaised } from './survey-transitions.ts';

/** A survey held in memory by this process: its actor and what a submission is checked against. */
export interface CachedSurvey {
  actor: ActorRefFrom<typeof surveyMachine>;
  compiled: CompiledSurvey;
  readFast: FastSubmissionReader;
  survey: SurveyWithQuestions;
}

export interface SurveyActorsDeps {
  surveys: Pick<SurveyStore, 'load' | 'change'>;
  intake: Pick<Intake, 'announce' | 'restoreDeleted' | 'revision' | 'counts' | 'quotaFilledRevision' | 'markDeleted'>;
  /** Where definitions of open surveys are kept for when PostgreSQL is away; none are unless given. */
  definitions?: Pick<DefinitionStore, 'save' | 'remove' | 'find' | 'findMissing'>;
  whileAway?: PostgresFallback;
  /** Counts from the response store, for an intake that has forgotten a survey. */
  countResponses(surveyId: string): Promise<{ total: number; complete: number }>;
  /** Tells the other processes that a survey has a new revision. */
  broadcast(surveyId: string, revision: number): void;
  now(): number;
  /** Must never step back, as the wall clock may. */
  monotonicMs?(): number;
  audit: Pick<Audit, 'record'>;
  log: Log;
  metrics: Pick<Metrics, 'surveysCached'>;
}

interface CacheEntry {
  /** One of the two: at hand, or packed because nobody asked for it. */
  cached: CachedSurvey | undefined;
  compressed: CompressedSurvey;
  revision: number;
  timer: NodeJS.Timeout | undefined;
  usedAtMs: number;
  /** News of it may have been lost, or it is not from PostgreSQL: what is held is used, and read again meanwhile. */
  isStale?: boolean;
  reloadedAtMs?: number;
}

const compressAfterMs = 20_000;
const evictAfterMs = 10 * 60_000;
const sweepMs = 1000;
/** Packing one takes about a tenth of a millisecond, in which nothing else can be answered. */
const maxCompressedPerSweep = 20;
const unknownTtlMs = 1000;
/** Between two tries to read a survey again of which news may have been lost. */
const reloadIntervalMs = 1000;
/** Timers do not hear of it when the clock is set, so a date is reached in steps. */
const longestTimerMs = 5000;

const nowhere: NonNullable<SurveyActorsDeps['definitions']> = {
  save: async () => 'unchanged',
  remove: async () => undefined,
  find: async () => undefined,
  findMissing: async () => [],
};

/**
 * One actor a survey and process: looked up or started on first use, stopped when idle. The row in Postgres is the truth; an actor is
 * rebuilt from it whenever the intake or another process says that there is a newer revision.
 */
export function createSurveyActors(deps: SurveyActorsDeps) {
  const { monotonicMs = () => performance.now(), definitions = nowhere } = deps;
  const { whileAway = createPostgresFallback({ log: deps.log, monotonicMs }) } = deps;
  const stored = createStoredDefinitions({ definitions, log: deps.log });
  const entries = new Map<string, CacheEntry>();
  const unknownUntil = new Map<string, number>();

  const stop = (entry: CacheEntry) => {
    clearTimeout(entry.timer);
    entry.cached?.actor.stop();
  };

  const activate = (survey: SurveyWithQuestions): CachedSurvey => {
    const actor = createActor(surveyMachine, {
      input: contextOf(survey),
      snapshot: surveyMachine.resolveState({ value: stateOf(survey, deps.now()), context: contextOf(survey) }),
    }).start();
    const compiled = compileSurvey(survey);
    return { actor, compiled, readFast: createFastSubmissionReader(compiled), survey };
  };

  /** The survey in a slot, at hand. */
  const touch = (entry: CacheEntry): CachedSurvey => {
    entry.usedAtMs = monotonicMs();
    return (entry.cached ??= activate(decompressSurvey(entry.compressed)));
  };

  const compress = (entry: CacheEntry) => {
    if (!entry.cached) return;
    entry.compressed = compressSurvey(entry.cached.survey);
    entry.cached.actor.stop();
    entry.cached = undefined;
  };

  const put = (survey: SurveyWithQuestions): CachedSurvey => {
    const known = entries.get(survey.id);
    if (known && known.revision > survey.revision) {
      known.isStale = false;
      return touch(known);
    }
    if (known) stop(known);
    const cached = activate(survey);
    const entry: CacheEntry = {
      cached,
      compressed: '',
      revision: survey.revision,
      timer: undefined,
      usedAtMs: monotonicMs(),
    };
    entries.set(survey.id, entry);
    unknownUntil.delete(survey.id);
    armTimer(entry, survey);
    deps.metrics.surveysCached(entries.size);
    return cached;
  };

  /** A survey that was not read from PostgreSQL; what is held is used if it is as new. */
  const holdUnverified = (survey: SurveyWithQuestions): CachedSurvey => {
    const known = entries.get(survey.id);
    const cached = known && known.revision >= survey.revision ? touch(known) : put(survey);
    const entry = entries.get(survey.id);
    if (entry) entry.isStale = true;
    return cached;
  };

  const evict = (surveyId: string) => {
    const entry = entries.get(surveyId);
    if (entry) stop(entry);
    entries.delete(surveyId);
    deps.metrics.surveysCached(entries.size);
  };

  const armTimer = (entry: CacheEntry, survey: Pick<SurveyWithQuestions, 'id' | 'status' | 'startsAt' | 'endsAt'>) => {
    const now = deps.now();
    const next = [survey.startsAt?.getTime(), survey.endsAt?.getTime()]
      .filter((ms): ms is number => ms !== undefined && ms > now)
      .sort((a, b) => a - b)[0];
    if (next === undefined || survey.status === 'DRAFT' || survey.status === 'CLOSED') return;
    const { id, status, startsAt, endsAt } = survey;
    entry.timer = setTimeout(
      () => {
        if (deps.now() < next) return armTimer(entry, { id, status, startsAt, endsAt });
        const { actor } = touch(entry);
        actor.send({ type: 'TIME_REACHED', nowMs: deps.now() });
        armTimer(entry, { id, status, startsAt, endsAt });
        if (actor.getSnapshot().value !== 'closed') return;
        const logFailure = (error: unknown) =>
          deps.log.warn({ err: error, surveyId: id }, 'closing at the end time failed; the sweeper will');
        void applyEvent(id, { type: 'TIME_REACHED', nowMs: deps.now() }).catch(logFailure);
      },
      Math.min(next - now, longestTimerMs),
    );
    entry.timer.unref();
  };

  const load = async (surveyId: string): Promise<CachedSurvey | undefined> => {
    const survey = await deps.surveys.load(surveyId);
    if (survey) return put(survey);
    evict(surveyId);
    if (unknownUntil.size > 10_000) unknownUntil.clear();
    unknownUntil.set(surveyId, monotonicMs() + unknownTtlMs);
    return undefined;
  };

  const loads = createSingleFlight(load);
  /** Reads the row again. */
  const sync = loads.fresh;
  const recalls = createSingleFlight(async (surveyId: string): Promise<CachedSurvey | undefined> => {
    const survey = await stored.find(surveyId);
    return survey && holdUnverified(survey);
  });

  /** The survey if this process holds it. */
  const peek = (surveyId: string): CachedSurvey | undefined => {
    const entry = entries.get(surveyId);
    if (!entry) return undefined;
    const cached = touch(entry);
    if (entry.isStale === true && entry.usedAtMs - (entry.reloadedAtMs ?? -reloadIntervalMs) >= reloadIntervalMs) {
      entry.reloadedAtMs = entry.usedAtMs;
      whileAway.attempt(() => sync(surveyId));
    }
    return cached;
  };

  /** Counts are only asked for when the intake may not know the survey. */
  const factsOf = async (survey: SurveyWithQuestions): Promise<AnnouncedSurvey> => {
    const known = await deps.intake.counts(survey.id);
    const stored = known ? undefined : await deps.countResponses(survey.id);
    const counts = { total: known?.total ?? stored?.total ?? 0, completed: known?.completed ?? stored?.complete ?? 0 };
    return {
      surveyId: survey.id,
      revision: survey.revision,
      quota: survey.responseQuota,
      codePositions: survey.slotCounts.codes,
      ...counts,
    };
  };

  /** Writes the survey's present revision to the intake, and its definition if it is open. */
  const announce = async (survey: SurveyWithQuestions): Promise<void> => {
    const isNew = await deps.intake.announce(await factsOf(survey));
    await stored.keep(survey);
    if (isNew || !(await repairSuperseded(survey))) deps.broadcast(survey.id, survey.revision);
  };

  const repairSupersededVersion = createSupersededVersionRepair({ ...deps, factsOf });
  /** Whether the row was older than what the intake knows of it: a backup has been restored. All are told then of what it has become. */
  const repairSuperseded = async (row: Pick<SurveyWithQuestions, 'id' | 'revision'>): Promise<boolean> => {
    const repaired = await repairSupersededVersion(row);
    if (!repaired) return false;
    put(repaired);
    await announce(repaired);
    return true;
  };

  /** Saves a change, then tells this process, the intake and the others. A failed announcement is healed by the outbox. */
  const change = async (surveyId: string, decide: Parameters<SurveyStore['change']>[1]) => {
    const survey = await deps.surveys.change(surveyId, decide);
    put(survey);
    await announce(survey).catch((error: unknown) =>
      deps.log.warn({ err: error, surveyId }, 'a revision could not be announced; the outbox will'),
    );
    return survey;
  };

  const saveWithAnonymity = createAnonymity({ ...deps, change, announce });

  const applyEvent = async (
    surveyId: string,
    event: SurveyEvent,
    edit: (current: SurveyWithQuestions) => SurveyWithQuestions = (current) => current,
  ): Promise<SurveyWithQuestions> => {
    const counts = await deps.intake.counts(surveyId).catch(() => undefined);
    const filledAt =
      event.type === 'QUOTA_FILLED'
        ? await deps.intake.quotaFilledRevision(surveyId).catch(() => undefined)
        : undefined;
    const closed: { from: SurveyStatus | undefined } = { from: undefined };
    const saved = await saveWithAnonymity(surveyId, (current) => {
      closed.from = undefined;
      const given = edit(current);
      const isFull = given.responseQuota !== null && counts !== undefined && counts.completed >= given.responseQuota;
      const edited = withQuotaRaised(given, current, isFull || counts === undefined);
      // A response may have been deleted since: the last seat was taken all the same, and nobody has been let in under this revision after that.
      const wasFilled = filledAt === current.revision;
      if (event.type === 'QUOTA_FILLED' && counts !== undefined && !isFull && !wasFilled) return undefined;
      const nowMs = deps.now();
      const decidedEvent = event.type === 'SET_STATUS' ? { ...event, isFull } : event;
      // A quota that is lowered to what there is has been reached; one that was reached before has been told of.
      const isFilledByEdit =
        event.type === 'TIME_REACHED' &&
        counts !== undefined &&
        isFull &&
        (current.responseQuota === null || counts.completed < current.responseQuota);
      const completed = (wasFilled ? undefined : counts?.completed) ?? edited.responseQuota ?? 0;
      const result = transitionSurvey(
        edited,
        isFilledByEdit ? [decidedEvent, { type: 'QUOTA_FILLED' }] : [decidedEvent],
        { nowMs, completed },
      );
      if (!result.isChanged && edited === current) return undefined;
      if (result.isChanged && result.survey.status === 'CLOSED' && result.survey.closedReason !== 'MANUAL')
        closed.from = current.status;
      return {
        survey: result.survey,
        isWordingChanged: edited.title !== current.title || edited.description !== current.description,
        events: result.events,
      };
    });
    if (closed.from !== undefined) {
      const details = { status: { from: closed.from, to: saved.status }, reason: saved.closedReason };
      await deps.audit.record({
        actor: null,
        action: 'survey.closed',
        objectKind: 'survey',
        objectId: surveyId,
        details,
      });
    }
    return saved;
  };

  /** Closes a survey whose last seat was taken just before the intake heard of its quota: it could not know that this was the last. */
  const closeIfFull = async (survey: SurveyWithQuestions): Promise<SurveyWithQuestions> => {
    const { id, responseQuota, status } = survey;
    if (responseQuota === null || status !== 'ACTIVE') return survey;
    const counts = await deps.intake.counts(id);
    return counts && counts.completed >= responseQuota ? applyEvent(id, { type: 'QUOTA_FILLED' }) : survey;
  };

  /** What somebody asked for has been saved by then: should the rest fail, the outbox does it. */
  const applyEventAndClose = async (...args: Parameters<typeof applyEvent>): Promise<SurveyWithQuestions> => {
    const saved = await applyEvent(...args);
    return closeIfFull(saved).catch((error: unknown) => {
      deps.log.warn(
        { err: error, surveyId: saved.id },
        'whether a changed survey is full could not be seen; the outbox will look',
      );
      return saved;
    });
  };

  /** Packs what nobody asks for at the moment, and lets go of what nobody has asked for in a long time. */
  const sweep = () => {
    const now = monotonicMs();
    let budget = maxCompressedPerSweep;
    for (const [surveyId, entry] of entries) {
      if (now - entry.usedAtMs > evictAfterMs) evict(surveyId);
      else if (entry.cached && budget > 0 && now - entry.usedAtMs > compressAfterMs) {
        compress(entry);
        budget -= 1;
      }
    }
    for (const [surveyId, until] of unknownUntil) if (now > until) unknownUntil.delete(surveyId);
  };
  const sweeper = setInterval(sweep, sweepMs);
  sweeper.unref();

  return {
    /** The survey's actor if this process holds it. */
    peek,
    /** The survey's actor, started if need be; undefined when there is no such survey. */
    lookUp: async (surveyId: string): Promise<CachedSurvey | undefined> => {
      const cached = peek(surveyId);
      if (cached) return cached;
      if ((unknownUntil.get(surveyId) ?? 0) > monotonicMs()) return undefined;
      return whileAway.ask(
        () => loads.shared(surveyId),
        () => recalls.shared(surveyId),
      );
    },
    /** Reads the row again. Throws SERVICE_UNAVAILABLE while PostgreSQL is away. */
    sync,
    /** Reads the survey again: while PostgreSQL is away, from its stored definition. */
    renew: (surveyId: string): Promise<CachedSurvey | undefined> =>
      whileAway.ask(
        () => sync(surveyId),
        () => recalls.fresh(surveyId),
      ),
    announce,
    repairSuperseded: repairSuperseded,
    change,
    sweep,
    /** A newly created survey: held, and made known to the intake. */
    add: async (survey: SurveyWithQuestions): Promise<void> => {
      put(survey);
      await announce(survey).catch((error: unknown) =>
        deps.log.warn(
          { err: error, surveyId: survey.id },
          'a new survey could not be announced; its first submission will',
        ),
      );
    },
    /** Another process says that there is a newer revision. */
    onRevisionPublished: (surveyId: string, revision: number): void => {
      const entry = entries.get(surveyId);
      // What is being read at the moment may be of before.
      if (loads.isLoading(surveyId) || (entry && entry.revision < revision))
        void sync(surveyId).catch(() => evict(surveyId));
    },
    /** News may have been lost: every survey is read again when it is asked for next. */
    markAllStale: (): void => {
      for (const entry of entries.values()) entry.isStale = true;
    },
    evict: evict,
    setStatus: (
      surveyId: string,
      status: SurveyStatus,
      by: 'update' | 'publish',
      edit?: (current: SurveyWithQuestions) => SurveyWithQuestions,
    ) => applyEventAndClose(surveyId, { type: 'SET_STATUS', status, by, isFull: false, nowMs: deps.now() }, edit),
    /** Changes fields beside the status; a new end time may close the survey at once. */
    edit: (surveyId: string, edit: (current: SurveyWithQuestions) => SurveyWithQuestions) =>
      applyEventAndClose(surveyId, { type: 'TIME_REACHED', nowMs: deps.now() }, edit),
    /** The survey is gone from the control plane: nobody may submit from now on. */
    remove: async (surveyId: string): Promise<void> => {
      evict(surveyId);
      const logFailure = (error: unknown) =>
        deps.log.warn({ err: error, surveyId }, 'a deletion could not be announced; the outbox will');
      await Promise.all([deps.intake.markDeleted(surveyId), definitions.remove(surveyId, deletedRevision)]).catch(
        logFailure,
      );
      deps.broadcast(surveyId, Number.MAX_SAFE_INTEGER);
    },
    timeReached: (surveyId: string) => applyEvent(surveyId, { type: 'TIME_REACHED', nowMs: deps.now() }),
    closeIfFull,
    quotaFilled: (surveyId: string) => applyEvent(surveyId, { type: 'QUOTA_FILLED' }),
    stop: (): void => {
      clearInterval(sweeper);
      for (const entry of entries.values()) stop(entry);
      entries.clear();
    },
  };
}

export type SurveyActors = ReturnType<typeof createSurveyActors>;
