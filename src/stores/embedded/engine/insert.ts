import { rm, writeFile } from 'node:fs/promises';
import type { QuerySession } from './engine.ts';
import { isBinaryInput } from './formats.ts';
import { isWord, literal, type Token, tokens } from './query-text.ts';

/** The part of an INSERT before its inline data. */
export interface InsertHead {
  /** `INSERT INTO …`, without SETTINGS and FORMAT. */
  target: string;
  /** `a=1, b='x'` */
  settings: string | undefined;
  format: string;
  /** Offset of the data in the body, in bytes. */
  dataStart: number;
}

const headLimitBytes = 256 * 1024;

/**
 * Parses `INSERT INTO … FORMAT Name` at the start of a body; undefined for other queries, INSERT … SELECT and VALUES.
 * Reads the first 256 KiB only, whatever the size of the body.
 */
export function readInsertHead(body: Buffer): InsertHead | undefined {
  // latin1 has one character a byte, so that offsets are those of the body; `describe` decodes the parts as UTF-8.
  const bytes = body.toString('latin1', 0, headLimitBytes);
  if (!/^[\s(]*(?:--|\/\*|#|insert)/i.test(bytes)) return undefined;
  const seen: Token[] = [];
  let depth = 0;
  for (const token of tokens(bytes)) {
    const before = seen.at(-1);
    seen.push(token);
    if (token.text === '(') depth++;
    if (token.text === ')') depth--;
    if (seen.length === 1 && !isWord(token, 'INSERT')) return undefined;
    if (token.text === ';') return undefined;
    if (depth > 0) continue;
    if (isWord(token, 'SELECT') || isWord(token, 'WITH') || isWord(token, 'VALUES') || isWord(token, 'INFILE'))
      return undefined;
    if (before && isWord(before, 'FORMAT') && token.kind === 'word') return describe(body, bytes, seen);
  }
  return undefined;
}

function describe(body: Buffer, bytes: string, seen: readonly Token[]): InsertHead {
  const name = seen[seen.length - 1];
  const format = seen[seen.length - 2];
  if (!name || !format) throw new Error('an INSERT head has its FORMAT');
  const settings = seen.findIndex((token, at) => at > 1 && isWord(token, 'SETTINGS'));
  const text = (start: number, end: number) => body.toString('utf8', start, end).trim();
  const targetEnd = settings === -1 ? format.start : (seen[settings]?.start ?? format.start);
  return {
    target: text(0, targetEnd),
    settings: settings === -1 ? undefined : text(seen[settings]?.end ?? 0, format.start),
    format: name.text,
    dataStart: skipBlank(bytes, name.end),
  };
}

/** Blanks after the format's name up to one line end belong to the head, as in ClickHouse's server. */
function skipBlank(bytes: string, from: number): number {
  let at = from;
  while (bytes[at] === ' ' || bytes[at] === '\t' || bytes[at] === '\r' || bytes[at] === ';') at++;
  return bytes[at] === '\n' ? at + 1 : at;
}

/**
 * Makes each INSERT one block of any size, so that all or none of its rows become visible: no splitting by rows, bytes
 * or parallel parsers, and no asynchronous inserts, which are acknowledged later.
 */
export const atomicInsertSettings: ReadonlyMap<string, string> = new Map([
  ['async_insert', '0'],
  ['input_format_parallel_parsing', '0'],
  ['max_insert_block_size', '1000000000'],
  ['max_insert_block_size_bytes', '0'],
  ['min_insert_block_size_rows', '1000000000'],
  ['min_insert_block_size_bytes', '100000000000'],
]);

/** Characters that make a file name a pattern. */
const patternSign = /[*?{}]/;

/** The part of a session that an INSERT uses. */
type InsertSession = Pick<QuerySession, 'runInQueue'> & { session: Pick<QuerySession['session'], 'queryAsync'> };

/**
 * Runs an INSERT with its data in the file `spool`. Data within the query text would be scanned several times, which
 * takes as long as parsing and sorting the rows.
 */
export async function insertData(
  { session, runInQueue }: InsertSession,
  head: InsertHead,
  data: Buffer,
  spool: string,
): Promise<void> {
  const ending = `${head.settings ? `SETTINGS ${head.settings}` : ''} FORMAT ${head.format}`;
  // A query text can contain text formats only.
  if (patternSign.test(spool) && !isBinaryInput(head.format)) {
    await runInQueue(() => session.queryAsync(`${head.target} ${ending}\n${data.toString('utf8')}`));
    return;
  }
  try {
    await writeFile(spool, data, { mode: 0o600 });
    await runInQueue(() => session.queryAsync(`${head.target} FROM INFILE ${literal(spool)} ${ending}`));
  } finally {
    await rm(spool, { force: true });
  }
}
