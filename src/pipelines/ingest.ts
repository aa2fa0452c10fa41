import { setMaxListeners } from 'node:events';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { StoredRows } from '../stores/clickhouse/stored-rows.ts';
import type { Shard } from '../stores/redis/shards.ts';
import { isAtOrAfter, UnknownEntry, type Ownership, type Stream, type StreamEntry } from '../stores/redis/stream.ts';
import { surveysOf } from './ingest/batch.ts';
import { Fenced, keepLease, type Lease } from './ingest/lease.ts';
import { createBatchReader, type BatchReader } from './ingest/reader.ts';
import { createRecheck, type Recheck } from './ingest/recheck.ts';
import { createRetention, type IntakeRoom } from './ingest/retention.ts';
import { createStoring, type BatchSink } from './ingest/storing.ts';
import { createTailCheck } from './ingest/tail-check.ts';
import { createPauses } from './pauses.ts';

export interface IngestDeps {
  stream: Stream;
  shards: readonly Shard[];
  sink: BatchSink;
  /** Hands stored entries on; each at least once, in order. A rejection is tried again, and holds up only the entries behind it. */
  handOn(entries: readonly StreamEntry[]): Promise<void>;
  /** A batch can be read from the response store; nothing is waited for. */
  onStored(shard: Shard, entries: readonly StreamEntry[]): void;
  room: IntakeRoom;
  /** What the response store holds, to look once more whether what was stored is there; undefined: nobody looks. */
  storedRows: StoredRows | undefined;
  /** Whether a survey was deleted, whose rows are gone on purpose. */
  isDeleted(surveyId: string): Promise<boolean>;
  /** From one look to the next; short in tests. */
  recheckMs?: number;
  /** How long a shard is held without a sign of life; short in tests. */
  leaseMs?: number;
  /** How long an owner may come no further before it gives the shard up. */
  stallMs?: number;
  /** Names this process among those that may own a shard. */
  name: string;
  now(): number;
  log: Log;
  metrics: Pick<Metrics, 'inserted' | 'insertRetried' | 'deadLettered' | 'ingestFenced' | 'rowsMissing' | 'rechecked' | 'shardState'>;
}

const usualLeaseMs = 10_000;
const usualStallMs = 30_000;
const usualRecheckMs = 60_000;
/**
 * At most one insert a shard in this time, unless a batch is full: an insert costs about as much as some thousands of rows, so a busy
 * shard gathers for longer than a quiet one.
 */
const paceMs = (rows: number): number => (rows < 1000 ? 300 : 450);
const idleMs = 100;
/** A batch that ends in this time need not be stored again by the next process. */
const stopGraceMs = 2000;

/**
 * Moves accepted responses from the streams into ClickHouse: one owner a shard; a batch is acknowledged when the store was seen to hold its
 * rows. After a crash rows may be inserted again, which changes nothing. A second reader of the same stream follows behind the first and hands
 * stored entries on (webhooks, quotas), with a position of its own: while it waits for PostgreSQL, storing goes on.
 */
