import { validationProblem } from '../../../errors.ts';
import type { ClickHouse, SelectOptions } from '../client.ts';
import { isUuid, sqlInteger, sqlMoment, sqlUuid } from '../sql-literals.ts';
import { keyOf, type RecordCells, type ResponseKey, type ResponseRecord, toRecord } from './record.ts';
import { allOf, type Conditions } from './selection.ts';

export interface PageQuery {
  conditions: Conditions;
  after?: ResponseKey | undefined;
  offset: number;
  limit: number;
}

/** Rows of the first range; smaller ones save nothing, as a granule has 8192 rows. */
const firstRangeRows = 5000;
const rangeGrowth = 8;

/**
 * The keys of a page, newest first. FINAL reads all rows of a time range, so the range is kept short: reading the
 * sorting key backwards (cheap, without merging versions) tells how far back the first `firstRangeRows` rows reach. The
 * range grows if the conditions leave too few of them.
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

/** Size from which a page is read, and sent, in pieces. */
const maxListPieceBytes = 4 * 1024 * 1024;

/** Responses of a page that were read together. */
export interface RecordPiece {
  records: ResponseRecord[];
  isLast: boolean;
}

/**
 * The responses with these keys, in the same order, without those deleted meanwhile. A page may have gigabytes, so it is
 * read in pieces where it is larger than a piece may be. Each has as many keys as the rows before it let expect, since
 * a few long responses may stand among many short ones.
 */
export async function* readRecordsByKeys(
  clickhouse: ClickHouse,
  { surveyCondition, keys, columns }: { surveyCondition: string; keys: readonly ResponseKey[]; columns: string },
): AsyncGenerator<RecordPiece> {
  let size = keys.length;
  for (let at = 0; at < keys.length; ) {
    const wanted = keys.slice(at, at + size);
    const { rows, isWhole, bytes } = await clickhouse.selectUpTo<RecordCells>(
      `SELECT ${columns} FROM ${clickhouse.table('responses')} FINAL WHERE ${surveyCondition} AND ${isOneOf(wanted)}`,
      wanted.length === 1 ? Number.POSITIVE_INFINITY : maxListPieceBytes,
    );
    if (isWhole) {
      at += wanted.length;
      size = nextSize(wanted.length, bytes / wanted.length, maxListPieceBytes);
      yield { records: inOrder(wanted, rows), isLast: at >= keys.length };
    } else size = smallerSize(wanted.length, rows.length);
  }
}

/**
 * The size that follows a whole piece: twice as many rows, but no more than fit if they are as long as these, with some
 * room for longer ones: a piece that is too large is read in vain.
 */
export const nextSize = (size: number, bytesOfRow: number, maxBytes: number): number =>
  Math.max(1, Math.min(2 * size, Math.floor((0.9 * maxBytes) / bytesOfRow)));

/** The size that follows a piece that was too large with the last of the rows read. */
export const smallerSize = (size: number, rowsRead: number): number =>
  Math.max(1, Math.min(Math.ceil(size / 2), rowsRead - 1));

function isOneOf(keys: readonly ResponseKey[]): string {
  const moments = [...new Set(keys.map(({ submittedAtMs }) => submittedAtMs))].sort((a, b) => a - b);
  return allOf([
    `submitted_at >= ${sqlMoment(moments[0] ?? 0)}`,
    `submitted_at <= ${sqlMoment(moments.at(-1) ?? 0)}`,
    `toUnixTimestamp64Milli(submitted_at) IN (${moments.map((moment) => sqlInteger(moment)).join(', ')})`,
    `response_id IN (${keys.map(({ responseId }) => sqlUuid(responseId)).join(', ')})`,
  ]);
}

function inOrder(keys: readonly ResponseKey[], rows: readonly RecordCells[]): ResponseRecord[] {
  // One id may name several responses, submitted at different times.
  const nameOf = ({ responseId, submittedAtMs }: ResponseKey) => `${responseId} ${submittedAtMs}`;
  const found = new Map(rows.map((cells) => [nameOf(keyOf(cells)), cells]));
  return keys.flatMap((key) => {
    const cells = found.get(nameOf(key));
    return cells ? [toRecord(cells)] : [];
  });
}

/** JSON of rows that is read at once while all rows of a selection are read. */
const maxReadBytes = 32 * 1024 * 1024;

/**
 * All rows of a statement in bounded pieces. `statement` is given a condition on the place to go on at, which may be
 * empty, and a number of rows; it reads rows of a record in the order (submitted_at, response_id).
 */
