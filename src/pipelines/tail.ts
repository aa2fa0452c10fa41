import { isAtOrAfter, type StreamEntry } from '../stores/redis/stream.ts';

/** The tail kept behind the acknowledged entry, for live streams that resume and against a store that lost its last writes. */
export const tailMs = 10 * 60_000;
const tailRows = 100_000;

export interface Tail {
  add(entries: readonly Pick<StreamEntry, 'id' | 'count'>[]): void;
  /** The id from which on the stream is kept; '' when nothing may go. */
  keepFrom(nowMs: number): string;
}

/**
 * Remembers what was acknowledged lately, to say how much of the stream may go: what is older than ten minutes, and what has 100,000
 * rows or more behind it.
 */
export function createTail(): Tail {
  const kept: { id: string; rows: number }[] = [];
  let rows = 0;
  return {
    add(entries) {
      for (const entry of entries) {
        kept.push({ id: entry.id, rows: entry.count });
        rows += entry.count;
      }
    },
    keepFrom(nowMs) {
      const oldest = nowMs - tailMs;
      let drop = 0;
      while (drop < kept.length - 1) {
        const entry = kept[drop];
        if (!entry || (rows - entry.rows < tailRows && Number(entry.id.split('-')[0]) >= oldest)) break;
        rows -= entry.rows;
        drop += 1;
      }
      if (drop > 0) kept.splice(0, drop);
      const last = kept.at(-1);
      if (!last) return '';
      // Over the bound in rows: from the oldest still kept. Otherwise by time, but never past what is acknowledged.
      if (drop > 0 && rows >= tailRows / 2) return kept[0]?.id ?? '';
      const byTime = `${Math.max(0, oldest)}-0`;
      return isAtOrAfter(byTime, last.id) ? last.id : byTime;
    },
  };
}
