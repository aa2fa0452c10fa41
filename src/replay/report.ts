import { inReadingOrder } from '../domain/questions/reading-order.ts';
import type { AnswerSplit, Difference } from './compare.ts';
import type { Variable } from './crosstab.ts';
import type { Detection } from './detect.ts';
import type { CrosstabReply, Statistic } from './replies.ts';
import type { Table } from './table.ts';
import type { ImportedQuestion } from './types/adapter.ts';

const wordsShown = 10;
const differencesShown = 200;

/** A question's counts from analytics, with the texts of the file. */
export function questionLines(
  { found, options, rows }: ImportedQuestion,
  { place, statistic, leftOut }: { place: number; statistic: Statistic } & Pick<AnswerSplit, 'leftOut'>,
): string[] {
  const head = `${place + 1}. ${shorten(found.text, 150)}  [${found.type}: ${statistic.responseCount} answered, ${statistic.skippedCount} not]`;
  const left = [...leftOut].map(([why, count]) => `  left out: ${count} ${why}`);
  return [
    '',
    head,
    ...textTable(tableOf(statistic, { options: [...options], rows: [...rows] })),
    ...measureLines(statistic),
    ...wordLines(statistic),
    ...left,
  ];
}

export function crosstabLines([first, second]: readonly [Variable, Variable], reply: CrosstabReply): string[] {
  const { rows, columns, cells, total, chiSquare, cramersV } = reply;
  const table = [
    ['', ...columns.map(({ text }) => text), 'all'],
    ...rows.map((row, r) => [
      row.text,
      ...columns.map((_, c) => String(cells[r]?.[c]?.count ?? '')),
      String(row.total),
    ]),
    ['all', ...columns.map((column) => String(column.total)), String(total)],
  ];
  const measures =
    chiSquare.statistic === null
      ? 'no association can be measured'
      : [
          `chi-square ${chiSquare.statistic.toFixed(3)} (${chiSquare.degreesOfFreedom} degrees of freedom), p ${chiSquare.pValue?.toPrecision(3) ?? '–'}`,
          `Cramér's V ${cramersV?.toFixed(3) ?? '–'}`,
        ].join(', ');
  return [
    '',
    `${shorten(first.title, 80)} × ${shorten(second.title, 80)}  [${total} answered both]`,
    ...textTable(table),
    `  ${measures}`,
  ];
}

export function differenceLines(differences: readonly Difference[]): string[] {
  const figure = (value: number): string => (Number.isNaN(value) ? 'nothing' : String(value));
  const shown = differences
    .slice(0, differencesShown)
    .map(
      ({ where, cell, inFile, inService }) =>
        `differs: ${shorten(where, 100)} · ${cell}: ${figure(inFile)} in the file, ${figure(inService)} in the service`,
    );
  return differences.length > shown.length ? [...shown, `… and ${differences.length - shown.length} more`] : shown;
}

type NamedTexts = readonly (readonly [text: string, { value: string }])[];

/** Distribution in the order of the file; scales from their lowest point. */
function tableOf(
  { distribution, responseCount, averageRank }: Statistic,
  { options, rows }: Record<'options' | 'rows', NamedTexts>,
): string[][] {
  const texts = new Map([...options, ...rows].map(([text, { value }]) => [value, text]));
  const textOf = (value: string): string => texts.get(value) ?? value;
  const valuesOf = (named: NamedTexts) => named.map(([, { value }]) => ({ value }));
  const entries = inReadingOrder(valuesOf(rows.length > 0 ? rows : options), distribution);
  const nested = entries.flatMap(([key, value]) => (typeof value === 'number' ? [] : [{ key, counts: value }]));
  if (nested.length === 0)
    return entries.map(([key, count]) => [textOf(key), String(count), percentText(Number(count), responseCount)]);
  const columns = inReadingOrder(
    valuesOf(rows.length > 0 ? options : []),
    Object.assign({}, ...nested.map(({ counts }) => counts)),
  ).map(([key]) => key);
  const meanOf = (key: string): string[] => (averageRank ? [averageRank[key]?.toFixed(2) ?? '–'] : []);
  return [
    ['', ...columns.map(textOf), ...(averageRank ? ['mean rank'] : [])],
    ...nested.map(({ key, counts }) => [
      textOf(key),
      ...columns.map((column) => String(counts[column] ?? 0)),
      ...meanOf(key),
    ]),
  ];
}

