import { useCallback, useSyncExternalStore } from 'react';

/**
 * What was typed into a form and is not saved yet, kept while its view is left and opened again. A draft holds the
 * changed fields only, so that other fields follow what is stored.
 */
let drafts: ReadonlyMap<string, object> = new Map();
const listeners = new Set<() => void>();

function set(key: string, draft: object | undefined): void {
  const next = new Map(drafts);
  if (draft === undefined) next.delete(key);
  else next.set(key, draft);
  drafts = next;
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

// A page with drafts is not closed without a question.
addEventListener('beforeunload', (event) => {
  if (drafts.size > 0) event.preventDefault();
});

export interface DraftState<Fields extends object> {
  /** What is stored, with the changes over it. */
  fields: Fields;
  /** The changed fields alone. */
  changes: Partial<Fields>;
  isChanged: boolean;
  edit(changes: Partial<Fields>): void;
  /** Forgets the changes. */
  reset(): void;
}

const sameValue = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/** The draft of a form. `key` names the form and the thing that it edits; `stored` is what is saved. */
export function useDraft<Fields extends object>(key: string, stored: Fields): DraftState<Fields> {
  const read = useCallback(() => drafts.get(key) as Partial<Fields> | undefined, [key]);
  const changes = useSyncExternalStore(subscribe, read) ?? {};
  const edit = (more: Partial<Fields>) => {
    const next = { ...read(), ...more };
    const kept = Object.entries(next).filter(([name, value]) => !sameValue(value, stored[name as keyof Fields]));
    set(key, kept.length > 0 ? Object.fromEntries(kept) : undefined);
  };
  const isChanged = Object.keys(changes).length > 0;
  return { fields: { ...stored, ...changes }, changes, isChanged, edit, reset: () => set(key, undefined) };
}
