import { inOrder } from './column-types.ts';
import { type Column, cellAt, oneLine, type Row, valuesOf } from './table.ts';

/** A group of columns under one question: what it is, and the columns that belong to it. Those left over stand alone. */
export interface GroupShape {
  type: 'CHECKBOXES' | 'RANKING' | 'MATRIX';
  columns: readonly Column[];
  options: readonly string[];
}

const maxMatrixOptions = 25;

/** What several columns under one question are; undefined where they have nothing in common. */
export function recogniseGroup(columns: readonly Column[], rows: readonly Row[]): GroupShape | undefined {
  const ticks = columns.filter(({ index, part }) => valuesOf(rows, index).every((value) => oneLine(value) === part));
  const isTicked =
    ticks.filter(({ index }) => valuesOf(rows, index).length > 0).length >= 2 || ticks.length === columns.length;
  if (isTicked) return { type: 'CHECKBOXES', columns: ticks, options: [] };
  if (areRanks(columns, rows)) return { type: 'RANKING', columns, options: [] };
  return shareTexts(columns, rows) ? { type: 'MATRIX', columns, options: matrixOptions(columns, rows) } : undefined;
}

export function matrixOptions(columns: readonly Column[], rows: readonly Row[]): string[] {
  return inOrder([...new Set(columns.flatMap(({ index }) => valuesOf(rows, index)))]);
}

/**
 * Whole numbers from 1 to the number of columns, and hardly a row that gives one twice: marks out of five for five things repeat, ranks
 * do so by mistake only.
 */
function areRanks(columns: readonly Column[], rows: readonly Row[]): boolean {
  const ranked = rows
    .map((row) => columns.map(({ index }) => cellAt(row, index)).filter((cell) => cell !== ''))
    .filter((cells) => cells.length > 0);
  const areInRange = ranked.every((cells) =>
    cells.every((cell) => /^[1-9]\d*$/.test(cell) && Number(cell) <= columns.length),
  );
  const several = ranked.filter((cells) => cells.length > 1);
  return (
    areInRange &&
    several.length > 0 &&
    several.filter((cells) => new Set(cells).size === cells.length).length * 2 > several.length
  );
}

/** One set of texts, of which every column uses some: at least half of a column's texts stand in another column too. */
function shareTexts(columns: readonly Column[], rows: readonly Row[]): boolean {
  const sets = columns.map(({ index }) => new Set(valuesOf(rows, index)));
  const columnsWith = new Map<string, number>();
  for (const text of sets.flatMap((set) => [...set])) columnsWith.set(text, (columnsWith.get(text) ?? 0) + 1);
  const isShared = (text: string): boolean => (columnsWith.get(text) ?? 0) > 1;
  return columnsWith.size <= maxMatrixOptions && sets.every((set) => [...set].filter(isShared).length * 2 >= set.size);
}
