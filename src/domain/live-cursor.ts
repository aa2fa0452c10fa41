/** A place in a survey's live stream: a row of an entry of the intake's stream. Everything up to and with it has been seen. */
export interface LivePosition {
  ms: number;
  seq: number;
  row: number;
}

/** A row number behind every row of an entry. */
const lastRow = 0xffff_ffff;

/** The place behind the whole of a stream entry (`<ms>-<seq>`). */
export function endOfEntry(id: string): LivePosition {
  const [ms = 0, seq = 0] = id.split('-').map(Number);
  return { ms, seq, row: lastRow };
}

export const entryOf = ({ ms, seq }: LivePosition): string => `${ms}-${seq}`;
export const isWholeEntry = ({ row }: LivePosition): boolean => row === lastRow;

export function isAfter(a: LivePosition, b: LivePosition): boolean {
  return a.ms !== b.ms ? a.ms > b.ms : a.seq !== b.seq ? a.seq > b.seq : a.row > b.row;
}

/** What clients are given: they keep it and send it back, and need not know what is in it. */
export function encodeLiveCursor({ ms, seq, row }: LivePosition): string {
  return Buffer.from(`${ms}-${seq}-${row}`).toString('base64url');
}

const cursorPattern = /^(\d{1,15})-(\d{1,15})-(\d{1,10})$/;

/** Undefined for what was never given out. */
export function decodeLiveCursor(text: string): LivePosition | undefined {
  const found = cursorPattern.exec(Buffer.from(text, 'base64url').toString('latin1'));
  return found ? { ms: Number(found[1]), seq: Number(found[2]), row: Number(found[3]) } : undefined;
}
