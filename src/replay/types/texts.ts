import { isClockTime, isEmailAddress, isPlainText } from '../../domain/questions/text-checks.ts';
import { wordsIn } from '../../domain/questions/words.ts';
import { isoDay } from '../file/dates.ts';
import type { DetectedQuestion } from '../file/question.ts';
import type { Row } from '../file/table.ts';
import type { Statistic } from '../service/replies.ts';
import { type CountPair, type ImportedQuestion, type TypeAdapter, tally } from './adapter.ts';
import { hasFilledCell, onlyCell } from './cells.ts';

/** A day of the calendar, sent as YYYY-MM-DD: DATE. */
export const day: TypeAdapter = textAdapter({
  textOf: (found, cell) => isoDay(cell, found.dayOrder) ?? cell,
  problemOf: (found, cell) =>
    isoDay(cell, found.dayOrder) === undefined ? 'answers that are no days of the calendar' : undefined,
  count: ({ found }, rows, { distribution }) => ({
    inFile: tally(rows.map((row) => isoDay(onlyCell(found, row), found.dayOrder) ?? '')),
    inService: distribution,
  }),
});

/** HH:MM or HH:MM:SS, counted by hour: TIME. */
export const clockTime: TypeAdapter = textAdapter({
  problemOf: (_found, cell) => (isClockTime(cell) ? undefined : 'answers that are no times of day, HH:MM'),
  count: ({ found }, rows, { distribution }) => ({
    inFile: tally(rows.map((row) => onlyCell(found, row).slice(0, 2))),
    inService: distribution,
  }),
});

/** Counted by domain: EMAIL. */
export const emailAddress: TypeAdapter = textAdapter({
  problemOf: (_found, cell) => (isEmailAddress(cell) ? undefined : 'answers that are no e-mail addresses'),
  count: ({ found }, rows, { distribution }) => ({
    inFile: tally(rows.map((row) => onlyCell(found, row).replace(/^.*@/s, '').toLowerCase())),
    inService: distribution,
  }),
});

/** SHORT_TEXT and LONG_TEXT: sent as the file has them, counted by their words. */
export function wording({ lengthAtMost, isMultiLine }: { lengthAtMost: number; isMultiLine: boolean }): TypeAdapter {
  return textAdapter({
    problemOf(_found, cell) {
      if (!isPlainText(cell)) return 'texts with a NUL character';
      if ([...cell].length > lengthAtMost) return `texts of more than ${lengthAtMost} characters`;
      return isMultiLine || !/[\r\n]/.test(cell) ? undefined : 'texts of several lines';
    },
    count: countWords,
  });
}

interface TextAdapterOptions {
  /** What is sent for a cell; default: the cell. */
  textOf?(found: DetectedQuestion, cell: string): string;
  problemOf(found: DetectedQuestion, cell: string): string | undefined;
  count: TypeAdapter['count'];
}

function textAdapter({ textOf = (_found, cell) => cell, problemOf, count }: TextAdapterOptions): TypeAdapter {
  return {
    isFilled: hasFilledCell,
    problem: (found, row) => problemOf(found, onlyCell(found, row)),
    answers: ({ found }, row) => [{ textValue: textOf(found, onlyCell(found, row)) }],
    count,
  };
}

const maxWordsShown = 50;

/** Analytics shows the most frequent words: all are compared where they fit in, else those shown. */
function countWords({ found }: ImportedQuestion, rows: readonly Row[], { topWords = [] }: Statistic): CountPair {
  const words = rows.flatMap((row) => wordsIn(onlyCell(found, row)));
  const shown = new Map(topWords.map(({ word, count }) => [word, count]));
  const counted = Object.entries(tally(words)).filter(([word]) => shown.size < maxWordsShown || shown.has(word));
  return { inFile: Object.fromEntries(counted), inService: Object.fromEntries(shown) };
}
