import type { ColumnOf } from '../read/selection.ts';
import { sqlInteger } from '../sql-literals.ts';

/** A number that responses may have: what is looked at of it, and whether there is one. */
interface NumberExpression {
  value: string;
  isPresent: string;
}

/**
 * What stands after FROM to get a row for each number that each response of `source` has: its `value` and its `position` in the list, from 1.
 * Planned sooner than expressions a number where there are many, and dearer to run.
 */
export const numberRows = (numbers: readonly NumberExpression[], source: string): string =>
  `(SELECT [${numbers.map(({ value }) => value).join(', ')}] AS found, [${numbers.map(({ isPresent }) => isPresent).join(', ')}] AS present FROM ${source})
   ARRAY JOIN found AS value, present AS isThere, arrayEnumerate(found) AS position WHERE isThere`;

/** A number of a response as it is, at this position. */
export const numberExpression = (
  request: { slot: number; presence: number },
  columnOf: ColumnOf,
): NumberExpression => ({ value: valueExpression(request), isPresent: presenceExpression(request, columnOf) });

export const valueExpression = ({ slot }: { slot: number }): string => `numbers[${sqlInteger(slot + 1)}]`;

export const presenceExpression = ({ presence }: { presence: number }, columnOf: ColumnOf): string =>
  `${columnOf(presence)} != 0`;
