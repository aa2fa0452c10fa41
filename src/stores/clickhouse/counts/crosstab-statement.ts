import type { Dimension } from '../../../domain/questions/contract.ts';
import { annotationCodes, type ColumnOf } from '../read/selection.ts';
import { sqlDouble, sqlInteger, sqlString } from '../sql-literals.ts';
import { dimensionWords } from './dimension.ts';

/**
 * The weight of a response: a number among its answers or in its metadata. Usable from 1e-12 to 1e12, so that squares
 * stay precise.
 */
export type CrosstabWeight = { kind: 'number'; slot: number; presence: number } | { kind: 'metadata'; key: string };

/** A table that one scan counts; `overlapping` are the codes of columns whose pairs are counted, 'all' any of them. */
export interface CountedTable {
  surveyId: string;
  rows: Dimension;
  columns: Dimension;
  weight?: CrosstabWeight | undefined;
  overlapping: readonly number[] | 'all';
}

/** The code of totals over all categories; no category has it. */
export const allCodes = 0;
/**
 * Added to the code of a column where its overlap with another column stands in place of a row; no code is as great.
 */
export const overlapRow = 2 ** 31;

const [rowAnnotations, columnAnnotations] = ['rows_found', 'columns_found'] as const;

/** Joins the source with the codes of AI annotations if rows or columns are annotations. */
export function joinAnnotations(
  { surveyId, rows, columns }: CountedTable,
  source: string,
  { annotations, columns: needed }: { annotations: string; columns: readonly string[] },
): string {
  const joined = (
    [
      [rows, rowAnnotations],
      [columns, columnAnnotations],
    ] as const
  ).flatMap(([{ source: asked, categories }, name]) =>
    asked.kind === 'annotation'
      ? [{ name, codes: annotationCodes(asked, categories, { table: annotations, surveyId }) }]
      : [],
  );
  if (joined.length === 0) return source;
  // Joins are nested, because server versions resolve names in a chain of joins differently.
  return joined.reduce((inner, { name, codes }, done) => {
    const kept = ['response_id', ...needed, ...joined.slice(0, done).map((earlier) => earlier.name)].join(', ');
    return `(SELECT ${kept}, codes AS ${name} FROM (SELECT ${kept} FROM ${inner}) AS answered GLOBAL LEFT JOIN ${codes} AS found USING (response_id))`;
  }, source);
}

/**
 * Cells and totals in one pass: ARRAY JOIN spreads each group over its codes and, in both directions, over `allCodes`;
 * with several answers in columns also over the pairs of those that may be compared. Groups outside the table are
 * spread over nothing; a WHERE would be evaluated for each response instead of each group.
 */
