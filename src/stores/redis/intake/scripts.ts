import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { type Outcome, takesSeat } from '../../../domain/outcome.ts';
import { assetPath } from '../../../platform/assets.ts';
import { appendPrelude, encodeMoment } from './append-protocol.ts';
import { quotasKey, quotasToCountKey, type Shard, surveyKey } from './shards.ts';

/** The text of a script of this folder. */
export const intakeScript = (name: string): string =>
  readFileSync(assetPath(`src/stores/redis/intake/${name}.lua`), 'utf8');

/** A survey as it is announced to the intake. */
export interface AnnouncedSurvey {
  surveyId: string;
  revision: number;
  quota: number | null;
  codePositions: number;
  /** Counts of responses; used only if the intake has none. */
  total: number;
  completed: number;
  /** Whether a quota by cell that was filled just before still has to close the survey: it is ACTIVE or PAUSED. */
  isClosable?: boolean;
  /** Active quotas by cell. */
  cellQuotas?: readonly AnnouncedQuota[];
  /** The collectors whose completed responses are counted; empty where none are. */
  collectors?: readonly AnnouncedCollector[];
}

export interface AnnouncedCollector {
  code: number;
  quota: number | null;
  /** Completed responses; used only if the intake does not know the survey. */
  completed: number;
}

/** A quota by cell as it is announced to the intake. */
export interface AnnouncedQuota {
  id: string;
  code: number;
  name: string;
  limit: number;
  counts: 'COMPLETED' | 'STARTED';
  whenFull: 'OVER_QUOTA' | 'CLOSE' | 'COUNT_ONLY';
  /** Another version of what it counts: the responses of before are counted again. */
  version: number;
}

/** The names in append.lua. */
const ruleOf = ({ counts, whenFull }: AnnouncedQuota): string =>
  (counts === 'STARTED' ? 'S' : 'C') + { OVER_QUOTA: 'O', CLOSE: 'C', COUNT_ONLY: 'N' }[whenFull];

/** The id and the name by which a quota that is reached is announced, without commas and colons in the name. */
const wordsOf = ({ id, name }: AnnouncedQuota): string => `${id}:${encodeURIComponent(name)}`;

/** Stored responses in a quota by cell, under a version of its condition. */
export interface CountedQuota {
  code: number;
  version: number;
  count: number;
}

/** Numbers of accepted responses, and of those of them that are COMPLETED, that a count of the stored ones lacks. */
export interface MissingResponses {
  total: number;
  completed: number;
}

/** A response to be deleted, and its tombstone. */
export interface ResponseDeletion {
  surveyId: string;
  responseId: string;
  submittedAtMs: number;
  outcome: Outcome;
  /** When its last save was accepted; undefined where the caller does not know it. */
  lastSavedAtMs?: number | undefined;
  /** Code of its collector; 0: the default one. */
  collector?: number;
  row: string;
}

export interface DeletionTimes {
  /** How long a deletion is remembered. */
  tombstoneTtlSeconds: number;
  /** The same where an entry of the response may still be in the stream. */
  streamedTombstoneTtlSeconds: number;
  /** How long nobody may use the id again; 0 where the response store prevents that. */
  blockIdSeconds: number;
}

export interface AppendLimits {
  /** Window of the submission limit. */
  limitWindowMs: number;
  /** How long states of open responses are kept. */
  idempotencyTtlSeconds: number;
  /** How long saved answers of open responses are kept. */
  answersTtlSeconds: number;
  /** Bytes that a survey may have waiting for the response store; undefined: any number. */
  maxPendingBytesPerSurvey: number | undefined;
  /** Bytes that a caller may send in large rows in one window. */
  maxLargeBytesPerCaller: number;
}

type ScriptRedis = Redis & {
  appendBatch(stream: string, ...args: (string | number)[]): Promise<string[]>;
  announceSurvey(
    key: string,
    quotas: string,
    toCount: string,
    stream: string,
    ...args: (string | number)[]
  ): Promise<number>;
  beginQuotaCount(quotas: string, key: string, name: string, frozen: string): Promise<string[] | null>;
  endQuotaCount(
    quotas: string,
    key: string,
    toCount: string,
    stream: string,
    ...args: (string | number)[]
  ): Promise<number | null>;
  deleteResponse(stream: string, ...args: (string | number)[]): Promise<number>;
  freezeSurvey(key: string, forMs: number, token: string): Promise<string[]>;
  extendFreeze(key: string, frozen: string, forMs: number): Promise<number>;
  releaseSurvey(key: string, frozen: string): Promise<number>;
};

/**
 * The scripts that accept, announce, freeze and delete, with the order of their arguments. The readers' scripts:
 * stream.ts.
 */
