import { useSyncExternalStore } from 'react';

/** A value that outlives views. */
export interface SharedState<Value> {
  get(): Value;
  set(next: Value): void;
  /** For `useSyncExternalStore`. */
  subscribe(listener: () => void): () => void;
}

export function sharedState<Value>(initial: Value): SharedState<Value> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      value = next;
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The value for a view, which is drawn anew when it changes. */
export const useShared = <Value>({ subscribe, get }: SharedState<Value>): Value => useSyncExternalStore(subscribe, get);
