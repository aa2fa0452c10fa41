import type { AskedSurvey } from '../../../domain/analytics/asked.ts';
import { numberOfOutcome, type Outcome } from '../../../domain/outcome.ts';
import { isLanguageForm } from '../../../domain/path/language-form.ts';
import {
  bitOfCode,
  type Category,
  type Dimension,
  dimensionSlots,
  type ParsedFilter,
} from '../../../domain/questions/contract.ts';
import { codeColumn } from '../../../domain/response-row.ts';
import type { CodeColumns } from '../schema/code-columns.ts';
import { sqlInteger, sqlMoment, sqlString, sqlUuid } from '../sql-literals.ts';

/** Selects responses that answer a question with a text. */
export interface TextCondition {
  slot: number;
  /** Code position that is not 0 if there is a text. */
  presence: number;
  /** A part of the text, in any case; undefined: any text. */
  search?: string | undefined;
}

export interface DateRange {
  /** First submission time that is selected. */
  startDate?: Date | undefined;
  /** First submission time that is no longer selected. */
  endDate?: Date | undefined;
}

export interface Selection extends DateRange {
  surveyId: string;
  isComplete?: boolean | undefined;
  /** Any of these; undefined: all. */
  outcomes?: readonly Outcome[] | undefined;
  /** All must hold. */
  conditions?: readonly ParsedFilter[] | undefined;
  text?: TextCondition | undefined;
}

/** SQL for a code column; a position without a column is 0 in all responses. */
export type ColumnOf = (slot: number) => string;

export async function columnNames(columns: CodeColumns, slots: readonly number[]): Promise<ColumnOf> {
  const existing = await columns.existing(slots.reduce((most, slot) => Math.max(most, slot + 1), 0));
  return (slot) => (slot < existing ? codeColumn(slot) : 'toUInt16(0)');
}

/** The other columns that these dimensions, and the statuses of these questions, read. */
export const headColumns = (dimensions: readonly Dimension[], asked?: AskedSurvey): string[] => {
  const rules = dimensions.map(({ skipped }) => skipped);
  const parts = [...rules, ...(asked?.questions ?? []).flatMap((item) => [item, ...item.rows])];
  return [
    ...['language', 'metadata'].filter((column) => dimensions.some(({ source }) => source.kind === column)),
    ...(parts.some((part) => part?.absentIn !== undefined) ||
    [asked, ...rules].some((rule) => rule?.markedFrom !== undefined)
      ? ['survey_version']
      : []),
  ];
};

/** A selection in SQL. `key` is the part on the sorting key, which holds for all versions of a response or for none. */
export interface Conditions {
  key: string;
  /** All conditions, `key` included; valid for newest versions only. */
  full: string;
  /** `full` in columns of the table's projection `hours`; undefined where it has not all of them. */
  byHour?: string | undefined;
}

/** `annotations`: the table of AI annotations. */
export function conditionsOf(selection: Selection, columnOf: ColumnOf, annotations: string): Conditions {
  const { surveyId, startDate, endDate, isComplete, outcomes, conditions, text } = selection;
  const keyOf = (time: string): string =>
    allOf([
      `survey_id = ${sqlUuid(surveyId)}`,
      startDate === undefined ? '' : `${time} >= ${sqlMoment(startDate)}`,
      endDate === undefined ? '' : `${time} < ${sqlMoment(endDate)}`,
    ]);
  const key = keyOf('submitted_at');
  const ofOutcome = [
    isComplete === undefined ? '' : `is_complete ${isComplete ? '!=' : '='} 0`,
    outcomes === undefined ? '' : hasOutcome(outcomes),
  ];
  const holds = (condition: ParsedFilter): string => hasCode(condition, columnOf, { table: annotations, surveyId });
  const ofAnswers = [...(conditions ?? []).map(holds), ...(text === undefined ? [] : [hasText(text, columnOf)])];
  const isOfFullHours = [startDate, endDate].every((bound) => bound === undefined || bound.getTime() % hourMs === 0);
  return {
    key,
    full: allOf([key, ...ofOutcome, ...ofAnswers]),
    byHour:
      isOfFullHours && ofAnswers.length === 0 ? allOf([keyOf('toStartOfHour(submitted_at)'), ...ofOutcome]) : undefined,
  };
}

