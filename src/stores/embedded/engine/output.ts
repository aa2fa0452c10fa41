import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Session } from 'chdb';
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
  /** A file that may be used for a result that has to be written whole. */
  spool: string;
}

/** The pieces of a result as they are made; the consumer's pace is the engine's. */
export async function* runQuery(session: Session, query: OutputQuery): AsyncGenerator<Uint8Array> {
  const kind = formatKind(query.format);
  if (!query.isStreamable || kind.kind === 'whole') yield* whole(session, query);
  else if (kind.kind === 'file') yield* throughFile(session, query);
  else {
    let isFirst = true;
    for await (const piece of session.queryStream(query.sql, { format: query.format })) {
      const bytes = piece.raw();
      yield isFirst || kind.kind === 'rows' ? bytes : bytes.subarray(headerLength(bytes, kind.rows, kind.syntax));
      isFirst = false;
    }
  }
}

async function* whole(session: Session, query: OutputQuery): AsyncGenerator<Uint8Array> {
  const result = await session.queryAsync(query.sql, { format: query.format });
  const bytes = result.bytes();
  if (bytes.length > 0) yield bytes;
}

/** A query that names its own format keeps its text, so that its SETTINGS stay where they are; INTO OUTFILE stands before FORMAT. */
async function* throughFile(session: Session, query: OutputQuery): AsyncGenerator<Uint8Array> {
  const target = `INTO OUTFILE ${literal(query.spool)} TRUNCATE`;
  const at = query.hasFormat ? query.sql.search(/\bFORMAT\s+\w+(\s+SETTINGS\b[\s\S]*)?\s*$/i) : -1;
  const sql = at === -1 ? `${query.sql}\n${target} FORMAT ${query.format}` : `${query.sql.slice(0, at)}\n${target} ${query.sql.slice(at)}`;
  try {
    await session.queryAsync(sql);
    for await (const piece of createReadStream(query.spool, { highWaterMark: 256 * 1024 })) yield piece;
  } finally {
    await rm(query.spool, { force: true });
  }
}