export function createIntakeScripts(plain: Redis) {
  const redis = plain as ScriptRedis;
  const fillings = intakeScript('fillings');
  redis.defineCommand('appendBatch', { numberOfKeys: 1, lua: appendPrelude + intakeScript('append') });
  redis.defineCommand('announceSurvey', { numberOfKeys: 4, lua: fillings + intakeScript('announce-survey') });
  redis.defineCommand('beginQuotaCount', { numberOfKeys: 2, lua: intakeScript('begin-quota-count') });
  redis.defineCommand('endQuotaCount', { numberOfKeys: 4, lua: fillings + intakeScript('end-quota-count') });
  redis.defineCommand('freezeSurvey', { numberOfKeys: 1, lua: intakeScript('freeze-survey') });
  redis.defineCommand('extendFreeze', { numberOfKeys: 1, lua: intakeScript('extend-freeze') });
  redis.defineCommand('releaseSurvey', { numberOfKeys: 1, lua: intakeScript('release-survey') });
  redis.defineCommand('deleteResponse', { numberOfKeys: 1, lua: intakeScript('delete-response') });
  return {
    /** `fields` and the reply: see `encodeBatch`. */
    append: (
      { stream, prefix }: Shard,
      limits: AppendLimits,
      fields: readonly (string | number)[],
    ): Promise<string[]> =>
      redis.appendBatch(
        stream,
        prefix,
        limits.limitWindowMs,
        limits.idempotencyTtlSeconds,
        limits.answersTtlSeconds,
        Math.floor(limits.maxPendingBytesPerSurvey ?? -1),
        Math.floor(limits.maxLargeBytesPerCaller),
        ...fields,
      ),

    /** False: the intake knows this revision or a newer one. `overruledRevision` is replaced although it is newer. */
    announce: async (shard: Shard, survey: AnnouncedSurvey, overruledRevision?: number): Promise<boolean> => {
      const { surveyId, revision, quota, codePositions, total, completed, isClosable = false } = survey;
      const { cellQuotas = [], collectors = [] } = survey;
      const args = [revision, quota ?? '', codePositions, total, completed, overruledRevision ?? ''];
      const quotas = cellQuotas.flatMap((cell) => [cell.code, cell.limit, ruleOf(cell), cell.version, wordsOf(cell)]);
      const counted = collectors.flatMap((collector) => [collector.code, collector.quota ?? '', collector.completed]);
      const keys = [
        surveyKey(shard, surveyId),
        quotasKey(shard, surveyId),
        quotasToCountKey(shard),
        shard.stream,
      ] as const;
      const lists = [cellQuotas.length, ...quotas, ...counted];
      return (await redis.announceSurvey(...keys, ...args, surveyId, isClosable ? 1 : 0, ...lists)) === 1;
    },

    /**
     * Begins to note what is added to a survey's quotas by cell, if the freeze still holds. Returns the fields of their
     * hash, by name.
     */
    beginQuotaCount: async (
      shard: Shard,
      surveyId: string,
      name: string,
      frozen: string,
    ): Promise<ReadonlyMap<string, string> | undefined> => {
      const fields = await redis.beginQuotaCount(quotasKey(shard, surveyId), surveyKey(shard, surveyId), name, frozen);
      return fields ? pairsOf(fields) : undefined;
    },

    /**
     * Adds the stored responses to what was noted since. `removals`: the number of deletions before they were counted.
     * Returns by how much the known counts differed for no known reason; undefined where another count has begun.
     */
    endQuotaCount: async (
      shard: Shard,
      surveyId: string,
      { name, removals, missing }: { name: string; removals: string; missing: MissingResponses },
      counted: readonly CountedQuota[],
    ): Promise<number | undefined> =>
      (await redis.endQuotaCount(
        quotasKey(shard, surveyId),
        surveyKey(shard, surveyId),
        quotasToCountKey(shard),
        shard.stream,
        name,
        surveyId,
        removals,
        missing.total,
        missing.completed,
        ...counted.flatMap(({ code, version, count }) => [code, version, count]),
      )) ?? undefined,

    /** Freezes a survey; undefined while another caller has frozen it. `token` tells callers apart. */
    freeze: async (
      key: string,
      forMs: number,
      token: string,
    ): Promise<{ frozen: string; revision: number | undefined } | undefined> => {
      const [frozen, revision = ''] = await redis.freezeSurvey(key, forMs, token);
      return frozen === undefined ? undefined : { frozen, revision: revision === '' ? undefined : Number(revision) };
    },

    /** Lets the freeze that returned `frozen` last for `forMs` from now; false where it was over. */
    extend: async (key: string, frozen: string, forMs: number): Promise<boolean> =>
      (await redis.extendFreeze(key, frozen, forMs)) === 1,

    /** Ends the freeze that returned `frozen`; false where it was over. */
    release: async (key: string, frozen: string): Promise<boolean> => (await redis.releaseSurvey(key, frozen)) === 1,

    deleteResponse: async (
      { stream, prefix }: Shard,
      { surveyId, responseId, submittedAtMs, outcome, lastSavedAtMs, collector = 0, row }: ResponseDeletion,
      { tombstoneTtlSeconds, streamedTombstoneTtlSeconds, blockIdSeconds }: DeletionTimes,
    ): Promise<'deleted' | 'deleted before' | 'newer format'> => {
      const code = await redis.deleteResponse(
        stream,
        prefix,
        surveyId,
        responseId,
        takesSeat(outcome) ? '1' : '0',
        row,
        submittedAtMs,
        new Date(submittedAtMs).toISOString(),
        tombstoneTtlSeconds,
        blockIdSeconds,
        encodeMoment(submittedAtMs),
        collector,
        lastSavedAtMs ?? '',
        streamedTombstoneTtlSeconds,
      );
      return code === 1 ? 'deleted' : code === 0 ? 'deleted before' : 'newer format';
    },
  };
}

export type IntakeScripts = ReturnType<typeof createIntakeScripts>;

/** The pairs of a flat list of names and values. */
export function pairsOf(list: readonly string[]): Map<string, string> {
  const pairs = new Map<string, string>();
  for (let at = 0; at + 1 < list.length; at += 2) pairs.set(list[at] ?? '', list[at + 1] ?? '');
  return pairs;
}
