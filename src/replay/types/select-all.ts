import type { DetectedQuestion } from '../file/question.ts';
import type { Row } from '../file/table.ts';
import { type TypeAdapter, tally } from './adapter.ts';
import { filledCells, idOf, valueOf } from './cells.ts';

const crossedOut = /^(?:0|no|false)$/i;

/** Texts of the options that a row ticks: a column of theirs holds the option's text, or anything else that is not a no. */
function ticked(found: DetectedQuestion, row: Row): string[] {
  return filledCells(found, row)
    .filter(({ text, cell }) => cell === text || !crossedOut.test(cell))
    .map(({ text }) => text);
}

/** Several of the options: CHECKBOXES. */
export const selectAll: TypeAdapter = {
  itemsAre: 'options',
  crossedBy: ['question'],
  isFilled: (found, row) => ticked(found, row).length > 0,
  problem: () => undefined,
  answers: (question, row) => ticked(question.found, row).map((text) => ({ optionId: idOf(question.options, text) })),
  count: (question, rows, { distribution }) => ({
    inFile: tally(rows.flatMap((row) => ticked(question.found, row).map((text) => valueOf(question, text)))),
    inService: distribution,
  }),
  categories: (question, row) => ticked(question.found, row).map((text) => valueOf(question, text)),
};
