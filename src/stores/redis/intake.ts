import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { assetPath } from '../../assets.ts';
import { Problem, unavailable } from '../../errors.ts';
import { isOwnResponseId } from '../../ids.ts';
import type { Metrics } from '../../metrics.ts';
import { encodeBatch, momentOf, momentText, type AppendCall, type Waiting } from './append-call.ts';
import type { AppendCode, Appendix, AppendResult } from './appendix.ts';
import type { Pressure } from './pressure.ts';
import { answersKey, responseKey, surveyKey, type Shard, type Shards } from './shards.ts';

/** A response's state in the intake, as a later submission needs it. */
export interface ResponseState {
  /** −1: it was deleted. */
  seen: number;
  isDone: boolean;
  surveyId: string;
  /** NaN where the state does not say it: of what was deleted. */
  submittedAtMs: number;
  /** What was saved of it; '' once that is only in the response store. */
  data: string;
}

/** A response to be deleted, and its tombstone. */
export interface Removal {
  surveyId: string;
  responseId: string;
  submittedAtMs: number;
  isComplete: boolean;
  row: string;
}

export interface SurveyFacts {
  surveyId: string;
  revision: number;
  quota: number | null;
  codePositions: number;
  total: number;
  completed: number;
}

/** In force for a deleted survey: none that a process may hold. */
export const closedRevision = Number.MAX_SAFE_INTEGER;
const limitWindowMs = 60_000;
/** How long keys and ids are remembered: the contract asks for 24 h at least. Whatever is older is the response store's to know. */
const memorySeconds = 48 * 3600;
/** How long a deletion is remembered that the response store knows of too, once it has come there: longer than that store is away. */
const deletionSeconds = 6 * 3600;
/** How long the answers of open responses are at hand: until they are in the response store, and for who goes from page to page of a survey. */
const answersSeconds = { usual: 900, whenFull: 60 };
const largestBatch = 1000;
const keysAtOnce = 1000;
/** Of the rows of a batch, which become one entry of the stream: it is read and stored as a whole. */
const largestBatchChars = 4 * 1024 * 1024;

export interface IntakeDeps {
  redis: Redis;
  shards: Shards;
  metrics: Pick<Metrics, 'committed' | 'submitted'>;
  room?: IntakeMemory;
}

/** How much memory there is. */
export type IntakeMemory = Pick<Pressure, 'hasRoom' | 'pendingAtMost' | 'portionBytes'>;

const roomy: IntakeMemory = { hasRoom: () => true, pendingAtMost: () => undefined, portionBytes: () => 16 * 1024 * 1024 };

/** A survey that is held back. */
export interface Hold {
  /** In force when it began; undefined where the intake knows of none. */
  revision: number | undefined;
  letOn(): Promise<void>;
}

type IntakeRedis = Redis & {
  appendBatch(stream: string, ...args: (string | number)[]): Promise<string[]>;
  announceSurvey(key: string, ...args: (string | number)[]): Promise<number>;
  removeResponse(stream: string, ...args: (string | number)[]): Promise<number>;
  holdSurvey(key: string, forMs: number, token: string): Promise<string[]>;
  letSurveyOn(key: string, held: string): Promise<number>;
};

const script = (name: string): string => readFileSync(assetPath(`src/stores/redis/scripts/${name}.lua`), 'utf8');

/**
 * The door to the durable stream. All submissions of a tick travel in one atomic script a shard, and Redis syncs them to disk before it
 * answers (`appendfsync always`), so the cost of a sync is shared. A failure of any kind is SERVICE_UNAVAILABLE: the submission may or
 * may not be stored, and a repeat with the same key finds out.
 */
