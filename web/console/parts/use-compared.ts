import { useState } from 'react';
import { changedFields } from '../data/changed-fields.ts';

interface Sides {
  mine: unknown;
  theirs: unknown;
}

export interface Compared<Fields extends object> {
  /**
   * The fields of `own` that are to be saved over `fresh`, what is stored at present; undefined: somebody else has
   * changed some of them meanwhile, and `conflicts` holds both sides of each until it is resolved.
   */
  changesOver(fresh: Fields | undefined, own: Fields): Partial<Fields> | undefined;
  conflicts: readonly (Sides & { field: keyof Fields & string })[];
  /** Takes a field for seen as it is stored; the form itself takes over theirs, where that was chosen. */
  resolve(field: string): void;
}

/** Compares a form over something that is stored, as that was at first, with what others have stored meanwhile. */
export function useCompared<Fields extends object>(before: Fields): Compared<Fields> {
  const [base, setBase] = useState(before);
  const [sides, setSides] = useState<ReadonlyMap<keyof Fields & string, Sides>>(new Map());
  return {
    changesOver(fresh, own) {
      const changes = changedFields(base, own);
      const theirs = fresh ? changedFields(base, fresh) : {};
      const differing = fresh ? changedFields(fresh, own) : {};
      const names = Object.keys(changes) as (keyof Fields & string)[];
      const conflicting = names.filter((name) => name in theirs && name in differing);
      setSides(new Map(conflicting.map((name) => [name, { mine: own[name], theirs: fresh?.[name] }])));
      return conflicting.length > 0 ? undefined : changes;
    },
    conflicts: [...sides].map(([field, both]) => ({ field, ...both })),
    resolve(resolved) {
      const theirs = sides.get(resolved as keyof Fields & string)?.theirs;
      setBase({ ...base, [resolved]: theirs });
      setSides(new Map([...sides].filter(([field]) => field !== resolved)));
    },
  };
}
