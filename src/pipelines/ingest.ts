import { createHash } from 'node:crypto';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Shard } from '../stores/redis/shards.ts';
import { UnknownEntry, type Manifest, type Ownership, type Stream, type StreamEntry } from '../stores/redis/stream.ts';
import { createPauses } from './pauses.ts';
import { createTail, type Tail } from './tail.ts';

/** The part of the response store that ingest needs: stores a batch once a token, or says how it failed. */
export interface BatchSink {
  insertBatch(batch: { lines: Buffer; rows: number; codeColumns: number; token: string }): Promise<InsertOutcome>;
}

export type InsertOutcome =
  | { kind: 'stored' }
  /** the rows themselves cannot be stored: sending them again is no use */
  | { kind: 'refused'; reason: string }
  /** the store is away or busy */
  | { kind: 'retry'; reason: string };

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
  /** Names this process among those that may own a shard. */
  name: string;
  now(): number;
  log: Log;
  metrics: Pick<Metrics, 'inserted' | 'insertRetried' | 'deadLettered' | 'ingestFenced' | 'shardState'>;
}

const leaseMs = 10_000;
const renewMs = 3000;
const rowsWanted = 20_000;
const bytesWanted = 16 * 1024 * 1024;
const entriesRead = 256;
/**
 * At most one insert a shard in this time, unless a batch is full: an insert costs about as much as some thousands of rows, so a busy
 * shard gathers for longer than a quiet one.
 */
const paceMs = (rows: number): number => (rows < 1000 ? 300 : 550);
const idleMs = 100;

/** Thrown inside a shard's loop when another process has taken the shard: the loop starts over by asking for the lease. */
class Fenced extends Error {}

/**
 * Moves accepted responses from the streams into ClickHouse, each batch exactly once: one owner a shard, a manifest before the insert,
 * a deduplication token made from the stream's ids, and the same batch again after a crash — batches are never regrouped.
 */
