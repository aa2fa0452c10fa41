import type { AnswerLeaf, Condition, KeyLeaf, LanguageLeaf, OptionsFrom, Skip } from '../path/definition.ts';
import {
  type Option,
  type Question,
  type SurveyWithQuestions,
  visibleOptions,
  visibleQuestions,
  visibleRows,
} from '../survey.ts';

/** A condition that belongs to a survey, but stands outside of its questions: it may name any of them. */
export interface NamedCondition {
  id: string;
  name: string;
  where: Condition;
}

/** The strings of a translation by key, as `Translation.strings` has them. */
export interface TranslatedTexts {
  language: string;
  strings: Readonly<Record<string, { text: string }>>;
}

/** What is checked beside the survey itself. */
export interface BesideSurvey {
  quotas?: readonly NamedCondition[] | undefined;
  translations?: readonly TranslatedTexts[] | undefined;
}

/** Where an element stands; ids of what it belongs to. */
export interface ElementPlace {
  kind: 'visibleIf' | 'skip' | 'optionsFrom' | 'text' | 'closingText' | 'quota';
  sectionId?: string;
  questionId?: string;
  optionId?: string;
  rowId?: string;
  /** Of a text in a translation. */
  language?: string;
  quotaId?: string;
  quotaName?: string;
}

/** A condition, skip, `optionsFrom` or text with placeholders. */
export type PathElement = ElementContent & {
  place: ElementPlace;
  /** What it belongs to (`questions.ID`, `sections.ID`, '' for the survey) and its path in there (`skips.0`). */
  owner: string;
  field: string;
};

/** Path of the closing text in a survey; as the key of its translation: `closingText`. */
const closingTextField = 'appearance.closingText';

export type ElementContent =
  | { condition: Condition }
  | { skip: Skip }
  | { optionsFrom: OptionsFrom }
  | { text: string };

/** The condition of an element; undefined for texts and `optionsFrom`. */
export function conditionOf(element: ElementContent): Condition | undefined {
  if ('condition' in element) return element.condition;
  return 'skip' in element ? element.skip.if : undefined;
}

export type Leaf = AnswerLeaf | KeyLeaf | LanguageLeaf;

/** The leaves of a condition, in their order. */
export function leavesOf(condition: Condition): readonly Leaf[] {
  if ('all' in condition) return condition.all.flatMap(leavesOf);
  if ('any' in condition) return condition.any.flatMap(leavesOf);
  return 'not' in condition ? leavesOf(condition.not) : [condition];
}

/** All elements of a survey in their designed order; deleted questions, options and rows have none. */
export function elementsOf(
  survey: SurveyWithQuestions,
  { quotas = [], translations = [] }: BesideSurvey = {},
): PathElement[] {
  const elements: PathElement[] = [
    ...textElements('', { kind: 'text' }, { title: survey.title, description: survey.description }),
    ...textElements('', { kind: 'closingText' }, { [closingTextField]: survey.appearance?.closingText ?? null }),
  ];
  for (const { id, title, description, visibleIf } of survey.sections ?? []) {
    const owner = `sections.${id}`;
    elements.push(...conditionElements(owner, { sectionId: id }, 'visibleIf', visibleIf));
    elements.push(...textElements(owner, { kind: 'text', sectionId: id }, { title, description }));
  }
  for (const question of visibleQuestions(survey)) elements.push(...questionElements(question));
  for (const { language, strings } of translations) elements.push(...translatedElements(survey, language, strings));
  for (const { id, name, where } of quotas)
    elements.push({
      condition: where,
      place: { kind: 'quota', quotaId: id, quotaName: name },
      owner: `quotas.${id}`,
      field: 'where',
    });
  return elements;
}

function questionElements(question: Question): PathElement[] {
  const { id, text, description, visibleIf, skips = [], optionsFrom } = question;
  const owner = `questions.${id}`;
  const elements = [
    ...conditionElements(owner, { questionId: id }, 'visibleIf', visibleIf),
    ...skips.map(
      (skip, index): PathElement => ({
        skip,
        place: { kind: 'skip', questionId: id },
        owner,
        field: `skips.${index}`,
      }),
    ),
    ...textElements(owner, { kind: 'text', questionId: id }, { text, description }),
    ...itemElements(owner, id, visibleOptions(question), 'options'),
    ...itemElements(owner, id, visibleRows(question), 'settings.rows'),
  ];
  if (optionsFrom)
    elements.push({ optionsFrom, place: { kind: 'optionsFrom', questionId: id }, owner, field: 'optionsFrom' });
  return elements;
}

const itemPlace = (questionId: string, field: 'options' | 'settings.rows', id: string) =>
  field === 'options' ? { questionId, optionId: id } : { questionId, rowId: id };

function itemElements(
  owner: string,
  questionId: string,
  items: readonly Option[],
  field: 'options' | 'settings.rows',
): PathElement[] {
  const elements: PathElement[] = [];
  for (const [index, { id, text, visibleIf }] of items.entries()) {
    // Almost all of the many thousands that a survey may have.
    if (!visibleIf && !mayHavePlaceholders(text)) continue;
    const place = itemPlace(questionId, field, id);
    elements.push(
      ...conditionElements(owner, place, `${field}.${index}.visibleIf`, visibleIf),
      ...textElements(owner, { kind: 'text', ...place }, { [`${field}.${index}.text`]: text }),
    );
  }
  return elements;
}

const mayHavePlaceholders = (text: string | null): text is string => text?.includes('{{') ?? false;

function conditionElements(
  owner: string,
  place: Omit<ElementPlace, 'kind'>,
  field: string,
  condition: Condition | null | undefined,
): PathElement[] {
  return condition ? [{ condition, place: { kind: 'visibleIf', ...place }, owner, field }] : [];
}

/** Only texts that may have placeholders. */
function textElements(
  owner: string,
  place: ElementPlace,
  texts: Readonly<Record<string, string | null>>,
): PathElement[] {
  return Object.entries(texts).flatMap(([field, text]) =>
    mayHavePlaceholders(text) ? [{ text, place, owner, field }] : [],
  );
}

/** Texts of a translation; those of what no longer exists are left out. */
function translatedElements(
  survey: SurveyWithQuestions,
  language: string,
  strings: TranslatedTexts['strings'],
): PathElement[] {
  const places = new Map<string, Omit<ElementPlace, 'kind'>>([['', {}]]);
  for (const { id } of survey.sections ?? []) places.set(id, { sectionId: id });
  for (const question of visibleQuestions(survey)) {
    places.set(question.id, { questionId: question.id });
    for (const { id } of visibleOptions(question)) places.set(id, itemPlace(question.id, 'options', id));
    for (const { id } of visibleRows(question)) places.set(id, itemPlace(question.id, 'settings.rows', id));
  }
  return Object.entries(strings).flatMap(([key, { text }]) => {
    if (!mayHavePlaceholders(text)) return [];
    if (key === 'closingText')
      return textElements(`translations.${language}`, { kind: 'closingText', language }, { [key]: text });
    const place = places.get(key === 'title' || key === 'description' ? '' : (key.split('.')[0] ?? ''));
    return place ? textElements(`translations.${language}`, { kind: 'text', ...place, language }, { [key]: text }) : [];
  });
}
