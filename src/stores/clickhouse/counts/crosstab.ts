import type { CrosstabCounts } from '../../../domain/analytics/crosstab-counts.ts';
import { areFewColumns } from '../../../domain/analytics/significance.ts';
import { analysedOutcomes, type Outcome } from '../../../domain/outcome.ts';
import { type Dimension, dimensionSlots, hasOverlaps, type ParsedFilter } from '../../../domain/questions/contract.ts';
import { runAtOnce, runInSlices } from '../../../platform/slices.ts';
import type { ClickHouse } from '../client.ts';
import {
  asksForOutcomes,
  columnNames,
  conditionsOf,
  type DateRange,
  existingColumns,
  headColumns,
  selectionSlots,
} from '../read/selection.ts';
import { createCodeColumns } from '../schema/code-columns.ts';
import type { Placement } from '../schema/placement.ts';
import { sqlString, sqlUuid } from '../sql-literals.ts';
import { collectCrosstab } from './crosstab-cells.ts';
import { type CountedTable, type CrosstabWeight, crosstabStatement, joinAnnotations } from './crosstab-statement.ts';
import { collectAnsweredCategories, hasHiddenCategories, hiddenCategoryScan } from './dimension.ts';
import { createTimeBudget, runScans, type ScanRow } from './scans.ts';

export interface CrosstabQuery extends DateRange {
  surveyId: string;
  rows: Dimension;
  columns: Dimension;
  /** All must hold. */
  filters?: readonly ParsedFilter[] | undefined;
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

export function createCrosstabStore({ clickhouse, cluster }: { clickhouse: ClickHouse } & Placement) {
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
      cluster,
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
          cluster,
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
const visibleRows = ({ rows }: { rows: Dimension }): number =>
  rows.categories.filter(({ isHidden }) => isHidden !== true).length;

function answeredHiddenOf(
  { rows, columns }: CountedTable,
  known: ReadonlyMap<Dimension, ReadonlySet<number>>,
): Pick<CrosstabCounts, 'chosenInSurvey'> {
  const [ofRows, ofColumns] = [known.get(rows), known.get(columns)];
  return ofRows || ofColumns
    ? { chosenInSurvey: { ...(ofRows && { rows: ofRows }), ...(ofColumns && { columns: ofColumns }) } }
    : {};
}

/** Whether no response can have a category of the dimension. */
const isEmpty = (dimension: Dimension): boolean =>
  ['annotation', 'collector', 'outcome', 'language', 'metadata'].includes(dimension.source.kind)
    ? dimension.categories.length === 0
    : dimensionSlots(dimension).length === 0;

export type CrosstabStore = ReturnType<typeof createCrosstabStore>;
