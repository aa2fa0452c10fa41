import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { ResponseStore } from '../../stores/clickhouse/responses.ts';
import type { PartToReplace } from '../../stores/clickhouse/write/damaged-parts.ts';
import { isAtOrAfter } from '../../stores/redis/intake/entry-id.ts';
import type { Shard } from '../../stores/redis/intake/shards.ts';
import type { Stream } from '../../stores/redis/intake/stream.ts';
import { createBatchCheck } from './batch-check.ts';
import { keyOf, rowViews } from './batch-lines.ts';
import { createBatchReader } from './batch-reader.ts';
import { createRetainedRowsCheck } from './retained-rows-check.ts';
import { maxRetentionMs } from './retention.ts';
import type { RowSink } from './store-rows.ts';

export interface StoreRowsOfPartDeps {
  stream: Pick<Stream, 'acknowledged' | 'acknowledgedBefore' | 'keepsSince' | 'readAfter' | 'findDeadLetters'>;
  shards: readonly Shard[];
  responses: RowSink & Pick<ResponseStore, 'storedRowsExcept'>;
  /** Whether a survey was deleted, so that its rows are not missing. */
  isDeleted(surveyId: string): Promise<boolean>;
  log: Log;
  metrics: Pick<Metrics, 'rowsMissing'>;
  /** Aborted when the service stops. */
  signal: AbortSignal;
}

/** Rows that are not there after so many repeats are left to the next try. */
const maxRepeats = 5;
/** Parts whose rows are remembered, of up to a batch each. */
const maxRememberedParts = 8;

/**
 * Stores again, from the streams of all shards, the rows that ClickHouse has in a damaged part alone. Resolves with true
 * once others were seen to hold them all. Resolves with false where the streams do not prove that they have all rows of
 * the part: fewer rows than it has were added before it was written and are in no other part, as where entries were
 * trimmed or Redis was emptied; a row that was stored twice, or superseded since, proves nothing. Rejects while
 * ClickHouse takes no rows.
 */
export function createStoreRowsOfPart(deps: StoreRowsOfPartDeps) {
  const { stream, shards, responses, isDeleted, log, metrics, signal } = deps;
  /** By part: the responses that were seen in the streams and in no other part, also by tries that failed. */
  const seen = new Map<string, Set<string>>();

  const areRetained = async (ageMs: number): Promise<boolean> =>
    (await Promise.all(shards.map((shard) => stream.keepsSince(shard, ageMs)))).every((isKept) => isKept);

  const seenOf = ({ name, writtenBeforeMs }: PartToReplace): Set<string> => {
    // With the time, because a name is used again after a restart that lost the part.
    const key = `${name} ${writtenBeforeMs}`;
    const responsesSeen = seen.get(key) ?? new Set<string>();
    seen.set(key, responsesSeen);
    for (const other of seen.keys()) if (seen.size > maxRememberedParts && other !== key) seen.delete(other);
    return responsesSeen;
  };

  /** Goes through the rows that may be in the part and are in no other. */
  async function* missingWithout(part: PartToReplace, shard: Shard) {
    const check = createBatchCheck(responses.storedRowsExcept(part.name));
    const responsesSeen = seenOf(part);
    const missing = async (lines: Buffer) => {
      const found = await check(lines);
      const absent = found?.lines ?? noLines;
      for (const view of rowViews(absent)) responsesSeen.add(`${keyOf(absent, view).responseId} ${view.submittedAtMs}`);
      return found;
    };
    const acknowledged = await stream.acknowledged(shard);
    // The owner may have inserted a batch more, which it cannot verify and acknowledge while the part is damaged.
    const { entries } = await createBatchReader(stream, shard).next(acknowledged);
    const inserted = entries.at(-1)?.id ?? acknowledged;
    const written = `${part.writtenBeforeMs}-0`;
    const span = {
      after: await stream.acknowledgedBefore(shard, maxRetentionMs),
      until: isAtOrAfter(inserted, written) ? written : inserted,
    };
    const retained = createRetainedRowsCheck({ stream, sink: { missing }, isDeleted });
    for await (const batch of retained.missing(shard, span)) {
      signal.throwIfAborted();
      if (batch.missing) yield batch.missing;
    }
  }

  const countMissing = async (part: PartToReplace): Promise<number> => {
    let rows = 0;
    for (const shard of shards) for await (const missing of missingWithout(part, shard)) rows += missing.rows;
    return rows;
  };

  /** Stores what is missing; returns the number of rows. */
  const storeMissing = async (part: PartToReplace, attempt: number): Promise<number> => {
    let rows = 0;
    for (const shard of shards)
      for await (const missing of missingWithout(part, shard)) {
        rows += missing.rows;
        metrics.rowsMissing(missing.rows);
        log.error(
          { part: part.name, rows: missing.rows, shard: shard.index },
          'ClickHouse has rows in a damaged part: storing them again',
        );
        const outcome = await responses.insertBatch({ ...missing, attempt, signal });
        if (outcome.kind !== 'stored')
          throw new Error(`rows of the part ${part.name} were not stored: ${outcome.reason}`);
      }
    return rows;
  };

  return async (part: PartToReplace): Promise<boolean> => {
    const beganAtMs = performance.now();
    if (!(await areRetained(part.ageMs))) return false;
    // All are seen before one is stored: another process of ingest that did both at once would leave neither the proof.
    if ((await countMissing(part)) > 0)
      // The reply to an insert is not trusted: the last pass sees that the rows are there.
      for (let pass = 0; (await storeMissing(part, pass)) > 0; pass += 1)
        if (pass === maxRepeats) throw new Error(`rows of the part ${part.name} were stored, and are not there`);
    // Entries that were trimmed meanwhile, for lack of memory, may not have been read.
    return seenOf(part).size >= part.rows && (await areRetained(part.ageMs + Math.ceil(performance.now() - beganAtMs)));
  };
}

const noLines = Buffer.alloc(0);
