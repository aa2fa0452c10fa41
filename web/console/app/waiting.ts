import { useSyncExternalStore } from 'react';

/** Holds what waits to be done, by the ids of what it is done to; views that use it follow its changes. */
export function createWaiting<Work>() {
  let waiting: ReadonlyMap<string, Work> = new Map();
  const listeners = new Set<() => void>();
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const all = (): ReadonlyMap<string, Work> => waiting;
  const change = (edit: (next: Map<string, Work>) => void): void => {
    const next = new Map(waiting);
    edit(next);
    waiting = next;
    for (const listener of listeners) listener();
  };
  return {
    all,
    add: (id: string, work: Work): void => change((next) => next.set(id, work)),
    remove: (id: string): void => change((next) => next.delete(id)),
    use: (): ReadonlyMap<string, Work> => useSyncExternalStore(subscribe, all),
  };
}