export async function* readInPieces(
  clickhouse: ClickHouse,
  statement: (place: string, limit: number | undefined) => string,
  { limit, ...options }: SelectOptions & { limit?: number } = {},
): AsyncGenerator<RecordCells[]> {
  let atMost = limit;
  for (let after: ResponseKey | undefined; ; ) {
    const place = after === undefined ? '' : keysetCondition('>', after);
    const { rows, isWhole } = await clickhouse.selectUpTo<RecordCells>(statement(place, atMost), maxReadBytes, options);
    yield rows;
    const last = rows.at(-1);
    if (last === undefined || (isWhole && (atMost === undefined || rows.length < atMost))) return;
    after = keyOf(last);
    // ClickHouse reads no more long rows than are wanted.
    if (!isWhole) atMost = rows.length;
    else if (atMost !== undefined) atMost = Math.min(2 * atMost, limit ?? Number.MAX_SAFE_INTEGER);
  }
}

export interface RecordQuery {
  conditions: Conditions;
  columns: string;
}

/** Maximum rows of one query of a walk. */
const walkRows = 5000;
const maxSpanRows = 1_000_000;

/**
 * All responses of a selection that exist when the walk begins, oldest first. It walks the sorting key in spans, each a
 * bounded query: memory stays flat, a slow reader keeps no query open, and a broken connection costs one span.
 */
export async function* walkRecords(
  clickhouse: ClickHouse,
  { conditions, columns }: RecordQuery,
): AsyncGenerator<ResponseRecord> {
  const table = clickhouse.table('responses');
  const end = await lastOf(
    clickhouse,
    `SELECT submitted_at FROM ${table} WHERE ${conditions.key} ORDER BY survey_id DESC, submitted_at DESC LIMIT 1`,
  );
  let span = walkRows;
  for (let fromMs = 0; end !== undefined && fromMs <= end.lastMs; ) {
    const range = allOf([
      conditions.key,
      `submitted_at >= ${sqlMoment(fromMs)}`,
      `submitted_at <= ${sqlMoment(end.lastMs)}`,
    ]);
    const step = await lastOf(
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
    const rows = readInPieces(
      clickhouse,
      (place, limit) =>
        `SELECT ${columns} FROM ${table} FINAL WHERE ${allOf([...reach, place])}
         ORDER BY submitted_at, response_id LIMIT ${sqlInteger(limit ?? walkRows)}`,
      { limit: walkRows },
    );
    for await (const piece of rows) {
      for (const row of piece) yield toRecord(row);
      found += piece.length;
    }
    fromMs = step.lastMs + 1;
    // Spans grow while the conditions leave few rows; a query still returns at most `walkRows`.
    span = found < walkRows / 4 ? Math.min(maxSpanRows, span * 2) : walkRows;
  }
}

/** The last submission time among the selected ones; undefined if there is none. */
async function lastOf(clickhouse: ClickHouse, moments: string): Promise<{ lastMs: number } | undefined> {
  const [row] = await clickhouse.select<[number, number]>(
    `SELECT toUnixTimestamp64Milli(max(submitted_at)), count() FROM (${moments})`,
  );
  return row === undefined || row[1] === 0 ? undefined : { lastMs: row[0] };
}

/** Encodes a place in the list of a survey's responses as an opaque text. */
export function encodeCursor(surveyId: string, { submittedAtMs, responseId }: ResponseKey): string {
  return Buffer.from(`${submittedAtMs}.${responseId}.${surveyTagOf(surveyId)}`).toString('base64url');
}

/**
 * Throws a VALIDATION_ERROR for a text that is no cursor of this survey. Cursors of former versions have no survey tag
 * and are accepted.
 */
export function decodeCursor(surveyId: string, cursor: string): ResponseKey {
  const [ms = '', responseId = '', tag = surveyTagOf(surveyId), ...rest] = Buffer.from(cursor, 'base64url')
    .toString('latin1')
    .split('.');
  if (!/^\d{1,15}$/.test(ms) || !isUuid(responseId) || tag !== surveyTagOf(surveyId) || rest.length > 0)
    throw validationProblem([{ path: 'cursor', message: 'is not a cursor of this list' }]);
  return { submittedAtMs: Number(ms), responseId };
}

/** The random end of the id, enough to tell surveys apart. */
const surveyTagOf = (surveyId: string): string => surveyId.slice(-12);

/**
 * SQL condition for places before or after a key, in the order (submitted_at, response_id). The first part can use the
 * sorting key.
 */
export function keysetCondition(side: '<' | '<=' | '>', { submittedAtMs, responseId }: ResponseKey): string {
  const moment = sqlMoment(submittedAtMs);
  const strict = side === '>' ? '>' : '<';
  return `submitted_at ${strict}= ${moment} AND (submitted_at ${strict} ${moment} OR response_id ${side} ${sqlUuid(responseId)})`;
}
