import type { NumberFormat, SheetCell } from '../../parts/sheet.ts';
import type { ShownGroup } from './layout.ts';

/** The tests of association as lines of a sheet: heads, then a variable in columns a line. */
export function testLines(groups: readonly ShownGroup[], isWeighted: boolean): (SheetCell | null)[][] {
  const head = (value: string): SheetCell => ({ value, isHead: true, wraps: true });
  const weights = ['Weighted', 'Effective base', 'Without a weight'];
  return [
    [{ value: 'Association of the rows with each variable in columns', isHead: true }],
    ['Columns', 'Respondents', ...(isWeighted ? weights : []), 'Chi-square', 'df', 'p', 'Cramér’s V'].map(head),
    ...groups.map(({ title, table }) => [
      { value: title, wraps: true },
      numberOf(table.total, 'whole'),
      ...(isWeighted
        ? [
            numberOf(table.weightedTotal, 'oneDecimal'),
            numberOf(table.effectiveBase, 'oneDecimal'),
            numberOf(table.unweightable ?? 0, 'whole'),
          ]
        : []),
      numberOf(table.chiSquare.statistic, 'twoDecimals'),
      numberOf(table.chiSquare.degreesOfFreedom, 'whole'),
      numberOf(table.chiSquare.pValue, 'threeDecimals'),
      numberOf(table.cramersV, 'twoDecimals'),
    ]),
  ];
}

const numberOf = (value: number | null, format: NumberFormat): SheetCell | null =>
  value === null ? null : { value, format };
