import { hash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { intakeScript } from './scripts.ts';
import type { Shards } from './shards.ts';

/** Hexadecimal digits of a key's hash: 8 choose the bucket, the next 14 are the field in it; see append.lua. */
const hashDigits = 24;

/** Hash of an idempotency key in the intake and the response store. The same key in another survey has another hash. */
export const hashOfKey = (surveyId: string, key: string): string =>
  hash('sha256', `key ${surveyId} ${key}`).slice(0, hashDigits);

/** Hash of a response's id, the same for all surveys, since an id must not be used in two of them. */
export const hashOfResponseId = (responseId: string): string =>
  hash('sha256', `response ${responseId}`).slice(0, hashDigits);

export interface GenerationRules {
  /** Maximum bytes of the records and open responses in one generation. */
  maxBytes: number;
  /** Whether the intake needs the memory, so that generations are dropped as early as possible. */
  isMemoryNeeded: boolean;
}

/** Upper bound of `maxBytes`: in a larger generation, finding a record takes longer. */
const maxGenerationBytes = 6 * 1024 * 1024;
const maxOpenMs = 10 * 60_000;
/** Closed generations that are kept while there is memory: one hour, less if many keys arrive. */
const maxClosedGenerations = 6;
/**
 * A closed generation is kept at least this long: a submission that continues a response and has read its state before
 * must be planned again once that is dropped. Processes of earlier versions do not notice it, and rely on this time.
 */
const minClosedAgeMs = 4000;

type GenerationsRedis = Redis & { rotateGenerations(...args: (string | number)[]): Promise<string> };

/**
 * Bounds the memory of idempotency records: what the response store has is dropped after an hour, or as soon as memory
 * is needed.
 */
export function createIdempotencyGenerations(plain: Redis, { all }: Pick<Shards, 'all'>) {
  const redis = plain as GenerationsRedis;
  redis.defineCommand('rotateGenerations', {
    numberOfKeys: all.length,
    lua: intakeScript('rotate-generations'),
  });
  return {
    /** Closes and drops generations that are due. Returns true if there is more to drop at once. */
    rotate: async ({ maxBytes, isMemoryNeeded }: GenerationRules): Promise<boolean> =>
      (await redis.rotateGenerations(
        ...all.map(({ stream }) => stream),
        Math.floor(Math.min(maxBytes, maxGenerationBytes)),
        maxOpenMs,
        maxClosedGenerations,
        isMemoryNeeded ? '1' : '0',
        minClosedAgeMs,
        ...all.map(({ prefix }) => prefix),
      )) === '1',
  };
}

export type IdempotencyGenerations = ReturnType<typeof createIdempotencyGenerations>;

/** How long an earlier version kept keys in a form of its own. */
const legacyKeyTtlMs = 48 * 3_600_000;

/**
 * Returns a check whether keys that an earlier version accepted must still be recognised: true until two days after
 * this version first started on the intake.
 */
export async function createLegacyKeyCheck(redis: Redis, now: () => number = Date.now): Promise<() => boolean> {
  const isUpdated = (await redis.exists('intake:shards')) === 1;
  await redis.setnx('idem:since', isUpdated ? now() : 0);
  const since = Number(await redis.get('idem:since'));
  return () => now() < since + legacyKeyTtlMs;
}
