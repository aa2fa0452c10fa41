import { randomInt } from 'node:crypto';
import type { Redis } from 'ioredis';
import { Problem, unavailable } from '../../../errors.ts';
import { isServerGeneratedId } from '../../../platform/ids.ts';
import { type AppendResult, decodeMoment, type IntakeSubmission } from './append-protocol.ts';
import { createIntakeQuotas } from './quotas.ts';
import { type AnnouncedSurvey, createIntakeScripts, type ResponseDeletion } from './scripts.ts';
import {
  createShardQueue,
  type IntakeMemory,
  idempotencyTtlSeconds,
  notStored,
  type ShardQueueDeps,
} from './shard-queue.ts';
import { answersKey, quotasKey, responseKey, type Shards, spentTokensKey, surveyKey } from './shards.ts';

export type { AnnouncedSurvey } from './scripts.ts';

/** A response's state in the intake, as a later submission needs it. */
export interface ResponseState {
  /** −1: it was deleted. */
  version: number;
  isComplete: boolean;
  surveyId: string;
  /** NaN where the state does not say it: of deleted responses. */
  submittedAtMs: number;
  /** The saved answers as JSON; '' once they are evicted. */
  savedState: string;
}

/** A response's state, and when it was read. */
export interface ObservedResponse {
  /** Undefined: there is none, or it is evicted. */
  state: ResponseState | undefined;
  /** The generation that was open: append.lua finds by it what was saved and evicted since, however long ago that is. */
  generation: number;
}

/** The revision of a deleted survey: later than any other. */
export const deletedRevision = Number.MAX_SAFE_INTEGER;
/**
 * How long a deletion is remembered here; the response store knows it for good, and is usually away for less time. Ages
 * end many responses a second, whose deletions must not fill the intake.
 */
const tombstoneTtlSeconds = 6 * 3600;
/** Longer than an entry stays (`maxRetentionMs` of the ingest), which live clients read again. */
const streamedTombstoneTtlSeconds = 26 * 3600;
const statesBatchSize = 500;
/** As in append.lua. */
const maxFreezeMs = 60_000;

export interface IntakeDeps {
  redis: Redis;
  shards: Shards;
  metrics: ShardQueueDeps['metrics'];
  memory?: IntakeMemory;
}

const unlimitedMemory: IntakeMemory = {
  hasSpareMemory: () => true,
  maxPendingBytesPerSurvey: () => undefined,
  sliceBytes: () => 16 * 1024 * 1024,
};

/** How a survey was filled. */
export interface Filling {
  /** The one under which it was filled, or which left it so. */
  revision: number;
  /** Whether its own quota was filled under this revision; otherwise a quota by cell. */
  isByQuota: boolean;
}

/** A survey that this caller has frozen. */
export interface SurveyFreeze {
  /** In force when the freeze began; undefined where the intake knows of none. */
  revision: number | undefined;
  /** Its mark in the intake. */
  frozen: string;
  /** Lets it last for `forMs` from now, a minute at most. False: it was over already. */
  extend(forMs: number): Promise<boolean>;
  /** False: it was over already. */
  release(): Promise<boolean>;
}

/**
 * Writes to the durable streams, and keeps the state of surveys and responses. Every failure is SERVICE_UNAVAILABLE:
 * the submission may or may not be stored, and a repeat with the same key finds out.
 */
