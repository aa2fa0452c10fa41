import { createLruCache, type LruCache } from '../../../platform/lru-cache.ts';
import type { ClickHouse } from '../client.ts';
import type { Conditions } from '../read/selection.ts';
import { sqlUuid } from '../sql-literals.ts';
import {
  coversOverlaps,
  findOverlappingMoments,
  isOverlapping,
  type OverlappingMoments,
  type PartStatistics,
  partStatisticsStatement,
} from './overlapping-parts.ts';

/** A row of any scan. What the first three say is the scan's own business. */
export type ScanRow = readonly [place: number, code: number, label: string, figures: readonly (number | null)[]];

export interface Scan {
  /**
   * A statement that gives (place, code, label, figures) from `source`: what stands after FROM, a WHERE included. It gets every
   * response that counts once.
   */
  statement(source: string): string;
  /** Figures are counts or sums, 0 where there is no row: then what must not count can be subtracted. */
  isAdditive: boolean;
  /** Figures of some responses and of others can be put together: then only where versions lie beside each other they are told apart. */
  isMergeable?: boolean;
  /** Looks at all responses of the survey, not only at those that are selected. */
  isOfWholeSurvey?: boolean;
}

export interface ScanScope {
  clickhouse: ClickHouse;
  surveyId: string;
  conditions: Conditions;
  /** Every column that the conditions or a scan name. */
  columns: readonly string[];
  /** Of all statements together, so that they may be repeated. */
  timeLeftMs(): number;
}

export interface ScanResults {
  /** By scan. Of an additive or mergeable one several rows may have the same place: they are to be put together. */
  rows: ScanRow[][];
  /** Whether older versions lay beside newer ones, so that an additive maximum may be that of a deleted response. */
  hadOverlappingParts: boolean;
}

/** A table under constant change may disprove an assumption again and again; then all versions are merged while reading. */
const maxAttempts = 3;

/**
 * Runs scans over the newest versions of a survey's responses, all in one statement and so on one state of the table. Rows are read
 * without merging versions; of moments where that could count a response twice, what is superseded is found apart and subtracted.
 * The statement also gives the evidence that it was right to do so; where it was not, it runs again.
 */
export async function runScans(scope: ScanScope, scans: readonly Scan[]): Promise<ScanResults> {
  const disjoint = disjointSurveysOf(scope.clickhouse);
  let overlapping: OverlappingMoments = disjoint.get(scope.surveyId)
    ? { kind: 'none' }
    : await readOverlappingMoments(scope);
  for (let attempt = 1; ; attempt += 1) {
    const { rows, statistics } = await runOnce(scope, scans, overlapping);
    if (coversOverlaps(overlapping, statistics)) {
      if (overlapping.kind === 'none') disjoint.set(scope.surveyId, true);
      return { rows, hadOverlappingParts: overlapping.kind === 'some' };
    }
    disjoint.delete(scope.surveyId);
    overlapping = attempt < maxAttempts ? findOverlappingMoments(statistics) : { kind: 'all' };
  }
}

const maxDisjointSurveys = 10_000;
const disjointSurveys = new WeakMap<ClickHouse, LruCache<true>>();

/**
 * Surveys whose rows lay nowhere in more than one part when they were last counted. That is assumed to hold still, which saves asking:
 * the statement that counts gives the evidence in any case.
 */
function disjointSurveysOf(clickhouse: ClickHouse): LruCache<true> {
  let surveys = disjointSurveys.get(clickhouse);
  if (!surveys) disjointSurveys.set(clickhouse, (surveys = createLruCache(maxDisjointSurveys)));
  return surveys;
}

async function readOverlappingMoments({ clickhouse, surveyId, timeLeftMs }: ScanScope): Promise<OverlappingMoments> {
  const statistics = await clickhouse.select<[number[]]>(partStatisticsStatement(clickhouse, surveyId), {
    timeoutMs: timeLeftMs(),
  });
  return findOverlappingMoments(statistics.map(([figures]) => figures));
}

interface UnionArm {
  scan: number;
  sign: 1 | -1;
  statement: string;
}

const partStatisticsArm = 65_535;
const asFigures = "CAST(figures, 'Array(Nullable(Float64))')";

/** Compiling the expressions of a wide survey takes seconds of processor time, beside which counting is nothing. */
const withoutExpressionCompilation = { compile_expressions: 0, compile_aggregate_expressions: 0 };
/** All parts of a statement then see the same rows; servers before 25.12 do so only if they are told. */
const sharedSnapshot = { enable_shared_storage_snapshot_in_query: 1 };

