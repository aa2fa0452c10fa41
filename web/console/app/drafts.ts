import { useCallback, useState, useSyncExternalStore } from 'react';
import { languageName } from '../../../src/domain/translation/language-name.ts';
import { isRefusal, UserError } from '../data/problems.ts';
import { readAnew } from '../data/read-anew.ts';
import { onOtherUser } from './session.ts';
import { sharedState, useShared } from './shared-state.ts';
import { toastFailure } from './toasts.tsx';
import { addKeeper, canBeSaved } from './unsaved.ts';

/**
 * What was typed into a form and is not saved yet, kept while its view is left and opened again. A draft holds the
 * changed fields only, so that other fields follow what is stored.
 */
interface Draft {
  changes: object;
  /** What was stored in the changed fields when each was first changed. */
  base: object;
}

const drafts = sharedState<ReadonlyMap<string, Draft>>(new Map());
/** The changes that are being sent, by the keys of their drafts: until the reply nobody knows what is stored. */
const sending = new Map<string, object>();
/** The changes that were sent and not answered, by the keys of their drafts: the service may have stored them. */
const unanswered = new Map<string, readonly object[]>();

function set(key: string, draft: Draft | undefined): void {
  const next = new Map(drafts.get());
  if (draft === undefined) {
    next.delete(key);
    unanswered.delete(key);
  } else next.set(key, draft);
  drafts.set(next);
}

onOtherUser(() => {
  for (const key of drafts.get().keys()) set(key, undefined);
  unanswered.clear();
});

const surveyIdOf = (key: string): string => key.slice(0, key.indexOf(' '));
const namesWithin = (known: ReadonlyMap<string, Draft>, surveyId: string): string[] =>
  [...known.keys()].filter((key) => surveyIdOf(key) === surveyId).map((key) => key.slice(surveyId.length + 1));
const isUnsaved = (): boolean => [...drafts.get().keys()].some((key) => canBeSaved(surveyIdOf(key)));

/** What messages call the drafts of a survey, by their names; any other is a translation, named by its language. */
const titles: Readonly<Record<string, string>> = {
  schedule: 'the schedule (Publish)',
  look: 'Look and end (Settings)',
  embedding: 'Embedding (Settings)',
  access: 'Access (Settings)',
  answers: 'Responses (Settings)',
};
const titleOf = (name: string): string => titles[name] ?? `${languageName(name)} (Languages)`;

addKeeper({
  refuse(surveyId) {
    const unsaved = namesWithin(drafts.get(), surveyId).map(titleOf);
    if (unsaved.length > 0) throw new UserError(`Not saved yet: ${unsaved.join(', ')}.`);
  },
  forget(surveyId) {
    for (const key of drafts.get().keys()) if (surveyIdOf(key) === surveyId) set(key, undefined);
  },
  isUnsaved,
});

// A page with drafts is not closed without a question.
addEventListener('beforeunload', (event) => {
  if (isUnsaved()) event.preventDefault();
});

export interface DraftState<Fields extends object> {
  /** What is stored, with the changes over it. */
  fields: Fields;
  /** The changed fields alone. */
  changes: Partial<Fields>;
  isChanged: boolean;
  /** A function is given what the fields hold at that time. */
  edit(changes: Partial<Fields> | ((present: Fields) => Partial<Fields>)): void;
  /** Forgets the changes, once it is known what a save without an answer has stored of them. Not during a save. */
  reset(): Promise<void>;
  /** Whether `reset` waits for that. */
  isResetting: boolean;
  /**
   * Sends changes and forgets them, once `send` resolves to what is stored then; undefined: nothing was stored. What is
   * typed meanwhile stays to be saved, also where it is what was stored before; so do fields that are not stored then.
   */
  save(send: (changes: Partial<Fields>) => Promise<Fields | undefined>): Promise<boolean>;
  /** What somebody else has stored meanwhile in fields that are changed here. */
  conflicts: Partial<Fields>;
  /** Whether `fresh`, what is stored at present, has no such field. */
  isUnchanged(fresh: Fields): boolean;
  /** Keeps the own value of a field over somebody else's, or takes theirs. */
  resolve(name: keyof Fields, choice: 'mine' | 'theirs'): void;
}

/** The names of the drafts of a survey. */
export const useDraftNames = (surveyId: string): string[] => namesWithin(useShared(drafts), surveyId);

const sameValue = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/**
 * The draft of a form. `key` is the id of its survey, or of its conversation, and, after a space, its name; `stored` is
 * what is saved.
 */
