import type { Appearance } from './appearance.ts';
import type { AnswerLeaf, Condition, OptionsFrom, Section, Skip } from './path/definition.ts';
import { type Placeholder, partsOf } from './path/placeholders.ts';
import type { Option, Question } from './survey.ts';

/** Old ids to new ones, of sections, questions, options and rows. Ids that it does not have stay. */
export type NewIds = ReadonlyMap<string, string>;

/** New names for all that the conditions of a copied survey name. */
export interface NewNames {
  ids: NewIds;
  /**
   * The points of the visible options of each LIKERT_SCALE where these are not simply 1, 2, 3 …, by its old id. In the
   * copy, which has no answers, they are.
   */
  points: ReadonlyMap<string, readonly number[]>;
}

/** Gives a copied survey's sections and questions their new ids, also where conditions, skips and texts name them. */
export function sectionWithNewIds(section: Section, names: NewNames): Section {
  const { visibleIf } = section;
  const { ids: newIds } = names;
  return {
    ...section,
    id: newId(section.id, newIds),
    title: textWithNewIds(section.title, newIds),
    description: optionalText(section.description, newIds),
    visibleIf: visibleIf && conditionWithNewIds(visibleIf, names),
  };
}

export function questionWithNewIds(question: Question, names: NewNames): Question {
  const { ids: newIds } = names;
  const { firstVersion: _, absentIn: __, notAsked: ___, ...copied } = question;
  const { sectionId, visibleIf, skips, optionsFrom } = copied;
  const items = (list: readonly Option[]) => list.map((item) => itemWithNewIds(item, names));
  return {
    ...copied,
    id: newId(question.id, newIds),
    text: textWithNewIds(question.text, newIds),
    description: optionalText(question.description, newIds),
    options: items(question.options),
    rows: items(question.rows),
    ...(sectionId !== undefined && { sectionId: newId(sectionId, newIds) }),
    ...(visibleIf && { visibleIf: conditionWithNewIds(visibleIf, names) }),
    ...(skips && { skips: skips.map((skip) => skipWithNewIds(skip, names)) }),
    ...(optionsFrom && { optionsFrom: sourceWithNewIds(optionsFrom, newIds) }),
  };
}

/** The closing text may name questions. */
export const appearanceWithNewIds = (appearance: Appearance, newIds: NewIds): Appearance => ({
  ...appearance,
  closingText: optionalText(appearance.closingText, newIds),
});

/** A text whose placeholders (`{{question:ID}}`, `{{question:ID:row:ROWID}}`) name the new ids. */
export const textWithNewIds = (text: string, newIds: NewIds): string =>
  partsOf(text)
    .map((part) => (typeof part === 'string' ? part : placeholderWithNewIds(part, newIds)))
    .join('');

function placeholderWithNewIds(placeholder: Placeholder, newIds: NewIds): string {
  const { source } = placeholder;
  if (!('questionId' in placeholder)) return source;
  // `{{question:ID` or `{{question:ID:row:ROWID`, then the fallback and the closing braces.
  const end = source.search(/[|}]/);
  const names = source.slice(0, end).split(':');
  const renamed = names.map((name, place) => (place % 2 === 1 ? trimmedWithNewId(name, newIds) : name));
  return `${renamed.join(':')}${source.slice(end)}`;
}

/** An id between white space, which stays. */
function trimmedWithNewId(name: string, newIds: NewIds): string {
  const id = name.trim();
  return name.replace(id, () => newId(id, newIds));
}

const newId = (id: string, newIds: NewIds): string => newIds.get(id) ?? id;

/** The same of a text that may be missing. */
export const optionalText = (text: string | null, newIds: NewIds) =>
  text === null ? null : textWithNewIds(text, newIds);

function itemWithNewIds(item: Option, names: NewNames): Option {
  const { ids: newIds } = names;
  const { firstVersion: _, absentIn: __, ...copied } = item;
  const { visibleIf } = copied;
  return {
    ...copied,
    id: newId(item.id, newIds),
    text: textWithNewIds(item.text, newIds),
    ...(visibleIf && { visibleIf: conditionWithNewIds(visibleIf, names) }),
  };
}

const skipWithNewIds = ({ if: condition, to }: Skip, names: NewNames): Skip => ({
  if: conditionWithNewIds(condition, names),
  to: newId(to, names.ids),
});

const sourceWithNewIds = ({ questionId, which }: OptionsFrom, newIds: NewIds): OptionsFrom => ({
  questionId: newId(questionId, newIds),
  which,
});

export function conditionWithNewIds(condition: Condition, names: NewNames): Condition {
  const each = (list: readonly Condition[]) => list.map((item) => conditionWithNewIds(item, names));
  if ('all' in condition) return { all: each(condition.all) };
  if ('any' in condition) return { any: each(condition.any) };
  if ('not' in condition) return { not: conditionWithNewIds(condition.not, names) };
  if (!('questionId' in condition)) return condition;
  const { questionId, rowId } = condition;
  const { ids: newIds } = names;
  return {
    ...condition,
    questionId: newId(questionId, newIds),
    ...(rowId !== undefined && { rowId: newId(rowId, newIds) }),
    ...('optionIds' in condition && { optionIds: condition.optionIds.map((id) => newId(id, newIds)) }),
    ...('optionId' in condition && { optionId: newId(condition.optionId, newIds) }),
    ...endsByPlace(condition, names.points.get(questionId)),
  } as Condition;
}

/** The ends that a leaf names by these points, as places among them; the value is 0 where no point is meant. */
function endsByPlace(
  leaf: AnswerLeaf,
  points: readonly number[] | undefined,
): { value?: number; min?: number; max?: number } {
  if (!points) return {};
  const placesTo = (isBefore: (point: number) => boolean) => points.filter(isBefore).length;
  switch (leaf.operator) {
    case 'equals':
    case 'notEquals':
      return typeof leaf.value === 'number' ? { value: points.indexOf(leaf.value) + 1 } : {};
    case 'between': {
      const { min, max } = leaf;
      return {
        ...(typeof min === 'number' && { min: placesTo((point) => point < min) + 1 }),
        ...(typeof max === 'number' && { max: placesTo((point) => point <= max) }),
      };
    }
    default:
      return {};
  }
}