const hourMs = 3_600_000;

/** Whether a selection says which outcomes it wants; if not, counts of questions leave some out. */
export const asksForOutcomes = ({ outcomes, conditions = [] }: Pick<Selection, 'outcomes' | 'conditions'>): boolean =>
  outcomes !== undefined || conditions.some(({ dimension }) => dimension.source.kind === 'outcome');

/** SQL condition for responses with one of these outcomes. */
export function hasOutcome(wanted: readonly Outcome[]): string {
  const numbers = [...new Set(wanted.map(numberOfOutcome))].sort((one, other) => one - other);
  const last = numbers.at(-1);
  if (last === undefined) return '0';
  // A comparison is read faster than a set.
  return numbers.length === last + 1 ? `is_complete <= ${last}` : `is_complete IN (${numbers.join(', ')})`;
}

/** Names of the existing columns among these positions. */
export function existingColumns(slots: readonly number[], columnOf: ColumnOf): string[] {
  return [...new Set(slots)].filter((slot) => columnOf(slot) === codeColumn(slot)).map(codeColumn);
}

export function allOf(conditions: readonly string[]): string {
  return conditions.filter((condition) => condition !== '').join(' AND ');
}

/** SQL for the code of a response's collector. */
export const collectorColumn = ({ slot }: { slot: number | null }, columnOf: ColumnOf): string =>
  slot === null ? 'toUInt16(0)' : columnOf(slot);

/** SQL for the code of a response's language. */
export function languageCode(tags: readonly string[]): string {
  const [first = '', ...others] = tags;
  // The forms of `zh` have the codes of their scripts.
  const fits = (tag: string): string =>
    `language = ${sqlString(tag)}${tag === 'zh' ? '' : ` OR startsWith(language, ${sqlString(`${tag}-`)})`}`;
  const cases = [first, ...others]
    .map((tag, index) => ({ tag, code: index + 1 }))
    .sort((one, other) => other.tag.length - one.tag.length)
    .flatMap(({ tag, code }) => [fits(tag), sqlInteger(code)]);
  const chinese = chineseScripts.flatMap(({ script, pattern }) => {
    const code = tags.indexOf(script) + 1;
    return code === 0 ? [] : [`match(language, ${sqlString(pattern)})`, sqlInteger(code)];
  });
  return `toUInt16(multiIf(language = '', 1, ${[...cases, ...chinese].join(', ')}, ${sqlInteger(tags.length + 1)}))`;
}

/** `chineseScript` in domain/path/language-form as patterns, of which the first that matches counts. */
const chineseScripts = [
  { script: 'zh-Hans', pattern: '^zh-(.*-)?Hans(-|$)' },
  { script: 'zh-Hant', pattern: '^zh-(.*-)?(Hant|TW|HK|MO)(-|$)' },
  { script: 'zh-Hans', pattern: '^zh(-|$)' },
];

/**
 * SQL condition for responses in the language of this code. Its regional forms may have codes of their own, as that of
 * the survey has.
 */
function isInLanguage(tags: readonly string[], code: number): string {
  const wanted = tags[code - 1];
  const isForm = (tag: string): boolean =>
    wanted !== undefined && isLanguageForm(tag.toLowerCase(), wanted.toLowerCase());
  const forms = tags.flatMap((tag, index) => (tag !== wanted && isForm(tag) ? index + 1 : []));
  return `${languageCode(tags)} IN (${[code, ...forms].map(sqlInteger).join(', ')})`;
}

export function selectionSlots({ conditions = [], text }: Pick<Selection, 'conditions' | 'text'>): number[] {
  const slots = conditions.flatMap(({ dimension }) => dimensionSlots(dimension));
  return text === undefined ? slots : [...slots, text.presence];
}

function hasText({ slot, presence, search }: TextCondition, columnOf: ColumnOf): string {
  const isThere = `${columnOf(presence)} != 0`;
  if (search === undefined) return isThere;
  return `${isThere} AND position(${folded(`texts[${sqlInteger(slot + 1)}]`)}, ${folded(sqlString(search))}) > 0`;
}