function measureLines({ averageValue, minValue, maxValue }: Statistic): string[] {
  return averageValue === null || minValue === null || maxValue === null
    ? []
    : [`  mean ${Number(averageValue.toPrecision(6))}, from ${minValue} to ${maxValue}`];
}

function wordLines({ topWords = [] }: Statistic): string[] {
  const words = topWords.slice(0, wordsShown).map(({ word, count }) => `${word} ${count}`);
  return words.length === 0 ? [] : [`  most frequent words: ${words.join(', ')}`];
}

/** Lines about the questions recognised in a file. */
export function detectionLines({ rows, remarks }: Table, { questions, idColumn, timeColumn }: Detection): string[] {
  const lines = questions.map(({ type, text, items, options }, place) => {
    const parts = [
      items.length > 1 ? `${items.length} columns` : '',
      options.length > 0 ? `${options.length} options` : '',
    ].filter((part) => part !== '');
    return `${place + 1}. ${shorten(text, 150)}  [${[type, ...parts].join(', ')}]`;
  });
  const id = idColumn ? [`Respondents are known by “${idColumn.question}”.`] : [];
  return [`${rows.length} rows, ${questions.length} questions`, ...remarks, ...id, ...timeLines(timeColumn), ...lines];
}

/** Says that the time of the answer does not date the response. */
export const timeLines = (timeColumn: Detection['timeColumn']): string[] =>
  timeColumn
    ? [
        `“${timeColumn.question}” is kept as the metadata answeredAt. The service dates every response by its arrival, so days and date filters show the time of the replay.`,
      ]
    : [];

const maxCellLength = 80;

/** Lines of a table: the first column left-aligned, others right-aligned, long texts cut. */
export function textTable(lines: readonly (readonly string[])[]): string[] {
  const cut = lines.map((line) => line.map((cell, column) => shorten(cell, column === 0 ? maxCellLength : 18)));
  const widths = Array.from({ length: Math.max(0, ...cut.map((line) => line.length)) }, (_, column) =>
    Math.max(...cut.map((line) => lengthOf(line[column] ?? ''))),
  );
  return cut.map((line) =>
    `  ${line.map((cell, column) => padded(cell, widths[column] ?? 0, column === 0)).join('  ')}`.trimEnd(),
  );
}

function shorten(text: string, longest: number): string {
  const line = [...text.replace(/\s+/g, ' ')];
  return line.length <= longest
    ? line.join('')
    : `${line
        .slice(0, longest - 1)
        .join('')
        .trimEnd()}…`;
}

const percentText = (count: number, base: number): string =>
  base === 0 ? '–' : `${((count / base) * 100).toFixed(1)} %`;

const lengthOf = (text: string): number => [...text].length;

function padded(cell: string, width: number, isLeft: boolean): string {
  const space = ' '.repeat(Math.max(0, width - lengthOf(cell)));
  return isLeft ? cell + space : space + cell;
}

const maxLines = 10;

/** Prints progress: in place on a terminal, otherwise at most ten lines. */
export function createProgressPrinter(output: { isTTY?: boolean; write(text: string): unknown }) {
  let pausedUntil = 0;
  const isLive = output.isTTY === true;
  return {
    count(done: number, total: number): void {
      if (isLive && (done % 25 === 0 || done === total))
        output.write(`\r${done} of ${total} rows${done === total ? '\n' : ''}`);
      const step = Math.ceil(total / maxLines);
      if (!isLive && (done % step === 0 || done === total)) output.write(`${done} of ${total} rows\n`);
    },
    /** Prints a pause once, although many calls may wait at the same time. */
    pause(seconds: number, why: string): void {
      const now = Date.now();
      if (now >= pausedUntil) output.write(`${isLive ? '\r' : ''}waiting ${seconds} s: ${why}\n`);
      pausedUntil = Math.max(pausedUntil, now + seconds * 1000);
    },
  };
}