async function runOnce(
  scope: ScanScope,
  scans: readonly Scan[],
  overlapping: OverlappingMoments,
): Promise<{ rows: ScanRow[][]; statistics: PartStatistics[] }> {
  const arms = scans.flatMap((scan, index) => unionArmsOf(scope, { scan, index, overlapping }));
  const statements = arms.map(
    ({ statement }, part) =>
      `SELECT toUInt16(${part}) AS part, toUInt64(place) AS place, toUInt64(code) AS code, label, ${asFigures} AS figures FROM (${statement})`,
  );
  if (overlapping.kind !== 'all')
    statements.push(
      `SELECT toUInt16(${partStatisticsArm}), toUInt64(0), toUInt64(0), '', ${asFigures} FROM (${partStatisticsStatement(scope.clickhouse, scope.surveyId)})`,
    );
  const found = await scope.clickhouse.select<
    [part: number, place: number, code: number, label: string, figures: (number | null)[]]
  >(statements.join(' UNION ALL '), {
    timeoutMs: scope.timeLeftMs(),
    settings: { ...withoutExpressionCompilation, ...sharedSnapshot },
  });
  const rows: ScanRow[][] = scans.map(() => []);
  const statistics: PartStatistics[] = [];
  for (const [part, place, code, label, figures] of found) {
    const { scan, sign } = arms[part] ?? { scan: -1, sign: 1 };
    if (part === partStatisticsArm) statistics.push(figures.map((figure) => figure ?? 0));
    else rows[scan]?.push([place, code, label, sign === 1 ? figures : figures.map((figure) => -(figure ?? 0))]);
  }
  return { rows, statistics: statistics };
}

function unionArmsOf(
  scope: ScanScope,
  { scan, index, overlapping }: { scan: Scan; index: number; overlapping: OverlappingMoments },
): UnionArm[] {
  const table = scope.clickhouse.table('responses');
  const conditions = scan.isOfWholeSurvey ? conditionsOfSurvey(scope.surveyId) : scope.conditions;
  const plain: UnionArm = {
    scan: index,
    sign: 1,
    statement: scan.statement(`${table} WHERE ${conditions.full} AND is_deleted = 0`),
  };
  if (overlapping.kind === 'none') return [plain];
  if (overlapping.kind === 'some' && scan.isMergeable)
    return splitByOverlap({ ...scope, conditions }, { scan, overlapping, plain });
  if (overlapping.kind === 'all' || !scan.isAdditive)
    return [{ ...plain, statement: scan.statement(`${table} FINAL WHERE ${conditions.full}`) }];
  return [
    plain,
    {
      scan: index,
      sign: -1,
      statement: scan.statement(overlappingRows({ ...scope, conditions }, overlapping, 'superseded')),
    },
  ];
}

function conditionsOfSurvey(surveyId: string): Conditions {
  const key = `survey_id = ${sqlUuid(surveyId)}`;
  return { key, full: key };
}

type SomeOverlapping = Extract<OverlappingMoments, { kind: 'some' }>;

/** Plain reading where nothing is contested, and beside it the newest versions where something is. */
function splitByOverlap(
  scope: ScanScope,
  { scan, overlapping, plain }: { scan: Scan; overlapping: SomeOverlapping; plain: UnionArm },
): UnionArm[] {
  const { key, full } = scope.conditions;
  const disjoint = `${scope.clickhouse.table('responses')} WHERE ${key} AND NOT (${isOverlapping(overlapping)}) AND ${full} AND is_deleted = 0`;
  return [disjoint, overlappingRows(scope, overlapping, 'newest')].map((source) => ({
    ...plain,
    statement: scan.statement(source),
  }));
}

/** Of the rows that lie at contested moments the newest versions, or those that plain reading counts although a newer version exists. */
function overlappingRows(
  { clickhouse, conditions, columns }: ScanScope,
  overlapping: SomeOverlapping,
  wanted: 'newest' | 'superseded',
): string {
  const needed = [...new Set(['survey_id', 'response_id', 'submitted_at', 'is_deleted', ...columns])];
  return `(SELECT ${needed.join(', ')}, row_number() OVER (PARTITION BY submitted_at, response_id ORDER BY version DESC) AS age
    FROM ${clickhouse.table('responses')} PREWHERE ${conditions.key} AND ${isOverlapping(overlapping)})
    WHERE age ${wanted === 'newest' ? '= 1' : '> 1'} AND is_deleted = 0 AND ${conditions.full}`;
}
