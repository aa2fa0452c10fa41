import type { CrosstabCounts, WeightSums } from '../../../domain/analytics/crosstab-counts.ts';
import { areFewColumns } from '../../../domain/analytics/significance.ts';
import { analysedOutcomes, type Outcome } from '../../../domain/outcome.ts';
import { type Dimension, dimensionSlots, hasOverlaps } from '../../../domain/questions/contract.ts';
import { runAtOnce, runInSlices, type SlicedWork } from '../../../platform/slices.ts';
import type { ClickHouse } from '../client.ts';
import {
  annotationCodes,
  asksForOutcomes,
  type ColumnOf,
  type Condition,
  columnNames,
  conditionsOf,
  type DateRange,
  existingColumns,
  headColumns,
  selectionSlots,
} from '../read/selection.ts';
import { createCodeColumns } from '../schema/code-columns.ts';
import type { Placement } from '../schema/placement.ts';
import { sqlDouble, sqlInteger, sqlString, sqlUuid } from '../sql-literals.ts';
import { collectAnsweredCategories, dimensionWords, hasHiddenCategories, hiddenCategoryScan } from './dimension.ts';
import { createTimeBudget, runScans, type ScanRow } from './scans.ts';

/**
 * The weight of a response: a number among its answers or in its metadata. Usable from 1e-12 to 1e12, so that squares
 * stay precise.
 */
export type CrosstabWeight = { kind: 'number'; slot: number; presence: number } | { kind: 'metadata'; key: string };

export interface CrosstabQuery extends DateRange {
  surveyId: string;
  rows: Dimension;
  columns: Dimension;
  /** All must hold. */
  filters?: readonly Condition[] | undefined;
  isComplete?: boolean | undefined;
  /** Any of these; undefined: those of `analysedOutcomes`, unless rows, columns or a filter are outcomes. */
  outcomes?: readonly Outcome[] | undefined;
  /** If set, responses without a usable weight are left out of all counts. */
  weight?: CrosstabWeight | undefined;
}

export interface BannerQuery extends Omit<CrosstabQuery, 'columns'> {
  columns: readonly Dimension[];
}

const countTimeoutMs = 30_000;
/** Rows of a result that are summed without a pause. */
const rowsAtOnce = 1000;
/** Codes are below it. */
const codeCount = 65_536;
/** The code of totals over all categories; no category has it. */
const allCodes = 0;
/**
 * Added to the code of a column where its overlap with another column stands in place of a row; no code is as great.
 */
const overlapRow = 2 ** 31;

