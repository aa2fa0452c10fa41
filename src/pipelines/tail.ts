import { isAtOrAfter, type StreamEntry } from '../stores/redis/stream.ts';

/** The tail kept behind the acknowledged entry, for live streams that resume and against a store that lost its last writes. */
export const tailMs = 10 * 60_000;
/** Kept however full the intake is. */
const tailRows = 100_000;

export interface Tail {
  /** A batch that was acknowledged. */
  add(entries: readonly Pick<StreamEntry, 'id' | 'count'>[]): void;
  /** The id from which on the stream is kept; '' when nothing may go. */
  keepFrom(nowMs: number): string;
}

/**
 * Remembers what was acknowledged lately, to say how much of the stream may go: what is older than ten minutes, and, while the intake
 * has no room for so much, what has 100,000 rows or more behind it.
 */
export function createTail({ hasRoom }: { hasRoom(): boolean }): Tail {
  // A record a batch, since ten minutes may hold a million entries.
  const kept: { id: string; rows: number }[] = [];
  let rows = 0;
  return {
    add(entries) {
      const [first] = entries;
      if (!first) return;
      const count = entries.reduce((sum, entry) => sum + entry.count, 0);
      kept.push({ id: first.id, rows: count });
      rows += count;
    },
    keepFrom(nowMs) {
      const oldest = nowMs - tailMs;
      const isFull = !hasRoom();
      let drop = 0;
      let isSurplus = false;
      while (drop < kept.length - 1) {
        const batch = kept[drop];
        if (!batch) break;
        const isOver = isFull && rows - batch.rows >= tailRows;
        if (!isOver && Number(batch.id.split('-')[0]) >= oldest) break;
        isSurplus ||= isOver;
        rows -= batch.rows;
        drop += 1;
      }
      if (drop > 0) kept.splice(0, drop);
      const first = kept[0];
      const last = kept.at(-1);
      if (!first || !last) return '';
      // For lack of room: from the oldest still kept. Otherwise by time, but never past what is acknowledged.
      if (isSurplus) return first.id;
      const byTime = `${Math.max(0, oldest)}-0`;
      return isAtOrAfter(byTime, last.id) ? last.id : byTime;
    },
  };
}