export function createIntake({ redis: plain, shards, metrics, room = roomy }: IntakeDeps) {
  const redis = plain as IntakeRedis;
  redis.defineCommand('appendBatch', { numberOfKeys: 1, lua: script('append') });
  redis.defineCommand('announceSurvey', { numberOfKeys: 1, lua: script('announce') });
  redis.defineCommand('holdSurvey', { numberOfKeys: 1, lua: script('hold') });
  redis.defineCommand('letSurveyOn', { numberOfKeys: 1, lua: script('let-on') });
  redis.defineCommand('removeResponse', { numberOfKeys: 1, lua: script('remove') });
  const announce = async ({ surveyId, revision, quota, codePositions, total, completed }: SurveyFacts, overruled: number | ''): Promise<boolean> =>
    (await guarded(redis.announceSurvey(surveyKey(shards.of(surveyId), surveyId), revision, quota ?? '', codePositions, total, completed, overruled))) === 1;
  const lanes = shards.all.map((shard) => createLane(redis, shard, { metrics, room }));
  return {
    append: (appendix: Appendix): Promise<AppendResult> => {
      const lane = lanes[shards.of(appendix.surveyId).index];
      if (!lane) throw new Error('no lane for shard');
      return lane(appendix);
    },

    /** The state of a response that may be continued. */
    state: (responseId: string): Promise<ResponseState | undefined> => guarded(readState(redis, responseId)),

    /** Tells the intake a survey's present revision and quota; older news are ignored. */
    announce: (facts: SurveyFacts): Promise<boolean> => announce(facts, ''),

    /** The same for a survey that was deleted, of which the database has an earlier time again. */
    reopen: (facts: SurveyFacts): Promise<boolean> => announce(facts, closedRevision),

    /** The revision in force; undefined when the intake does not know the survey. */
    revision: async (surveyId: string): Promise<number | undefined> => {
      const revision = await guarded(redis.hget(surveyKey(shards.of(surveyId), surveyId), 'rev'));
      return revision === null ? undefined : Number(revision);
    },

    /** Whether the survey has been deleted. */
    isClosed: async (surveyId: string): Promise<boolean> => Number(await guarded(redis.hget(surveyKey(shards.of(surveyId), surveyId), 'rev'))) === closedRevision,

    /**
     * Keeps submissions to a survey from being accepted for so long at most: until a newer revision is announced, or it is let on. They are
     * told so, and wait. What was accepted before can then be looked at for good. One at a time holds a survey back: undefined while another does.
     */
    holdBack: async (surveyId: string, forMs: number): Promise<Hold | undefined> => {
      const key = surveyKey(shards.of(surveyId), surveyId);
      const [held, revision = ''] = await guarded(redis.holdSurvey(key, forMs, String(randomInt(1_000_000))));
      return held === undefined ? undefined : { revision: revision === '' ? undefined : Number(revision), letOn: async () => void (await guarded(redis.letSurveyOn(key, held))) };
    },

    /** Whether somebody holds the survey back right now, by the clock of the intake. */
    isHeld: async (surveyId: string): Promise<boolean> => {
      const results = (await guarded(redis.multi().hget(surveyKey(shards.of(surveyId), surveyId), 'held').time().exec())) ?? [];
      const failed = results.find(([error]) => error)?.[0];
      if (failed) throw unavailable('Responses cannot be stored durably right now', 2, failed);
      const [held, time] = results.map(([, result]) => result) as [string | null, [string, string]];
      return held !== null && Number(held) > Number(time[0]) * 1000 + Number(time[1]) / 1000;
    },

    /** Exact counts of accepted responses; undefined when the intake does not know the survey. */
    counts: async (surveyId: string): Promise<{ total: number; completed: number } | undefined> => {
      const [total, completed] = await guarded(redis.hmget(surveyKey(shards.of(surveyId), surveyId), 'total', 'completed'));
      return typeof total === 'string' ? { total: Number(total), completed: Number(completed) } : undefined;
    },

    /** The revision under which the survey's quota was filled, if it was: seats that were given back since make no difference to that. */
    filledAt: async (surveyId: string): Promise<number | undefined> => {
      const [revision, isFilled] = await guarded(redis.hmget(surveyKey(shards.of(surveyId), surveyId), 'rev', 'filled'));
      return isFilled === '1' ? Number(revision) : undefined;
    },

    /** Appends a response's tombstone; false when it was deleted before. */
    remove: async ({ surveyId, responseId, submittedAtMs, isComplete, row }: Removal): Promise<boolean> => {
      const shard = shards.of(surveyId);
      const [deletionKept, idKept] = isOwnResponseId(responseId) ? [deletionSeconds, 0] : [memorySeconds, memorySeconds];
      const moment = [submittedAtMs, new Date(submittedAtMs).toISOString()];
      const removed = await guarded(redis.removeResponse(shard.stream, shard.prefix, surveyId, responseId, isComplete ? '1' : '0', row, ...moment, deletionKept, idKept, momentText(submittedAtMs)));
      if (removed < 0) throw ofNewerForm();
      return removed === 1;
    },

    /** Forgets what is kept of responses so that they can go on. */
    forgetResponses: async (responseIds: readonly string[]): Promise<void> => {
      const keys = responseIds.flatMap((id) => [responseKey(id), answersKey(id)]);
      for (let from = 0; from < keys.length; from += keysAtOnce) await guarded(redis.unlink(...keys.slice(from, from + keysAtOnce)));
    },

    /** No submission is current any more: the survey has been deleted. Its counts go with `forget`. */
    close: async (surveyId: string): Promise<void> => {
      const key = surveyKey(shards.of(surveyId), surveyId);
      await guarded(redis.hset(key, 'rev', closedRevision));
    },

    /** Nothing is left of a deleted survey but, for a while, that no revision of it is in force: somebody may not have heard of its end. */
    forget: async (surveyId: string): Promise<void> => {
      const key = surveyKey(shards.of(surveyId), surveyId);
      await guarded(redis.multi().del(key).hset(key, 'rev', closedRevision).expire(key, memorySeconds).exec());
    },
  };
}