export function createIntake({ redis, shards, metrics, memory = unlimitedMemory }: IntakeDeps) {
  const scripts = createIntakeScripts(redis);
  const keyOf = (surveyId: string): string => surveyKey(shards.of(surveyId), surveyId);
  const queues = shards.all.map((shard) => createShardQueue({ append: scripts.append, shard, metrics, memory }));
  return {
    append: (submission: IntakeSubmission): Promise<AppendResult> => {
      const queue = queues[shards.of(submission.surveyId).index];
      if (!queue) throw new Error('no queue for shard');
      return queue(submission);
    },

    /** The state of a response that may be continued. */
    state: async (responseId: string): Promise<ResponseState | undefined> =>
      (await orUnavailable(observe(redis, responseId))).state,

    /** The same for a submission that continues it. */
    observe: (responseId: string): Promise<ObservedResponse> => orUnavailable(observe(redis, responseId)),

    /** Announces a survey's revision and quota. False: this revision, or a newer one, is known already. */
    announce: (survey: AnnouncedSurvey): Promise<boolean> =>
      orUnavailable(scripts.announce(shards.of(survey.surveyId), survey)),

    /** Announces a survey that was deleted, after PostgreSQL was restored to an earlier time. */
    restoreDeleted: (survey: AnnouncedSurvey): Promise<boolean> =>
      orUnavailable(scripts.announce(shards.of(survey.surveyId), survey, deletedRevision)),

    /** The revision in force; undefined when the intake does not know the survey. */
    revision: async (surveyId: string): Promise<number | undefined> => {
      const revision = await orUnavailable(redis.hget(keyOf(surveyId), 'rev'));
      return revision === null ? undefined : Number(revision);
    },

    /** Whether the survey has been deleted. */
    isDeleted: async (surveyId: string): Promise<boolean> =>
      Number(await orUnavailable(redis.hget(keyOf(surveyId), 'rev'))) === deletedRevision,

    /**
     * Freezes a survey: its submissions wait, for `forMs` at most, until a newer revision is announced or the freeze is
     * released, so that what was accepted before can be examined. Undefined while another caller has frozen it.
     */
    freeze: async (surveyId: string, forMs: number): Promise<SurveyFreeze | undefined> => {
      const key = keyOf(surveyId);
      const freeze = await orUnavailable(scripts.freeze(key, forMs, String(randomInt(1_000_000))));
      return (
        freeze && {
          ...freeze,
          extend: (ms) => orUnavailable(scripts.extend(key, freeze.frozen, ms)),
          release: () => orUnavailable(scripts.release(key, freeze.frozen)),
        }
      );
    },

    /** Whether the survey is frozen right now, by the clock of the intake. */
    isFrozen: async (surveyId: string): Promise<boolean> => {
      const results = await orUnavailable(redis.multi().hmget(keyOf(surveyId), 'held', 'uncounted').time().exec());
      const [[frozen, uncounted], time] = valuesOf(results) as [[string | null, string | null], [string, string]];
      if (uncounted === '1') return true;
      const leftMs = Number(frozen ?? 0) - Number(time[0]) * 1000 - Number(time[1]) / 1000;
      // More is left only after the clock was set back: the next submission bounds it.
      return leftMs > 0 && leftMs <= maxFreezeMs;
    },

    /** Exact counts of accepted responses; undefined when the intake does not know the survey. */
    counts: async (surveyId: string): Promise<{ total: number; completed: number } | undefined> => {
      const [total, completed] = await orUnavailable(redis.hmget(keyOf(surveyId), 'total', 'completed'));
      return typeof total === 'string' ? { total: Number(total), completed: Number(completed) } : undefined;
    },

    /** Whether an anonymous survey has accepted a response for the token with this mark. */
    isTokenSpent: async (surveyId: string, mark: string): Promise<boolean> =>
      (await orUnavailable(redis.sismember(spentTokensKey(shards.of(surveyId), surveyId), mark))) === 1,

    /** Complete responses by collector code; undefined where the intake does not count them by collector. */
    completedByCollector: async (
      surveyId: string,
      codes: readonly number[],
    ): Promise<ReadonlyMap<number, number> | undefined> => {
      if (codes.length === 0) return undefined;
      const names = codes.map((code) => `completed:${code}`);
      const counts = await orUnavailable(redis.hmget(keyOf(surveyId), ...names));
      if (counts.every((count) => count === null)) return undefined;
      return new Map(codes.map((code, index) => [code, Number(counts[index] ?? 0)]));
    },
    quotas: createIntakeQuotas({ redis, shards, scripts }),

    /** How the survey was filled under the present revision, even if seats have been freed since by deletions. */
    filling: async (surveyId: string): Promise<Filling | undefined> => {
      const fields = await orUnavailable(redis.hmget(keyOf(surveyId), 'rev', 'filled', 'filledByQuota'));
      const [revision, isFilled, isByQuota] = fields;
      return isFilled === '1' ? { revision: Number(revision), isByQuota: isByQuota === '1' } : undefined;
    },

    /** Appends a response's tombstone; false when it was deleted before. */
    deleteResponse: async (deletion: ResponseDeletion): Promise<boolean> => {
      const blockIdSeconds = isServerGeneratedId(deletion.responseId) ? 0 : idempotencyTtlSeconds;
      const ttls = { tombstoneTtlSeconds, streamedTombstoneTtlSeconds, blockIdSeconds };
      const outcome = await orUnavailable(scripts.deleteResponse(shards.of(deletion.surveyId), deletion, ttls));
      if (outcome === 'newer format') throw newerFormatProblem();
      return outcome === 'deleted';
    },

    /** Removes the states and answers of a survey's responses. Another survey may have a response of the same id. */
    removeResponseStates: async (surveyId: string, responseIds: readonly string[]): Promise<void> => {
      for (let from = 0; from < responseIds.length; from += statesBatchSize) {
        const ids = responseIds.slice(from, from + statesBatchSize);
        const reading = redis.pipeline();
        for (const id of ids) reading.hmget(responseKey(id), 'survey', 'n');
        const states = valuesOf(await orUnavailable(reading.exec())) as (string | null)[][];
        const own = ids.filter((_, index) => {
          const [owner, saves] = states[index] ?? [];
          return owner === surveyId || (!owner && saves);
        });
        if (own.length > 0)
          await orUnavailable(redis.unlink(...own.flatMap((id) => [responseKey(id), answersKey(id)])));
      }
    },

    /** Refuses all submissions to a deleted survey. `removeSurvey` removes its counts. */
    markDeleted: async (surveyId: string): Promise<void> => {
      await orUnavailable(redis.hset(keyOf(surveyId), 'rev', deletedRevision));
    },

    /**
     * Removes what is known of a deleted survey. That it was deleted is kept for 48 h, for processes that were not
     * notified.
     */
    removeSurvey: async (surveyId: string): Promise<void> => {
      const key = keyOf(surveyId);
      await orUnavailable(
        redis
          .multi()
          .del(key, quotasKey(shards.of(surveyId), surveyId), spentTokensKey(shards.of(surveyId), surveyId))
          .hset(key, 'rev', deletedRevision)
          .expire(key, idempotencyTtlSeconds)
          .exec(),
      );
    },
  };
}

