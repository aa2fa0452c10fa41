/** A part of a text; `isChanged`: the other text does not have it. */
export interface TextPart {
  text: string;
  isChanged: boolean;
}

/** Two wordings word by word: what the first has and the second has not, and the other way round. */
export function wordDifferences(before: string, after: string): { before: TextPart[]; after: TextPart[] } {
  const [old, fresh] = [wordsOf(before), wordsOf(after)];
  // lengths[i][j]: how many words the rests of both texts from i and j on have in common, in order.
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(fresh.length + 1));
  const common = (i: number, j: number) => lengths[i]?.[j] ?? 0;
  const isSame = (i: number, j: number) => old[i]?.trim() === fresh[j]?.trim();
  for (let i = old.length - 1; i >= 0; i -= 1)
    for (let j = fresh.length - 1; j >= 0; j -= 1) {
      const row = lengths[i];
      if (row) row[j] = isSame(i, j) ? common(i + 1, j + 1) + 1 : Math.max(common(i + 1, j), common(i, j + 1));
    }
  const parts: { before: TextPart[]; after: TextPart[] } = { before: [], after: [] };
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    const isKept = i < old.length && j < fresh.length && isSame(i, j);
    const isRemoved = !isKept && (j >= fresh.length || (i < old.length && common(i + 1, j) >= common(i, j + 1)));
    if (isKept || isRemoved) add(parts.before, old[i++] ?? '', isRemoved);
    if (!isRemoved) add(parts.after, fresh[j++] ?? '', !isKept);
  }
  return parts;
}

/** Words and punctuation marks, each with the space behind it. */
const wordsOf = (text: string): string[] => text.match(/([\p{L}\p{M}\p{N}]+|[^\p{L}\p{M}\p{N}\s])\s*|\s+/gu) ?? [];

function add(parts: TextPart[], text: string, isChanged: boolean): void {
  const last = parts.at(-1);
  if (last && last.isChanged === isChanged) last.text += text;
  else parts.push({ text, isChanged });
}