export type Intake = ReturnType<typeof createIntake>;

/** The fields and the answers as they were at one moment: others may be continuing the response. */
async function readState(redis: Redis, responseId: string): Promise<ResponseState | undefined> {
  const results = (await redis.multi().hmget(responseKey(responseId), 'n', 'done', 'survey', 'reply', 'data', 'v', 'at').get(answersKey(responseId)).exec()) ?? [];
  const failed = results.find(([error]) => error)?.[0];
  if (failed) throw failed;
  const [fields, answers] = results.map(([, result]) => result) as [(string | null)[], string | null];
  const [seen, done, survey, reply, former, form, at] = fields;
  if (typeof form === 'string' && form !== '1') throw ofNewerForm();
  if (typeof seen !== 'string') return undefined;
  const isOfThisVersion = answers?.startsWith(`${seen}:`) ?? false;
  return {
    seen: Number(seen), isDone: done === '1', surveyId: survey ?? '', submittedAtMs: at ? momentOf(at) : Date.parse(/"submittedAt":"([^"]*)"/.exec(reply ?? '')?.[1] ?? ''),
    // A former version kept the answers among the fields.
    data: former || (isOfThisVersion ? (answers?.slice(seen.length + 1) ?? '') : ''),
  };
}

/** While a newer version takes over, that one knows. */
export const ofNewerForm = (): Problem => unavailable('Only a newer version of the service knows what is kept of this response', 10);

async function guarded<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof Problem ? error : unavailable('Responses cannot be stored durably right now', 2, error);
  }
}

/** How many of those who wait travel together: the first, and after it as many as the bounds allow. */
function fitting(waiting: readonly Waiting[]): number {
  let [count, chars] = [0, 0];
  for (const { appendix } of waiting) {
    chars += appendix.row.length;
    if (count === largestBatch || (count > 0 && chars > largestBatchChars)) break;
    count += 1;
  }
  return count;
}

/** One shard's queue: while a batch is on its way, later submissions gather for the next. */
function createLane(redis: IntakeRedis, shard: Shard, { metrics, room }: Required<Pick<IntakeDeps, 'metrics' | 'room'>>) {
  const waiting: Waiting[] = [];
  let isBusy = false;
  let isScheduled = false;

  const flush = () => {
    isScheduled = false;
    if (isBusy || waiting.length === 0) return;
    isBusy = true;
    void send(waiting.splice(0, fitting(waiting)));
  };

  const goOn = () => {
    isBusy = false;
    flush();
  };

  // After these a submission is tried again: only what it meets at last counts.
  const tell = (code: AppendCode, count: number) => {
    if (count > 0 && code !== 'STALE' && code !== 'HELD' && code !== 'UNKNOWN' && code !== 'CHANGED' && code !== 'LOOKUP') metrics.submitted(code, count);
  };

  const refuse = (items: readonly Waiting[], error: unknown) => {
    const problem = unavailable('Responses cannot be stored durably right now', 2, error);
    for (const item of items) item.reject(problem);
  };

  const send = async (batch: Waiting[]): Promise<void> => {
    const startedAt = performance.now();
    let call: AppendCall;
    let results: string[];
    try {
      call = encodeBatch(batch);
      const answersTtl = room.hasRoom() ? answersSeconds.usual : answersSeconds.whenFull;
      results = await redis.appendBatch(
        shard.stream, shard.prefix, limitWindowMs, memorySeconds, answersTtl, Math.floor(room.pendingAtMost() ?? -1), Math.floor(room.portionBytes()), ...call.fields,
      );
    } catch (error) {
      // Those who waited for this batch have waited as long as it took to fail, and the next would fail too.
      refuse([...batch, ...waiting.splice(0)], error);
      return goOn();
    }
    const tookSeconds = (performance.now() - startedAt) / 1000;
    // The next batch leaves first: the store works on it while this one's callers are answered.
    goOn();
    try {
      call.settle(results, tell);
      metrics.committed(batch.length, tookSeconds);
    } catch (error) {
      refuse(batch, error);
    }
  };

  return (appendix: Appendix): Promise<AppendResult> =>
    new Promise((resolve, reject) => {
      waiting.push({ appendix, resolve, reject });
      if (isScheduled) return;
      isScheduled = true;
      setImmediate(flush);
    });
}