export type Intake = ReturnType<typeof createIntake>;

/** Reads fields, answers and generation in one transaction, since others may be continuing the response. */
async function observe(redis: Redis, responseId: string): Promise<ObservedResponse> {
  const results = await redis
    .multi()
    .hmget(responseKey(responseId), 'n', 'done', 'survey', 'reply', 'data', 'v', 'at')
    .get(answersKey(responseId))
    .get('idem:generation')
    .exec();
  const [fields, answers, generation] = valuesOf(results) as [(string | null)[], string | null, string | null];
  return { state: stateOf(fields, answers), generation: Number(generation ?? 0) };
}

function stateOf(fields: readonly (string | null)[], answers: string | null): ResponseState | undefined {
  const [version, done, survey, reply, legacyData, format, at] = fields;
  if (typeof format === 'string' && format !== '1') throw newerFormatProblem();
  if (typeof version !== 'string') return undefined;
  const isOfThisVersion = answers?.startsWith(`${version}:`) ?? false;
  return {
    version: Number(version),
    isComplete: done === '1',
    surveyId: survey ?? '',
    submittedAtMs: at ? decodeMoment(at) : Date.parse(/"submittedAt":"([^"]*)"/.exec(reply ?? '')?.[1] ?? ''),
    // An earlier version kept the answers among the fields.
    savedState: legacyData || (isOfThisVersion ? (answers?.slice(version.length + 1) ?? '') : ''),
  };
}

/** The replies of a transaction; throws the first error. */
function valuesOf(results: [error: Error | null, result: unknown][] | null): unknown[] {
  const failed = results?.find(([error]) => error)?.[0];
  if (failed) throw notStored(failed);
  return (results ?? []).map(([, result]) => result);
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
    throw error instanceof Problem ? error : notStored(error);
  }
}
