/**
 * A position in a survey's live stream: a row of an entry of the intake stream. Everything up to and including it was
 * received.
 */
export interface LivePosition {
  ms: number;
  seq: number;
  row: number;
}

/** Row number after every row of an entry. */
const lastRow = 0xffff_ffff;

/** The position after all rows of a stream entry (`<ms>-<seq>`). */
export function endOfEntry(id: string): LivePosition {
  const [ms = 0, seq = 0] = id.split('-').map(Number);
  return { ms, seq, row: lastRow };
}

export const entryOf = ({ ms, seq }: LivePosition): string => `${ms}-${seq}`;
export const isWholeEntry = ({ row }: LivePosition): boolean => row === lastRow;

export function isAfter(a: LivePosition, b: LivePosition): boolean {
  if (a.ms !== b.ms) return a.ms > b.ms;
  if (a.seq !== b.seq) return a.seq > b.seq;
  return a.row > b.row;
}

/** The opaque cursor that clients receive and send back to resume. */
export function encodeLiveCursor({ ms, seq, row }: LivePosition): string {
  return Buffer.from(`${ms}-${seq}-${row}`).toString('base64url');
}

const cursorPattern = /^(\d{1,15})-(\d{1,15})-(\d{1,10})$/;

/** Undefined if the text is not a valid cursor. */
export function decodeLiveCursor(text: string): LivePosition | undefined {
  const found = cursorPattern.exec(Buffer.from(text, 'base64url').toString('latin1'));
  return found ? { ms: Number(found[1]), seq: Number(found[2]), row: Number(found[3]) } : undefined;
}
