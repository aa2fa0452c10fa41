import type { Definition, Item, Question, Section } from '../../data/questions.ts';
import { type Setting, typeNames, typeOf } from './question-types.ts';

export type Kind = 'question' | 'section' | 'survey';
/** A question, section, or the survey's own texts, as fields by name. */
export type Thing = Question | Section | Definition;
export type Fields = Readonly<Record<string, unknown>>;

/** Something else in the survey that an edit would break, as the service lists it. */
export interface BrokenPlace {
  kind: string;
  questionId?: string;
  sectionId?: string;
  optionId?: string;
  rowId?: string;
  quotaName?: string;
  language?: string;
  path: string;
  message: string;
}

/** What an author has typed in one thing, and what became of saving it. */
export interface Draft {
  kind: Kind;
  id: string;
  /** What the service had when the edit began, or the last time it was compared. */
  base: Fields;
  version: number;
  edits: Fields;
  state: 'waiting' | 'saving' | 'failed' | 'conflict' | 'broken' | 'invalid' | 'deleted';
  problem?: string | undefined;
  /** It failed because the session had ended: the next sign-in sends it. */
  isSignedOut?: boolean;
  /** Fields that the service refuses, by path. */
  details?: { path: string; message: string }[] | undefined;
  /** What somebody else has made of the fields meanwhile. */
  theirs?: Fields | undefined;
  broken?: BrokenPlace[] | undefined;
}

/** A store keeps -0 as 0. */
const isSameValue = (one: unknown, other: unknown): boolean => one === other || Object.is(one, other);

/** Whether two values are the same. The order of names says nothing: a store gives them in another one than a reply. */
export function isSame(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null)
    return isSameValue(one, other);
  const [mine, theirs] = [one as Fields, other as Fields];
  return namesIn(mine, theirs).every((name) => isSame(mine[name], theirs[name]));
}

const namesIn = (one: Fields, other: Fields): string[] => [...new Set([...Object.keys(one), ...Object.keys(other)])];

/** Whether a field says nothing: an option that is not set is off. A number does say something, 0 too. */
const isNothing = (value: unknown): boolean => value === undefined || value === null || value === '' || value === false;

/**
 * Whether the service has stored this of what was sent: it gives ids to new items, and values to those without one, and
 * takes blanks around wordings away.
 */
export function isStoredAs(sent: unknown, stored: unknown): boolean {
  if (typeof sent === 'string' && typeof stored === 'string') return sent.trim() === stored.trim();
  if (typeof sent !== 'object' || sent === null || typeof stored !== 'object' || stored === null)
    return isSameValue(sent, stored) || (isNothing(sent) && isNothing(stored));
  const [mine, theirs] = [sent as Fields, stored as Fields];
  const isGiven = (name: string) =>
    (name === 'id' && isNewId(String(mine[name]))) || (name === 'value' && isNothing(mine[name]));
  return namesIn(mine, theirs).every((name) => isGiven(name) || isStoredAs(mine[name], theirs[name]));
}

/** The survey as it will be when everything that is typed is saved. */
export function withEdits(survey: Definition, drafts: ReadonlyMap<string, Draft>): Definition {
  if (drafts.size === 0) return survey;
  const edited = <T extends { id: string }>(thing: T): T => {
    const draft = drafts.get(thing.id);
    return draft ? { ...thing, ...draft.edits } : thing;
  };
  return { ...edited(survey), sections: survey.sections.map(edited), questions: survey.questions.map(edited) };
}

const newIdPrefix = 'new-';
let lastNewId = 0;
/** An id for an item until the service gives it one. */
export const newItemId = (): string => `${newIdPrefix}${++lastNewId}`;
export const isNewId = (id: string): boolean => id.startsWith(newIdPrefix);

export const itemsIn = (fields: Fields) => fields['options'] as readonly Item[] | undefined;
export const rowsIn = (fields: Fields) => (fields['settings'] as { rows?: readonly Item[] } | undefined)?.rows;

/** A value of a field, with the ids that the service gave to new items, also where conditions name them. */
export function withIds(value: unknown, ids: ReadonlyMap<string, string>): unknown {
  if (ids.size === 0 || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withIds(item, ids));
  const given = (id: unknown) => ids.get(String(id)) ?? id;
  const entries = Object.entries(value).map(([name, part]): [string, unknown] => {
    if (name === 'id' || name === 'optionId' || name === 'rowId') return [name, given(part)];
    return [name, name === 'optionIds' && Array.isArray(part) ? part.map(given) : withIds(part, ids)];
  });
  return Object.fromEntries(entries);
}

