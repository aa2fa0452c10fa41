import { RE2JS } from 're2js';
import { z } from 'zod';
import type { ChartKind, CountResult, QuestionType, TextForm, TextKey, TypeStatistic } from './contract.ts';
import { blankStatistic } from './numbers.ts';
import { slotAt, textSlotAt } from './slots.ts';
import { type AllowedFields, isPlainText, refuseExtraFields, singleAnswer } from './text-checks.ts';

export interface TextTypeOptions {
  settings: QuestionType['settings'];
  /** How the database groups the texts. */
  by: TextKey;
  /** Whether a text says nothing: then the question is not answered, and the text not looked at further. */
  isNoAnswer?(text: string): boolean;
  /** What is wrong with a text, or undefined. */
  problemOf(text: string, settings: Readonly<Record<string, unknown>>): string | undefined;
  statistic: QuestionType['statistic'];
  noDimension: string;
  /** What the text is to a program; default 'text'. */
  form?: TextForm;
  /** Default 'bars'. */
  chart?: ChartKind;
}

const textOnly: AllowedFields = { value: ['textValue'] };

/** A question that is answered with one text. */
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
      const problem = isPlainText(textValue)
        ? options.problemOf(textValue, question.settings)
        : 'holds a lone surrogate or a NUL character';
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

/** Counts by key, and how many of the `base` who answered gave one that is not among them, as only the most frequent keys are counted one by one. */
export function keyedCounts(
  results: readonly CountResult[],
  base: number,
): Pick<TypeStatistic, 'distribution' | 'otherAnswers'> {
  const counted = textCounts(results[0]);
  const otherAnswers = base - counted.reduce((sum, { count }) => sum + count, 0);
  return { distribution: countsByKey(results), ...(counted.length > 0 && otherAnswers > 0 && { otherAnswers }) };
}

const patterns = new Map<string, RE2JS>();
/** Each may hold some megabytes of what it has learned about texts. */
const maxCachedPatterns = 200;
/** Instructions of a compiled pattern: with so many, the longest text still takes well below a fifth of a second. */
const largestPattern = 1500;

/** A pattern must match the whole text. RE2 runs in linear time, so an author's pattern cannot stall the service. */
function matchesPattern(pattern: string, text: string): boolean {
  let compiled = patterns.get(pattern);
  if (!compiled) {
    if (patterns.size >= maxCachedPatterns) patterns.clear();
    patterns.set(pattern, (compiled = RE2JS.compile(pattern)));
  }
  return compiled.matches(text);
}

function patternProblem(text: string): string | undefined {
  try {
    return RE2JS.compile(text).programSize() > largestPattern ? 'repeats too much' : undefined;
  } catch {
    return 'must be a regular expression in RE2 syntax';
  }
}

/** Of a longer one nothing more is looked at: reading it would take the longer, the longer it is. */
const pattern = z
  .string()
  .min(1)
  .max(500, { abort: true })
  .superRefine((text, context) => {
    const message = patternProblem(text);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });

/** SHORT_TEXT and LONG_TEXT: free wording of bounded length, counted by its words. */
export function createFreeText({ maxLength, isMultiLine }: { maxLength: number; isMultiLine: boolean }): QuestionType {
  const type = createTextType({
    settings: z.strictObject({
      maxLength: z.number().int().min(1).max(10_000).default(maxLength),
      pattern: pattern.optional(),
    }),
    by: 'words',
    isNoAnswer: (text) => text !== '' && text.trim() === '',
    problemOf(text, settings) {
      const most = Number(settings['maxLength'] ?? maxLength);
      if (text === '') return 'must not be empty';
      if (text.length > most && [...text].length > most) return `must have at most ${most} characters`;
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
  return {
    ...type,
    missingPart: (question, row) =>
      (row.texts[textSlotAt(question)] ?? '').trim() === '' ? 'and white space is no answer' : undefined,
  };
}