export function createIngest(deps: IngestDeps) {
  let isStopping = false;
  const { pause, end: endPauses } = createPauses();
  let loops: Promise<void>[] = [];

  const run = async (shard: Shard): Promise<void> => {
    while (!isStopping) {
      let owner: Ownership | undefined;
      try {
        owner = await deps.stream.lease(shard, deps.name, leaseMs);
        if (!owner) await pause(renewMs);
        else await work(owner);
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

  const work = async (owner: Ownership): Promise<void> => {
    const { shard } = owner;
    let leasedAt = performance.now();
    const tail = createTail(deps);
    const renew = async () => {
      if (performance.now() - leasedAt < renewMs) return;
      const renewed = await deps.stream.lease(shard, deps.name, leaseMs);
      if (renewed?.fence !== owner.fence) throw new Fenced();
      leasedAt = performance.now();
    };
    let position = await deps.stream.acknowledged(shard);
    const unfinished = await deps.stream.manifest(shard);
    if (unfinished) position = await settle(owner, await reread(shard, unfinished), unfinished, renew, tail);
    while (!isStopping) {
      await renew();
      const startedAt = performance.now();
      const entries = await gather(shard, position);
      if (entries.length === 0) {
        await pause(idleMs);
        continue;
      }
      const manifest = describe(shard, entries);
      if (!(await deps.stream.begin(owner, manifest))) throw new Fenced();
      position = await settle(owner, entries, manifest, renew, tail);
      if (manifest.rows < rowsWanted) await pause(Math.max(0, paceMs(manifest.rows) - (performance.now() - startedAt)));
    }
    await deps.stream.release(owner);
  };

  /** Reads the next batch: whole entries, until one of the bounds is met. */
  const gather = async (shard: Shard, after: string): Promise<StreamEntry[]> => {
    const batch: StreamEntry[] = [];
    let [rows, bytes, last] = [0, 0, after];
    while (rows < rowsWanted && bytes < bytesWanted) {
      const entries = await deps.stream.readAfter(shard, last, entriesRead);
      for (const entry of entries) {
        if (rows >= rowsWanted || bytes >= bytesWanted) return batch;
        batch.push(entry);
        rows += entry.count;
        bytes += entry.rows.length;
        last = entry.id;
      }
      if (entries.length < entriesRead) break;
    }
    return batch;
  };

  /** The batch that a manifest names, as it was: a difference means that the stream was tampered with, and stops the shard. */
  const reread = async (shard: Shard, manifest: Manifest): Promise<StreamEntry[]> => {
    const entries = await deps.stream.readRange(shard, manifest.from, manifest.to, manifest.entries + 1);
    const found = describe(shard, entries);
    if (found.digest !== manifest.digest) throw new Error(`the stream no longer holds batch ${manifest.from}…${manifest.to} as it was`);
    return entries;
  };

  /** Stores, tells, acknowledges. Returns the new position. */
  const settle = async (owner: Ownership, entries: readonly StreamEntry[], manifest: Manifest, renew: () => Promise<void>, tail: Tail): Promise<string> => {
    const lines = join(entries);
    if (manifest.rows > 0) await store(owner, lines, manifest, renew);
    await persist('telling others of a batch', renew, () => deps.beforeAck(entries));
    tail.add(entries);
    if (!(await deps.stream.end(owner, manifest, tail.keepFrom(deps.now())))) throw new Fenced();
    await deps.afterAck(owner.shard, entries).catch((error: unknown) => deps.log.warn({ err: error }, 'a step after the acknowledgement failed'));
    return manifest.to;
  };

  const store = async (owner: Ownership, lines: Buffer, batch: { rows: number; codeColumns: number; token: string }, renew: () => Promise<void>): Promise<void> => {
    for (let attempt = 0; !isStopping; attempt += 1) {
      await renew();
      const startedAt = performance.now();
      const outcome = await deps.sink.insertBatch({ lines, rows: batch.rows, codeColumns: batch.codeColumns, token: batch.token });
      if (outcome.kind === 'stored') return deps.metrics.inserted(batch.rows, (performance.now() - startedAt) / 1000);
      if (outcome.kind === 'refused') return isolate(owner, lines, { ...batch, reason: outcome.reason }, renew);
      deps.metrics.insertRetried();
      deps.log.warn({ reason: outcome.reason, attempt, shard: owner.shard.index }, 'a batch was not stored yet');
      await pause(Math.min(5000, 100 * 2 ** Math.min(attempt, 6)));
    }
    throw new Error('stopping before the batch was stored');
  };

  /** A batch holds rows that cannot be stored: halves it, with tokens that a second run makes again, until the bad rows stand alone. */
  const isolate = async (owner: Ownership, lines: Buffer, batch: { rows: number; codeColumns: number; token: string; reason: string }, renew: () => Promise<void>): Promise<void> => {
    if (batch.rows === 1) {
      deps.log.error({ reason: batch.reason, shard: owner.shard.index }, 'a response cannot be stored and is kept among the dead letters');
      if (!(await deps.stream.bury(owner, batch.token, batch.reason.slice(0, 500), lines))) throw new Fenced();
      return deps.metrics.deadLettered(1);
    }
    const half = Math.ceil(batch.rows / 2);
    const cut = endOfLine(lines, half);
    await store(owner, lines.subarray(0, cut), { rows: half, codeColumns: batch.codeColumns, token: `${batch.token}a` }, renew);
    await store(owner, lines.subarray(cut + 1), { rows: batch.rows - half, codeColumns: batch.codeColumns, token: `${batch.token}b` }, renew);
  };

  const persist = async (what: string, renew: () => Promise<void>, step: () => Promise<void>): Promise<void> => {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await step();
      } catch (error) {
        if (isStopping) throw error;
        deps.log.warn({ err: error, attempt }, `${what} failed and is tried again`);
        await pause(Math.min(5000, 100 * 2 ** Math.min(attempt, 6)));
        await renew();
      }
    }
  };

  const watch = setInterval(() => {
    for (const shard of deps.shards)
      void deps.stream.state(shard).then(
        ({ length, lag, oldestMs }) => deps.metrics.shardState(shard.index, { length, lag, oldestSeconds: oldestMs === undefined ? 0 : Math.max(0, (deps.now() - oldestMs) / 1000) }),
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

function describe(shard: Shard, entries: readonly StreamEntry[]): Manifest {
  const from = entries[0]?.id ?? '';
  const to = entries.at(-1)?.id ?? '';
  const rows = entries.reduce((sum, entry) => sum + entry.count, 0);
  const hash = createHash('sha1');
  for (const entry of entries) hash.update(entry.id).update(entry.rows);
  return {
    from, to, rows, entries: entries.length, codeColumns: Math.max(0, ...entries.map((entry) => entry.codeColumns)),
    digest: hash.digest('base64'), token: `${shard.stream}:${from}:${to}:${rows}`,
  };
}

const lineFeed = Buffer.from('\n');

function join(entries: readonly StreamEntry[]): Buffer {
  const parts: Buffer[] = [];
  for (const entry of entries) {
    if (entry.count === 0) continue;
    if (parts.length > 0) parts.push(lineFeed);
    parts.push(entry.rows);
  }
  return Buffer.concat(parts);
}

/** Where the n-th line ends. */
function endOfLine(lines: Buffer, n: number): number {
  let at = -1;
  for (let line = 0; line < n; line += 1) at = lines.indexOf(0x0a, at + 1);
  return at;
}
