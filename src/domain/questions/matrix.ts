import { z } from 'zod';
import { oncePerObject } from '../once-per-object.ts';
import type { MatrixRow, Option, Question } from '../survey.ts';
import { refuseExtraFields } from './answer-fields.ts';
import {
  bitsOf,
  bitWordKeys,
  chosenIn,
  codesOf,
  distributionOf,
  findOption,
  flagColumns,
  hasBit,
  hasHidden,
  optionByCode,
  optionCategories,
  requestUnfiltered,
  setBit,
  shuffleSetting,
} from './choice.ts';
import type { AnswerRow, CountRequest, ExportColumn, QuestionType, ReadAnswer } from './contract.ts';
import { blankStatistic } from './numbers.ts';
import { inScaleOrder, pointsOf } from './ordered-options.ts';
import { slotAt, slotsAt } from './slots.ts';

const isMultiple = ({ settings }: Question): boolean => settings['multiple'] === true;
const rowKey = (row: MatrixRow): string => `r${row.code}`;
const rowSlots = (question: Question, row: MatrixRow): number[] =>
  slotsAt(question, isMultiple(question) ? bitWordKeys(question, rowKey(row)) : [rowKey(row)]);

const slotsByRow = oncePerObject((question: Question) => question.rows.map((row) => rowSlots(question, row)));

/** A grid: one column for every row, or several with the setting `multiple`. Every row is a separate variable. */
export const matrix: QuestionType = {
  optionSource: 'author',
  isOrdered: true,
  hasRows: true,
  hasParts: true,
  settings: z.strictObject({
    multiple: z.boolean().default(false),
    shuffleOptions: shuffleSetting,
    shuffleRows: shuffleSetting,
  }),
  frozenSettings: ['multiple'],
  slotKeys: (question) => ({
    codes: question.rows.flatMap((row) => (isMultiple(question) ? bitWordKeys(question, rowKey(row)) : [rowKey(row)])),
    numbers: [],
    texts: [],
  }),
  read(question, answers, row, context) {
    for (const placed of answers) {
      if (!refuseExtraFields(placed, { value: ['optionId'], row: true }, context)) continue;
      const { rowId } = placed.answer;
      const line = question.rows.find((candidate) => candidate.id === rowId && !candidate.isHidden);
      if (!line)
        context.report(
          placed.index,
          'rowId',
          rowId === undefined ? 'is needed: which row is answered?' : 'is not a row of this question',
        );
      const option = findOption(question, placed, context);
      if (line && option && !mark(question, line, option.code, row))
        context.report(placed.index, 'rowId', isMultiple(question) ? 'has this column already' : 'takes one answer');
    }
  },
  missingPart: (question, row) =>
    question.rows.every(
      (line) => line.isHidden || rowSlots(question, line).some((slot) => (row.codes[slot] ?? 0) !== 0),
    )
      ? undefined
      : 'in every row',
  write(question, row) {
    const answers: ReadAnswer[] = [];
    const slots = slotsByRow(question);
    for (const [index, line] of question.rows.entries())
      for (const option of chosenInRow(question, slots[index] ?? [], row))
        answers.push({ rowId: line.id, optionId: option.id });
    return answers;
  },
  countPlan(question) {
    const base = question.rows.flatMap((row) => rowSlots(question, row));
    const requests = question.rows.map((row): CountRequest => {
      const whole = requestUnfiltered(row.isHidden || hasHidden(question.options));
      return isMultiple(question)
        ? { kind: 'bits', slots: rowSlots(question, row), ...whole }
        : { kind: 'codes', slot: slotAt(question, rowKey(row)), ...whole };
    });
    // A row with one answer was answered as often as its codes say.
    return {
      base,
      ...(isMultiple(question) && { parts: question.rows.map((row) => rowSlots(question, row)) }),
      requests,
    };
  },
  statistic(question, results, _base, partBases = []) {
    const distribution: Record<string, Record<string, number>> = {};
    const averageByRow: Record<string, number | null> = {};
    const baseByRow: Record<string, number> = {};
    const points = [...pointsOf(question)];
    for (const [index, row] of question.rows.entries()) {
      const codes = codesOf(results[index]);
      const bits = bitsOf(results[index]);
      const countOf = (code: number) => (isMultiple(question) ? (bits[code - 1] ?? 0) : (codes.get(code) ?? 0));
      const isChosen = chosenIn(results[index]);
      if (row.isHidden && !question.options.some(({ code }) => isChosen(code))) continue;
      distribution[row.value] = distributionOf(inScaleOrder(question.options), countOf, isChosen);
      baseByRow[row.value] = isMultiple(question)
        ? (partBases[index] ?? 0)
        : [...codes.values()].reduce((sum, count) => sum + count, 0);
      const placed = points.reduce((sum, [code]) => sum + countOf(code), 0);
      averageByRow[row.value] =
        placed === 0 ? null : points.reduce((sum, [code, point]) => sum + point * countOf(code), 0) / placed;
    }
    return { ...blankStatistic(), distribution, averageByRow, baseByRow };
  },
  dimension(question, named) {
    const row = question.rows.find(({ id, value }) => named !== undefined && (id === named || value === named));
    if (!row) return named === undefined ? 'is a MATRIX: name one of its rows as well' : 'has no such row';
    const slots = rowSlots(question, row);
    const categories = optionCategories(inScaleOrder(question.options));
    return isMultiple(question)
      ? { categories, source: { kind: 'bits', slots } }
      : { categories, source: { kind: 'code', slot: slotAt(question, rowKey(row)) } };
  },
  chart: 'lines',
  exportColumns: (question) => question.rows.flatMap((row) => lineColumns(question, row)),
};

function lineColumns(question: Question, row: MatrixRow): ExportColumn[] {
  if (!isMultiple(question))
    return [
      {
        key: row.value,
        label: row.text,
        rowId: row.id,
        number: String(row.code),
        cell: { kind: 'choice', slot: slotAt(question, rowKey(row)), categories: optionCategories(question.options) },
      },
    ];
  return flagColumns(question.options, rowSlots(question, row)).map((column) => ({
    ...column,
    key: `${row.value}:${column.key}`,
    label: `${row.text}: ${column.label}`,
    rowId: row.id,
    number: `${row.code}_${column.number}`,
  }));
}

/**
 * Writes one choice into the row; false if the same cell (`multiple`) or another cell of the line was chosen before.
 */
function mark(question: Question, line: MatrixRow, code: number, row: AnswerRow): boolean {
  if (isMultiple(question)) return setBit(row.codes, rowSlots(question, line), code);
  const slot = slotAt(question, rowKey(line));
  if (row.codes[slot] !== 0 && row.codes[slot] !== undefined) return false;
  row.codes[slot] = code;
  return true;
}

function chosenInRow(question: Question, slots: readonly number[], { codes }: AnswerRow): readonly Option[] {
  if (isMultiple(question)) return question.options.filter((option) => hasBit(codes, slots, option.code));
  const code = codes[slots[0] ?? -1] ?? 0;
  const option = code === 0 ? undefined : optionByCode(question, code);
  return option ? [option] : [];
}
