import type { Outcome } from '../../../domain/outcome.ts';
import { createLruCache, type LruCache } from '../../../platform/lru-cache.ts';
import { runInSlices, type SlicedWork } from '../../../platform/slices.ts';
import type { ClickHouse } from '../client.ts';
import { allOf, type Conditions, hasOutcome } from '../read/selection.ts';
import { sqlUuid } from '../sql-literals.ts';
import {
  coversOverlaps,
  findOverlappingMoments,
  isOverlapping,
  type OverlappingMoments,
  type PartStatistics,
  partStatisticsStatement,
} from './overlapping-parts.ts';

/** A result row of a scan; each scan defines the meaning of place, code and label. */
export type ScanRow = readonly [
  place: number,
  code: number,
  label: string,
  figures: readonly (number | null)[],
  /** The arm of the statement that it came from; a row is passed on as it was read, since a table has thousands. */
  part?: number,
];

/** The sum of the first figure of the rows, by their code. */
export function sumByCode(rows: readonly ScanRow[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const [, code, , [amount]] of rows) counts.set(code, (counts.get(code) ?? 0) + (amount ?? 0));
  return counts;
}

export interface Scan {
  /**
   * A SELECT of (place, code, label, figures). `source` is the text after FROM, including a WHERE; it yields each
   * counted response once.
   */
  statement(source: string): string;
  /** Whether all figures are counts or sums, so that superseded versions can be counted apart and subtracted. */
  isAdditive: boolean;
  /**
   * Whether figures of disjoint sets of responses can be combined, so that only overlapping parts need their versions
   * merged.
   */
  isMergeable?: boolean;
  /** Whether the table's projection `hours` has all that the scan reads. */
  isByHour?: boolean;
  /** Whether the scan counts all outcomes, whichever the scope counts. */
  isOfAllOutcomes?: boolean;
  /** Whether the scan reads all responses of the survey, whatever is selected. */
  isOfWholeSurvey?: boolean;
}

export interface ScanScope {
  clickhouse: ClickHouse;
  /** Name of the cluster whose shards hold the responses; undefined: one server. */
  cluster: string | undefined;
  surveyId: string;
  conditions: Conditions;
  /** Counts only responses with these outcomes, besides the conditions; undefined: all. */
  outcomes?: readonly Outcome[] | undefined;
  /** All columns that the conditions and scans read. */
  columns: readonly string[];
  /** Milliseconds left for all statements together, repetitions included. */
  timeLeftMs(): number;
}

/**
 * Returns a function that gives the milliseconds left of a time limit, at least 1, because ClickHouse takes 0 for no
 * limit.
 */
export function createTimeBudget(limitMs: number, now: () => number = () => performance.now()): () => number {
  const endsAtMs = now() + limitMs;
  return () => Math.max(1, endsAtMs - now());
}

export interface ScanResults {
  /** Rows by scan. Several rows of an additive or mergeable scan may have the same place; the caller combines them. */
  rows: ScanRow[][];
  /** Whether parts overlapped; then a maximum in an additive scan may be that of a deleted response. */
  hadOverlappingParts: boolean;
}

/** After this many attempts on a table that keeps changing, all versions are merged while reading (FINAL). */
const maxAttempts = 3;

/**
 * Runs scans over the newest versions of a survey's responses in one statement, so all read the same state of the
 * table. Versions are not merged while reading; where parts overlap, superseded versions are counted apart and
 * subtracted. The statement also returns the part statistics of the state it read; if they show overlaps that were not
 * assumed, it runs again.
 *
 * On a cluster each SELECT of the statement reads a state of its own of each shard, so neither statistics nor superseded
 * versions need be those of what another has counted: there all versions are merged while reading.
 */
