import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { Problem, unavailable } from '../../../errors.ts';
import type { Metrics } from '../../../metrics.ts';
import { assetPath } from '../../../platform/assets.ts';
import { isServerGeneratedId } from '../../../platform/ids.ts';
import {
  decodeMoment,
  type EncodedBatch,
  encodeBatch,
  encodeMoment,
  type QueuedSubmission,
} from './append-protocol.ts';
import type { MemoryPressure } from './memory-pressure.ts';
import { answersKey, responseKey, type Shard, type Shards, surveyKey } from './shards.ts';
import type { AppendCode, AppendResult, IntakeSubmission } from './submission.ts';

/** A response's state in the intake, as a later submission needs it. */
export interface ResponseState {
  /** −1: it was deleted. */
  version: number;
  isComplete: boolean;
  surveyId: string;
  /** NaN where the state does not say it: of what was deleted. */
  submittedAtMs: number;
  /** What was saved of it; '' once that is only in the response store. */
  savedState: string;
}

/** A response to be deleted, and its tombstone. */
export interface ResponseDeletion {
  surveyId: string;
  responseId: string;
  submittedAtMs: number;
  isComplete: boolean;
  row: string;
}

export interface AnnouncedSurvey {
  surveyId: string;
  revision: number;
  quota: number | null;
  codePositions: number;
  total: number;
  completed: number;
}

/** In force for a deleted survey: none that a process may hold. */
export const deletedRevision = Number.MAX_SAFE_INTEGER;
const limitWindowMs = 60_000;
/** How long keys and ids are remembered: the contract asks for 24 h at least. Whatever is older is the response store's to know. */
const idempotencyTtlSeconds = 48 * 3600;
/** How long a deletion is remembered that the response store knows of too, once it has come there: longer than that store is away. */
const tombstoneTtlSeconds = 6 * 3600;
/** How long the answers of open responses are at hand: until they are in the response store, and for who goes from page to page of a survey. */
const answersTtlSeconds = { usual: 900, whenFull: 60 };
const maxBatchSubmissions = 1000;
const unlinkBatchSize = 1000;
/** Of the rows of a batch, which become one entry of the stream: it is read and stored as a whole. */
const maxBatchCharacters = 4 * 1024 * 1024;

export interface IntakeDeps {
  redis: Redis;
  shards: Shards;
  metrics: Pick<Metrics, 'committed' | 'submitted'>;
  memory?: IntakeMemory;
}

/** How much memory there is. */
export type IntakeMemory = Pick<MemoryPressure, 'hasSpareMemory' | 'maxPendingBytesPerSurvey' | 'sliceBytes'>;

const unlimitedMemory: IntakeMemory = {
  hasSpareMemory: () => true,
  maxPendingBytesPerSurvey: () => undefined,
  sliceBytes: () => 16 * 1024 * 1024,
};

/** A survey that is held back. */
export interface SurveyFreeze {
  /** In force when it began; undefined where the intake knows of none. */
  revision: number | undefined;
  release(): Promise<void>;
}

type IntakeRedis = Redis & {
  appendBatch(stream: string, ...args: (string | number)[]): Promise<string[]>;
  announceSurvey(key: string, ...args: (string | number)[]): Promise<number>;
  deleteResponse(stream: string, ...args: (string | number)[]): Promise<number>;
  freezeSurvey(key: string, forMs: number, token: string): Promise<string[]>;
  releaseSurvey(key: string, held: string): Promise<number>;
};

const script = (name: string): string => readFileSync(assetPath(`src/stores/redis/intake/${name}.lua`), 'utf8');

/**
 * The door to the durable stream. All submissions of a tick travel in one atomic script a shard, and Redis syncs them to disk before it
 * answers (`appendfsync always`), so the cost of a sync is shared. A failure of any kind is SERVICE_UNAVAILABLE: the submission may or
 * may not be stored, and a repeat with the same key finds out.
 */
