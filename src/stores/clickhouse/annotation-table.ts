import type { AnnotationValues, ResponsesOfSurvey } from '../postgres/ai/annotations.ts';
import type { Abortable, ClickHouse } from './client.ts';
import { localTable, type Placement, storageTable } from './schema/placement.ts';
import { sqlInteger, sqlString, sqlUuid } from './sql-literals.ts';

interface Edition {
  surveyId: string;
  edition: string;
}

interface ValueCount {
  value: string;
  count: number;
}

const deleteTimeoutMs = 30 * 60_000;
const editionsPerStatement = 500;
const insertBytes = 4_000_000;
const deletedPageSize = 10_000;

/** AI annotations in ClickHouse, where they can be counted together with responses. */
export function createAnnotationTable({ clickhouse, ...placement }: { clickhouse: ClickHouse } & Placement) {
  const table = clickhouse.table('findings');
  const deletion = `ALTER TABLE ${storageTable(clickhouse, placement, 'findings')} DELETE WHERE`;
  /** `IN` or `GLOBAL IN`, and the responses to read. */
  const isDeleted = (among: string, responses: string): string =>
    `(survey_id, response_id) ${among} (SELECT survey_id, response_id FROM ${responses} WHERE is_deleted = 1)`;
  const remove = (condition: string, { settings = '', signal }: { settings?: string } & Abortable = {}) =>
    clickhouse.command(`${deletion} ${condition} SETTINGS mutations_sync = 2${settings}`, {
      timeoutMs: deleteTimeoutMs,
      signal,
    });
  const write = async (lines: readonly Buffer[]): Promise<void> => {
    const settings = placement.cluster === undefined ? '' : 'SETTINGS distributed_foreground_insert = 1 ';
    await clickhouse.insert(
      `INSERT INTO ${table} (survey_id, edition, value, question_id, response_id) ${settings}FORMAT JSONCompactEachRow`,
      lines,
    );
  };
  return {
    /** Adds pages to an edition, many pages in one insert. Rows added twice after a broken connection count once. */
    async insert(
      place: Edition,
      pages: AsyncIterable<readonly AnnotationValues[]> | Iterable<readonly AnnotationValues[]>,
    ): Promise<void> {
      let lines: Buffer[] = [];
      let bytes = 0;
      for await (const page of pages) {
        // As bytes, which the garbage collector does not copy.
        const encoded = linesOf(place, page);
        lines.push(encoded);
        bytes += encoded.length;
        if (bytes < insertBytes) continue;
        await write(lines);
        [lines, bytes] = [[], 0];
      }
      if (bytes > 0) await write(lines);
    },

    /**
     * The values of an edition, most frequent first; `count` is good for their order alone, as rows may be there twice.
     */
    async values({ surveyId, edition }: Edition): Promise<ValueCount[]> {
      const rows = await clickhouse.select<[string, number]>(
        `SELECT value, toFloat64(count()) FROM ${table} WHERE survey_id = ${sqlUuid(surveyId)} AND edition = ${sqlUuid(edition)} GROUP BY value ORDER BY count() DESC, value`,
      );
      return rows.map(([value, count]) => ({ value, count }));
    },

    /** The same in the answers to each of these questions, in one statement. */
    async valuesByQuestion(
      { surveyId, edition }: Edition,
      questionIds: readonly string[],
    ): Promise<Map<string, ValueCount[]>> {
      const found = new Map(questionIds.map((id): [string, ValueCount[]] => [id, []]));
      if (found.size === 0) return found;
      const rows = await clickhouse.select<[string, string, number]>(
        `SELECT question_id, value, toFloat64(count()) FROM ${table} WHERE survey_id = ${sqlUuid(surveyId)} AND edition = ${sqlUuid(edition)}
         AND question_id IN (${[...found.keys()].map(sqlUuid).join(', ')}) GROUP BY question_id, value ORDER BY count() DESC, value`,
      );
      for (const [questionId, value, count] of rows) found.get(questionId)?.push({ value, count });
      return found;
    },

    /** The values found in the answers of these responses to a question: pairs of response id and value. */
    async ofAnswers(
      { surveyId, edition }: Edition,
      questionId: string,
      responseIds: readonly string[],
    ): Promise<[responseId: string, value: string][]> {
      if (responseIds.length === 0) return [];
      return clickhouse.select<[string, string]>(
        `SELECT DISTINCT response_id, value FROM ${table} WHERE survey_id = ${sqlUuid(surveyId)} AND edition = ${sqlUuid(edition)}
         AND question_id = ${sqlUuid(questionId)} AND response_id IN (${responseIds.map(sqlUuid).join(', ')}) ORDER BY response_id, value`,
      );
    },

    /**
     * How many responses have each value in their answer to a question, most frequent first; at most `limit` values.
     * Values in `replaced` count under the name that they have there.
     */
    async countsOf(
      { surveyId, edition }: Edition,
      { questionId, replaced, limit }: { questionId: string; replaced: ReadonlyMap<string, string>; limit: number },
    ): Promise<{ value: string; count: number }[]> {
      const listOf = (texts: Iterable<string>): string => `[${[...texts].map(sqlString).join(', ')}]`;
      const name =
        replaced.size === 0
          ? 'value'
          : `transform(value, ${listOf(replaced.keys())}, ${listOf(replaced.values())}, value)`;
      const deleted = `SELECT response_id FROM ${clickhouse.table('responses')} WHERE survey_id = ${sqlUuid(surveyId)} AND is_deleted = 1`;
      const rows = await clickhouse.select<[string, number]>(
        `SELECT ${name} AS name, toFloat64(uniqExact(response_id)) AS amount FROM ${table} WHERE survey_id = ${sqlUuid(surveyId)} AND edition = ${sqlUuid(edition)}
         AND question_id = ${sqlUuid(questionId)} AND response_id GLOBAL NOT IN (${deleted}) GROUP BY name ORDER BY amount DESC, name LIMIT ${sqlInteger(limit)}`,
      );
      return rows.map(([value, count]) => ({ value, count }));
    },

    /** All editions, with the time of their last addition in whole seconds, as milliseconds. */
    async editions(signal?: AbortSignal): Promise<Map<string, number>> {
      const rows = await clickhouse.select<[edition: string, writtenAtMs: number]>(
        `SELECT edition, toUnixTimestamp(max(written_at)) * 1000 FROM ${table} GROUP BY edition`,
        { timeoutMs: deleteTimeoutMs, signal },
      );
      return new Map(rows);
    },

    async removeEditions(editions: readonly string[], signal?: AbortSignal): Promise<void> {
      for (let from = 0; from < editions.length; from += editionsPerStatement)
        await remove(
          `edition IN (${editions
            .slice(from, from + editionsPerStatement)
            .map(sqlUuid)
            .join(', ')})`,
          { signal },
        );
    },

    removeOfSurvey: (surveyId: string): Promise<void> => remove(`survey_id = ${sqlUuid(surveyId)}`),

    /** Deleted responses that have annotations, in pages of one survey. */
    async *findDeleted(signal?: AbortSignal): AsyncGenerator<ResponsesOfSurvey> {
      const deleted = isDeleted('GLOBAL IN', clickhouse.table('responses'));
      for (let last: [surveyId: string, responseId: string] | undefined; ; ) {
        const keyset = last ? ` AND (survey_id, response_id) > (${last.map(sqlUuid).join(', ')})` : '';
        const rows = await clickhouse.select<[surveyId: string, responseId: string]>(
          `SELECT DISTINCT survey_id, response_id FROM ${table} WHERE ${deleted}${keyset} ORDER BY survey_id, response_id LIMIT ${sqlInteger(deletedPageSize)}`,
          { timeoutMs: deleteTimeoutMs, signal },
        );
        const bySurvey = new Map<string, string[]>();
        for (const [surveyId, responseId] of rows) {
          const others = bySurvey.get(surveyId);
          if (others) others.push(responseId);
          else bySurvey.set(surveyId, [responseId]);
        }
        for (const [surveyId, responseIds] of bySurvey) yield { surveyId, responseIds };
        if (rows.length < deletedPageSize) return;
        last = rows.at(-1);
      }
    },

    /**
     * Removes annotations of deleted responses. A response and its annotations are on one shard, so every server reads
     * its own rows.
     */
    removeDeleted: (signal?: AbortSignal): Promise<void> =>
      remove(isDeleted('IN', localTable(clickhouse, placement, 'responses')), {
        settings: ', allow_nondeterministic_mutations = 1',
        signal,
      }),
  };
}

function linesOf({ surveyId, edition }: Edition, found: readonly AnnotationValues[]): Buffer {
  return Buffer.from(
    found
      .map(({ responseId, questionId, values }) =>
        values.map((value) => `${JSON.stringify([surveyId, edition, value, questionId, responseId])}\n`).join(''),
      )
      .join(''),
  );
}

export type AnnotationTable = ReturnType<typeof createAnnotationTable>;
