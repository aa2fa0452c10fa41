import type { ValidationIssue } from '../../errors.ts';
import type { SlicedWork } from '../../platform/slices.ts';
import { type NewIds, textWithNewIds } from '../new-ids.ts';
import { chineseScript } from '../path/language-form.ts';
import { type SurveyWithQuestions, visibleOptions, visibleQuestions, visibleRows } from '../survey.ts';
import { checkTranslation } from '../survey-paths/path-checks.ts';
import { directionOf } from './languages.ts';

/** One string in another language. `source`: hash of the original wording. */
export interface TranslatedString {
  text: string;
  source: string;
}

export interface Translation {
  language: string;
  strings: Readonly<Record<string, TranslatedString>>;
  updatedAt: Date;
}

/** A translation as a client sends it: omitted fields stay unchanged, null removes a string. */
export interface TranslationInput {
  title?: string | null | undefined;
  description?: string | null | undefined;
  closingText?: string | null | undefined;
  sections?: readonly SectionTranslationInput[] | undefined;
  questions?: readonly QuestionTranslationInput[] | undefined;
}

interface SectionTranslationInput {
  id: string;
  title?: string | null | undefined;
  description?: string | null | undefined;
}

interface QuestionTranslationInput {
  id: string;
  text?: string | null | undefined;
  description?: string | null | undefined;
  options?: readonly { id: string; text: string | null }[] | undefined;
  rows?: readonly { id: string; text: string | null }[] | undefined;
}

/** A translatable string. `key` is its name in storage, `path` its name in the API. */
interface SourceString {
  key: string;
  path: string;
  text: string;
}

const keyOf = ({ id }: { id: string }, field: 'text' | 'title' | 'description'): string => `${id}.${field}`;

const nonEmpty = (strings: readonly SourceString[]): SourceString[] => strings.filter(({ text }) => text !== '');

/** All non-empty strings of a survey that respondents see, in display order, those of a section or question together. */
function* sourceGroups(survey: SurveyWithQuestions): Generator<SourceString[]> {
  yield nonEmpty([
    { key: 'title', path: 'title', text: survey.title },
    { key: 'description', path: 'description', text: survey.description ?? '' },
    { key: 'closingText', path: 'closingText', text: survey.appearance?.closingText ?? '' },
  ]);
  for (const section of survey.sections ?? [])
    yield nonEmpty(
      (['title', 'description'] as const).map((field) => ({
        key: keyOf(section, field),
        path: `sections.${section.id}.${field}`,
        text: section[field] ?? '',
      })),
    );
  for (const question of visibleQuestions(survey)) {
    const path = `questions.${question.id}`;
    yield nonEmpty([
      { key: keyOf(question, 'text'), path: `${path}.text`, text: question.text },
      { key: keyOf(question, 'description'), path: `${path}.description`, text: question.description ?? '' },
      ...visibleOptions(question).map(({ id, text }) => ({ key: id, path: `${path}.options.${id}`, text })),
      ...visibleRows(question).map(({ id, text }) => ({ key: id, path: `${path}.rows.${id}`, text })),
    ]);
  }
}

/** The same strings in one list. */
export const sourceStrings = (survey: SurveyWithQuestions): SourceString[] => [...sourceGroups(survey)].flat();

export interface ReadTranslation {
  strings: Record<string, TranslatedString>;
  removedKeys: string[];
  issues: ValidationIssue[];
}

