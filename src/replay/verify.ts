import { isAnswered, isSubmittable, type MadeQuestion } from './answers.ts';
import type { Table } from './table.ts';

type Counts = Record<string, number | Record<string, number>>;

export interface Difference {
  question: string;
  cell: string;
  inFile: number;
  inService: number;
}

/** What the file itself says a question's distribution should be, by option (row, item) value; undefined where it has none to compare. */
export function countFile(question: MadeQuestion, rows: Table['rows']): Counts | undefined {
  const { found, optionValues, rowValues } = question;
  const taken = rows.filter((row) => isAnswered(found, row) && isSubmittable(found, row));
  const tally = (values: readonly string[]) => {
    const counts: Record<string, number> = {};
    for (const value of values) if (value !== '') counts[value] = (counts[value] ?? 0) + 1;
    return counts;
  };
  const column = (index: number) => taken.map((row) => row[index] ?? '').filter((value) => value !== '');
  const first = found.columns[0]?.index ?? 0;
  switch (found.type) {
    case 'YES_NO': return tally(column(first).map((value) => value.toLowerCase()));
    case 'MULTIPLE_CHOICE': case 'DROPDOWN': case 'LIKERT_SCALE': return tally(column(first).map((value) => optionValues.get(value) ?? value));
    case 'DATE': return tally(column(first));
    case 'CHECKBOXES': return Object.fromEntries(found.columns.map(({ part, index }) => [optionValues.get(part) ?? part, column(index).length]));
    case 'RANKING': return Object.fromEntries(found.columns.map(({ part, index }) => [optionValues.get(part) ?? part, tally(column(index))]));
    case 'MATRIX': return Object.fromEntries(found.columns.map(({ part, index }) => [rowValues.get(part) ?? part, tally(column(index).map((value) => optionValues.get(value) ?? value))]));
    default: return undefined;
  }
}

/** Compares two distributions cell by cell; a cell that only one of them has counts as 0 in the other. */
export function compare(question: string, inFile: Counts, inService: Counts): { cells: number; differences: Difference[] } {
  const [file, service] = [flatten(inFile), flatten(inService)];
  const cells = [...new Set([...file.keys(), ...service.keys()])];
  const differences = cells
    .map((cell) => ({ question, cell, inFile: file.get(cell) ?? 0, inService: service.get(cell) ?? 0 }))
    .filter((item) => item.inFile !== item.inService);
  return { cells: cells.length, differences };
}

function flatten(counts: Counts): Map<string, number> {
  return new Map(Object.entries(counts).flatMap(([key, value]): [string, number][] => (typeof value === 'number' ? [[key, value]] : Object.entries(value).map(([inner, count]) => [`${key} › ${inner}`, count]))));
}

/** The file's own crosstab of two single-answer questions. */
export function crossFile(a: MadeQuestion, b: MadeQuestion, rows: Table['rows']): Counts {
  const valueOf = ({ found, optionValues }: MadeQuestion, row: readonly string[]) => {
    const text = row[found.columns[0]?.index ?? -1] ?? '';
    return found.type === 'YES_NO' ? text.toLowerCase() : (optionValues.get(text) ?? '');
  };
  const table: Record<string, Record<string, number>> = {};
  for (const row of rows) {
    const [left, right] = [valueOf(a, row), valueOf(b, row)];
    if (left === '' || right === '') continue;
    const line = (table[left] ??= {});
    line[right] = (line[right] ?? 0) + 1;
  }
  return table;
}
