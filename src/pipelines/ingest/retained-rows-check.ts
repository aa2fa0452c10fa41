import type { Shard } from '../../stores/redis/intake/shards.ts';
import type { Stream } from '../../stores/redis/intake/stream.ts';
import { type BatchPart, linesOf, rowViews, surveyIdOf } from './batch-lines.ts';
import { createBatchReader } from './batch-reader.ts';
import type { BatchSink } from './store-batch.ts';

export interface RetainedRowsCheckDeps {
  stream: Pick<Stream, 'readAfter' | 'findDeadLetters'>;
  sink: Pick<BatchSink, 'missing'>;
  /** Whether the survey was deleted, so that its rows are not missing. */
  isDeleted(surveyId: string): Promise<boolean>;
}

/** Rows that ClickHouse should hold and does not. */
export interface MissingRows extends BatchPart {
  /** Highest number of code positions of a row. */
  codeColumns: number;
}

/** Finds acknowledged rows that are still in a shard's stream but not in ClickHouse. */
export function createRetainedRowsCheck({ stream, sink, isDeleted }: RetainedRowsCheckDeps) {
  /** Leaves out rows of deleted surveys and dead letters. */
  const withoutExempt = async (shard: Shard, piece: BatchPart): Promise<BatchPart | undefined> => {
    const exempt = new Set<string>();
    for (const surveyId of surveysIn(piece.lines)) {
      if (await isDeleted(surveyId)) exempt.add(surveyId);
      else
        for await (const { rows } of stream.findDeadLetters(shard, { surveyId })) exempt.add(rows.toString('latin1'));
    }
    const lines: Buffer[] = [];
    for (const view of rowViews(piece.lines)) {
      const line = piece.lines.subarray(view.start, view.end);
      if (!exempt.has(surveyIdOf(piece.lines, view)) && !exempt.has(line.toString('latin1'))) lines.push(line);
    }
    return lines.length === 0
      ? undefined
      : { lines: linesOf(lines.map((rows) => ({ count: 1, rows }))), rows: lines.length };
  };

  return {
    /**
     * Reads the entries after `after`, up to and including `until`; yields what is missing of each batch, and the rows
     * seen.
     */
    async *missing(
      shard: Shard,
      { after, until }: { after: string; until: string },
    ): AsyncGenerator<{ seen: number; missing: MissingRows | undefined }> {
      const reader = createBatchReader(stream, shard);
      for (let position = after; ; ) {
        const { entries } = await reader.next(position, until);
        const last = entries.at(-1);
        if (!last) return;
        position = last.id;
        const lines = linesOf(entries);
        const absent = lines.length === 0 ? undefined : await sink.missing(lines);
        const piece = absent && (await withoutExempt(shard, absent));
        yield {
          seen: entries.reduce((sum, { count }) => sum + count, 0),
          missing: piece && { ...piece, codeColumns: Math.max(0, ...entries.map(({ codeColumns }) => codeColumns)) },
        };
      }
    },
  };
}

export type RetainedRowsCheck = ReturnType<typeof createRetainedRowsCheck>;

function surveysIn(lines: Buffer): Set<string> {
  const surveyIds = new Set<string>();
  for (const view of rowViews(lines)) surveyIds.add(surveyIdOf(lines, view));
  return surveyIds;
}
