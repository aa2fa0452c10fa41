import { createRecentMap, type RecentMap } from '../../../recent-map.ts';
import type { ClickHouse } from '../client.ts';
import { uuid } from '../query/literals.ts';
import type { Conditions } from '../query/selection.ts';
import { contestedMoments, covers, evidenceStatement, isContested, type Contested, type EvidenceRow } from './contested.ts';

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

export interface Scanned {
  /** By scan. Of an additive or mergeable one several rows may have the same place: they are to be put together. */
  rows: ScanRow[][];
  /** Whether older versions lay beside newer ones, so that an additive maximum may be that of a deleted response. */
  wasContested: boolean;
}

/** A table under constant change may disprove an assumption again and again; then all versions are merged while reading. */
const mostAttempts = 3;

/**
 * Runs scans over the newest versions of a survey's responses, all in one statement and so on one state of the table. Rows are read
 * without merging versions; of moments where that could count a response twice, what is superseded is found apart and subtracted.
 * The statement also gives the evidence that it was right to do so; where it was not, it runs again.
 */
export async function runScans(scope: ScanScope, scans: readonly Scan[]): Promise<Scanned> {
  const calm = calmSurveysOf(scope.clickhouse);
  let contested: Contested = calm.get(scope.surveyId) ? { kind: 'none' } : await lookUp(scope);
  for (let attempt = 1; ; attempt += 1) {
    const { rows, evidence } = await runOnce(scope, scans, contested);
    if (covers(contested, evidence)) {
      if (contested.kind === 'none') calm.set(scope.surveyId, true);
      return { rows, wasContested: contested.kind === 'some' };
    }
    calm.delete(scope.surveyId);
    contested = attempt < mostAttempts ? contestedMoments(evidence) : { kind: 'all' };
  }
}

const calmSurveysKept = 10_000;
const calmSurveys = new WeakMap<ClickHouse, RecentMap<true>>();

/**
 * Surveys whose rows lay nowhere in more than one part when they were last counted. That is assumed to hold still, which saves asking:
 * the statement that counts gives the evidence in any case.
 */
function calmSurveysOf(clickhouse: ClickHouse): RecentMap<true> {
  let surveys = calmSurveys.get(clickhouse);
  if (!surveys) calmSurveys.set(clickhouse, (surveys = createRecentMap(calmSurveysKept)));
  return surveys;
}

async function lookUp({ clickhouse, surveyId, timeLeftMs }: ScanScope): Promise<Contested> {
  const evidence = await clickhouse.select<[number[]]>(evidenceStatement(clickhouse, surveyId), { timeoutMs: timeLeftMs() });
  return contestedMoments(evidence.map(([figures]) => figures));
}

interface Part {
  scan: number;
  sign: 1 | -1;
  statement: string;
}

const evidencePart = 65_535;
const asFigures = "CAST(figures, 'Array(Nullable(Float64))')";

/** Compiling the expressions of a wide survey takes seconds of processor time, beside which counting is nothing. */
const neverCompiled = { compile_expressions: 0, compile_aggregate_expressions: 0 };
/** All parts of a statement then see the same rows; servers before 25.12 do so only if they are told. */
const inOneState = { enable_shared_storage_snapshot_in_query: 1 };

async function runOnce(scope: ScanScope, scans: readonly Scan[], contested: Contested): Promise<{ rows: ScanRow[][]; evidence: EvidenceRow[] }> {
  const parts = scans.flatMap((scan, index) => partsOf(scope, { scan, index, contested }));
  const statements = parts.map(
    ({ statement }, part) => `SELECT toUInt16(${part}) AS part, toUInt64(place) AS place, toUInt64(code) AS code, label, ${asFigures} AS figures FROM (${statement})`,
  );
  if (contested.kind !== 'all')
    statements.push(`SELECT toUInt16(${evidencePart}), toUInt64(0), toUInt64(0), '', ${asFigures} FROM (${evidenceStatement(scope.clickhouse, scope.surveyId)})`);
  const found = await scope.clickhouse.select<[part: number, place: number, code: number, label: string, figures: (number | null)[]]>(
    statements.join(' UNION ALL '),
    { timeoutMs: scope.timeLeftMs(), settings: { ...neverCompiled, ...inOneState } },
  );
  const rows: ScanRow[][] = scans.map(() => []);
  const evidence: EvidenceRow[] = [];
  for (const [part, place, code, label, figures] of found) {
    const { scan, sign } = parts[part] ?? { scan: -1, sign: 1 };
    if (part === evidencePart) evidence.push(figures.map((figure) => figure ?? 0));
    else rows[scan]?.push([place, code, label, sign === 1 ? figures : figures.map((figure) => -(figure ?? 0))]);
  }
  return { rows, evidence };
}

function partsOf(scope: ScanScope, { scan, index, contested }: { scan: Scan; index: number; contested: Contested }): Part[] {
  const table = scope.clickhouse.table('responses');
  const conditions = scan.isOfWholeSurvey ? conditionsOfSurvey(scope.surveyId) : scope.conditions;
  const plain: Part = { scan: index, sign: 1, statement: scan.statement(`${table} WHERE ${conditions.whole} AND is_deleted = 0`) };
  if (contested.kind === 'none') return [plain];
  if (contested.kind === 'some' && scan.isMergeable) return apartFrom({ ...scope, conditions }, { scan, contested, plain });
  if (contested.kind === 'all' || !scan.isAdditive) return [{ ...plain, statement: scan.statement(`${table} FINAL WHERE ${conditions.whole}`) }];
  return [plain, { scan: index, sign: -1, statement: scan.statement(contestedRows({ ...scope, conditions }, contested, 'superseded')) }];
}

function conditionsOfSurvey(surveyId: string): Conditions {
  const key = `survey_id = ${uuid(surveyId)}`;
  return { key, whole: key };
}

type SomeContested = Extract<Contested, { kind: 'some' }>;

/** Plain reading where nothing is contested, and beside it the newest versions where something is. */
function apartFrom(scope: ScanScope, { scan, contested, plain }: { scan: Scan; contested: SomeContested; plain: Part }): Part[] {
  const { key, whole } = scope.conditions;
  const calm = `${scope.clickhouse.table('responses')} WHERE ${key} AND NOT (${isContested(contested)}) AND ${whole} AND is_deleted = 0`;
  return [calm, contestedRows(scope, contested, 'newest')].map((source) => ({ ...plain, statement: scan.statement(source) }));
}

/** Of the rows that lie at contested moments the newest versions, or those that plain reading counts although a newer version exists. */
function contestedRows({ clickhouse, conditions, columns }: ScanScope, contested: SomeContested, wanted: 'newest' | 'superseded'): string {
  const needed = [...new Set(['survey_id', 'response_id', 'submitted_at', 'is_deleted', ...columns])];
  return `(SELECT ${needed.join(', ')}, row_number() OVER (PARTITION BY submitted_at, response_id ORDER BY version DESC) AS age
    FROM ${clickhouse.table('responses')} PREWHERE ${conditions.key} AND ${isContested(contested)})
    WHERE age ${wanted === 'newest' ? '= 1' : '> 1'} AND is_deleted = 0 AND ${conditions.whole}`;
}
