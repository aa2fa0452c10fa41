/** A text of this length is written; a response of many columns may be longer alone. */
const pieceLength = 1 << 20;

/** Joins the texts of the items into pieces of bounded length: a thousand wide responses are too long for one text. */
export function* textPieces<T>(items: readonly T[], textOf: (item: T, index: number) => string): Generator<string> {
  let piece = '';
  for (const [index, item] of items.entries()) {
    piece += textOf(item, index);
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}
