import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { ResponseStore } from '../../stores/clickhouse/responses.ts';
import type { PartToReplace } from '../../stores/clickhouse/write/damaged-parts.ts';
import type { Shard } from '../../stores/redis/intake/shards.ts';
import type { Stream } from '../../stores/redis/intake/stream.ts';
import { createBatchCheck } from './batch-check.ts';
import { createRetainedRowsCheck } from './retained-rows-check.ts';
import { maxRetentionMs } from './retention.ts';

export interface StoreRowsOfPartDeps {
  stream: Pick<Stream, 'acknowledged' | 'acknowledgedBefore' | 'keepsSince' | 'readAfter' | 'findDeadLetters'>;
  shards: readonly Shard[];
  responses: Pick<ResponseStore, 'insertBatch' | 'storedRowsExcept'>;
  /** Whether a survey was deleted, so that its rows are not missing. */
  isDeleted(surveyId: string): Promise<boolean>;
  log: Log;
  metrics: Pick<Metrics, 'rowsMissing'>;
  /** Aborted when the service stops. */
  signal: AbortSignal;
}

/**
 * Stores again, from the streams of all shards, the rows that ClickHouse has in a damaged part alone. Resolves with
 * false where a row of the part may have been trimmed before; rejects while ClickHouse takes no rows.
 */
export function createStoreRowsOfPart(deps: StoreRowsOfPartDeps) {
  const { stream, shards, responses, isDeleted, log, metrics, signal } = deps;
  const areRetained = async (ageMs: number): Promise<boolean> =>
    (await Promise.all(shards.map((shard) => stream.keepsSince(shard, ageMs)))).every((isKept) => isKept);

  const storeAgain = async (shard: Shard, part: string): Promise<void> => {
    const sink = { missing: createBatchCheck(responses.storedRowsExcept(part)) };
    const retained = createRetainedRowsCheck({ stream, sink, isDeleted });
    const after = await stream.acknowledgedBefore(shard, maxRetentionMs);
    const until = await stream.acknowledged(shard);
    for await (const { missing } of retained.missing(shard, { after, until })) {
      signal.throwIfAborted();
      if (!missing) continue;
      metrics.rowsMissing(missing.rows);
      log.error(
        { part, rows: missing.rows, shard: shard.index },
        'ClickHouse has rows in a damaged part: storing them again',
      );
      const outcome = await responses.insertBatch({ ...missing, signal });
      if (outcome.kind !== 'stored') throw new Error(`rows of the part ${part} were not stored: ${outcome.reason}`);
    }
  };

  return async ({ name, ageMs }: PartToReplace): Promise<boolean> => {
    const beganAtMs = performance.now();
    if (!(await areRetained(ageMs))) return false;
    for (const shard of shards) await storeAgain(shard, name);
    // What was trimmed meanwhile, for lack of memory, may not have been read.
    return areRetained(ageMs + Math.ceil(performance.now() - beganAtMs));
  };
}
