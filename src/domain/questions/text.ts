import { z } from 'zod';
import type { Question } from '../survey.ts';
import { type AllowedFields, refuseExtraFields, singleAnswer } from './answer-fields.ts';
import type { ChartKind, CountResult, QuestionType, TextForm, TextKey, TypeStatistic } from './contract.ts';
import { blankStatistic } from './numbers.ts';
import { matchesPattern, patternLengthProblem, patternProblem, patternSteps } from './patterns.ts';
import { slotAt, textSlotAt } from './slots.ts';
import { isPlainText, notPlainText } from './text-checks.ts';

export interface TextTypeOptions {
  settings: QuestionType['settings'];
  /** How the database groups the texts. */
  by: TextKey;
  /** Whether a text counts as no answer; it is then neither checked nor stored. */
  isNoAnswer?(text: string): boolean;
  /** Error message for an invalid text, or undefined. */
  problemOf(text: string, settings: Readonly<Record<string, unknown>>): string | undefined;
  statistic: QuestionType['statistic'];
  noDimension: string;
  /** Format of the text in exports; default 'text'. */
  form?: TextForm;
  /** Default 'bars'. */
  chart?: ChartKind;
}

const textOnly: AllowedFields = { value: ['textValue'] };

/** A question type whose answer is one text. */
export function createTextType(options: TextTypeOptions): QuestionType {
  return {
    optionSource: 'none',
    hasRows: false,
    settings: options.settings,
    frozenSettings: [],
    slotKeys: () => ({ codes: [''], numbers: [], texts: [''] }),
    read(question, answers, row, context) {
      const placed = singleAnswer(answers, context);
      const { textValue } = placed.answer;
      if (!refuseExtraFields(placed, textOnly, context) || textValue === undefined) return;
      if (options.isNoAnswer?.(textValue) === true) return;
      const problem = isPlainText(textValue) ? options.problemOf(textValue, question.settings) : notPlainText;
      if (problem !== undefined) return context.report(placed.index, 'textValue', problem);
      row.codes[slotAt(question)] = 1;
      row.texts[textSlotAt(question)] = textValue;
    },
    write: (question, row) =>
      (row.codes[slotAt(question)] ?? 0) === 0 ? [] : [{ textValue: row.texts[textSlotAt(question)] ?? '' }],
    countPlan: (question) => ({
      base: [slotAt(question)],
      requests: [{ kind: 'text', slot: textSlotAt(question), presence: slotAt(question), by: options.by }],
    }),
    statistic: options.statistic,
    dimension: () => options.noDimension,
    chart: options.chart ?? 'bars',
    exportColumns: (question) => [
      {
        key: '',
        label: '',
        cell: { kind: 'text', presence: slotAt(question), slot: textSlotAt(question), form: options.form ?? 'text' },
      },
    ],
  };
}

export function textCounts(result: CountResult | undefined): readonly { key: string; count: number }[] {
  return result?.kind === 'text' ? result.counts : [];
}

function otherWords(result: CountResult | undefined): { words: number; count: number } {
  const others = result?.kind === 'text' ? result.others : undefined;
  return { words: others?.keys ?? 0, count: others?.count ?? 0 };
}

export const countsByKey = (results: readonly CountResult[]): Record<string, number> =>
  Object.fromEntries(textCounts(results[0]).map(({ key, count }) => [key, count]));

/** Counts of the most frequent keys; `otherAnswers` is the number of the `base` answers with other keys. */
export function keyedCounts(
  results: readonly CountResult[],
  base: number,
): Pick<TypeStatistic, 'distribution' | 'otherAnswers'> {
  const counted = textCounts(results[0]);
  const otherAnswers = base - counted.reduce((sum, { count }) => sum + count, 0);
  return { distribution: countsByKey(results), ...(counted.length > 0 && otherAnswers > 0 && { otherAnswers }) };
}

/** An author's pattern. `abort` keeps overlong patterns from being compiled. */
const pattern = z
  .string()
  .min(1)
  .max(500, { abort: true })
  .superRefine((text, context) => {
    const message = patternProblem(text);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });

/** SHORT_TEXT and LONG_TEXT: free text with a maximum length (code points), counted by words. */
export function createFreeText({ maxLength, isMultiLine }: { maxLength: number; isMultiLine: boolean }): QuestionType {
  const type = createTextType({
    settings: z.strictObject({
      maxLength: z.number().int().min(1).max(10_000).default(maxLength),
      pattern: pattern.optional(),
    }),
    by: 'words',
    isNoAnswer: (text) => text !== '' && text.trim() === '',
    problemOf(text, settings) {
      const limit = Number(settings['maxLength'] ?? maxLength);
      if (text === '') return 'must not be empty';
      if (text.length > limit && [...text].length > limit) return `must have at most ${limit} characters`;
      if (!isMultiLine && /[\r\n]/.test(text)) return 'must be a single line';
      const form = settings['pattern'];
      return typeof form === 'string' && !matchesPattern(form, text)
        ? 'does not have the form that is asked for'
        : undefined;
    },
    statistic: (_question, [result]) => ({
      ...blankStatistic(),
      topWords: textCounts(result).map(({ key, count }) => ({ word: key, count })),
      otherWords: otherWords(result),
    }),
    noDimension: 'is a free text, which has no categories',
  });
  const lengthAndPattern = ({ settings }: Pick<Question, 'settings'>) => ({
    limit: Number(settings['maxLength'] ?? maxLength),
    form: typeof settings['pattern'] === 'string' ? settings['pattern'] : undefined,
  });
  return {
    ...type,
    checkSteps(question) {
      const { limit, form } = lengthAndPattern(question);
      return form === undefined ? 0 : patternSteps(form, limit);
    },
    definitionIssue(question) {
      const { limit, form } = lengthAndPattern(question);
      const message = form === undefined ? undefined : patternLengthProblem(form, limit);
      return message === undefined ? undefined : { path: 'settings.pattern', message };
    },
    missingPart: (question, row) =>
      (row.texts[textSlotAt(question)] ?? '').trim() === '' ? 'and white space is no answer' : undefined,
  };
}
