import type { ClickHouse } from './client.ts';
import { createCodeColumns } from './code-columns.ts';
import type { Placement } from './placement.ts';
import { instant, whole } from './query/literals.ts';
import { recordColumns, toRecord, type RecordCells, type ResponseRecord } from './query/record.ts';
import { all, columnNames, conditionsOf, selectionSlots, type Selection } from './query/selection.ts';

const spanRows = 20_000;
const rowsAtOnce = 1000;
const edgesTimeoutMs = 60_000;
// All versions of a response lie in one partition, as its moment never changes.
const settings = { do_not_merge_across_partitions_select_final: 1 };

/** Responses on their way into files: everything of a selection, as fast as it can be read in flat memory. */
export function createExportRows({ clickhouse, cluster }: { clickhouse: ClickHouse } & Placement) {
  const columns = createCodeColumns(clickhouse, { cluster });
  const table = clickhouse.table('responses');
  return {
    /**
     * Every response of the selection, oldest first, some at a time. The time line is cut into spans of about equal numbers of rows; each
     * is a query of its own, and the next one runs while the rows of the last are worked on. The order is the same in every run.
     */
    async *batches(selection: Selection, codeColumns: number): AsyncGenerator<readonly ResponseRecord[]> {
      const conditions = conditionsOf(selection, await columnNames(columns, selectionSlots(selection)));
      const shown = recordColumns(Math.min(codeColumns, await columns.existing(codeColumns)));
      const read = (span: string): Promise<RecordCells[]> =>
        clickhouse.select<RecordCells>(`SELECT ${shown} FROM ${table} FINAL WHERE ${all([conditions.whole, span])} ORDER BY submitted_at, response_id`, { settings });
      const spans = spansBetween(await edges(conditions.key));
      let next = ahead(read(spans[0] ?? ''));
      for (let index = 0; index < spans.length; index += 1) {
        const rows = await next();
        const following = spans[index + 1];
        if (following !== undefined) next = ahead(read(following));
        for (let at = 0; at < rows.length; at += rowsAtOnce) yield rows.slice(at, at + rowsAtOnce).map(toRecord);
      }
    },
  };

  /** Moments that many rows apart. Where exactly they lie decides nothing but the size of the steps. */
  async function edges(key: string): Promise<number[]> {
    const inOrder = `SELECT submitted_at FROM ${table} WHERE ${key} ORDER BY survey_id, submitted_at`;
    const rows = await clickhouse.select<[number]>(
      `SELECT toUnixTimestamp64Milli(submitted_at) FROM (SELECT submitted_at, rowNumberInAllBlocks() AS place FROM (${inOrder})) WHERE place % ${whole(spanRows)} = ${whole(spanRows - 1)}`,
      { timeoutMs: edgesTimeoutMs },
    );
    return [...new Set(rows.map(([moment]) => moment))].sort((a, b) => a - b);
  }
}

export type ExportRows = ReturnType<typeof createExportRows>;

/** Conditions that together hold for every moment, each once. */
function spansBetween(edges: readonly number[]): string[] {
  return [undefined, ...edges].map((from, index) => all([from === undefined ? '' : `submitted_at >= ${instant(from)}`, edges[index] === undefined ? '' : `submitted_at < ${instant(edges[index])}`]));
}

/** A failure of work that was begun early is thrown where its result is asked for, and is not unhandled before. */
function ahead<T>(work: Promise<T>): () => Promise<T> {
  work.catch(() => undefined);
  return () => work;
}