export function createIngest(deps: IngestDeps) {
  let isStopping = false;
  /** Ends what still waits for a store some time after that. */
  const breakOff = new AbortController();
  // One listener for each call that is under way.
  setMaxListeners(0, breakOff.signal);
  const { leaseMs = usualLeaseMs, stallMs = usualStallMs, recheckMs = usualRecheckMs } = deps;
  const renewMs = Math.ceil(leaseMs / 3.3);
  const { pause, end: endPauses } = createPauses();
  const store = createStoring({ ...deps, pause, breakOff: breakOff.signal });
  const tailCheck = createTailCheck(deps);
  let loops: Promise<void>[] = [];

  const run = async (shard: Shard): Promise<void> => {
    // They outlive a failure, from which they learn how much they can read at once.
    const readers = { storing: createBatchReader(deps.stream, shard), handingOn: createBatchReader(deps.stream, shard) };
    while (!isStopping) {
      let owner: Ownership | undefined;
      try {
        owner = await deps.stream.lease(shard, deps.name, leaseMs);
        if (!owner) await pause(renewMs);
        else await work(owner, readers);
      } catch (error) {
        if (error instanceof Fenced) deps.metrics.ingestFenced();
        else if (!isStopping) deps.log.warn({ err: error, shard: shard.index }, 'ingest was interrupted and starts again');
        if (owner && error instanceof UnknownEntry) await giveWay(owner);
        await pause(500);
      }
    }
  };

  /** Lets a process of a newer version have the shard, if there is one. */
  const giveWay = async (owner: Ownership): Promise<void> => {
    await deps.stream.release(owner).catch(() => undefined);
    await pause(2 * renewMs);
  };

  const work = async (owner: Ownership, readers: Readers): Promise<void> => {
    const lease = keepLease({ ...deps, owner, leaseMs, renewMs, stallMs });
    const { storedRows } = deps;
    const recheck = storedRows && createRecheck({ ...deps, storedRows, tailCheck, breakOff: breakOff.signal });
    const held: HeldShard = { owner, lease, readers, recheck, stored: await deps.stream.acknowledged(owner.shard), isLost: false };
    try {
      await Promise.all([storing(held), handingOn(held), rechecking(held)]);
    } finally {
      // The loop that failed ends the others.
      held.isLost = true;
      await lease.end();
      // Also from the middle of a batch: whoever goes on with it need not wait for the lease to end.
      if (isStopping) await deps.stream.release(owner).catch(() => undefined);
    }
  };

  /** Stores batch after batch, until the shard is lost or the service stops. */
  const storing = async (held: HeldShard): Promise<void> => {
    const { owner, lease, readers } = held;
    const retention = createRetention({ ...deps, shard: owner.shard });
    while (!isStopping && !held.isLost) {
      lease.check();
      const startedAt = performance.now();
      const { entries, isFull } = await readers.storing.next(held.stored);
      lease.progressed();
      const last = entries.at(-1);
      if (!last) {
        await retention.trim(deps.now());
        await pause(idleMs);
        continue;
      }
      const rows = entries.reduce((sum, entry) => sum + entry.count, 0);
      if (rows > 0) {
        const keys = await store({ owner, lease, entries });
        held.recheck?.add(keys, entries);
        if (!(await deps.stream.stored(owner, last.id, surveysOf(entries)))) throw new Fenced('the shard was lost');
      }
      if (!(await deps.stream.acknowledge(owner, entries))) throw new Fenced('the shard was lost');
      held.stored = last.id;
      retention.add(entries);
      await retention.trim(deps.now());
      deps.onStored(owner.shard, entries);
      if (!isFull) await pause(Math.max(0, paceMs(rows) - (performance.now() - startedAt)));
    }
  };

  /** Hands on what is stored. */
  const handingOn = async (held: HeldShard): Promise<void> => {
    const { owner, readers } = held;
    let position = await deps.stream.handedOn(owner.shard);
    while (!isStopping && !held.isLost) {
      if (isAtOrAfter(position, held.stored)) {
        await pause(idleMs);
        continue;
      }
      const { entries } = await readers.handingOn.next(position, held.stored);
      const last = entries.at(-1)?.id ?? held.stored;
      await persist(held, () => deps.handOn(entries));
      if (!(await deps.stream.noteHandedOn(owner, last))) throw new Fenced('the shard was lost');
      position = last;
    }
  };

  /** Looks at the start, and then once a minute, whether what is stored is there. */
  const rechecking = async (held: HeldShard): Promise<void> => {
    const { owner, lease, recheck } = held;
    while (recheck && !isStopping && !held.isLost) {
      await recheck.run(owner, lease, held.stored).catch((error: unknown) => {
        if (error instanceof Fenced) throw error;
        if (!isStopping) deps.log.warn({ err: error, shard: owner.shard.index }, 'whether what is stored is there could not be seen');
      });
      for (let waitedMs = 0; waitedMs < recheckMs && !isStopping && !held.isLost; waitedMs += idleMs) await pause(idleMs);
    }
  };

  const persist = async (held: HeldShard, step: () => Promise<void>): Promise<void> => {
    for (let attempt = 0; ; attempt += 1) {
      if (held.isLost) throw new Fenced('the shard was lost');
      try {
        return await step();
      } catch (error) {
        if (isStopping) throw error;
        deps.log.warn({ err: error, attempt, shard: held.owner.shard.index }, 'stored responses could not be handed on yet');
        await pause(Math.min(5000, 100 * 2 ** Math.min(attempt, 6)));
      }
    }
  };

  const watch = setInterval(() => {
    for (const shard of deps.shards)
      void Promise.all([deps.stream.state(shard), deps.stream.deadLetterCount(shard)]).then(
        ([{ length, lag, oldestMs }, deadLetters]) => deps.metrics.shardState(shard.index, { length, lag, deadLetters, oldestSeconds: oldestMs === undefined ? 0 : Math.max(0, (deps.now() - oldestMs) / 1000) }),
        () => undefined,
      );
  }, 1000);
  watch.unref();

  return {
    start(): void {
      loops = deps.shards.map(run);
    },
    /** Lets the batch at hand end, unless a store takes too long for it, and gives the shards up. */
    async stop(): Promise<void> {
      isStopping = true;
      endPauses();
      clearInterval(watch);
      const timer = setTimeout(() => breakOff.abort(), stopGraceMs);
      await Promise.all(loops);
      clearTimeout(timer);
    },
  };
}

export type Ingest = ReturnType<typeof createIngest>;

interface Readers {
  storing: BatchReader;
  handingOn: BatchReader;
}

/** A shard as its owner works on it. */
interface HeldShard {
  owner: Ownership;
  lease: Lease;
  readers: Readers;
  recheck: Recheck | undefined;
  /** All up to here is in the response store. */
  stored: string;
  isLost: boolean;
}
