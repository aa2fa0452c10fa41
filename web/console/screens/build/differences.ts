import type { Condition, OptionsFrom, Skip } from '../../../../src/domain/path/definition.ts';
import { readable } from '../../../../src/domain/path/placeholders.ts';
import { sentenceOf, textOfWords } from '../../conditions/condition-words.ts';
import { questionTypeTitles } from '../../data/question-types.ts';
import type { Definition, Item, QuestionSettings } from '../../data/questions.ts';
import { targetText } from './outline-rows.ts';
import { type Setting, typeNames, typeOf } from './question-types.ts';

/** The fields of questions, sections and surveys, as an author calls them. */
export const fieldNames: Readonly<Record<string, string>> = {
  title: 'Title',
  text: 'Text',
  description: 'Description',
  type: 'Type',
  isRequired: 'Required',
  options: 'Options',
  settings: 'Settings',
  sectionId: 'Section',
  order: 'Place',
  isShuffled: 'Shuffled',
  isAnchored: 'Anchored',
  visibleIf: 'Condition',
  skips: 'Skips',
  optionsFrom: 'Options from an earlier answer',
  language: 'Language',
};

const conditionText = (survey: Definition, condition: Condition | null | undefined): string =>
  condition ? textOfWords(sentenceOf(survey, condition)) : 'always';

/** A value of a field in words. */
export function fieldText(survey: Definition, field: string, value: unknown): string {
  if (value === null || value === undefined || value === '') return field === 'visibleIf' ? 'always' : 'nothing';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  switch (field) {
    case 'options':
      return itemsText(survey, value as readonly Item[]);
    case 'visibleIf':
      return conditionText(survey, value as Condition);
    case 'skips':
      return (
        (value as readonly Skip[])
          .map((skip) => `If ${conditionText(survey, skip.if)}, go to ${targetText(survey, skip.to)}`)
          .join('; ') || 'none'
      );
    case 'optionsFrom': {
      const { questionId, which } = value as OptionsFrom;
      const source = readable(survey.questions.find(({ id }) => id === questionId)?.text ?? 'a question that is gone');
      return `those ${which === 'selected' ? 'selected' : 'not selected'} in “${source}”`;
    }
    case 'settings':
      return settingsText(survey, value as QuestionSettings);
    case 'type':
      return questionTypeTitles[value as keyof typeof questionTypeTitles] ?? String(value);
    case 'sectionId':
      return readable(survey.sections.find(({ id }) => id === value)?.title ?? '') || 'a section without a title';
    case 'order':
      return String(Number(value) + 1);
    default:
      return typeof value === 'string' ? value : JSON.stringify(value);
  }
}

function itemsText(survey: Definition, items: readonly Item[]): string {
  return items
    .map(({ text, value, visibleIf, isAnchored }) => {
      const notes = [
        ...(value !== undefined && value !== slug(text) ? [`value ${value}`] : []),
        ...(visibleIf ? [`if ${conditionText(survey, visibleIf)}`] : []),
        ...(isAnchored ? ['anchored'] : []),
      ];
      return notes.length > 0 ? `${text} (${notes.join(', ')})` : text;
    })
    .join(', ');
}

const slug = (text: string): string => text.toLowerCase().replace(/\s+/g, '-');

const settingLabels = new Map<string, string>(
  typeNames.flatMap((name) => typeOf(name).settings.map((setting: Setting) => [setting.name, setting.label] as const)),
);

function settingsText(survey: Definition, { rows, ...settings }: QuestionSettings): string {
  const parts = Object.entries(settings)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `${settingLabels.get(name) ?? name}: ${fieldText(survey, name, value)}`);
  return [...(rows ? [`Rows: ${itemsText(survey, rows)}`] : []), ...parts].join('; ') || 'none';
}

export interface Difference {
  kind: 'added' | 'removed' | 'changed';
  id: string;
  /** What the question, section or survey is called. */
  title: string;
  /** Only of kind `changed`. */
  field?: string;
  before?: string;
  after?: string;
}