/**
 * SQL for a text as searches compare it: in lower case and composed, as word counts see it, with σ for ς at the end of a
 * word. İ stays an i with a dot above.
 */
const folded = (text: string): string => `replaceAll(normalizeUTF8NFC(lowerUTF8(${text})), 'ς', 'σ')`;

function hasCode(
  { dimension: { source, categories }, code, lastCode }: ParsedFilter,
  columnOf: ColumnOf,
  annotations: AnnotationLocation,
): string {
  switch (source.kind) {
    case 'outcome':
      return `is_complete = ${sqlInteger(code - 1)}`;
    case 'language':
      return isInLanguage(source.tags, code);
    case 'metadata':
      return hasMetadata(source);
    case 'code':
      return lastCode === undefined
        ? `${columnOf(source.slot)} = ${sqlInteger(code)}`
        : `${columnOf(source.slot)} BETWEEN ${sqlInteger(code)} AND ${sqlInteger(lastCode)}`;
    case 'collector':
      return `${collectorColumn(source, columnOf)} = ${sqlInteger(code - 1)}`;
    case 'bits': {
      const { word, bit } = bitOfCode(code);
      const slot = source.slots[word];
      return slot === undefined ? '0' : `bitTest(${columnOf(slot)}, ${sqlInteger(bit)})`;
    }
    case 'first': {
      const item = source.items.find((candidate) => candidate.code === code);
      return item === undefined ? '0' : `${columnOf(item.slot)} = 1`;
    }
    case 'annotation': {
      const category = categories.find((candidate) => candidate.code === code);
      return category === undefined ? '0' : hasAnnotation(source, storedValues(category), annotations);
    }
  }
}

/** SQL condition for responses whose metadata has this text at this key. */
export function hasMetadata({ key, value }: { key: string; value: string }): string {
  const isEqual = `metadata[${sqlString(key)}] = ${sqlString(value)}`;
  // A key that a response does not have reads as an empty text.
  return value === '' ? `mapContains(metadata, ${sqlString(key)}) AND ${isEqual}` : isEqual;
}

type AnnotationSource = Extract<Dimension['source'], { kind: 'annotation' }>;

/** The table of AI annotations and the survey whose annotations are read. */
export interface AnnotationLocation {
  table: string;
  surveyId: string;
}

/** SQL condition for responses with this annotation; it holds for all versions of a response or for none. */
function hasAnnotation(
  { edition, questionId }: AnnotationSource,
  values: readonly string[],
  { table, surveyId }: AnnotationLocation,
): string {
  return `response_id GLOBAL IN (SELECT response_id FROM ${table} WHERE ${ofEdition(edition, surveyId)} AND value IN (${values.map(sqlString).join(', ')})${ofQuestion(questionId)})`;
}

/**
 * Subquery of (response_id, codes): the codes of a response's annotations, ascending, as Array(UInt32), in one pass.
 */
export function annotationCodes(
  { edition, questionId }: Pick<AnnotationSource, 'edition' | 'questionId'>,
  categories: readonly Category[],
  { table, surveyId }: AnnotationLocation,
): string {
  const stored = categories.flatMap((category) =>
    storedValues(category).map((value) => ({ value, code: category.code })),
  );
  const values = stored.map(({ value }) => sqlString(value)).join(', ');
  const codes = stored.map(({ code }) => sqlInteger(code)).join(', ');
  return `(SELECT response_id, arraySort(groupUniqArray(code)) AS codes FROM
    (SELECT response_id, transform(value, [${values}], CAST([${codes}], 'Array(UInt32)'), toUInt32(0)) AS code FROM ${table} WHERE ${ofEdition(edition, surveyId)}${ofQuestion(questionId)})
    WHERE code != 0 GROUP BY response_id)`;
}

const storedValues = ({ value, storedAs }: Category): readonly string[] => storedAs ?? [value];

const ofEdition = (edition: string, surveyId: string): string =>
  `survey_id = ${sqlUuid(surveyId)} AND edition = ${sqlUuid(edition)}`;
const ofQuestion = (questionId: string | null): string =>
  questionId === null ? '' : ` AND question_id = ${sqlUuid(questionId)}`;