export function createCrosstabStore({ clickhouse }: { clickhouse: ClickHouse } & Placement) {
  const codeColumns = createCodeColumns(clickhouse);
  const annotations = clickhouse.table('findings');

  /** Crosstabs of the same rows with each of several columns, in their order, from one state of the table. */
  const countBanner = async ({ columns, ...query }: BannerQuery): Promise<CrosstabCounts[]> => {
    const timeLeftMs = createTimeBudget(countTimeoutMs);
    let tables = columns.map((dimension) => withOverlaps({ ...query, columns: dimension }));
    for (;;) {
      const counted = await countTables(query, tables, timeLeftMs);
      const missing = tables.map((table, index) => missingOverlaps(table, counted[index]));
      if (missing.every((codes) => codes === undefined)) return counted;
      tables = tables.map((table, index) => ({ ...table, overlapping: missing[index] ?? table.overlapping }));
    }
  };

  const countTables = async (
    query: Omit<BannerQuery, 'columns'>,
    tables: readonly CountedTable[],
    timeLeftMs: () => number,
  ): Promise<CrosstabCounts[]> => {
    const possible = tables.filter((table) => !isEmpty(table.rows) && !isEmpty(table.columns));
    const { tables: scanned, chosen: answeredHidden } =
      possible.length === 0
        ? { tables: [], chosen: new Map<Dimension, Set<number>>() }
        : await scan(query, possible, timeLeftMs);
    const found = new Map(possible.map((table, index) => [table, scanned[index] ?? []]));
    const counted: CrosstabCounts[] = [];
    for (const table of tables)
      counted.push({
        ...(await runInSlices(collectCrosstab(found.get(table) ?? [], query.weight))),
        ...answeredHiddenOf(table, answeredHidden),
      });
    return counted;
  };

  const scan = async (
    query: Omit<BannerQuery, 'columns'>,
    tables: readonly CountedTable[],
    timeLeftMs: () => number,
  ): Promise<{ tables: ScanRow[][]; chosen: Map<Dimension, Set<number>> }> => {
    const { surveyId, startDate, endDate, isComplete, outcomes, filters: conditions, weight } = query;
    const selection = { surveyId, startDate, endDate, isComplete, outcomes, conditions };
    const columns = tables.map((table) => table.columns);
    const slots = [
      ...dimensionSlots(query.rows),
      ...columns.flatMap(dimensionSlots),
      ...(weight?.kind === 'number' ? [weight.presence] : []),
      ...selectionSlots(selection),
    ];
    const columnOf = await columnNames(codeColumns, slots);
    const scope = {
      clickhouse,
      surveyId,
      conditions: conditionsOf(selection, columnOf, annotations),
      outcomes: asksForOutcomes(selection) ? undefined : analysedOutcomes,
      timeLeftMs,
      columns: [
        'is_complete',
        'numbers',
        'metadata',
        ...headColumns([query.rows, ...columns, ...(conditions ?? []).map(({ dimension }) => dimension)]),
        ...existingColumns(slots, columnOf),
      ],
    };
    // Subtracting the weights of superseded versions would leave rounding errors.
    const isAdditive = weight === undefined;
    const crosstabScans = tables.map((table) => ({
      isAdditive,
      isOfAllOutcomes: [table.rows, table.columns].some(({ source }) => source.kind === 'outcome'),
      statement: (source: string) =>
        crosstabStatement(table, joinAnnotations(table, source, { annotations, columns: scope.columns }), columnOf),
    }));
    const withHidden = [...new Set([query.rows, ...columns])].filter(hasHiddenCategories);
    const { rows } = await runScans(scope, [
      ...crosstabScans,
      ...withHidden.map((dimension) => hiddenCategoryScan(dimension, columnOf)),
    ]);
    return {
      tables: rows.slice(0, tables.length),
      chosen: new Map(
        withHidden.map((dimension, index) => [dimension, collectAnsweredCategories(rows[tables.length + index] ?? [])]),
      ),
    };
  };

  return {
    countBanner,
    /** Whether the survey has responses, and none of them has this metadata key. */
    async lacksMetadataKey({ surveyId, key }: { surveyId: string; key: string }): Promise<boolean> {
      const ofSurvey = `survey_id = ${sqlUuid(surveyId)}`;
      const { rows } = await runScans(
        {
          clickhouse,
          surveyId,
          conditions: { key: ofSurvey, full: ofSurvey },
          timeLeftMs: createTimeBudget(countTimeoutMs),
          columns: ['metadata'],
        },
        [
          {
            isAdditive: true,
            statement: (source) =>
              `SELECT 0 AS place, 0 AS code, '' AS label, [count(), countIf(mapContains(metadata, ${sqlString(key)}))] AS figures FROM ${source}`,
          },
        ],
      );
      const sumOf = (figure: number): number =>
        (rows[0] ?? []).reduce((sum, [, , , figures]) => sum + (figures[figure] ?? 0), 0);
      return sumOf(0) > 0 && sumOf(1) === 0;
    },
    async countCrosstab({ columns, ...query }: CrosstabQuery): Promise<CrosstabCounts> {
      const [counted] = await countBanner({ ...query, columns: [columns] });
      return counted ?? runAtOnce(collectCrosstab([], query.weight));
    },
  };
}

/** A table with the codes of columns whose pairs are counted; `all` is any column. */
interface CountedTable extends CrosstabQuery {
  overlapping: readonly number[] | 'all';
}

/** A table whose overlaps are counted at once, unless it can have too many columns. */
const withOverlaps = (table: CrosstabQuery): CountedTable => ({
  ...table,
  overlapping:
    hasOverlaps(table.columns) && areFewColumns(visibleRows(table), table.columns.categories.length) ? 'all' : [],
});

/**
 * The columns with respondents, if not all of their overlaps were counted although they are few enough to be compared.
 * Which of many columns have respondents is only known from a count; more may have some by the next one.
 */
function missingOverlaps(table: CountedTable, counted: CrosstabCounts | undefined): number[] | undefined {
  if (!counted || !hasOverlaps(table.columns) || table.overlapping === 'all') return undefined;
  const known = new Set(table.overlapping);
  const found = [...counted.columnTotals.keys()];
  return found.length > 1 && found.some((code) => !known.has(code)) && areFewColumns(visibleRows(table), found.length)
    ? found
    : undefined;
}

/** The rows that are shown in any case. */
const visibleRows = ({ rows }: CrosstabQuery): number =>
  rows.categories.filter(({ isHidden }) => isHidden !== true).length;