export function createIntake({ redis: plain, shards, metrics, memory = unlimitedMemory }: IntakeDeps) {
  const redis = plain as IntakeRedis;
  redis.defineCommand('appendBatch', { numberOfKeys: 1, lua: script('append') });
  redis.defineCommand('announceSurvey', { numberOfKeys: 1, lua: script('announce-survey') });
  redis.defineCommand('freezeSurvey', { numberOfKeys: 1, lua: script('freeze-survey') });
  redis.defineCommand('releaseSurvey', { numberOfKeys: 1, lua: script('release-survey') });
  redis.defineCommand('deleteResponse', { numberOfKeys: 1, lua: script('delete-response') });
  const announce = async (
    { surveyId, revision, quota, codePositions, total, completed }: AnnouncedSurvey,
    overruledRevision: number | '',
  ): Promise<boolean> =>
    (await orUnavailable(
      redis.announceSurvey(
        surveyKey(shards.of(surveyId), surveyId),
        revision,
        quota ?? '',
        codePositions,
        total,
        completed,
        overruledRevision,
      ),
    )) === 1;
  const queues = shards.all.map((shard) => createShardQueue(redis, shard, { metrics, memory }));
  return {
    append: (submission: IntakeSubmission): Promise<AppendResult> => {
      const queue = queues[shards.of(submission.surveyId).index];
      if (!queue) throw new Error('no queue for shard');
      return queue(submission);
    },

    /** The state of a response that may be continued. */
    state: (responseId: string): Promise<ResponseState | undefined> => orUnavailable(readState(redis, responseId)),

    /** Tells the intake a survey's present revision and quota; older news are ignored. */
    announce: (facts: AnnouncedSurvey): Promise<boolean> => announce(facts, ''),

    /** The same for a survey that was deleted, of which the database has an earlier time again. */
    restoreDeleted: (facts: AnnouncedSurvey): Promise<boolean> => announce(facts, deletedRevision),

    /** The revision in force; undefined when the intake does not know the survey. */
    revision: async (surveyId: string): Promise<number | undefined> => {
      const revision = await orUnavailable(redis.hget(surveyKey(shards.of(surveyId), surveyId), 'rev'));
      return revision === null ? undefined : Number(revision);
    },

    /** Whether the survey has been deleted. */
    isDeleted: async (surveyId: string): Promise<boolean> =>
      Number(await orUnavailable(redis.hget(surveyKey(shards.of(surveyId), surveyId), 'rev'))) === deletedRevision,

    /**
     * Keeps submissions to a survey from being accepted for so long at most: until a newer revision is announced, or it is let on. They are
     * told so, and wait. What was accepted before can then be looked at for good. One at a time holds a survey back: undefined while another does.
     */
    freeze: async (surveyId: string, forMs: number): Promise<SurveyFreeze | undefined> => {
      const key = surveyKey(shards.of(surveyId), surveyId);
      const [freezeToken, revision = ''] = await orUnavailable(
        redis.freezeSurvey(key, forMs, String(randomInt(1_000_000))),
      );
      return freezeToken === undefined
        ? undefined
        : {
            revision: revision === '' ? undefined : Number(revision),
            release: async () => void (await orUnavailable(redis.releaseSurvey(key, freezeToken))),
          };
    },

    /** Whether somebody holds the survey back right now, by the clock of the intake. */
    isFrozen: async (surveyId: string): Promise<boolean> => {
      const results =
        (await orUnavailable(
          redis
            .multi()
            .hget(surveyKey(shards.of(surveyId), surveyId), 'held')
            .time()
            .exec(),
        )) ?? [];
      const failed = results.find(([error]) => error)?.[0];
      if (failed) throw unavailable('Responses cannot be stored durably right now', 2, failed);
      const [freezeToken, time] = results.map(([, result]) => result) as [string | null, [string, string]];
      return freezeToken !== null && Number(freezeToken) > Number(time[0]) * 1000 + Number(time[1]) / 1000;
    },

    /** Exact counts of accepted responses; undefined when the intake does not know the survey. */
    counts: async (surveyId: string): Promise<{ total: number; completed: number } | undefined> => {
      const [total, completed] = await orUnavailable(
        redis.hmget(surveyKey(shards.of(surveyId), surveyId), 'total', 'completed'),
      );
      return typeof total === 'string' ? { total: Number(total), completed: Number(completed) } : undefined;
    },

    /** The revision under which the survey's quota was filled, if it was: seats that were given back since make no difference to that. */
    quotaFilledRevision: async (surveyId: string): Promise<number | undefined> => {
      const [revision, isFilled] = await orUnavailable(
        redis.hmget(surveyKey(shards.of(surveyId), surveyId), 'rev', 'filled'),
      );
      return isFilled === '1' ? Number(revision) : undefined;
    },

    /** Appends a response's tombstone; false when it was deleted before. */
    deleteResponse: async ({
      surveyId,
      responseId,
      submittedAtMs,
      isComplete,
      row,
    }: ResponseDeletion): Promise<boolean> => {
      const shard = shards.of(surveyId);
      const [deletionKept, idKept] = isServerGeneratedId(responseId)
        ? [tombstoneTtlSeconds, 0]
        : [idempotencyTtlSeconds, idempotencyTtlSeconds];
      const moment = [submittedAtMs, new Date(submittedAtMs).toISOString()];
      const removed = await orUnavailable(
        redis.deleteResponse(
          shard.stream,
          shard.prefix,
          surveyId,
          responseId,
          isComplete ? '1' : '0',
          row,
          ...moment,
          deletionKept,
          idKept,
          encodeMoment(submittedAtMs),
        ),
      );
      if (removed < 0) throw newerFormatProblem();
      return removed === 1;
    },

    /** Forgets what is kept of responses so that they can go on. */
    removeResponseStates: async (responseIds: readonly string[]): Promise<void> => {
      const keys = responseIds.flatMap((id) => [responseKey(id), answersKey(id)]);
      for (let from = 0; from < keys.length; from += unlinkBatchSize)
        await orUnavailable(redis.unlink(...keys.slice(from, from + unlinkBatchSize)));
    },

    /** No submission is current any more: the survey has been deleted. Its counts go with `forget`. */
    markDeleted: async (surveyId: string): Promise<void> => {
      const key = surveyKey(shards.of(surveyId), surveyId);
      await orUnavailable(redis.hset(key, 'rev', deletedRevision));
    },

    /** Nothing is left of a deleted survey but, for a while, that no revision of it is in force: somebody may not have heard of its end. */
    removeSurvey: async (surveyId: string): Promise<void> => {
      const key = surveyKey(shards.of(surveyId), surveyId);
      await orUnavailable(
        redis.multi().del(key).hset(key, 'rev', deletedRevision).expire(key, idempotencyTtlSeconds).exec(),
      );
    },
  };
}

