import { createHash } from 'node:crypto';
import type { Shard } from '../../stores/redis/shards.ts';
import type { Manifest, StreamEntry } from '../../stores/redis/stream.ts';

/** What makes a batch the same one after a crash, with the token that ClickHouse knows it by. */
export function describe(shard: Shard, entries: readonly StreamEntry[]): Manifest {
  const from = entries[0]?.id ?? '';
  const to = entries.at(-1)?.id ?? '';
  const rows = entries.reduce((sum, entry) => sum + entry.count, 0);
  const hash = createHash('sha1');
  for (const entry of entries) hash.update(entry.id).update(entry.rows);
  return {
    from, to, rows, entries: entries.length, codeColumns: Math.max(0, ...entries.map((entry) => entry.codeColumns)),
    digest: hash.digest('base64'), token: `${shard.stream}:${from}:${to}:${rows}`,
  };
}

const lineFeed = Buffer.from('\n');

/** The rows of all entries, a line each. */
export function linesOf(entries: readonly StreamEntry[]): Buffer {
  const parts: Buffer[] = [];
  for (const entry of entries) {
    if (entry.count === 0) continue;
    if (parts.length > 0) parts.push(lineFeed);
    parts.push(entry.rows);
  }
  return Buffer.concat(parts);
}

/** The surveys of all rows, once each. */
export const surveysOf = (entries: readonly StreamEntry[]): string[] => [...new Set(entries.flatMap(({ surveyIds }) => surveyIds))];

/** Cuts behind the n-th line; the line feed between the two goes. */
export function cutLines(lines: Buffer, n: number): [Buffer, Buffer] {
  let at = -1;
  for (let line = 0; line < n; line += 1) at = lines.indexOf(0x0a, at + 1);
  return [lines.subarray(0, at), lines.subarray(at + 1)];
}
