import { promisify } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import { deflateRaw, deflateRawSync, inflateRawSync, type ZlibOptions } from 'node:zlib';
import { type ActorRefFrom, createActor } from 'xstate';
import { type CompiledSurvey, compileSurvey } from '../domain/submission/answers.ts';
import { createFastSubmissionReader, type FastSubmissionReader } from '../domain/submission/fast-submission-reader.ts';
import type { SurveyWithQuestions } from '../domain/survey.ts';
import type { Metrics } from '../metrics.ts';
import { contextOf, stateOf, surveyMachine } from './survey-machine.ts';

/** A survey in the memory of this process: its actor, and what a submission is checked against. */
export interface CachedSurvey {
  actor: ActorRefFrom<typeof surveyMachine>;
  compiled: CompiledSurvey;
  readFast: FastSubmissionReader;
  survey: SurveyWithQuestions;
}

/** A survey in about a tenth of its memory. A string, since a buffer of zlib's keeps far more memory than its bytes. */
export type CompressedSurvey = string;

export function compressSurvey(survey: SurveyWithQuestions): CompressedSurvey {
  return deflateRawSync(serialize(survey), compression).toString('latin1');
}

/** The same as bytes, compressed in another thread. */
export const compressSurveyAside = (survey: SurveyWithQuestions): Promise<Buffer> =>
  deflateRawAside(serialize(survey), compression);

const deflateRawAside = promisify<Buffer, ZlibOptions, Buffer>(deflateRaw);
/** Higher levels hold the event loop twice as long for a twentieth of the bytes. */
const compression = { level: 1 };

export function decompressSurvey(compressed: CompressedSurvey): SurveyWithQuestions {
  return deserialize(inflateRawSync(Buffer.from(compressed, 'latin1'))) as SurveyWithQuestions;
}

export interface SurveyCacheOptions {
  now(): number;
  /** Must never step back, as the wall clock may. */
  monotonicMs(): number;
  metrics: Pick<Metrics, 'surveysCached'>;
  /** A stale survey was used; called at most once a second for each. */
  onStale(surveyId: string): void;
  /** The actor of a survey has reached the end time and closed. */
  onEnded(surveyId: string): void;
}

interface CacheEntry {
  /** Undefined while the survey is compressed, after 20 s without use. */
  cached: CachedSurvey | undefined;
  compressed: CompressedSurvey;
  revision: number;
  timer: NodeJS.Timeout | undefined;
  usedAtMs: number;
  /**
   * A notification may have been lost, or the survey is not from PostgreSQL. It is used, and read again in the
   * background.
   */
  isStale: boolean;
  reloadedAtMs: number;
}

const compressAfterMs = 20_000;
const evictAfterMs = 10 * 60_000;
const sweepMs = 1000;
/** Compressing one survey blocks the event loop for about 0.1 ms. */
const maxCompressedPerSweep = 20;
const unknownTtlMs = 1000;
const maxUnknown = 10_000;
/** Minimum time between two reloads of a stale survey. */
const reloadIntervalMs = 1000;
/** Timers ignore changes of the clock, so long waits are made in steps. */
const longestTimerMs = 5000;

/**
 * The surveys in the memory of this process, one actor each; compressed after 20 s without use and evicted after 10
 * min.
 */
