import { isWord, type Token, tokens } from './query-text.ts';

/** The part of an INSERT that stands before its inline data. */
export interface InsertHead {
  /** `INSERT INTO … ` up to, and without, SETTINGS and FORMAT. */
  target: string;
  /** `a=1, b='x'` */
  settings: string | undefined;
  format: string;
  /** Where the data begins: bytes from the start of the body that carries the head. */
  dataStart: number;
}

const headLimitBytes = 256 * 1024;

/**
 * Finds `INSERT INTO … FORMAT Name` at the start of a body. Undefined for anything else: other queries, INSERT … SELECT, VALUES.
 * Only the first 256 KiB are looked at, so a body of any size costs the same.
 */
export function readInsertHead(body: Buffer): InsertHead | undefined {
  // One character a byte, so that positions are positions of the body; the pieces are decoded properly below.
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

/** As the server does: blanks after the format's name up to one line end belong to the head. */
function skipBlank(bytes: string, from: number): number {
  let at = from;
  while (bytes[at] === ' ' || bytes[at] === '\t' || bytes[at] === '\r' || bytes[at] === ';') at++;
  return bytes[at] === '\n' ? at + 1 : at;
}
