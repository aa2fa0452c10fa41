import type { StreamEntry } from '../../stores/redis/intake/stream.ts';

const lineFeed = Buffer.from('\n');

/** The rows of all entries, a line each. */
export function linesOf(entries: readonly Pick<StreamEntry, 'count' | 'rows'>[]): Buffer {
  const parts: Buffer[] = [];
  for (const entry of entries) {
    if (entry.count === 0) continue;
    if (parts.length > 0) parts.push(lineFeed);
    parts.push(entry.rows);
  }
  return Buffer.concat(parts);
}

/** The surveys of all rows, once each. */
export const surveyIdsOf = (entries: readonly StreamEntry[]): string[] => [
  ...new Set(entries.flatMap(({ surveyIds }) => surveyIds)),
];

/** Cuts behind the n-th line; the line feed between the two goes. */
export function splitLines(lines: Buffer, n: number): [Buffer, Buffer] {
  let at = -1;
  for (let line = 0; line < n; line += 1) at = lines.indexOf(0x0a, at + 1);
  return [lines.subarray(0, at), lines.subarray(at + 1)];
}
