import { setMaxListeners } from 'node:events';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { backoffMs } from '../../platform/backoff.ts';
import { createBoundedWarnings } from '../../platform/bounded-warnings.ts';
import { within } from '../../platform/within.ts';
import type { StoredRows } from '../../stores/clickhouse/read/stored-rows.ts';
import { longestAttempt, longestInsertMs } from '../../stores/clickhouse/write/insert-timeout.ts';
import { isAtOrAfter } from '../../stores/redis/intake/entry-id.ts';
import type { Shard } from '../../stores/redis/intake/shards.ts';
import {
  type ShardLease,
  type Stream,
  type StreamEntry,
  UnknownEntryFormat,
} from '../../stores/redis/intake/stream.ts';
import { surveyIdsOf } from './batch-lines.ts';
import { type BatchReader, createBatchReader } from './batch-reader.ts';
import { createHandOver, type HandOver } from './hand-over.ts';
import { createInterruptibleSleep } from './interruptible-sleep.ts';
import { FencedError, keepLease, type Lease } from './lease.ts';
import { createLossDetector, type LossDetector } from './loss-detector.ts';
import { createRetainedRowsCheck } from './retained-rows-check.ts';
import { createRetention, type IntakeMemoryBudget } from './retention.ts';
import { type BatchSink, createStoreBatch } from './store-batch.ts';
import { createStoreRecords } from './store-records.ts';
import { createStoreRows, retryBackoff } from './store-rows.ts';
import { watchShards } from './watch-shards.ts';

export interface IngestDeps {
  stream: Stream;
  shards: readonly Shard[];
  sink: BatchSink;
  /**
   * Forwards stored entries to webhooks and quotas: in order, each at least once. A rejection is retried and delays
   * only later entries.
   */
  forward(entries: readonly StreamEntry[]): Promise<void>;
  /** Called when a batch can be read from ClickHouse; not awaited. */
  onStored(shard: Shard, entries: readonly StreamEntry[]): void;
  memory: IntakeMemoryBudget;
  /** For the loss detector; undefined: stored rows are not checked again. */
  storedRows: StoredRows | undefined;
  /** Whether a survey was deleted, so that its rows are not missing. */
  isDeleted(surveyId: string): Promise<boolean>;
  /** Between checks of the loss detector; short in tests. */
  lossCheckMs?: number;
  /** How long a shard stays leased without renewal; short in tests. */
  leaseMs?: number;
  /** How long an owner may make no progress before it gives up the shard. */
  stallMs?: number;
  /** Unique name of this process. */
  name: string;
  now(): number;
  log: Log;
  metrics: Pick<
    Metrics,
    | 'inserted'
    | 'insertRetried'
    | 'deadLettered'
    | 'ingestFenced'
    | 'rowsMissing'
    | 'rechecked'
    | 'shardState'
    | 'shardUnknown'
  >;
}

const defaultLeaseMs = 10_000;
/**
 * Longer than the longest attempt to insert, so that one that begins under a new lease also ends under it. Attempts
 * before it are shorter; those at a batch with which the shard was lost begin with the longest.
 */
export const defaultStallMs = longestInsertMs + 15_000;
const defaultLossCheckMs = 60_000;
/**
 * Minimum time between two inserts of a shard, unless a batch is full (the batch size stands in `batch-reader.ts`). An
 * insert costs about as much as some thousands of rows, so a busy shard collects longer than a quiet one.
 */
const insertIntervalMs = (rows: number): number => (rows < 1000 ? 300 : 450);
const idleMs = 100;
/** How long a batch under way may take when the service stops; otherwise the next process stores it again. */
const stopGraceMs = 2000;
/** How long the release of the shards may take after that; a lease that is not released ends by itself. */
const releaseMs = 1000;

/**
 * Moves accepted responses from the streams to ClickHouse. Each shard has one owner; a batch is acknowledged when
 * ClickHouse was seen to hold its rows. After a crash rows may be inserted again, which changes nothing. A second
 * loop follows with a position of its own and forwards stored entries to webhooks and quotas, so storing continues
 * while it waits for PostgreSQL.
 */
