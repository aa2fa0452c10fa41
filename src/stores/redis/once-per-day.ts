import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { assetPath } from '../../platform/assets.ts';
import { newId } from '../../platform/ids.ts';

const daySeconds = 86_400;
/** How long others leave the work of a process that was killed. */
const claimMs = 60_000;

interface ClaimRedis extends Redis {
  extendClaim(key: string, claim: string, ms: number): Promise<unknown>;
}

/** Expensive work that one process does at most once in a day. `renewMs`: how often a claim is renewed. */
export function createOncePerDay(plain: Redis, { renewMs = claimMs / 4 }: { renewMs?: number } = {}) {
  const redis = plain as ClaimRedis;
  redis.defineCommand('extendClaim', {
    numberOfKeys: 1,
    lua: readFileSync(assetPath('src/stores/redis/extend-claim.lua'), 'utf8'),
  });
  return {
    /**
     * Does the work, unless it was done in the last day or another process is at it; after a failure it may be tried
     * again at once, and a minute after a kill.
     */
    async run(name: string, work: () => Promise<void>): Promise<void> {
      const key = `daily:${name}`;
      const claim = newId();
      const extend = (ms: number) => redis.extendClaim(key, claim, ms).catch(() => undefined);
      if ((await redis.set(key, claim, 'PX', claimMs, 'NX')) === null) return;
      const renewal = setInterval(() => void extend(claimMs), renewMs).unref();
      try {
        await work();
        // Also where the claim has ended meanwhile: the work is done.
        await redis.set(key, 'done', 'EX', daySeconds);
      } catch (error) {
        await extend(0);
        throw error;
      } finally {
        clearInterval(renewal);
      }
    },
  };
}

export type OncePerDay = ReturnType<typeof createOncePerDay>;