export function crosstabStatement(
  { rows, columns, weight, overlapping }: CountedTable,
  source: string,
  columnOf: ColumnOf,
): string {
  const [down, across] = [
    dimensionWords(rows, columnOf, rowAnnotations),
    dimensionWords(columns, columnOf, columnAnnotations),
  ];
  const [rowNames, columnNames] = [
    down.words.map((_, index) => `r${index}`),
    across.words.map((_, index) => `k${index}`),
  ];
  const words = [
    ...down.words.map((word, index) => `${word} AS r${index}`),
    ...across.words.map((word, index) => `${word} AS k${index}`),
  ];
  const { value, isUsable } = weightTerms(weight, columnOf);
  const terms = weight ? ['weight', 'square'].flatMap(slicesOf) : [];
  const names = terms.map(({ name }) => name);
  const sums = weight
    ? [
        'countIf(usable) AS responses',
        'countIf(NOT usable) AS unweightable',
        ...names.map((name) => `sumIf(${name}, usable) AS ${name}_sum`),
      ]
    : ['count() AS responses'];
  const figures = weight ? ['responses', 'unweightable', ...names.map((name) => `${name}_sum`)] : ['responses'];
  const groups = [...rowNames, ...columnNames].join(', ');
  const counted = weight
    ? `(SELECT ${words.join(', ')}, ${value} AS value, ${isUsable} AS usable, value AS weight, value * value AS square, ${terms.map(({ name, expression }) => `${expression} AS ${name}`).join(', ')} FROM ${source})`
    : source;
  const totalOf = (term: string): string => `sum(${term}_high_sum) + (sum(${term}_low_sum) + sum(${term}_rest_sum))`;
  // Without a weight they are as many as the cells: nothing is sent that nobody reads.
  const weightFigures = weight ? [totalOf('weight'), totalOf('square'), 'toFloat64(sum(unweightable))'] : [];
  const paired =
    overlapping === 'all'
      ? 'columnCodes'
      : overlapping.length > 0
        ? `arrayFilter(code -> code IN (${overlapping.map(sqlInteger).join(', ')}), columnCodes)`
        : undefined;
  const cells = paired
    ? `arrayJoin(if(isInBoth, arrayConcat(
          arrayFlatten(arrayMap(r -> arrayMap(c -> (r, c), arrayPushFront(columnCodes, toUInt32(${allCodes}))), arrayPushFront(rowCodes, toUInt32(${allCodes})))),
          arrayFlatten(arrayMap(one -> arrayMap(other -> (toUInt32(${overlapRow} + one), other), arrayFilter(code -> code > one, pairedCodes)), pairedCodes))
        ), [])) AS cell, cell.1 AS row, cell.2 AS column`
    : `arrayJoin(if(isInBoth, arrayPushFront(rowCodes, toUInt32(${allCodes})), [])) AS row, arrayJoin(arrayPushFront(columnCodes, toUInt32(${allCodes}))) AS column`;
  return `SELECT row AS place, column AS code, '' AS label, [${['toFloat64(sum(responses))', ...weightFigures].join(', ')}] AS figures FROM
    (SELECT
        ${cells},
        ${figures.join(', ')} FROM
      (SELECT
          ${down.codesOf(rowNames)} AS rowCodes, ${across.codesOf(columnNames)} AS columnCodes, notEmpty(rowCodes) AND notEmpty(columnCodes) AS isInBoth,${paired ? ` ${paired} AS pairedCodes,` : ''}
          ${figures.join(', ')} FROM
        (SELECT ${weight ? groups : words.join(', ')}, ${sums.join(', ')} FROM ${counted} GROUP BY ${groups})))
    GROUP BY row, column`;
}

/**
 * The parts of a weight, or of its square, whose sums are exact: multiples of 2^-11 and of 2^-34, and the rest. So the
 * same responses have the same sums to the last digit, in whatever order and by however many threads they are added,
 * while weights are between 2^-12 and 2^30 and the sum of the squares is below 2^42. Adding and subtracting 1.5 · 2^52
 * units rounds to a multiple of the unit (J. Demmel and H. D. Nguyen, Fast Reproducible Floating-Point Summation, ARITH
 * 2013).
 */
function slicesOf(term: string): { name: string; expression: string }[] {
  const rounded = (value: string, unit: number): string => {
    const shift = sqlDouble(1.5 * 2 ** 52 * unit);
    return `(${value} + ${shift}) - ${shift}`;
  };
  return [
    { name: `${term}_high`, expression: rounded(term, 2 ** -11) },
    { name: `${term}_low`, expression: rounded(`(${term} - ${term}_high)`, 2 ** -34) },
    { name: `${term}_rest`, expression: `(${term} - ${term}_high) - ${term}_low` },
  ];
}

/** RE2 that captures a text without white space around it: that of ASCII and Unicode, and the byte order mark. */
const withinWhiteSpace = '^[\\s\\v\\pZ\\x{feff}]*(.*?)[\\s\\v\\pZ\\x{feff}]*$';

const isUsableWeight = 'value >= 1e-12 AND value <= 1e12';

function weightTerms(weight: CrosstabWeight | undefined, columnOf: ColumnOf): { value: string; isUsable: string } {
  if (weight === undefined) return { value: '1', isUsable: '1' };
  if (weight.kind === 'metadata') {
    const text = `metadata[${sqlString(weight.key)}]`;
    const plain = `toFloat64OrNull(${text})`;
    // The expression runs only for the texts that are no number as they stand.
    const trimmed = `toFloat64OrNull(extract(${text}, ${sqlString(withinWhiteSpace)}))`;
    return {
      value: `if(isNotNull(${plain}), assumeNotNull(${plain}), ifNull(${trimmed}, 0))`,
      isUsable: isUsableWeight,
    };
  }
  return {
    value: `numbers[${sqlInteger(weight.slot + 1)}]`,
    isUsable: `${columnOf(weight.presence)} != 0 AND ${isUsableWeight}`,
  };
}