export type Intake = ReturnType<typeof createIntake>;

/** The fields and the answers as they were at one moment: others may be continuing the response. */
async function readState(redis: Redis, responseId: string): Promise<ResponseState | undefined> {
  const results =
    (await redis
      .multi()
      .hmget(responseKey(responseId), 'n', 'done', 'survey', 'reply', 'data', 'v', 'at')
      .get(answersKey(responseId))
      .exec()) ?? [];
  const failed = results.find(([error]) => error)?.[0];
  if (failed) throw failed;
  const [fields, answers] = results.map(([, result]) => result) as [(string | null)[], string | null];
  const [version, done, survey, reply, legacyData, format, at] = fields;
  if (typeof format === 'string' && format !== '1') throw newerFormatProblem();
  if (typeof version !== 'string') return undefined;
  const isOfThisVersion = answers?.startsWith(`${version}:`) ?? false;
  return {
    version: Number(version),
    isComplete: done === '1',
    surveyId: survey ?? '',
    submittedAtMs: at ? decodeMoment(at) : Date.parse(/"submittedAt":"([^"]*)"/.exec(reply ?? '')?.[1] ?? ''),
    // A former version kept the answers among the fields.
    savedState: legacyData || (isOfThisVersion ? (answers?.slice(version.length + 1) ?? '') : ''),
  };
}