export function createSurveyCache({ now, monotonicMs, metrics, onStale, onEnded }: SurveyCacheOptions) {
  const entries = new Map<string, CacheEntry>();
  /** Ids that PostgreSQL does not have, each with the time at which that expires. */
  const unknownUntil = new Map<string, number>();

  const use = (entry: CacheEntry): CachedSurvey => {
    entry.usedAtMs = monotonicMs();
    entry.cached ??= activate(decompressSurvey(entry.compressed), now());
    return entry.cached;
  };

  /** Wakes the actor at the next of its dates. */
  const armTimer = (entry: CacheEntry, dates: SurveyDates): void => {
    const next = nextDateOf(dates, now());
    if (next === undefined) return;
    const wake = () => {
      if (now() < next) return armTimer(entry, dates);
      const { actor } = use(entry);
      actor.send({ type: 'TIME_REACHED', nowMs: now() });
      armTimer(entry, dates);
      if (actor.getSnapshot().value === 'closed') onEnded(dates.id);
    };
    entry.timer = setTimeout(wake, Math.min(next - now(), longestTimerMs));
    entry.timer.unref();
  };

  /** Caches a survey as PostgreSQL has it, unless a later revision is cached. */
  const put = (survey: SurveyWithQuestions): CachedSurvey => {
    const known = entries.get(survey.id);
    if (known && known.revision > survey.revision) {
      known.isStale = false;
      return use(known);
    }
    if (known) stopEntry(known);
    const cached = activate(survey, now());
    const entry: CacheEntry = {
      cached,
      compressed: '',
      revision: survey.revision,
      timer: undefined,
      usedAtMs: monotonicMs(),
      isStale: false,
      reloadedAtMs: Number.NEGATIVE_INFINITY,
    };
    entries.set(survey.id, entry);
    unknownUntil.delete(survey.id);
    const { id, status, startsAt, endsAt } = survey;
    armTimer(entry, { id, status, startsAt, endsAt });
    metrics.surveysCached(entries.size);
    return cached;
  };

  const evict = (surveyId: string): void => {
    const entry = entries.get(surveyId);
    if (entry) stopEntry(entry);
    entries.delete(surveyId);
    metrics.surveysCached(entries.size);
  };

  /** Compresses surveys after 20 s without use, and evicts them after 10 min. */
  const sweep = (): void => {
    const nowMs = monotonicMs();
    let budget = maxCompressedPerSweep;
    for (const [surveyId, entry] of entries) {
      if (nowMs - entry.usedAtMs > evictAfterMs) evict(surveyId);
      else if (entry.cached && budget > 0 && nowMs - entry.usedAtMs > compressAfterMs) {
        compressEntry(entry, entry.cached);
        budget -= 1;
      }
    }
    for (const [surveyId, until] of unknownUntil) if (nowMs > until) unknownUntil.delete(surveyId);
  };
  const sweeper = setInterval(sweep, sweepMs);
  sweeper.unref();

  return {
    /** The survey if it is cached. */
    peek(surveyId: string): CachedSurvey | undefined {
      const entry = entries.get(surveyId);
      if (!entry) return undefined;
      const cached = use(entry);
      if (entry.isStale && entry.usedAtMs - entry.reloadedAtMs >= reloadIntervalMs) {
        entry.reloadedAtMs = entry.usedAtMs;
        onStale(surveyId);
      }
      return cached;
    },
    put,
    /**
     * Caches a survey that was not read from PostgreSQL, unless the same or a later revision is cached. It is stale in
     * any case.
     */
    putUnverified(survey: SurveyWithQuestions): CachedSurvey {
      const known = entries.get(survey.id);
      const cached = known && known.revision >= survey.revision ? use(known) : put(survey);
      const entry = entries.get(survey.id);
      if (entry) entry.isStale = true;
      return cached;
    },
    revisionOf: (surveyId: string): number | undefined => entries.get(surveyId)?.revision,
    evict,
    /** Remembers for a second that there is no such survey, so that PostgreSQL is not queried again. */
    markUnknown(surveyId: string): void {
      evict(surveyId);
      if (unknownUntil.size > maxUnknown) unknownUntil.clear();
      unknownUntil.set(surveyId, monotonicMs() + unknownTtlMs);
    },
    isUnknown: (surveyId: string): boolean => (unknownUntil.get(surveyId) ?? 0) > monotonicMs(),
    /** Marks every survey as stale after notifications may have been lost: each is read again at its next use. */
    markAllStale(): void {
      for (const entry of entries.values()) entry.isStale = true;
    },
    sweep,
    stop(): void {
      clearInterval(sweeper);
      for (const entry of entries.values()) stopEntry(entry);
      entries.clear();
    },
  };
}

export type SurveyCache = ReturnType<typeof createSurveyCache>;

function activate(survey: SurveyWithQuestions, nowMs: number): CachedSurvey {
  const context = contextOf(survey);
  const actor = createActor(surveyMachine, {
    input: context,
    snapshot: surveyMachine.resolveState({ value: stateOf(survey, nowMs), context }),
  }).start();
  const compiled = compileSurvey(survey);
  return { actor, compiled, readFast: createFastSubmissionReader(compiled), survey };
}

function compressEntry(entry: CacheEntry, { survey, actor }: CachedSurvey): void {
  entry.compressed = compressSurvey(survey);
  actor.stop();
  entry.cached = undefined;
}

function stopEntry(entry: CacheEntry): void {
  clearTimeout(entry.timer);
  entry.cached?.actor.stop();
}

type SurveyDates = Pick<SurveyWithQuestions, 'id' | 'status' | 'startsAt' | 'endsAt'>;

/** The next date after a moment at which an ACTIVE or PAUSED survey may change by itself, in Unix milliseconds. */
function nextDateOf({ status, startsAt, endsAt }: SurveyDates, nowMs: number): number | undefined {
  if (status === 'DRAFT' || status === 'CLOSED') return undefined;
  const dates = [startsAt, endsAt].flatMap((date) => (date && date.getTime() > nowMs ? [date.getTime()] : []));
  return dates.length === 0 ? undefined : Math.min(...dates);
}