export const without = (fields: Fields, name: string): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([field]) => field !== name));

export const withoutSame = (edits: Fields, base: Fields): Fields =>
  Object.fromEntries(Object.entries(edits).filter(([field, value]) => !isSame(value, base[field])));

export const thingOf = (survey: Definition, { kind, id }: Draft): Thing | undefined => {
  if (kind === 'survey') return survey;
  const things: readonly Thing[] = kind === 'section' ? survey.sections : survey.questions;
  return things.find((thing) => thing.id === id);
};

const bodyItem = ({ id, text, value, visibleIf, isAnchored }: Item) => ({
  ...(!isNewId(id) && { id }),
  text,
  ...(value !== undefined && value !== '' && { value }),
  visibleIf: visibleIf ?? null,
  isAnchored: isAnchored ?? false,
});

const settingsIn = (fields: Fields): Fields => Object(fields['settings']);

/** The form of a setting's values, which types with settings of one name may have in common. */
const formOf = ({ kind }: Setting): string => {
  if (kind === 'number' || kind === 'megabytes') return 'number';
  if (kind === 'flag') return 'boolean';
  return kind === 'mediaTypes' ? 'object' : 'string';
};

/** The settings that differ between two states of a question; undefined: taken away. */
export function changedSettings(before: Fields, after: Fields): Fields {
  const [former, present] = [settingsIn(before), settingsIn(after)];
  const names = namesIn(former, present).filter((name) => !isSame(former[name], present[name]));
  return Object.fromEntries(names.map((name) => [name, present[name]]));
}

/** Whether the author makes the options of a type. */
export function authorMakesOptions(type: unknown): boolean {
  const name = typeNames.find((known) => known === type);
  return name === undefined || typeOf(name).options === 'author';
}

/** Those of the settings that a type takes. Whoever types on after choosing another type still has those of the former. */
export function settingsFor(type: unknown, given: Fields): Fields {
  const name = typeNames.find((known) => known === type);
  if (name === undefined) return given;
  const { settings, hasRows = false } = typeOf(name);
  const forms = new Map(settings.map((setting) => [setting.name, formOf(setting)]));
  const isTaken = ([setting, value]: [string, unknown]) =>
    setting === 'rows' ? hasRows : forms.has(setting) && (value == null || typeof value === forms.get(setting));
  return Object.fromEntries(Object.entries(given).filter(isTaken));
}

/**
 * The body of a PUT: omitted settings would stay, so those that were taken away are null. When the type changes, the
 * service keeps what it can of those that are omitted, and takes all options as new ones.
 */
export function bodyOf(edits: Fields, base: Fields): Record<string, unknown> {
  const body: Record<string, unknown> = { ...edits };
  const type = edits['type'] ?? base['type'];
  const isRetyped = type !== base['type'];
  const options = itemsIn(edits);
  if (options) body['options'] = options.map((item) => (isRetyped ? without(bodyItem(item), 'id') : bodyItem(item)));
  if (isRetyped && !authorMakesOptions(type)) delete body['options'];
  if (edits['settings']) {
    const before = Object.fromEntries(Object.keys(settingsIn(base)).map((name) => [name, null]));
    const given = isRetyped ? changedSettings(base, edits) : { ...before, ...settingsIn(edits) };
    const settings = settingsFor(type, given);
    const rows = rowsIn({ settings });
    const sent = { ...settings, ...(rows && { rows: rows.map(bodyItem) }) };
    body['settings'] = Object.fromEntries(Object.entries(sent).map(([name, value]) => [name, value ?? null]));
  }
  return body;
}

/** What need not be sent to be known as wrong. */
export function invalidField(edits: Fields): { path: string; message: string } | undefined {
  const isEmpty = (value: unknown) => typeof value === 'string' && value.trim() === '';
  if (isEmpty(edits['text'])) return { path: 'text', message: 'A question needs a text.' };
  for (const [path, list] of [
    ['options', itemsIn(edits)],
    ['settings.rows', rowsIn(edits)],
  ] as const) {
    const index = list?.findIndex(({ text }) => isEmpty(text)) ?? -1;
    if (index >= 0) return { path: `${path}.${index}.text`, message: 'This needs a text.' };
  }
  return undefined;
}