export async function runScans(scope: ScanScope, scans: readonly Scan[]): Promise<ScanResults> {
  if (scope.cluster !== undefined) {
    const { rows } = await runOnce(scope, scans, { kind: 'all' });
    return { rows, hadOverlappingParts: false };
  }
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
 * Surveys without overlapping parts when last counted. Assuming the same again saves a query; the counting statement
 * verifies it.
 */
function disjointSurveysOf(clickhouse: ClickHouse): LruCache<true> {
  let surveys = disjointSurveys.get(clickhouse);
  if (!surveys) {
    surveys = createLruCache(maxDisjointSurveys);
    disjointSurveys.set(clickhouse, surveys);
  }
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

/** Compiling the expressions of a wide survey takes seconds of processor time, far longer than counting. */
const withoutExpressionCompilation = { compile_expressions: 0, compile_aggregate_expressions: 0 };
/** Makes all SELECTs of a statement read the same rows; servers before 25.12 need the setting. */
const sharedSnapshot = { enable_shared_storage_snapshot_in_query: 1 };

async function runOnce(
  scope: ScanScope,
  scans: readonly Scan[],
  overlapping: OverlappingMoments,
): Promise<{ rows: ScanRow[][]; statistics: PartStatistics[] }> {
  const arms = scans.flatMap((scan, index) => unionArmsOf(scope, { scan, index, overlapping }));
  const statements = arms.map(
    ({ statement }, part) =>
      `SELECT toUInt64(place) AS place, toUInt64(code) AS code, label, ${asFigures} AS figures, toUInt16(${part}) AS part FROM (${statement})`,
  );
  if (overlapping.kind !== 'all')
    statements.push(
      `SELECT toUInt64(0), toUInt64(0), '', ${asFigures}, toUInt16(${partStatisticsArm}) FROM (${partStatisticsStatement(scope.clickhouse, scope.surveyId)})`,
    );
  const found = await scope.clickhouse.select<FoundRow>(statements.join(' UNION ALL '), {
    timeoutMs: scope.timeLeftMs(),
    settings: { ...withoutExpressionCompilation, ...sharedSnapshot },
  });
  return runInSlices(sortByScan(found, arms, scans.length));
}

/** Rows of a result that are sorted without a pause. */
const rowsAtOnce = 1000;

/** A row of a scan, with the arm of the statement that it comes from. */
type FoundRow = [place: number, code: number, label: string, figures: (number | null)[], part: number];

function* sortByScan(
  found: readonly FoundRow[],
  arms: readonly UnionArm[],
  scanCount: number,
): SlicedWork<{ rows: ScanRow[][]; statistics: PartStatistics[] }> {
  const rows: ScanRow[][] = Array.from({ length: scanCount }, () => []);
  const statistics: PartStatistics[] = [];
  for (const [index, row] of found.entries()) {
    if (index % rowsAtOnce === rowsAtOnce - 1) yield;
    const [place, code, label, figures, part] = row;
    const { scan, sign } = arms[part] ?? { scan: -1, sign: 1 };
    if (part === partStatisticsArm) statistics.push(figures.map((figure) => figure ?? 0));
    else rows[scan]?.push(sign === 1 ? row : [place, code, label, figures.map((figure) => -(figure ?? 0))]);
  }
  return { rows, statistics };
}

function unionArmsOf(
  scope: ScanScope,
  { scan, index, overlapping }: { scan: Scan; index: number; overlapping: OverlappingMoments },
): UnionArm[] {
  const table = scope.clickhouse.table('responses');
  const conditions = conditionsOfScan(scope, scan);
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

function conditionsOfScan({ surveyId, conditions, outcomes }: ScanScope, scan: Scan): Conditions {
  if (scan.isOfWholeSurvey) return conditionsOfSurvey(surveyId);
  const { key, byHour } = conditions;
  const full = scan.isByHour && byHour !== undefined ? byHour : conditions.full;
  return { key, full: scan.isOfAllOutcomes || outcomes === undefined ? full : allOf([full, hasOutcome(outcomes)]) };
}

function conditionsOfSurvey(surveyId: string): Conditions {
  const key = `survey_id = ${sqlUuid(surveyId)}`;
  return { key, full: key };
}

type SomeOverlapping = Extract<OverlappingMoments, { kind: 'some' }>;

/** Reads disjoint moments without merging, and the newest versions of overlapping moments. */
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

/** The rows at overlapping moments that are newest versions, or those that a newer version supersedes. */
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
