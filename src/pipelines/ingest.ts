import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Shard } from '../stores/redis/shards.ts';
import { UnknownEntry, type Manifest, type Ownership, type Stream, type StreamEntry } from '../stores/redis/stream.ts';
import { describe, linesOf, surveysOf } from './ingest/batch.ts';
import { Fenced, keepHold, type Hold } from './ingest/hold.ts';
import { createBatchReader, type BatchReader } from './ingest/reader.ts';
import { createStoring, type BatchSink } from './ingest/storing.ts';
import { createPauses } from './pauses.ts';
import { createTail, type Tail } from './tail.ts';

export interface IngestDeps {
  stream: Stream;
  shards: readonly Shard[];
  sink: BatchSink;
  /** Told of every batch after it is stored and before it is acknowledged; may run again after a crash. A rejection is tried again. */
  beforeAck(entries: readonly StreamEntry[]): Promise<void>;
  /** Told after the acknowledgement; a failure is only logged. */
  afterAck(shard: Shard, entries: readonly StreamEntry[]): Promise<void>;
  /** Whether the intake has memory for more of what is already stored. */
  hasRoom(): boolean;
  /** How long a shard is held without a sign of life; short in tests. */
  leaseMs?: number;
  /** Names this process among those that may own a shard. */
  name: string;
  now(): number;
  log: Log;
  metrics: Pick<Metrics, 'inserted' | 'insertRetried' | 'deadLettered' | 'ingestFenced' | 'shardState'>;
}

const usualLeaseMs = 10_000;
/**
 * At most one insert a shard in this time, unless a batch is full: an insert costs about as much as some thousands of rows, so a busy
 * shard gathers for longer than a quiet one.
 */
const paceMs = (rows: number): number => (rows < 1000 ? 300 : 450);
const idleMs = 100;

/**
 * Moves accepted responses from the streams into ClickHouse, each batch exactly once: one owner a shard, a manifest before the insert,
 * a deduplication token made from the stream's ids, and the same batch again after a crash — batches are never regrouped.
 */
export function createIngest(deps: IngestDeps) {
  let isStopping = false;
  const { leaseMs = usualLeaseMs } = deps;
  const renewMs = Math.ceil(leaseMs / 3.3);
  const { pause, end: endPauses } = createPauses();
  const store = createStoring({ ...deps, pause, isStopping: () => isStopping });
  let loops: Promise<void>[] = [];

  const run = async (shard: Shard): Promise<void> => {
    // Outlives a failure, from which it learns how much it can read at once.
    const reader = createBatchReader(deps.stream, shard);
    while (!isStopping) {
      let owner: Ownership | undefined;
      try {
        owner = await deps.stream.lease(shard, deps.name, leaseMs);
        if (!owner) await pause(renewMs);
        else await work(owner, reader);
      } catch (error) {
        if (error instanceof Fenced) deps.metrics.ingestFenced();
        else deps.log.warn({ err: error, shard: shard.index }, 'ingest was interrupted and starts again');
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

  const work = async (owner: Ownership, reader: BatchReader): Promise<void> => {
    const hold = keepHold({ ...deps, owner, leaseMs, renewMs });
    try {
      await workOff({ owner, hold, reader, tail: createTail(deps) });
    } finally {
      await hold.end();
      // Also from the middle of a batch: whoever goes on with it need not wait for the lease to end.
      if (isStopping) await deps.stream.release(owner).catch(() => undefined);
    }
  };

  const workOff = async ({ reader, ...held }: HeldShard & { reader: BatchReader }): Promise<void> => {
    const { owner, hold } = held;
    const { shard } = owner;
    let position = await deps.stream.acknowledged(shard);
    const unfinished = await deps.stream.manifest(shard);
    if (unfinished) position = await settle({ ...held, manifest: unfinished, entries: await reader.again(unfinished) });
    while (!isStopping) {
      hold.check();
      const startedAt = performance.now();
      const { entries, isFull } = await reader.next(position);
      if (entries.length === 0) {
        await pause(idleMs);
        continue;
      }
      const manifest = describe(shard, entries);
      if (!(await deps.stream.begin(owner, manifest))) throw new Fenced('the shard was lost');
      position = await settle({ ...held, manifest, entries });
      if (!isFull) await pause(Math.max(0, paceMs(manifest.rows) - (performance.now() - startedAt)));
    }
  };

  /** Stores, tells, acknowledges. Returns the new position. */
  const settle = async ({ owner, hold, tail, manifest, entries }: HeldShard & { manifest: Manifest; entries: readonly StreamEntry[] }): Promise<string> => {
    if (manifest.rows > 0) {
      await store({ owner, hold, manifest, lines: linesOf(entries) });
      if (!(await deps.stream.stored(owner, manifest, surveysOf(entries)))) throw new Fenced('the shard was lost');
    }
    await persist('telling others of a batch', hold, () => deps.beforeAck(entries));
    tail.add(entries);
    if (!(await deps.stream.end(owner, manifest, tail.keepFrom(deps.now())))) throw new Fenced('the shard was lost');
    await deps.afterAck(owner.shard, entries).catch((error: unknown) => deps.log.warn({ err: error }, 'a step after the acknowledgement failed'));
    return manifest.to;
  };

  const persist = async (what: string, hold: Hold, step: () => Promise<void>): Promise<void> => {
    for (let attempt = 0; ; attempt += 1) {
      hold.check();
      try {
        return await step();
      } catch (error) {
        if (isStopping) throw error;
        deps.log.warn({ err: error, attempt }, `${what} failed and is tried again`);
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
    /** Lets the batch at hand end, gives the shards up. */
    async stop(): Promise<void> {
      isStopping = true;
      endPauses();
      clearInterval(watch);
      await Promise.all(loops);
    },
  };
}

export type Ingest = ReturnType<typeof createIngest>;

/** A shard as its owner works on it. */
interface HeldShard {
  owner: Ownership;
  hold: Hold;
  tail: Tail;
}