const comparedFields = {
  survey: ['title', 'description', 'language', 'isShuffled'],
  section: ['title', 'description', 'order', 'isShuffled', 'isAnchored', 'visibleIf'],
  question: [
    'type',
    'text',
    'description',
    'isRequired',
    'sectionId',
    'options',
    'settings',
    'visibleIf',
    'skips',
    'optionsFrom',
    'isAnchored',
  ],
} as const;

/** What differs between two versions of a survey, in the order of the newer one. */
export function differencesOf(before: Definition, after: Definition): Difference[] {
  const survey = changesOf({ before, after }, before, after, comparedFields.survey, 'The survey');
  const sections = listDifferences({ before, after }, 'sections', comparedFields.section);
  const questions = listDifferences({ before, after }, 'questions', comparedFields.question);
  return [...survey, ...sections, ...questions, ...movedQuestions(before, after)];
}

interface Versions {
  before: Definition;
  after: Definition;
}

interface Listed {
  id: string;
  text?: string;
  title?: string;
}

const titleOf = ({ text, title }: Listed): string => readable(text ?? title ?? '') || 'Section without a title';

function listDifferences(versions: Versions, list: 'sections' | 'questions', fields: readonly string[]): Difference[] {
  const old = new Map(versions.before[list].map((thing) => [thing.id, thing as Listed]));
  const kept = new Set(versions.after[list].map(({ id }) => id));
  const now = versions.after[list].flatMap((thing: Listed): Difference[] => {
    const known = old.get(thing.id);
    if (!known) return [{ kind: 'added', id: thing.id, title: titleOf(thing) }];
    return changesOf(versions, known, thing, fields, titleOf(thing));
  });
  const gone = [...old.values()].filter(({ id }) => !kept.has(id));
  return [...now, ...gone.map((thing): Difference => ({ kind: 'removed', id: thing.id, title: titleOf(thing) }))];
}

function changesOf(
  { before, after }: Versions,
  old: object,
  now: object,
  fields: readonly string[],
  title: string,
): Difference[] {
  const fieldOf = (thing: object, field: string) => (thing as Record<string, unknown>)[field];
  return fields
    .filter((field) => JSON.stringify(fieldOf(old, field)) !== JSON.stringify(fieldOf(now, field)))
    .map((field) => ({
      kind: 'changed',
      id: String(fieldOf(now, 'id')),
      title,
      field,
      before: fieldText(before, field, fieldOf(old, field)),
      after: fieldText(after, field, fieldOf(now, field)),
    }));
}

/** Questions of both versions that were moved: all but the most that stand in the same order as before. */
function movedQuestions(before: Definition, after: Definition): Difference[] {
  const idsBefore = new Set(before.questions.map(({ id }) => id));
  const idsAfter = new Set(after.questions.map(({ id }) => id));
  const old = before.questions.filter(({ id }) => idsAfter.has(id)).map(({ id }) => id);
  const now = after.questions.filter(({ id }) => idsBefore.has(id));
  const placesBefore = new Map(old.map((id, place) => [id, place]));
  const unmoved = longestRise(now.map(({ id }) => placesBefore.get(id) ?? 0));
  return now.flatMap(({ id, text }, place): Difference[] =>
    unmoved.has(place)
      ? []
      : [
          {
            kind: 'changed',
            id,
            title: readable(text),
            field: 'order',
            before: String((placesBefore.get(id) ?? 0) + 1),
            after: String(place + 1),
          },
        ],
  );
}

/** The indexes of the most numbers of a list of different ones that rise from the first of them to the last. */
function longestRise(numbers: readonly number[]): ReadonlySet<number> {
  /** At each place, the index of the smallest number that a rise of that length can end with. */
  const ends: number[] = [];
  const before: (number | undefined)[] = [];
  for (const [index, number] of numbers.entries()) {
    const length = ends.filter((end) => (numbers[end] ?? 0) < number).length;
    before.push(ends[length - 1]);
    ends[length] = index;
  }
  const rise = new Set<number>();
  for (let index = ends.at(-1); index !== undefined; index = before[index]) rise.add(index);
  return rise;
}
