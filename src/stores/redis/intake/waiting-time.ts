import { addedAtMs } from './entry-id.ts';

export interface WaitingTimeDeps {
  now(): number;
  monotonicMs?(): number;
}

/**
 * Tells for how many milliseconds an entry has waited that is the oldest of those named `name`; 0 where there is none.
 * By the time in its id, but at least since it was first seen here: after the clock of Redis was set back, ids are ahead
 * of it.
 */
export function createWaitingTime({ now, monotonicMs = () => performance.now() }: WaitingTimeDeps) {
  const firstSeen = new Map<string, { id: string; atMs: number }>();
  return (name: string, id: string | undefined): number => {
    if (id === undefined) {
      firstSeen.delete(name);
      return 0;
    }
    const known = firstSeen.get(name);
    const first = known?.id === id ? known : { id, atMs: monotonicMs() };
    firstSeen.set(name, first);
    return Math.max(now() - addedAtMs(id), monotonicMs() - first.atMs);
  };
}
