import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { QuerySession } from './engine.ts';
import { formatKind, headerLength } from './formats.ts';
import { literal } from './query-text.ts';

export interface OutputQuery {
  /** Without trailing semicolon. */
  sql: string;
  /** True if the text itself names the format. */
  hasFormat: boolean;
  format: string;
  /** SELECT-like; others cannot be streamed. */
  isStreamable: boolean;
  /** True if it has subqueries and no bound of its own for the size of its result. */
  isNested: boolean;
  /** A file that may be used for a result that has to be written whole. */
  spool: string;
}

/** The pieces of a result as they are made; the consumer's pace is the engine's. */
export async function* runQuery(use: QuerySession, query: OutputQuery): AsyncGenerator<Uint8Array> {
  const kind = formatKind(query.format);
  if (!query.isStreamable || kind.kind === 'whole') yield* runWhole(use, query);
  else if (kind.kind === 'file') yield* runThroughFile(use, query);
  else {
    const small = query.isNested ? await runIfSmall(use, query) : undefined;
    if (small) return yield* small;
    let isFirst = true;
    for await (const bytes of streamChunks(use, query)) {
      yield isFirst || kind.kind === 'rows' ? bytes : bytes.subarray(headerLength(bytes, kind.rows, kind.syntax));
      isFirst = false;
    }
  }
}

const smallBytes = 32 * 1024 * 1024;
const tooManyRowsOrBytes = /^Code: 396\b/;

/**
 * A stream is planned on this process's only JavaScript thread, and planning runs scalar subqueries and those behind IN: a heavy one
 * would stop every other request meanwhile. So a query with subqueries is first run whole on a thread of its own, as long as its
 * result stays small; only a large one is then streamed.
 */
async function runIfSmall(
  { session, runInQueue }: QuerySession,
  query: OutputQuery,
): Promise<Uint8Array[] | undefined> {
  await runInQueue(() => session.queryAsync(`SET max_result_bytes = ${smallBytes}, result_overflow_mode = 'throw'`));
  try {
    return [(await runInQueue(() => session.queryAsync(query.sql, { format: query.format }))).bytes()];
  } catch (error) {
    if (!(error instanceof Error) || !tooManyRowsOrBytes.test(error.message)) throw error;
    await runInQueue(() => session.queryAsync('SET max_result_bytes = 0'));
    return undefined;
  }
}

async function* streamChunks({ session, runInQueue }: QuerySession, query: OutputQuery): AsyncGenerator<Uint8Array> {
  const stream = session.queryStream(query.sql, { format: query.format });
  const iterator = stream[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await runInQueue(() => iterator.next());
      if (next.done === true) return;
      yield next.value.raw();
    }
  } finally {
    stream.cancel();
  }
}

async function* runWhole({ session, runInQueue }: QuerySession, query: OutputQuery): AsyncGenerator<Uint8Array> {
  const result = await runInQueue(() => session.queryAsync(query.sql, { format: query.format }));
  const bytes = result.bytes();
  if (bytes.length > 0) yield bytes;
}

/** A query that names its own format keeps its text, so that its SETTINGS stay where they are; INTO OUTFILE stands before FORMAT. */
async function* runThroughFile({ session, runInQueue }: QuerySession, query: OutputQuery): AsyncGenerator<Uint8Array> {
  const target = `INTO OUTFILE ${literal(query.spool)} TRUNCATE`;
  const at = query.hasFormat ? query.sql.search(/\bFORMAT\s+\w+(\s+SETTINGS\b[\s\S]*)?\s*$/i) : -1;
  const sql =
    at === -1
      ? `${query.sql}\n${target} FORMAT ${query.format}`
      : `${query.sql.slice(0, at)}\n${target} ${query.sql.slice(at)}`;
  try {
    await runInQueue(() => session.queryAsync(sql));
    for await (const piece of createReadStream(query.spool, { highWaterMark: 256 * 1024 })) yield piece;
  } finally {
    await rm(query.spool, { force: true });
  }
}
