import type { Session } from 'chdb';

/** More than run at once (see engine.ts). */
const mostSessions = 16;

/**
 * Sessions that wait for another query with the same database and settings (`key`); the longest unused is closed when
 * there are too many.
 *
 * The library keeps a closed session until all calls that are under way anywhere have ended, closed sessions included,
 * and each close waits for all before it. With a session for each query, a single long statement would keep thousands
 * of them in memory, and take seconds to let them go.
 */
export function createIdleSessions() {
  // In the order in which they were given back.
  const idle = new Set<{ key: string; session: Session }>();
  return {
    take(key: string): Session | undefined {
      for (const entry of idle)
        if (entry.key === key) {
          idle.delete(entry);
          return entry.session;
        }
      return undefined;
    },
    give(key: string, session: Session): void {
      idle.add({ key, session });
      const [oldest] = idle;
      if (idle.size <= mostSessions || oldest === undefined) return;
      idle.delete(oldest);
      oldest.session.close();
    },
    close(): void {
      for (const { session } of idle) session.close();
      idle.clear();
    },
  };
}
