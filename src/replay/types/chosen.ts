import type { DetectedQuestion } from '../recognise.ts';
import { choicesIn } from '../split.ts';
import type { Row } from '../table.ts';
import {
  filledCells,
  hasFilledCell,
  idOf,
  onlyCell,
  optionValueOf,
  rowValueOf,
  type TypeAdapter,
  tally,
} from './adapter.ts';

/** MULTIPLE_CHOICE, DROPDOWN and LIKERT_SCALE: one option. */
export const choice: TypeAdapter = {
  crossedBy: ['question'],
  isFilled: hasFilledCell,
  problem: (found, row) =>
    found.options.includes(onlyCell(found, row)) ? undefined : 'answers that are none of the options',
  answers: (question, row) => [{ optionId: idOf(question.options, onlyCell(question.found, row)) }],
  count: (question, rows, { distribution }) => ({
    inFile: tally(rows.map((row) => optionValueOf(question, onlyCell(question.found, row)))),
    inService: distribution,
  }),
  categories: (question, row) => [optionValueOf(question, onlyCell(question.found, row))],
};

/** YES_NO: yes or no in upper or lower case; the values of the service are the words. */
export const yesNo: TypeAdapter = {
  ...choice,
  problem: (found, row) => (/^(?:yes|no)$/i.test(onlyCell(found, row)) ? undefined : 'answers other than yes and no'),
  answers: ({ found }, row) => [{ textValue: onlyCell(found, row).toLowerCase() }],
  count: ({ found }, rows, { distribution }) => ({
    inFile: tally(rows.map((row) => onlyCell(found, row).toLowerCase())),
    inService: distribution,
  }),
  categories: ({ found }, row) => [onlyCell(found, row).toLowerCase()],
};

const unticked = /^(?:0|no|false)$/i;

/**
 * Texts of the options that a row ticks: the choices of a split cell; otherwise their cell is the option's text or
 * anything except 0, no and false.
 */
function ticked(found: DetectedQuestion, row: Row): string[] {
  if (found.split !== undefined) return choicesIn(onlyCell(found, row), found.split);
  return filledCells(found, row)
    .filter(({ text, cell }) => cell === text || !unticked.test(cell))
    .map(({ text }) => text);
}

/** CHECKBOXES: several options. */
export const selectAll: TypeAdapter = {
  itemsAre: 'options',
  crossedBy: ['question'],
  isFilled: (found, row) => ticked(found, row).length > 0,
  problem: (found, row) =>
    found.split === undefined || ticked(found, row).every((text) => found.options.includes(text))
      ? undefined
      : 'answers with a choice that is none of the options',
  answers: (question, row) => ticked(question.found, row).map((text) => ({ optionId: idOf(question.options, text) })),
  count: (question, rows, { distribution }) => ({
    inFile: tally(rows.flatMap((row) => ticked(question.found, row).map((text) => optionValueOf(question, text)))),
    inService: distribution,
  }),
  categories: (question, row) => ticked(question.found, row).map((text) => optionValueOf(question, text)),
};

/**
 * RANKING: items in order of preference. In a crosstab its category is the item ranked first, or the rank of the given
 * item.
 */
export const ranking: TypeAdapter = {
  itemsAre: 'options',
  crossedBy: ['question', 'item'],
  isFilled: hasFilledCell,
  problem(found, row) {
    const cells = filledCells(found, row).map(({ cell }) => cell);
    if (!cells.every((cell) => /^[1-9]\d*$/.test(cell)))
      return 'rankings with something else than whole numbers from 1';
    const ranks = cells.map(Number).sort((a, b) => a - b);
    if (new Set(ranks).size < ranks.length) return 'rankings that give a rank twice';
    return ranks.every((rank, index) => rank === index + 1) ? undefined : 'rankings with a gap between the ranks';
  },
  answers: (question, row) =>
    filledCells(question.found, row).map(({ text, cell }) => ({
      optionId: idOf(question.options, text),
      rank: Number(cell),
    })),
  count(question, rows, { distribution }) {
    const ranksOf = (item: string) =>
      rows.flatMap((row) =>
        filledCells(question.found, row)
          .filter(({ text }) => text === item)
          .map(({ cell }) => cell),
      );
    return {
      inFile: Object.fromEntries(
        question.found.items.map(({ text }) => [optionValueOf(question, text), tally(ranksOf(text))]),
      ),
      inService: distribution,
    };
  },
  categories(question, row, item) {
    const cells = filledCells(question.found, row);
    if (item !== undefined) return cells.filter(({ text }) => text === item).map(({ cell }) => cell);
    return cells.filter(({ cell }) => Number(cell) === 1).map(({ text }) => optionValueOf(question, text));
  },
};

/** MATRIX: each column of the file is a row of the matrix, its cells are options. Its variables are its rows. */
export const matrix: TypeAdapter = {
  itemsAre: 'rows',
  crossedBy: ['item'],
  isFilled: hasFilledCell,
  problem: (found, row) =>
    filledCells(found, row).every(({ cell }) => found.options.includes(cell))
      ? undefined
      : 'grids with a text that is none of the options',
  answers: (question, row) =>
    filledCells(question.found, row).map(({ text, cell }) => ({
      rowId: idOf(question.rows, text),
      optionId: idOf(question.options, cell),
    })),
  count(question, rows, { distribution }) {
    const chosenIn = (line: string) =>
      rows.flatMap((row) =>
        filledCells(question.found, row)
          .filter(({ text }) => text === line)
          .map(({ cell }) => optionValueOf(question, cell)),
      );
    return {
      inFile: Object.fromEntries(
        question.found.items.map(({ text }) => [rowValueOf(question, text), tally(chosenIn(text))]),
      ),
      inService: distribution,
    };
  },
  categories: (question, row, item) =>
    filledCells(question.found, row)
      .filter(({ text }) => text === item)
      .map(({ cell }) => optionValueOf(question, cell)),
};
