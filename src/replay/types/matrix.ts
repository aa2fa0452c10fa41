import { type TypeAdapter, tally } from './adapter.ts';
import { filledCells, hasFilledCell, idOf, rowValueOf, valueOf } from './cells.ts';

/** A row of the grid for every column of the file, and one of the texts for every row: MATRIX. It is crossed row by row. */
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
          .map(({ cell }) => valueOf(question, cell)),
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
      .map(({ cell }) => valueOf(question, cell)),
};
