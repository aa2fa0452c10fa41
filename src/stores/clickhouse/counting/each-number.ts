import { whole } from '../query/literals.ts';
import type { ColumnOf } from '../query/selection.ts';

/** A number that responses may have: what is looked at of it, and whether there is one. */
interface Looked {
  value: string;
  isThere: string;
}

/**
 * What stands after FROM to get a row for each number that each response of `source` has: its `value` and its `position` in the list, from 1.
 * Planned sooner than expressions a number where there are many, and dearer to run.
 */
export const eachNumber = (numbers: readonly Looked[], source: string): string =>
  `(SELECT [${numbers.map(({ value }) => value).join(', ')}] AS found, [${numbers.map(({ isThere }) => isThere).join(', ')}] AS present FROM ${source})
   ARRAY JOIN found AS value, present AS isThere, arrayEnumerate(found) AS position WHERE isThere`;

/** A number of a response as it is, at this position. */
export const lookAt = (request: { slot: number; presence: number }, columnOf: ColumnOf): Looked => ({ value: valueOf(request), isThere: isThere(request, columnOf) });

export const valueOf = ({ slot }: { slot: number }): string => `numbers[${whole(slot + 1)}]`;

export const isThere = ({ presence }: { presence: number }, columnOf: ColumnOf): string => `${columnOf(presence)} != 0`;
