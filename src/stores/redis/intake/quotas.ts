import { randomInt } from 'node:crypto';
import type { Redis } from 'ioredis';
import { unavailable } from '../../../errors.ts';
import type { CountedQuota, IntakeScripts, MissingResponses } from './scripts.ts';
import { quotasKey, quotasToCountKey, type Shards, surveyKey } from './shards.ts';

/** What the intake has counted in a quota by cell. */
export interface QuotaCount {
  count: number;
  /** The responses of before it was made or changed are still being counted. */
  isCounting: boolean;
}

/** A count of stored responses that has begun. */
export interface QuotaCounting {
  /** Versions of the conditions that must be counted, by the quota's code. */
  versions: ReadonlyMap<number, number>;
  /**
   * Adds the stored responses; undefined where another count has begun since. Returns the sum of the differences.
   * `missing`: those accepted that may lack among the counted, whose seats stay taken.
   */
  end(counted: readonly CountedQuota[], missing?: MissingResponses): Promise<number | undefined>;
}

const noneMissing: MissingResponses = { total: 0, completed: 0 };

/** Reads the counts of quotas by cell, and brings in those of stored responses. Writing: append.lua. */
export function createIntakeQuotas({
  redis,
  shards,
  scripts,
}: {
  redis: Redis;
  shards: Shards;
  scripts: Pick<IntakeScripts, 'beginQuotaCount' | 'endQuotaCount'>;
}) {
  const readFields = (surveyId: string): Promise<Record<string, string>> =>
    redis.hgetall(quotasKey(shards.of(surveyId), surveyId)).catch((error: unknown) => {
      throw unavailable('Quotas by cell cannot be read right now', 2, error);
    });
  const areUnknown = async (surveyId: string): Promise<boolean> =>
    (await redis.hget(surveyKey(shards.of(surveyId), surveyId), 'uncounted')) === '1';

  return {
    /** Counts by the quota's code; empty where the intake knows none. */
    counts: async (surveyId: string): Promise<Map<number, QuotaCount>> => countsIn(await readFields(surveyId)),

    /** The same; `isSettled`: no count of stored responses is under way or wanted. */
    async state(surveyId: string): Promise<{ counts: Map<number, QuotaCount>; isSettled: boolean }> {
      const fields = await readFields(surveyId);
      const counts = countsIn(fields);
      const isCounting = 'counting' in fields || [...counts.values()].some((quota) => quota.isCounting);
      return { counts, isSettled: !isCounting && (fields['removals'] ?? '0') === (fields['removalsCounted'] ?? '0') };
    },

    /** Whether submissions are frozen until the quotas are counted, because the intake was emptied. */
    areUnknown,

    /** Whether each quota has a count: none is new or changed, and the intake was not emptied. */
    async areCounted(surveyId: string): Promise<boolean> {
      const counts = countsIn(await readFields(surveyId));
      return ![...counts.values()].some(({ isCounting }) => isCounting) && !(await areUnknown(surveyId));
    },

    /** Surveys with quotas whose stored responses must be counted. */
    async surveysToCount(): Promise<string[]> {
      return (await Promise.all(shards.all.map((shard) => redis.smembers(quotasToCountKey(shard))))).flat();
    },

    /** Asks for a count, as after deletions. */
    async requestCount(surveyId: string): Promise<void> {
      await redis.sadd(quotasToCountKey(shards.of(surveyId)), surveyId);
    },

    async dropRequest(surveyId: string): Promise<void> {
      await redis.srem(quotasToCountKey(shards.of(surveyId)), surveyId);
    },

    /** Number of deletions and requeued dead letters, which change what is stored. */
    removals: async (surveyId: string): Promise<string> =>
      (await redis.hget(quotasKey(shards.of(surveyId), surveyId), 'removals')) ?? '0',

    /**
     * Begins a count while the survey is frozen; undefined where the freeze is over. `removals`: as it was before all
     * that is accepted was found to be stored.
     */
    async beginCount(
      surveyId: string,
      { frozen, removals }: { frozen: string; removals: string },
    ): Promise<QuotaCounting | undefined> {
      const [shard, name] = [shards.of(surveyId), String(randomInt(1_000_000_000))];
      const fields = await scripts.beginQuotaCount(shard, surveyId, name, frozen);
      if (!fields) return undefined;
      const versions = [...fields].flatMap(([field, value]) =>
        field.startsWith('v') ? [[Number(field.slice(1)), Number(value)] as const] : [],
      );
      return {
        versions: new Map(versions),
        end: (counted, missing = noneMissing) =>
          scripts.endQuotaCount(shard, surveyId, { name, removals, missing }, counted),
      };
    },
  };
}

export type IntakeQuotas = ReturnType<typeof createIntakeQuotas>;

const countsIn = (fields: Readonly<Record<string, string>>): Map<number, QuotaCount> =>
  new Map(
    Object.entries(fields).flatMap(([name, value]) =>
      /^c\d/.test(name)
        ? [[Number(name.slice(1)), { count: Number(value), isCounting: `n${name.slice(1)}` in fields }]]
        : [],
    ),
  );
