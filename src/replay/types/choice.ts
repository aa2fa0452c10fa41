import { type TypeAdapter, tally } from './adapter.ts';
import { hasFilledCell, idOf, onlyCell, valueOf } from './cells.ts';

/** One of the options: MULTIPLE_CHOICE, DROPDOWN, LIKERT_SCALE. */
export const choice: TypeAdapter = {
  crossedBy: ['question'],
  isFilled: hasFilledCell,
  problem: (found, row) =>
    found.options.includes(onlyCell(found, row)) ? undefined : 'answers that are none of the options',
  answers: (question, row) => [{ optionId: idOf(question.options, onlyCell(question.found, row)) }],
  count: (question, rows, { distribution }) => ({
    inFile: tally(rows.map((row) => valueOf(question, onlyCell(question.found, row)))),
    inService: distribution,
  }),
  categories: (question, row) => [valueOf(question, onlyCell(question.found, row))],
};

/** Yes or no in any case; the service's values are the words themselves. */
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