/** During an upgrade a process of the newer version can serve the call. */
export const newerFormat = {
  message: 'This response was saved by a newer version of the service',
  retryAfterSeconds: 10,
} as const;
const newerFormatProblem = (): Problem => unavailable(newerFormat.message, newerFormat.retryAfterSeconds);

async function orUnavailable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof Problem ? error : unavailable('Responses cannot be stored durably right now', 2, error);
  }
}

/** How many of those who wait travel together: the first, and after it as many as the bounds allow. */
function batchSize(waiting: readonly QueuedSubmission[]): number {
  let [count, chars] = [0, 0];
  for (const { submission } of waiting) {
    chars += submission.row.length;
    if (count === maxBatchSubmissions || (count > 0 && chars > maxBatchCharacters)) break;
    count += 1;
  }
  return count;
}

/** One shard's queue: while a batch is on its way, later submissions gather for the next. */
function createShardQueue(
  redis: IntakeRedis,
  shard: Shard,
  { metrics, memory }: Required<Pick<IntakeDeps, 'metrics' | 'memory'>>,
) {
  const waiting: QueuedSubmission[] = [];
  let isBusy = false;
  let isScheduled = false;

  const flush = () => {
    isScheduled = false;
    if (isBusy || waiting.length === 0) return;
    isBusy = true;
    void send(waiting.splice(0, batchSize(waiting)));
  };

  const sendNext = () => {
    isBusy = false;
    flush();
  };

  // After these a submission is tried again: only what it meets at last counts.
  const report = (code: AppendCode, count: number) => {
    if (
      count > 0 &&
      code !== 'STALE' &&
      code !== 'FROZEN' &&
      code !== 'UNKNOWN' &&
      code !== 'CHANGED' &&
      code !== 'LOOKUP'
    )
      metrics.submitted(code, count);
  };

  const rejectAll = (items: readonly QueuedSubmission[], error: unknown) => {
    const problem = unavailable('Responses cannot be stored durably right now', 2, error);
    for (const item of items) item.reject(problem);
  };

  const send = async (batch: QueuedSubmission[]): Promise<void> => {
    const startedAt = performance.now();
    let call: EncodedBatch;
    let results: string[];
    try {
      call = encodeBatch(batch);
      const answersTtl = memory.hasSpareMemory() ? answersTtlSeconds.usual : answersTtlSeconds.whenFull;
      results = await redis.appendBatch(
        shard.stream,
        shard.prefix,
        limitWindowMs,
        idempotencyTtlSeconds,
        answersTtl,
        Math.floor(memory.maxPendingBytesPerSurvey() ?? -1),
        Math.floor(memory.sliceBytes()),
        ...call.fields,
      );
    } catch (error) {
      // Those who waited for this batch have waited as long as it took to fail, and the next would fail too.
      rejectAll([...batch, ...waiting.splice(0)], error);
      return sendNext();
    }
    const tookSeconds = (performance.now() - startedAt) / 1000;
    // The next batch leaves first: the store works on it while this one's callers are answered.
    sendNext();
    try {
      call.resolveAll(results, report);
      metrics.committed(batch.length, tookSeconds);
    } catch (error) {
      rejectAll(batch, error);
    }
  };

  return (submission: IntakeSubmission): Promise<AppendResult> =>
    new Promise((resolve, reject) => {
      waiting.push({ submission, resolve, reject });
      if (isScheduled) return;
      isScheduled = true;
      setImmediate(flush);
    });
}
