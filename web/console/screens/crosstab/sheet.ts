import type { NumberFormat, Sheet, SheetCell } from '../../parts/sheet.ts';
import {
  cellValue,
  formatOf,
  lettersOf,
  type Measure,
  measureNames,
  type ShownColumn,
  type ShownGroup,
  smallBase,
  totalCell,
} from './layout.ts';
import { testLines } from './tests-sheet.ts';

/** What stands above the numbers, so that a file says by itself what they are. */
interface SheetHeading {
  /** Of the survey. */
  title: string;
  rowTitle: string;
  /** Lines such as “Responses: …”. */
  notes: readonly string[];
}

type Line = (SheetCell | null)[];

const text = (value: string): SheetCell => ({ value });
const head = (value: string): SheetCell => ({ value, isHead: true });
const wrapped = (value: string): SheetCell => ({ value, isHead: true, wraps: true });
const number = (value: number, format: NumberFormat): SheetCell => ({ value, format });

/**
 * The crosstab as it is seen, for a file: the heads with letters and bases, for each row of the table a line for each
 * measure and one with the letters of the columns that it exceeds, then the tests of association.
 */
export function crosstabSheet(
  { title, rowTitle, notes }: SheetHeading,
  groups: readonly ShownGroup[],
  measures: readonly Measure[],
  isWeighted: boolean,
): Sheet {
  const heads = [
    [head(title)],
    [text(`${rowTitle} – by ${groups.map((group) => group.title).join('; ')}`)],
    ...notes.map((note) => [text(note)]),
    ...headLines(groups, rowTitle, isWeighted),
  ];
  const rows = groups[0]?.table.rows ?? [];
  return {
    name: 'Crosstab',
    rows: [
      ...heads,
      ...rows.flatMap((row, index) => rowLines(row.text, index, { groups, measures, isWeighted })),
      [],
      ...testLines(groups, isWeighted),
    ],
    frozen: { rows: heads.length, columns: 2 },
    widths: [40, 22, 14],
  };
}

function headLines(groups: readonly ShownGroup[], rowTitle: string, isWeighted: boolean): Line[] {
  const line = (
    name: string,
    ofTotal: (group: ShownGroup) => SheetCell | null,
    ofColumn: (column: ShownColumn) => SheetCell | null,
  ): Line => [null, head(name), ...groups.flatMap((group) => [ofTotal(group), ...group.columns.map(ofColumn)])];
  const hasSmall = groups.some(({ columns }) => columns.some(({ isSmall }) => isSmall));
  return [
    [
      wrapped(rowTitle),
      null,
      ...groups.flatMap(({ title, columns }): Line => {
        const span = columns.length + 1;
        return [{ ...head(title), span }, ...Array.from({ length: span - 1 }, () => null)];
      }),
    ],
    line(
      '',
      () => wrapped('Total'),
      (column) => wrapped(column.text),
    ),
    line(
      'Letter',
      () => null,
      ({ letter }) => head(letter),
    ),
    line(
      'n',
      ({ table }) => number(table.total, 'whole'),
      ({ total }) => number(total, 'whole'),
    ),
    ...(isWeighted
      ? [
          line(
            'Effective base',
            ({ table }) => number(table.effectiveBase, 'oneDecimal'),
            ({ effectiveBase }) => number(effectiveBase, 'oneDecimal'),
          ),
        ]
      : []),
    ...(hasSmall
      ? [
          line(
            'Small base',
            () => null,
            ({ isSmall }) => (isSmall ? text(`below ${smallBase}`) : null),
          ),
        ]
      : []),
  ];
}

interface Shown {
  groups: readonly ShownGroup[];
  measures: readonly Measure[];
  isWeighted: boolean;
}

function rowLines(title: string, index: number, { groups, measures, isWeighted }: Shown): Line[] {
  const lines = measures.map((measure): Line => {
    const format = formatOf(measure, isWeighted);
    return [
      wrapped(title),
      text(measureNames[measure]),
      ...groups.flatMap((group) => {
        const row = group.table.rows[index];
        const cells = [...(row ? [totalCell(row, group)] : []), ...(group.table.cells[index] ?? [])];
        return cells.map((cell) => number(cellValue(cell, measure, isWeighted), format));
      }),
    ];
  });
  const letters: Line = groups.flatMap((group) => [
    null,
    ...(group.table.cells[index] ?? []).map((cell) => {
      const over = lettersOf(cell, group);
      return over === '' ? null : text(over);
    }),
  ]);
  return letters.every((cell) => cell === null)
    ? lines
    : [...lines, [wrapped(title), text('Significantly more than'), ...letters]];
}
