import type { ShardLease, Stream } from '../../stores/redis/intake/stream.ts';

/** Thrown where a shard's owner finds that the shard is another's by now, or may be: its loop starts over by asking for the lease. */
export class FencedError extends Error {}

export interface Lease {
  /** Throws Fenced when the shard is lost, or may be. */
  assertHeld(): void;
  /** The owner has come further, or has nothing to do: the lease is worth renewing. */
  reportProgress(): void;
  /** Nothing is renewed any more once this has resolved. */
  stop(): Promise<void>;
}

export interface LeaseOptions {
  stream: Pick<Stream, 'lease'>;
  /** Leased just now. */
  owner: ShardLease;
  leaseMs: number;
  renewMs: number;
  /** An owner that has come no further for so long gives the shard to another process, whose connections may be better. */
  stallMs: number;
}

/**
 * Renews a shard's lease by a timer, since one step of the work may take longer than a lease lasts, but only while the owner makes progress.
 * The lease saves work, no more: whatever is written for a shard is checked against the fencing number.
 */
export function keepLease({ stream, owner, leaseMs, renewMs, stallMs }: LeaseOptions): Lease {
  let heldUntil = performance.now() + leaseMs;
  let progressedAt = performance.now();
  let isLost = false;
  let renewing: Promise<void> | undefined;

  const renew = async (): Promise<void> => {
    const askedAt = performance.now();
    const renewed = await stream.lease(owner.shard, owner.name, leaseMs);
    if (renewed?.fence === owner.fence) heldUntil = askedAt + leaseMs;
    else isLost = true;
  };

  const timer = setInterval(() => {
    if (isLost || performance.now() - progressedAt > stallMs) return;
    // One that fails is followed by the next; the lease ends by itself when all fail.
    renewing ??= renew()
      .catch(() => undefined)
      .finally(() => (renewing = undefined));
  }, renewMs);
  timer.unref();

  return {
    assertHeld: () => {
      if (isLost || performance.now() > heldUntil) throw new FencedError('the shard was lost');
    },
    reportProgress: () => void (progressedAt = performance.now()),
    stop: async () => {
      clearInterval(timer);
      await renewing;
    },
  };
}
