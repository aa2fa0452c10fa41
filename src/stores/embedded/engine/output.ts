import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Engine, QueryScope, QuerySession } from './engine.ts';
import { formatKind, headerLength } from './formats.ts';
import { literal } from './query-text.ts';

export interface OutputQuery {
  /** Without trailing semicolon. */
  sql: string;
  /** Whether the query text names the format. */
  hasFormat: boolean;
  format: string;
  /** Whether the query is like SELECT; others cannot be streamed. */
  isStreamable: boolean;
  /** Whether to try it as a small result, which is sent when it is whole. */
  isTriedWhole: boolean;
  /** Path of a temporary file for results that must be written whole. */
  spool: string;
}

/** The pieces of a result as the engine produces them, with backpressure. */
export async function* runQuery(use: QuerySession, query: OutputQuery): AsyncGenerator<Uint8Array> {
  const kind = formatKind(query.format);
  if (!query.isStreamable || kind.kind === 'whole') yield* runWhole(use, query);
  else if (kind.kind === 'file') yield* runThroughFile(use, query);
  else {
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
 * Runs a query whole on a thread of its own, if its result is small; undefined for others, which are to be streamed. A
 * request that says itself how large it may be is refused if it is larger. Streams are planned on the JavaScript thread,
 * where planning blocks all requests: it runs scalar subqueries and those of IN, takes long over many columns, and waits
 * while a table's new part is being written to the disk.
 */
export async function runIfSmall(
  engine: Pick<Engine, 'use'>,
  scope: QueryScope,
  query: OutputQuery,
): Promise<Uint8Array | undefined> {
  const isStreamed = query.isStreamable && !['whole', 'file'].includes(formatKind(query.format).kind);
  if (!query.isTriedWhole || !isStreamed) return undefined;
  const isLimited = scope.settings.has('max_result_bytes');
  const limits: [string, string][] = isLimited
    ? []
    : [
        ['max_result_bytes', String(smallBytes)],
        ['result_overflow_mode', 'throw'],
      ];
  try {
    return await engine.use(
      'read',
      { ...scope, settings: new Map([...scope.settings, ...limits]) },
      async ({ session, runInQueue }) =>
        (await runInQueue(() => session.queryAsync(query.sql, { format: query.format }))).bytes(),
    );
  } catch (error) {
    if (isLimited || !(error instanceof Error) || !tooManyRowsOrBytes.test(error.message)) throw error;
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

/** Inserts INTO OUTFILE before the query's own FORMAT, whose SETTINGS stay in place. */
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
