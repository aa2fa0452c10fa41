import type { ClickHouse } from '../client.ts';
import { sqlInteger, sqlMoment } from '../sql-literals.ts';
import { keysetCondition, type ResponseKey } from './cursor.ts';
import { keyOf, type RecordCells, type ResponseRecord, toRecord } from './record.ts';
import { allOf, type Conditions } from './selection.ts';

export interface RecordQuery {
  conditions: Conditions;
  columns: string;
}

const pageRows = 5000;
const maxSpanRows = 1_000_000;

/**
 * All responses of a selection, oldest first, that were there when the walk began. In steps over spans of the sorting key, each a
 * bounded query of its own: memory stays flat, nothing is kept open for a slow reader, and a broken connection costs one step.
 */
export async function* walkRecords(
  clickhouse: ClickHouse,
  { conditions, columns }: RecordQuery,
): AsyncGenerator<ResponseRecord> {
  const table = clickhouse.table('responses');
  const end = await edge(
    clickhouse,
    `SELECT submitted_at FROM ${table} WHERE ${conditions.key} ORDER BY survey_id DESC, submitted_at DESC LIMIT 1`,
  );
  let span = pageRows;
  for (let fromMs = 0; end !== undefined && fromMs <= end.lastMs; ) {
    const range = allOf([
      conditions.key,
      `submitted_at >= ${sqlMoment(fromMs)}`,
      `submitted_at <= ${sqlMoment(end.lastMs)}`,
    ]);
    const step = await edge(
      clickhouse,
      `SELECT submitted_at FROM ${table} WHERE ${range} ORDER BY survey_id, submitted_at LIMIT ${sqlInteger(span)}`,
    );
    if (step === undefined) return;
    let found = 0;
    const reach = [
      conditions.full,
      `submitted_at >= ${sqlMoment(fromMs)}`,
      `submitted_at <= ${sqlMoment(step.lastMs)}`,
    ];
    for (let after: ResponseKey | undefined; ; ) {
      const rows = await clickhouse.select<RecordCells>(
        `SELECT ${columns} FROM ${table} FINAL WHERE ${allOf([...reach, after === undefined ? '' : keysetCondition('>', after)])}
         ORDER BY submitted_at, response_id LIMIT ${sqlInteger(pageRows)}`,
      );
      for (const row of rows) yield toRecord(row);
      found += rows.length;
      const last = rows.at(-1);
      if (last === undefined || rows.length < pageRows) break;
      after = keyOf(last);
    }
    fromMs = step.lastMs + 1;
    // Where the conditions leave few of many, longer steps; each still gives at most `recordsAtOnce` at a time.
    if (found < pageRows / 4) span = Math.min(maxSpanRows, span * 2);
    else span = pageRows;
  }
}

async function edge(clickhouse: ClickHouse, moments: string): Promise<{ lastMs: number } | undefined> {
  const [row] = await clickhouse.select<[number, number]>(
    `SELECT toUnixTimestamp64Milli(max(submitted_at)), count() FROM (${moments})`,
  );
  return row === undefined || row[1] === 0 ? undefined : { lastMs: row[0] };
}
