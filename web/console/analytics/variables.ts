import { pointAt, pointCount, type Scale } from '../../../src/domain/path/scale-points.ts';
import { languageName } from '../../../src/domain/translation/language-name.ts';
import { type Item, isOpenQuestion, type Question } from '../data/questions.ts';
import { outcomeNames } from '../data/responses.ts';

/** Something with values that responses can be selected or compared by. */
export interface FilterVariable {
  /** The filter of a value is `key:value`. */
  key: string;
  label: string;
  values: readonly { value: string; label: string }[];
}

/** More points of a scale than these are no choice for a list. */
const mostPoints = 201;
/** As many groups can be laid beside one another. */
export const mostGroups = 8;

export const otherValue = '__other__';
/** All languages that surveys are not translated to. */
const otherLanguages = 'other';

export const answerValue = ({ value, text }: Item): string => value ?? text;

/** The name of an option or row that was removed, by its value, or of a question, by its text. */
export const removedName = (value: string): string => `${value} (removed)`;

const valuesOf = (items: readonly Item[]) => items.map((item) => ({ value: answerValue(item), label: item.text }));

function pointsOf(scale: Scale): { value: string; label: string }[] {
  const count = pointCount(scale);
  if (!(count > 1) || count > mostPoints) return [];
  return Array.from({ length: count }, (_, index) => {
    const point = String(pointAt(scale, index));
    return { value: point, label: point };
  });
}

const numberOf = (value: unknown, initial: number): number => (typeof value === 'number' ? value : initial);

function scaleOf({ settings }: Question, min: number, max: number) {
  return pointsOf({
    min: numberOf(settings['min'], min),
    max: numberOf(settings['max'], max),
    step: numberOf(settings['step'], 1),
  });
}

function questionVariables(question: Question, label: string): FilterVariable[] {
  const { id, options, settings } = question;
  switch (question.type) {
    case 'YES_NO':
    case 'CHECKBOXES':
    case 'LIKERT_SCALE':
      return [{ key: id, label, values: valuesOf(options) }];
    case 'MULTIPLE_CHOICE':
    case 'DROPDOWN': {
      const other = settings['allowOther'] === true ? [{ value: otherValue, label: 'Other' }] : [];
      return [{ key: id, label, values: [...valuesOf(options), ...other] }];
    }
    case 'RANKING':
      return [{ key: id, label: `${label} – first choice`, values: valuesOf(options) }];
    case 'MATRIX':
      return (settings.rows ?? []).map((row) => ({
        key: `${id}:${answerValue(row)}`,
        label: `${label} – ${row.text}`,
        values: valuesOf(options),
      }));
    case 'NPS':
      return [{ key: id, label, values: pointsOf({ min: 0, max: 10, step: 1 }) }];
    case 'RATING_SCALE':
      return [{ key: id, label, values: scaleOf(question, 1, 5) }];
    case 'SLIDER':
      return [{ key: id, label, values: scaleOf(question, 0, 100) }];
    default:
      return [];
  }
}

/** What responses can be selected by besides their answers. */
export interface ResponseOrigins {
  collectors: readonly { id: string; name: string }[];
  /** Tags of the languages that the survey has texts in, and of all others that a response came in. */
  languages: readonly string[];
}

/**
 * The variables of a survey: its questions with categories, the outcome, and its collectors and languages if there are
 * several.
 */
export function filterVariables(
  questions: readonly Question[],
  { collectors, languages }: ResponseOrigins,
): FilterVariable[] {
  const asked = questions.flatMap((question, index) => questionVariables(question, `${index + 1}. ${question.text}`));
  const outcomes = Object.entries(outcomeNames).map(([value, label]) => ({ value, label }));
  const tags = languages.filter((tag) => tag !== otherLanguages);
  const spoken = [
    ...tags.map((tag) => ({ value: tag, label: languageName(tag) })),
    { value: otherLanguages, label: 'Other languages' },
  ];
  const ways = collectors.map(({ id, name }) => ({ value: id, label: name }));
  return [
    { key: 'outcome', label: 'Outcome', values: outcomes },
    ...(ways.length > 1 ? [{ key: 'collector', label: 'Collector', values: ways }] : []),
    ...(tags.length > 1 ? [{ key: 'language', label: 'Language', values: spoken }] : []),
    ...asked.filter(({ values }) => values.length > 0),
  ];
}

/** Something that an AI analysis finds in texts. */
export interface FoundVariable {
  /** As the API names it: `sentiment`, `theme`, with `:questionId` where it is found in one question only. */
  key: string;
  kind: 'sentiment' | 'theme';
  label: string;
  /** Undefined: found in any answer. */
  questionId?: string;
}

/** What an AI analysis may find in the open answers of a survey. */
export function foundVariables(questions: readonly Question[]): FoundVariable[] {
  const open = questions.flatMap((question, index) =>
    isOpenQuestion(question) ? [{ id: question.id, where: ` in ${index + 1}. ${question.text}` }] : [],
  );
  const named = (ending: string, where: string, questionId?: string): FoundVariable[] => [
    { key: `sentiment${ending}`, kind: 'sentiment', label: `Sentiment${where}`, questionId },
    { key: `theme${ending}`, kind: 'theme', label: `Theme${where}`, questionId },
  ];
  return open.length === 0 ? [] : [...named('', ''), ...open.flatMap(({ id, where }) => named(`:${id}`, where, id))];
}

/** What a filter says, such as “2. Which dish?: Soup”; the filter itself where it names nothing that is known. */
export function filterText(
  variables: readonly FilterVariable[],
  filter: string,
  found: readonly FoundVariable[] = [],
): string {
  for (const { key, label, values } of variables) {
    const value = values.find((known) => `${key}:${known.value}` === filter);
    if (value) return `${label}: ${value.label}`;
  }
  // Those of one question come after those of any, and begin like them.
  const variable = found.findLast(({ key }) => filter.startsWith(`${key}:`));
  return variable ? `${variable.label}: ${filter.slice(variable.key.length + 1)}` : filter;
}