export function createIngest(deps: IngestDeps) {
  let isStopping = false;
  /** Aborted `stopGraceMs` after the stop, to end calls that still wait for a store. */
  const aborting = new AbortController();
  // Each call under way adds a listener.
  setMaxListeners(0, aborting.signal);
  const { leaseMs = defaultLeaseMs, stallMs = defaultStallMs, lossCheckMs = defaultLossCheckMs } = deps;
  const renewMs = Math.ceil(leaseMs / 3.3);
  const { sleep, wakeAll } = createInterruptibleSleep();
  const storeRows = createStoreRows({ ...deps, sleep, abortSignal: aborting.signal });
  const storeRecords = createStoreRecords({ ...deps, sleep, abortSignal: aborting.signal });
  const store = createStoreBatch({ ...deps, storeRecords, storeRows, sleep, abortSignal: aborting.signal });
  const retainedRowsCheck = createRetainedRowsCheck(deps);
  /** Every shard meets the same store that is away, twice a second. */
  const warnInterrupted = createBoundedWarnings(deps.log);
  let loops: Promise<void>[] = [];

  const run = async (shard: Shard): Promise<void> => {
    const kept: KeptState = {
      storing: createBatchReader(deps.stream, shard),
      forwarding: createBatchReader(deps.stream, shard),
      isBatchUnderWay: false,
      wasLost: false,
    };
    let usedFence: number | undefined;
    while (!isStopping) {
      let owner: ShardLease | undefined;
      try {
        let requestedAtMs = performance.now();
        owner = await deps.stream.lease(shard, deps.name, leaseMs);
        // Loops that were interrupted may still wait for a store: under another fence their late writes are refused.
        if (owner && owner.fence === usedFence) {
          await deps.stream.release(owner);
          requestedAtMs = performance.now();
          owner = await deps.stream.lease(shard, deps.name, leaseMs);
        }
        usedFence = owner?.fence ?? usedFence;
        if (!owner) await sleep(renewMs);
        else await work(owner, requestedAtMs, kept);
      } catch (error) {
        if (error instanceof FencedError) {
          kept.wasLost = true;
          deps.metrics.ingestFenced();
        } else if (!isStopping)
          warnInterrupted({ err: error, shard: shard.index }, 'ingest was interrupted and starts again');
        if (owner && error instanceof UnknownEntryFormat) await yieldShard(owner);
        await sleep(500);
      } finally {
        // Even in the middle of a batch, or in a pause, so that the next owner need not wait for the lease to end.
        if (owner && isStopping) await deps.stream.release(owner).catch(() => undefined);
      }
    }
  };

  /** Leaves the shard to a process of a newer version, if there is one. */
  const yieldShard = async (owner: ShardLease): Promise<void> => {
    await deps.stream.release(owner).catch(() => undefined);
    await sleep(2 * renewMs);
  };

  const work = async (owner: ShardLease, requestedAtMs: number, kept: KeptState): Promise<void> => {
    const lease = keepLease({ ...deps, owner, requestedAtMs, leaseMs, renewMs, stallMs });
    try {
      await workUnder(lease, owner, kept);
    } finally {
      await lease.stop();
    }
  };

  const workUnder = async (lease: Lease, owner: ShardLease, kept: KeptState): Promise<void> => {
    const { storedRows } = deps;
    const lossDetector =
      storedRows &&
      createLossDetector({
        ...deps,
        storedRows,
        retainedRowsCheck,
        storeRows,
        storeRecords,
        isEnded: () => isStopping || held.isLost,
      });
    const held: OwnedShard = {
      owner,
      lease,
      kept,
      lossDetector,
      handOver: createHandOver(),
      stored: await deps.stream.acknowledged(owner.shard),
      isLost: false,
    };
    try {
      await Promise.all([storeBatches(held), forwardStored(held), detectLosses(held)]);
    } finally {
      // The loop that failed ends the others.
      held.isLost = true;
    }
  };

  /** Stores batch after batch, until the shard is lost or the service stops. */
  const storeBatches = async (held: OwnedShard): Promise<void> => {
    const { owner, lease, kept } = held;
    const retention = createRetention({ ...deps, shard: owner.shard });
    while (!isStopping && !held.isLost) {
      lease.assertHeld();
      const startedAt = performance.now();
      const { entries, isFull } = await kept.storing.next(held.stored);
      lease.reportProgress();
      const last = entries.at(-1);
      if (!last) {
        await retention.trim(deps.now(), held.lossDetector?.uncheckedMs());
        await sleep(idleMs);
        continue;
      }
      const rows = entries.reduce((sum, entry) => sum + entry.count, 0);
      if (rows > 0) {
        const wasBegun = kept.isBatchUnderWay;
        kept.isBatchUnderWay = true;
        const firstAttempt = kept.wasLost ? longestAttempt : 0;
        const keys = await store({ owner, lease, entries, wasBegun, firstAttempt });
        held.lossDetector?.add(keys, entries);
        if (!(await deps.stream.markStored(owner, last.id, surveyIdsOf(entries)))) throw new FencedError();
      }
      if (!(await deps.stream.acknowledge(owner, entries))) throw new FencedError();
      kept.isBatchUnderWay = false;
      kept.wasLost = false;
      held.handOver.add(held.stored, entries);
      held.stored = last.id;
      retention.add(entries);
      await retention.trim(deps.now(), held.lossDetector?.uncheckedMs());
      deps.onStored(owner.shard, entries);
      if (!isFull) await sleep(Math.max(0, insertIntervalMs(rows) - (performance.now() - startedAt)));
    }
  };

  /** Forwards what is stored; after a start or a delay it reads the stream itself. */
  const forwardStored = async (held: OwnedShard): Promise<void> => {
    const { owner, kept } = held;
    let position = await deps.stream.dispatched(owner.shard);
    while (!isStopping && !held.isLost) {
      if (isAtOrAfter(position, held.stored)) {
        await sleep(idleMs);
        continue;
      }
      const inMemory = held.handOver.takeAfter(position);
      const entries = inMemory.length > 0 ? inMemory : (await kept.forwarding.next(position, held.stored)).entries;
      const last = entries.at(-1)?.id ?? held.stored;
      await retryForward(held, () => deps.forward(entries));
      if (!(await deps.stream.markDispatched(owner, last))) throw new FencedError();
      position = last;
    }
  };

  /** Checks at the start and then once a minute that stored rows are still there. */
  const detectLosses = async (held: OwnedShard): Promise<void> => {
    const { owner, lease, lossDetector } = held;
    while (lossDetector && !isStopping && !held.isLost) {
      await lossDetector.run(owner, lease, held.stored).catch((error: unknown) => {
        if (error instanceof FencedError) throw error;
        if (!isStopping && !held.isLost)
          deps.log.warn({ err: error, shard: owner.shard.index }, 'could not verify that stored rows are still there');
      });
      for (let waitedMs = 0; waitedMs < lossCheckMs && !isStopping && !held.isLost; waitedMs += idleMs)
        await sleep(idleMs);
    }
  };

  const retryForward = async (held: OwnedShard, step: () => Promise<void>): Promise<void> => {
    for (let attempt = 0; ; attempt += 1) {
      if (held.isLost) throw new FencedError();
      try {
        return await step();
      } catch (error) {
        if (isStopping) throw error;
        deps.log.warn(
          { err: error, attempt, shard: held.owner.shard.index },
          'forwarding stored responses failed, will retry',
        );
        await sleep(backoffMs(attempt, retryBackoff));
      }
    }
  };

  const stopWatch = watchShards(deps);

  return {
    start(): void {
      loops = deps.shards.map(run);
    },
    /** Lets batches under way end within `stopGraceMs` and releases the shards, unless Redis does not reply. */
    async stop(): Promise<void> {
      isStopping = true;
      wakeAll();
      stopWatch();
      const timer = setTimeout(() => aborting.abort(), stopGraceMs);
      await within(stopGraceMs + releaseMs, Promise.all(loops), undefined);
      clearTimeout(timer);
    },
  };
}

/** A shard keeps this across failures. */
interface KeptState {
  /** The readers learn from failures how much to read at once. */
  storing: BatchReader;
  forwarding: BatchReader;
  /** Whether a batch was begun and not acknowledged: its rows may be there. */
  isBatchUnderWay: boolean;
  /** Whether the shard was lost since the last batch was acknowledged. */
  wasLost: boolean;
}

/** A shard and what its owner knows of it. */
interface OwnedShard {
  owner: ShardLease;
  lease: Lease;
  kept: KeptState;
  lossDetector: LossDetector | undefined;
  /** Holds the entries that are stored and not forwarded yet, as far as they fit. */
  handOver: HandOver;
  /** Id of the last entry that is in ClickHouse. */
  stored: string;
  isLost: boolean;
}
