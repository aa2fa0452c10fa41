import { hash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { intakeScript } from './scripts.ts';
import type { Shards } from './shards.ts';

/** Hexadecimal digits of a hash by which a key is remembered: 8 choose where, 14 are its name there. */
const hashDigits = 24;

/** An idempotency key as the intake and the response store remember it: of one survey. */
export const hashOfKey = (surveyId: string, key: string): string =>
  hash('sha256', `key ${surveyId} ${key}`).slice(0, hashDigits);

/** The id of a response, which is of all surveys. */
export const hashOfResponseId = (responseId: string): string =>
  hash('sha256', `response ${responseId}`).slice(0, hashDigits);

export interface GenerationRules {
  /** Of records and open responses. */
  maxBytes: number;
  /** Whether the intake wants the memory. */
  isMemoryNeeded: boolean;
}

/** However much memory there is: in a larger one looking for a record takes longer. */
const maxGenerationBytes = 6 * 1024 * 1024;
const maxOpenMs = 10 * 60_000;
/** So many closed generations stay at hand while there is room: an hour, and less where many keys come. */
const maxClosedGenerations = 6;
/** However much the memory is wanted: who goes on with a response has read what was saved of it up to some seconds before. */
const minClosedAgeMs = 4000;

type GenerationsRedis = Redis & { rotateGenerations(...args: (string | number)[]): Promise<string> };

/** Keeps what the intake remembers of accepted submissions small: what the response store has too goes after an hour, or as soon as the memory is wanted. */
export function createIdempotencyGenerations(plain: Redis, { all }: Pick<Shards, 'all'>) {
  const redis = plain as GenerationsRedis;
  redis.defineCommand('rotateGenerations', {
    numberOfKeys: all.length,
    lua: intakeScript('rotate-generations'),
  });
  return {
    /** Closes and drops what may be closed and dropped. True: there is more to drop at once. */
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

/** How long a former version kept keys in a form of its own. */
const legacyKeyTtlMs = 48 * 3_600_000;

/** Whether a former version may have accepted keys that are still to be recognised: within two days of the first start of this one on its intake. */
export async function createLegacyKeyCheck(redis: Redis, now: () => number = Date.now): Promise<() => boolean> {
  const isUpdated = (await redis.exists('intake:shards')) === 1;
  await redis.setnx('idem:since', isUpdated ? now() : 0);
  const since = Number(await redis.get('idem:since'));
  return () => now() < since + legacyKeyTtlMs;
}
