import type { ShardLease, Stream } from '../../stores/redis/intake/stream.ts';

/**
 * The shard belongs, or may belong, to another process by now: the owner's loop starts over with asking for the lease.
 */
export class FencedError extends Error {
  constructor() {
    super('the shard was lost');
  }
}

export interface Lease {
  /** Throws FencedError when the shard is lost, or may be. */
  assertHeld(): void;
  /** Notes that the owner made progress or has nothing to do, so the lease is renewed. */
  reportProgress(): void;
  /** Ends renewal; resolves when none is under way. */
  stop(): Promise<void>;
}

export interface LeaseOptions {
  stream: Pick<Stream, 'lease'>;
  /** The lease as it was just obtained. */
  owner: ShardLease;
  /** When it was asked for, as a monotonic time: it lasts from then or later. */
  requestedAtMs: number;
  leaseMs: number;
  renewMs: number;
  /** Without progress for this long the lease is not renewed: another process may have better connections. */
  stallMs: number;
}

/**
 * Renews a shard's lease by a timer, because one step may take longer than a lease, but only while the owner makes
 * progress. The lease only avoids double work: every write for a shard is checked against its fencing number.
 */
export function keepLease({ stream, owner, requestedAtMs, leaseMs, renewMs, stallMs }: LeaseOptions): Lease {
  let heldUntil = requestedAtMs + leaseMs;
  let progressedAt = performance.now();
  let isLost = false;
  let renewing: Promise<void> | undefined;

  const renew = async (): Promise<void> => {
    const renewalRequestedAtMs = performance.now();
    const renewed = await stream.lease(owner.shard, owner.name, leaseMs);
    if (renewed?.fence === owner.fence) heldUntil = renewalRequestedAtMs + leaseMs;
    else isLost = true;
  };

  const timer = setInterval(() => {
    if (isLost || performance.now() - progressedAt > stallMs) return;
    // A failed renewal is followed by the next one; the lease ends by itself when all fail.
    renewing ??= renew()
      .catch(() => undefined)
      .finally(() => (renewing = undefined));
  }, renewMs);
  timer.unref();

  return {
    assertHeld: () => {
      if (isLost || performance.now() > heldUntil) throw new FencedError();
    },
    reportProgress: () => {
      progressedAt = performance.now();
    },
    stop: async () => {
      clearInterval(timer);
      await renewing;
    },
  };
}
