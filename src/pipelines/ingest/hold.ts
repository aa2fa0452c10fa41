import type { Ownership, Stream } from '../../stores/redis/stream.ts';

/** Thrown where a shard's owner finds that the shard is another's by now, or may be: its loop starts over by asking for the lease. */
export class Fenced extends Error {}

export interface Hold {
  /** Throws Fenced when the shard is lost, or may be. */
  check(): void;
  /** Nothing is renewed any more once this has resolved. */
  end(): Promise<void>;
}

export interface HoldOptions {
  stream: Pick<Stream, 'lease'>;
  /** Leased just now. */
  owner: Ownership;
  leaseMs: number;
  renewMs: number;
}

/**
 * Keeps a shard for its owner by a clock of its own, since one step of the work (an insert, telling others) may take longer than a lease
 * lasts. It saves work, no more: whatever is written for a shard is checked against the fencing number.
 */
export function keepHold({ stream, owner, leaseMs, renewMs }: HoldOptions): Hold {
  let heldUntil = performance.now() + leaseMs;
  let isLost = false;
  let renewing: Promise<void> | undefined;

  const renew = async (): Promise<void> => {
    const askedAt = performance.now();
    const renewed = await stream.lease(owner.shard, owner.name, leaseMs);
    if (renewed?.fence === owner.fence) heldUntil = askedAt + leaseMs;
    else isLost = true;
  };

  const timer = setInterval(() => {
    // One that fails is followed by the next; the lease ends by itself when all fail.
    if (!isLost) renewing ??= renew().catch(() => undefined).finally(() => (renewing = undefined));
  }, renewMs);
  timer.unref();

  return {
    check: () => {
      if (isLost || performance.now() > heldUntil) throw new Fenced('the shard was lost');
    },
    end: async () => {
      clearInterval(timer);
      await renewing;
    },
  };
}
