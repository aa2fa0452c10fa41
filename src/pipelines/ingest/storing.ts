import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { Manifest, Ownership, Stream } from '../../stores/redis/stream.ts';
import { cutLines } from './batch.ts';
import { Fenced, type Hold } from './hold.ts';

/** The part of the response store that ingest needs: stores a batch once a token, or says how it failed. */
export interface BatchSink {
  insertBatch(batch: { lines: Buffer; rows: number; codeColumns: number; token: string }): Promise<InsertOutcome>;
}

export type InsertOutcome =
  | { kind: 'stored' }
  /** the rows themselves cannot be stored: sending them again is no use */
  | { kind: 'refused'; reason: string }
  /** the store is away or busy; `isTooLarge`: it lacks the memory for so many rows at once */
  | { kind: 'retry'; reason: string; isTooLarge?: boolean };

export interface StoringDeps {
  sink: BatchSink;
  stream: Pick<Stream, 'begin' | 'bury'>;
  log: Log;
  metrics: Pick<Metrics, 'inserted' | 'insertRetried' | 'deadLettered'>;
  pause(ms: number): Promise<void>;
  isStopping(): boolean;
}

export interface BatchToStore {
  owner: Ownership;
  manifest: Manifest;
  hold: Hold;
  lines: Buffer;
}

/** Lines of a batch that are sent as one block. */
interface Piece {
  lines: Buffer;
  rows: number;
  token: string;
}

/** Refusals for lack of memory, one after the other, after which a piece is halved. */
const tooLargeAtMost = 3;
/** So few rows are not halved for lack of memory: it is others who take it. */
const fewRows = 64;

/** Resolves when all rows of a batch are stored, or buried where the store cannot read them; throws when the shard is lost or the service stops. */
export function createStoring({ sink, stream, log, metrics, pause, isStopping }: StoringDeps) {
  return async ({ owner, hold, lines, ...batch }: BatchToStore): Promise<void> => {
    const shard = owner.shard.index;
    let manifest = batch.manifest;

    const insert = async ({ lines, rows, token }: Piece): Promise<InsertOutcome> => {
      const startedAt = performance.now();
      const outcome = await sink.insertBatch({ lines, rows, codeColumns: manifest.codeColumns, token });
      if (outcome.kind === 'stored') metrics.inserted(rows, (performance.now() - startedAt) / 1000);
      return outcome;
    };

    const store = async (piece: Piece): Promise<void> => {
      let tooLarge = 0;
      for (let attempt = 0; !isStopping(); attempt += 1) {
        hold.check();
        if (manifest.halved?.includes(piece.token)) return halve(piece);
        const outcome = await insert(piece);
        if (outcome.kind === 'stored') return;
        if (outcome.kind === 'refused') return piece.rows === 1 ? bury(piece, outcome.reason) : halve(piece);
        metrics.insertRetried();
        log.warn({ reason: outcome.reason, attempt, rows: piece.rows, shard }, 'a batch was not stored yet');
        tooLarge = outcome.isTooLarge ? tooLarge + 1 : 0;
        if (tooLarge >= tooLargeAtMost && piece.rows > fewRows) await noteHalved(piece);
        else await pause(Math.min(5000, 100 * 2 ** Math.min(attempt, 6)));
      }
      throw new Error('stopping before the batch was stored');
    };

    /** With tokens that a second run makes again: rows that cannot be stored end alone, and the others are stored once. */
    const halve = async ({ lines, rows, token }: Piece): Promise<void> => {
      const half = Math.ceil(rows / 2);
      const [first, second] = cutLines(lines, half);
      await store({ lines: first, rows: half, token: `${token}a` });
      await store({ lines: second, rows: rows - half, token: `${token}b` });
    };

    /** Unlike rows that cannot be read, memory may be there the next time: whoever goes on after a crash must halve it too. */
    const noteHalved = async ({ rows, token }: Piece): Promise<void> => {
      log.warn({ rows, shard }, 'a batch is too large for the memory of the response store and is sent in halves');
      manifest = { ...manifest, halved: [...(manifest.halved ?? []), token] };
      if (!(await stream.begin(owner, manifest))) throw new Fenced('the shard was lost');
    };

    const bury = async ({ lines, token }: Piece, reason: string): Promise<void> => {
      log.error({ reason, shard }, 'a response cannot be stored and is kept among the dead letters');
      if (!(await stream.bury(owner, token, reason.slice(0, 500), lines))) throw new Fenced('the shard was lost');
      metrics.deadLettered(1);
    };

    await store({ lines, rows: manifest.rows, token: manifest.token });
  };
}
