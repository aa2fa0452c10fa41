import type { ClickHouse } from '../client.ts';
import { sqlInteger, sqlMoment, sqlUuid } from '../sql-literals.ts';
import { keysetCondition, type ResponseKey } from './cursor.ts';
import { keyOf, type RecordCells, type ResponseRecord, toRecord } from './record.ts';
import { allOf, type Conditions } from './selection.ts';

export interface PageQuery {
  conditions: Conditions;
  after?: ResponseKey | undefined;
  offset: number;
  limit: number;
}

/** Rows looked at first; a granule holds 8192 anyway. */
const firstRangeRows = 5000;
const rangeGrowth = 8;

/**
 * The keys of a page, newest first. Merging versions while reading needs all rows of a range, so the range is kept short: the rows of
 * the sorting key (cheap, read backwards, versions not yet merged) say how far back the page reaches, and only if the conditions
 * leave too few is the range made longer.
 */
export async function findPageKeys(
  clickhouse: ClickHouse,
  { conditions, after, offset, limit }: PageQuery,
): Promise<ResponseKey[]> {
  const table = clickhouse.table('responses');
  const place = after === undefined ? '' : keysetCondition('<', after);
  for (let rangeRows = Math.max(firstRangeRows, 2 * (offset + limit)); ; rangeRows *= rangeGrowth) {
    const [edge] = await clickhouse.select<[number, number]>(
      `SELECT toUnixTimestamp64Milli(min(submitted_at)), count() FROM
        (SELECT submitted_at FROM ${table} WHERE ${allOf([conditions.key, place])} ORDER BY survey_id DESC, submitted_at DESC LIMIT ${sqlInteger(rangeRows)})`,
    );
    const [oldestMs, seen] = edge ?? [0, 0];
    if (seen === 0) return [];
    const keys = await clickhouse.select<[number, string]>(
      `SELECT toUnixTimestamp64Milli(submitted_at) AS at, response_id FROM ${table} FINAL WHERE ${allOf([conditions.full, place, `submitted_at >= ${sqlMoment(oldestMs)}`])}
       ORDER BY submitted_at DESC, response_id DESC LIMIT ${sqlInteger(limit)} OFFSET ${sqlInteger(offset)}`,
    );
    if (keys.length === limit || seen < rangeRows)
      return keys.map(([submittedAtMs, responseId]) => ({ submittedAtMs, responseId }));
  }
}

/** The responses at these keys in the same order; one that was deleted meanwhile is left out. */
export async function findRecordsByKeys(
  clickhouse: ClickHouse,
  { surveyCondition, keys, columns }: { surveyCondition: string; keys: readonly ResponseKey[]; columns: string },
): Promise<ResponseRecord[]> {
  if (keys.length === 0) return [];
  const moments = [...new Set(keys.map((key) => sqlInteger(key.submittedAtMs)))];
  const rows = await clickhouse.select<RecordCells>(
    `SELECT ${columns} FROM ${clickhouse.table('responses')} FINAL
     WHERE ${surveyCondition} AND toUnixTimestamp64Milli(submitted_at) IN (${moments.join(', ')}) AND response_id IN (${keys.map((key) => sqlUuid(key.responseId)).join(', ')})`,
  );
  // An id that came again after it was forgotten stands for several.
  const nameOf = ({ responseId, submittedAtMs }: ResponseKey) => `${responseId} ${submittedAtMs}`;
  const found = new Map(rows.map((cells) => [nameOf(keyOf(cells)), cells]));
  return keys.flatMap((key) => {
    const cells = found.get(nameOf(key));
    return cells ? [toRecord(cells)] : [];
  });
}