function answeredHiddenOf(
  { rows, columns }: CrosstabQuery,
  known: ReadonlyMap<Dimension, ReadonlySet<number>>,
): Pick<CrosstabCounts, 'chosenInSurvey'> {
  const [ofRows, ofColumns] = [known.get(rows), known.get(columns)];
  return ofRows || ofColumns
    ? { chosenInSurvey: { ...(ofRows && { rows: ofRows }), ...(ofColumns && { columns: ofColumns }) } }
    : {};
}

/** Whether no response can have a category of the dimension. */
const isEmpty = (dimension: Dimension): boolean =>
  ['annotation', 'collector', 'outcome', 'language'].includes(dimension.source.kind)
    ? dimension.categories.length === 0
    : dimensionSlots(dimension).length === 0;

export type CrosstabStore = ReturnType<typeof createCrosstabStore>;

const [rowAnnotations, columnAnnotations] = ['rows_found', 'columns_found'] as const;

/** Joins the source with the codes of AI annotations if rows or columns are annotations. */
function joinAnnotations(
  { surveyId, rows, columns }: CrosstabQuery,
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
function crosstabStatement(
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

interface Cell {
  row: number;
  column: number;
  count: number;
}

/** Sums rows by cell, with superseded versions subtracted. Few objects are made: a table may have 50,000 cells. */
function* collectCrosstab(rows: readonly ScanRow[], weight: CrosstabWeight | undefined): SlicedWork<CrosstabCounts> {
  const cells = new Map<number, Cell>();
  const weights = new Map<number, Cell & WeightSums>();
  let unweightable = 0;
  for (const [index, [row, column, , figures]] of rows.entries()) {
    if (index % rowsAtOnce === rowsAtOnce - 1) yield;
    const place = row * codeCount + column;
    const count = figures[0] ?? 0;
    const known = cells.get(place);
    if (known) known.count += count;
    else cells.set(place, { row, column, count });
    if (!weight) continue;
    const weighed = weights.get(place) ?? { row, column, count: 0, weight: 0, squares: 0 };
    weighed.count += count;
    weighed.weight += figures[1] ?? 0;
    weighed.squares += figures[2] ?? 0;
    weights.set(place, weighed);
    if (row === allCodes && column === allCodes) unweightable += figures[3] ?? 0;
  }
  yield;
  const counted = yield* splitCells(cells.values());
  const counts = {
    cells: counted.inner,
    rowTotals: new Map(counted.rowTotals.map(({ row, count }) => [row, count])),
    columnTotals: new Map(counted.columnTotals.map(({ column, count }) => [column, count])),
    total: counted.total?.count ?? 0,
    ...(counted.overlaps.length > 0 && {
      columnOverlaps: counted.overlaps.map((cell) => ({ ...pairOf(cell), count: cell.count })),
    }),
  };
  if (!weight) return counts;
  const weighed = yield* splitCells(weights.values());
  const total = weights.get(allCodes * codeCount + allCodes);
  return {
    ...counts,
    weighted: {
      cells: weighed.inner.map((cell) => ({ row: cell.row, column: cell.column, ...sumsIn(cell) })),
      rowTotals: new Map(weighed.rowTotals.map((cell) => [cell.row, sumsIn(cell)])),
      columnTotals: new Map(weighed.columnTotals.map((cell) => [cell.column, sumsIn(cell)])),
      total: total ? sumsIn(total) : { weight: 0, squares: 0 },
      ...(weighed.overlaps.length > 0 && {
        columnOverlaps: weighed.overlaps.map((cell) => ({ ...pairOf(cell), ...sumsIn(cell) })),
      }),
      unweightable,
    },
  };
}

const sumsIn = ({ weight, squares }: WeightSums): WeightSums => ({ weight, squares });
const pairOf = ({ row, column }: Cell): { one: number; other: number } => ({ one: row - overlapRow, other: column });

/** Cells, totals and overlaps that count anybody. */
function* splitCells<AnyCell extends Cell>(cells: Iterable<AnyCell>) {
  const inner: AnyCell[] = [];
  const rowTotals: AnyCell[] = [];
  const columnTotals: AnyCell[] = [];
  const overlaps: AnyCell[] = [];
  let total: AnyCell | undefined;
  let index = 0;
  for (const cell of cells) {
    index += 1;
    if (index % rowsAtOnce === 0) yield;
    if (cell.count <= 0) continue;
    if (cell.row >= overlapRow) overlaps.push(cell);
    else if (cell.row === allCodes && cell.column === allCodes) total = cell;
    else if (cell.column === allCodes) rowTotals.push(cell);
    else if (cell.row === allCodes) columnTotals.push(cell);
    else inner.push(cell);
  }
  return { inner, rowTotals, columnTotals, overlaps, total };
}
