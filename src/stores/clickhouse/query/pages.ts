import type { ClickHouse } from '../client.ts';
import { all, type Conditions } from './selection.ts';
import { beyond, type ResponseKey } from './cursor.ts';
import { instant, uuid, whole } from './literals.ts';
import { toRecord, type RecordCells, type ResponseRecord } from './record.ts';

export interface Window {
  conditions: Conditions;
  after?: ResponseKey | undefined;
  offset: number;
  limit: number;
}

/** Rows looked at first; a granule holds 8192 anyway. */
const firstReach = 5000;
const reachGrowth = 8;

/**
 * The keys of a page, newest first. Merging versions while reading needs all rows of a range, so the range is kept short: the rows of
 * the sorting key (cheap, read backwards, versions not yet merged) say how far back the page reaches, and only if the conditions
 * leave too few is the range made longer.
 */
export async function newestKeys(clickhouse: ClickHouse, { conditions, after, offset, limit }: Window): Promise<ResponseKey[]> {
  const table = clickhouse.table('responses');
  const place = after === undefined ? '' : beyond('<', after);
  for (let reach = Math.max(firstReach, 2 * (offset + limit)); ; reach *= reachGrowth) {
    const [edge] = await clickhouse.select<[number, number]>(
      `SELECT toUnixTimestamp64Milli(min(submitted_at)), count() FROM
        (SELECT submitted_at FROM ${table} WHERE ${all([conditions.key, place])} ORDER BY survey_id DESC, submitted_at DESC LIMIT ${whole(reach)})`,
    );
    const [oldestMs, seen] = edge ?? [0, 0];
    if (seen === 0) return [];
    const keys = await clickhouse.select<[number, string]>(
      `SELECT toUnixTimestamp64Milli(submitted_at) AS at, response_id FROM ${table} FINAL WHERE ${all([conditions.whole, place, `submitted_at >= ${instant(oldestMs)}`])}
       ORDER BY submitted_at DESC, response_id DESC LIMIT ${whole(limit)} OFFSET ${whole(offset)}`,
    );
    if (keys.length === limit || seen < reach) return keys.map(([submittedAtMs, responseId]) => ({ submittedAtMs, responseId }));
  }
}

/** The responses at these keys in the same order; one that was deleted meanwhile is left out. */
export async function recordsAt(clickhouse: ClickHouse, { surveyCondition, keys, columns }: { surveyCondition: string; keys: readonly ResponseKey[]; columns: string }): Promise<ResponseRecord[]> {
  if (keys.length === 0) return [];
  const moments = [...new Set(keys.map((key) => whole(key.submittedAtMs)))];
  const rows = await clickhouse.select<RecordCells>(
    `SELECT ${columns} FROM ${clickhouse.table('responses')} FINAL
     WHERE ${surveyCondition} AND toUnixTimestamp64Milli(submitted_at) IN (${moments.join(', ')}) AND response_id IN (${keys.map((key) => uuid(key.responseId)).join(', ')})`,
  );
  // An id that came again after it was forgotten stands for several.
  const found = new Map(rows.map((row) => [`${row[1]} ${row[2]}`, row]));
  return keys.flatMap(({ responseId, submittedAtMs }) => {
    const row = found.get(`${responseId} ${submittedAtMs}`);
    return row ? [toRecord(row)] : [];
  });
}