/** Checks a translation against its survey. Unknown, hidden and repeated ids become validation issues. */
export function readTranslation(
  survey: SurveyWithQuestions,
  input: TranslationInput,
  hashOf: (text: string) => string,
): ReadTranslation {
  const sources = new Map(sourceStrings(survey).map(({ key, text }) => [key, text]));
  const read: ReadTranslation = { strings: {}, removedKeys: [], issues: [] };
  const named = new Set<string>();
  /** Where each string stands in what was given. */
  const paths = new Map<string, string>();
  const take = (key: string, path: string, text: string | null | undefined) => {
    if (text === undefined) return;
    const source = sources.get(key);
    if (text === null) read.removedKeys.push(key);
    else if (source === undefined) read.issues.push({ path, message: 'there is nothing to translate here' });
    else {
      read.strings[key] = { text, source: hashOf(source) };
      paths.set(key, path);
    }
  };
  take('title', 'title', input.title);
  take('description', 'description', input.description);
  take('closingText', 'closingText', input.closingText);
  for (const [index, given] of (input.sections ?? []).entries()) {
    const path = `sections.${index}`;
    if (!survey.sections?.some(({ id }) => id === given.id))
      read.issues.push({ path: `${path}.id`, message: 'is not a section of this survey' });
    if (named.has(given.id)) read.issues.push({ path: `${path}.id`, message: 'is given twice' });
    named.add(given.id);
    take(keyOf(given, 'title'), `${path}.title`, given.title);
    take(keyOf(given, 'description'), `${path}.description`, given.description);
  }
  for (const [index, given] of (input.questions ?? []).entries()) {
    const path = `questions.${index}`;
    const question = visibleQuestions(survey).find(({ id }) => id === given.id);
    if (!question) {
      read.issues.push({ path: `${path}.id`, message: 'is not a question of this survey' });
      continue;
    }
    if (named.has(question.id)) read.issues.push({ path: `${path}.id`, message: 'is given twice' });
    named.add(question.id);
    take(keyOf(question, 'text'), `${path}.text`, given.text);
    take(keyOf(question, 'description'), `${path}.description`, given.description);
    for (const list of ['options', 'rows'] as const)
      for (const [place, item] of (given[list] ?? []).entries()) {
        if (named.has(item.id)) read.issues.push({ path: `${path}.${list}.${place}.id`, message: 'is given twice' });
        named.add(item.id);
        if (question[list].some(({ id, isHidden }) => id === item.id && !isHidden))
          take(item.id, `${path}.${list}.${place}.text`, item.text);
        else
          read.issues.push({
            path: `${path}.${list}.${place}.id`,
            message: `is not one of the ${list} of this question`,
          });
      }
  }
  read.issues.push(
    ...checkTranslation(survey, read.strings).map(({ key, message }) => ({ path: paths.get(key) ?? key, message })),
  );
  return read;
}

/**
 * The API representation of a translation, with its stale strings (the source was reworded since) and its missing ones.
 */
export function* describeTranslation(
  survey: SurveyWithQuestions,
  translation: Translation,
  hashOf: (text: string) => string,
) {
  const sources = sourceStrings(survey);
  const known = new Set(sources.map(({ key }) => key));
  const textOf = (key: string) => (known.has(key) ? translation.strings[key]?.text : undefined);
  const isGiven = (value: unknown) => value !== undefined && (!Array.isArray(value) || value.length > 0);
  const present = <T extends object>(fields: T) =>
    Object.fromEntries(Object.entries(fields).filter(([, value]) => isGiven(value)));
  const listed = (items: readonly { id: string }[]) =>
    items.flatMap(({ id }) => (textOf(id) === undefined ? [] : [{ id, text: textOf(id) }]));
  const questions = visibleQuestions(survey).map((question) => ({
    id: question.id,
    ...present({
      text: textOf(keyOf(question, 'text')),
      description: textOf(keyOf(question, 'description')),
      options: listed(question.options),
      rows: listed(question.rows),
    }),
  }));
  const sections = (survey.sections ?? []).map((section) => ({
    id: section.id,
    ...present({ title: textOf(keyOf(section, 'title')), description: textOf(keyOf(section, 'description')) }),
  }));
  const isTranslated = (item: object) => Object.keys(item).length > 1;
  return {
    language: translation.language,
    direction: directionOf(translation.language),
    ...present({
      title: textOf('title'),
      description: textOf('description'),
      closingText: textOf('closingText'),
    }),
    sections: sections.filter(isTranslated),
    questions: questions.filter(isTranslated),
    stale: yield* stalePaths(sources, translation, hashOf),
    missing: sources.filter(({ key }) => translation.strings[key] === undefined).map(({ path }) => path),
    updatedAt: translation.updatedAt.toISOString(),
  };
}

const stringsPerSlice = 200;

