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
  /** What responses are compared by, where these are not all values: ranges of a scale. */
  groups?: readonly { value: string; label: string }[];
  /** How many responses of the survey have each value, where statistics do not say it; filters do not change these. */
  counts?: ReadonlyMap<string, number>;
}

/** More points of a scale than these are no choice for a list. */
const mostPoints = 201;
/** A scale of more points is compared by so many ranges. */
const mostComparedPoints = 8;
const rangeCount = 5;

/** The groups of a net promoter score, by the ranges of their points. */
export const npsGroups = [
  { key: 'detractors', value: '0..6', label: 'Detractors (0–6)' },
  { key: 'passives', value: '7..8', label: 'Passives (7–8)' },
  { key: 'promoters', value: '9..10', label: 'Promoters (9–10)' },
] as const;

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

/** The points in ranges of nearly equal size. */
const rangesOf = (points: readonly { value: string }[]): { value: string; label: string }[] =>
  Array.from({ length: rangeCount }, (_, index) => {
    const edgeAt = (range: number) => Math.round((range * points.length) / rangeCount);
    const first = points[edgeAt(index)]?.value ?? '';
    const last = points[edgeAt(index + 1) - 1]?.value ?? '';
    return first === last ? { value: first, label: first } : { value: `${first}..${last}`, label: `${first}–${last}` };
  });

/** A scale that can also be filtered by ranges of its points, and is compared by them. */
const inRanges = (
  { values, ...variable }: FilterVariable,
  groups: NonNullable<FilterVariable['groups']>,
): FilterVariable => ({
  ...variable,
  values: [...groups.filter(({ value }) => value.includes('..')), ...values],
  groups,
});

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
      return [inRanges({ key: id, label, values: pointsOf({ min: 0, max: 10, step: 1 }) }, npsGroups)];
    case 'RATING_SCALE':
    case 'SLIDER': {
      const points = pointsOf(settings as unknown as Scale);
      const variable = { key: id, label, values: points };
      return [points.length > mostComparedPoints ? inRanges(variable, rangesOf(points)) : variable];
    }
    default:
      return [];
  }
}

/** What responses can be selected by besides their answers. */
interface ResponseOrigins {
  collectors: readonly { id: string; name: string }[];
  /** The tags of the languages that the survey has texts in, and of all others that a response came in, with counts. */
  languages: ReadonlyMap<string, number>;
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
  const tags = [...languages.keys()].filter((tag) => tag !== otherLanguages);
  const spoken = [
    ...tags.map((tag) => ({ value: tag, label: languageName(tag) })),
    { value: otherLanguages, label: 'Other languages' },
  ];
  const ways = collectors.map(({ id, name }) => ({ value: id, label: name }));
  return [
    { key: 'outcome', label: 'Outcome', values: outcomes },
    ...(ways.length > 1 ? [{ key: 'collector', label: 'Collector', values: ways }] : []),
    ...(tags.length > 1 ? [{ key: 'language', label: 'Language', values: spoken, counts: languages }] : []),
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