export function useDraft<Fields extends object>(key: string, stored: Fields): DraftState<Fields> {
  const read = useCallback(() => drafts.get().get(key) as TypedDraft<Fields> | undefined, [key]);
  const draft = useSyncExternalStore(drafts.subscribe, read);
  const changes: Partial<Fields> = draft?.changes ?? {};
  const [isResetting, setResetting] = useState(false);
  const keep = (next: Partial<Fields>, base: Partial<Fields>, compared: Fields = stored) => {
    const sent: object = Object.assign({}, sending.get(key), ...(unanswered.get(key) ?? []));
    const names = namesOf(next).filter((name) => name in sent || !sameValue(next[name], compared[name]));
    set(key, names.length > 0 ? { changes: pick(next, names), base: pick({ ...stored, ...base }, names) } : undefined);
  };
  /** After a save that has stored nothing: what was typed back meanwhile is stored. */
  const keepPresent = () => {
    const present = read();
    // The save may have read what is stored since this was drawn.
    if (present) keep(present.changes, present.base, { ...stored, ...present.base });
  };
  const edit: DraftState<Fields>['edit'] = (more) => {
    const present = read();
    const added = typeof more === 'function' ? more({ ...stored, ...present?.changes }) : more;
    keep({ ...present?.changes, ...added }, present?.base ?? {});
  };
  const resolve = (name: keyof Fields, choice: 'mine' | 'theirs') => {
    const next: Partial<Fields> = { ...read()?.changes };
    if (choice === 'theirs') delete next[name];
    keep(next, { ...read()?.base, [name]: stored[name] } as Partial<Fields>);
  };
  return {
    fields: { ...stored, ...changes },
    changes,
    isChanged: Object.keys(changes).length > 0,
    edit,
    isResetting,
    reset: async () => {
      if (sending.has(key)) return;
      const discarded = read();
      setResetting(true);
      try {
        if (unanswered.has(key)) await readAnew({ queryKey: ['surveys', surveyIdOf(key)], type: 'active' });
      } catch (error) {
        toastFailure(error);
        return;
      } finally {
        setResetting(false);
      }
      if (read() === discarded) set(key, undefined);
    },
    save: async (send) => {
      sending.set(key, changes);
      let fresh: Fields | undefined;
      try {
        fresh = await send(changes).finally(() => sending.delete(key));
      } catch (error) {
        if (isRefusal(error)) keepPresent();
        else if (read()) unanswered.set(key, [...(unanswered.get(key) ?? []), changes]);
        throw error;
      }
      if (fresh) unanswered.delete(key);
      const present = read();
      if (!present || !fresh) {
        keepPresent();
        return fresh !== undefined;
      }
      const isLeft = (value: unknown, name: keyof Fields) =>
        !(name in fresh) || (!sameValue(value, changes[name]) && !sameValue(value, fresh[name]));
      const names = namesOf(present.changes).filter((name) => isLeft(present.changes[name], name));
      const base = { ...present.base, ...pick(fresh, namesOf(changes)) };
      set(key, names.length > 0 ? { changes: pick(present.changes, names), base: pick(base, names) } : undefined);
      return true;
    },
    // What was sent may be shown as stored before its reply has come.
    conflicts: sending.has(key) ? {} : conflictsOf(key, draft, stored),
    isUnchanged: (fresh) => {
      const present = read();
      const conflicts = conflictsOf(key, present, fresh);
      // What saves without an answer have stored is known now.
      if (present && unanswered.delete(key)) {
        const known = namesOf(present.changes).filter((name) => !(name in conflicts));
        set(key, { ...present, base: { ...present.base, ...pick(fresh, known) } });
      }
      return namesOf(conflicts).length === 0;
    },
    resolve,
  };
}

interface TypedDraft<Fields> {
  changes: Partial<Fields>;
  base: Partial<Fields>;
}

const namesOf = <Fields extends object>(fields: Partial<Fields>) => Object.keys(fields) as (keyof Fields)[];

const pick = <Fields extends object>(fields: Partial<Fields>, names: readonly (keyof Fields)[]) =>
  Object.fromEntries(names.map((name) => [name, fields[name]])) as Partial<Fields>;

function conflictsOf<Fields extends object>(
  key: string,
  draft: TypedDraft<Fields> | undefined,
  stored: Fields,
): Partial<Fields> {
  if (!draft) return {};
  const own: readonly Partial<Fields>[] = [draft.base, draft.changes, ...(unanswered.get(key) ?? [])];
  const isConflict = (name: keyof Fields) =>
    !own.some((fields) => name in fields && sameValue(stored[name], fields[name]));
  const { changes } = draft;
  return pick(stored, namesOf(changes).filter(isConflict));
}