function* stalePaths(
  sources: readonly SourceString[],
  { strings }: Translation,
  hashOf: (text: string) => string,
): SlicedWork<string[]> {
  const stale: string[] = [];
  for (const [place, { key, text, path }] of sources.entries()) {
    const stored = strings[key];
    if (stored !== undefined && stored.source !== hashOf(text)) stale.push(path);
    if (place % stringsPerSlice === 0) yield;
  }
  return stale;
}

/** The survey in another language; what is not translated stays as it is. */
export function translateSurvey(survey: SurveyWithQuestions, translation: Translation): SurveyWithQuestions {
  const textOf = (key: string, source: string): string => translation.strings[key]?.text ?? source;
  const optional = (key: string, source: string | null) =>
    source === null || source === '' ? source : textOf(key, source);
  const items = <T extends { id: string; text: string }>(list: readonly T[]): T[] =>
    list.map((item) => ({ ...item, text: textOf(item.id, item.text) }));
  return {
    ...survey,
    title: textOf('title', survey.title),
    description: optional('description', survey.description),
    ...(survey.appearance && {
      appearance: {
        ...survey.appearance,
        closingText: optional('closingText', survey.appearance.closingText),
      },
    }),
    ...(survey.sections && {
      sections: survey.sections.map((section) => ({
        ...section,
        title: section.title === '' ? '' : textOf(keyOf(section, 'title'), section.title),
        description: optional(keyOf(section, 'description'), section.description),
      })),
    }),
    questions: survey.questions.map((question) => ({
      ...question,
      text: textOf(keyOf(question, 'text'), question.text),
      description: optional(keyOf(question, 'description'), question.description),
      options: items(question.options),
      rows: items(question.rows),
    })),
  };
}

/** Wordings that name other ids in a copy: their hashes in the original and in the copy, by the key of the original. */
export type RenamedWordings = ReadonlyMap<string, { before: string; after: string }>;

/** Finds the wordings of a survey that its copy has with new ids, once for the translations to all languages. */
export function* renamedWordings(
  survey: SurveyWithQuestions,
  newIds: NewIds,
  hashOf: (text: string) => string,
): SlicedWork<RenamedWordings> {
  const renamed = new Map<string, { before: string; after: string }>();
  for (const group of sourceGroups(survey)) {
    for (const { key, text } of group) {
      const copy = textWithNewIds(text, newIds);
      if (copy !== text) renamed.set(key, { before: hashOf(text), after: hashOf(copy) });
    }
    yield;
  }
  return renamed;
}

/**
 * The strings of a copied survey: keys and placeholders have the new ids, and what was up to date stays so. Strings of
 * what was not copied are dropped.
 */
export function* copyStrings(
  strings: Translation['strings'],
  renamed: RenamedWordings,
  newIds: NewIds,
): SlicedWork<Record<string, TranslatedString>> {
  const copied: Record<string, TranslatedString> = {};
  for (const [place, [key, { text, source }]] of Object.entries(strings).entries()) {
    if (place % stringsPerSlice === 0) yield;
    const newKey = copiedKey(key, newIds);
    if (newKey === undefined) continue;
    const wording = renamed.get(key);
    const newSource = source === wording?.before ? wording.after : source;
    copied[newKey] = { text: textWithNewIds(text, newIds), source: newSource };
  }
  return copied;
}

function copiedKey(key: string, newIds: NewIds): string | undefined {
  if (key === 'title' || key === 'description' || key === 'closingText') return key;
  const [id = '', ...field] = key.split('.');
  const newId = newIds.get(id);
  return newId === undefined ? undefined : [newId, ...field].join('.');
}

/** The available language that matches the requested one best: `es-MX` matches `es`, `zh-TW` matches `zh-Hant`. */
export function chooseLanguage(requested: string | undefined, available: readonly string[]): string | undefined {
  if (requested === undefined) return undefined;
  const tag = requested.toLowerCase();
  const [base = ''] = tag.split('-');
  const candidates = [tag, chineseScript(tag)?.toLowerCase(), base];
  return candidates.flatMap((candidate) => available.filter((language) => language.toLowerCase() === candidate)).at(0);
}
