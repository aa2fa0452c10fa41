import { useState } from 'react';
import { changedFields } from '../data/changed-fields.ts';
import { isRefusal } from '../data/problems.ts';

interface Sides {
  mine: unknown;
  theirs: unknown;
}

export interface Compared<Fields extends object> {
  /**
   * Sends the fields of `own` that are to be saved over `fresh`, what is stored at present. Resolves to false where
   * somebody else has changed some of them meanwhile: nothing is sent then, and `conflicts` holds both sides of each
   * until it is resolved.
   */
  save(fresh: Fields | undefined, own: Fields, send: (changes: Partial<Fields>) => Promise<unknown>): Promise<boolean>;
  conflicts: readonly (Sides & { field: keyof Fields & string })[];
  /** Takes a field for seen as it is stored; the form itself takes over theirs, where that was chosen. */
  resolve(field: string): void;
}

/** Compares a form over something that is stored, as that was at first, with what others have stored meanwhile. */
export function useCompared<Fields extends object>(before: Fields): Compared<Fields> {
  const [base, setBase] = useState(before);
  const [sides, setSides] = useState<ReadonlyMap<keyof Fields & string, Sides>>(new Map());
  /** What was sent and not answered: the service may have stored it. */
  const [unanswered, setUnanswered] = useState<readonly Partial<Fields>[]>([]);
  return {
    async save(fresh, own, send) {
      const known = fresh ? { ...base, ...storedOf(unanswered, fresh) } : base;
      const changes = changedFields(known, own);
      const theirs = fresh ? changedFields(known, fresh) : {};
      const differing = fresh ? changedFields(fresh, own) : {};
      const names = Object.keys(changes) as (keyof Fields & string)[];
      const conflicting = names.filter((name) => name in theirs && name in differing);
      setBase(known);
      setSides(new Map(conflicting.map((name) => [name, { mine: own[name], theirs: fresh?.[name] }])));
      if (conflicting.length > 0) return false;
      try {
        await send(changes);
      } catch (error) {
        if (!isRefusal(error)) setUnanswered([...unanswered, changes]);
        throw error;
      }
      return true;
    },
    conflicts: [...sides].map(([field, both]) => ({ field, ...both })),
    resolve(resolved) {
      const theirs = sides.get(resolved as keyof Fields & string)?.theirs;
      setBase({ ...base, [resolved]: theirs });
      setSides(new Map([...sides].filter(([field]) => field !== resolved)));
    },
  };
}

/** The fields that hold in `fresh` what was sent for them. */
function storedOf<Fields extends object>(sent: readonly Partial<Fields>[], fresh: Fields): Partial<Fields> {
  const stored = sent.flatMap((changes) => {
    const others = changedFields<Partial<Fields>>(fresh, changes);
    return Object.entries(changes).filter(([name]) => !(name in others));
  });
  return Object.fromEntries(stored) as Partial<Fields>;
}
