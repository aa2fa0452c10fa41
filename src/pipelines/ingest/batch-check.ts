import type { RowKey, RowSum, StoredRows } from '../../stores/clickhouse/read/stored-rows.ts';
import { type BatchPart, keyOf, linesOf, rowViews, surveyIdOf } from './batch-lines.ts';

/** How long sums of earlier batches are kept, because the next batch may have rows of the same milliseconds. */
const memoryMs = 10_000;
/** A batch with more surveys is looked up row by row. */
const maxSurveysPerQuery = 500;

/** First versions of a survey's responses, summed by the millisecond of their submission. */
type SumsByTime = Map<number, RowSum>;

export interface BatchKeys {
  /** By survey id. */
  firstVersionSums: Map<string, SumsByTime>;
  /** Later versions and tombstones. */
  laterVersionKeys: RowKey[];
  /** First and last submission among the first versions. */
  fromMs: number;
  toMs: number;
}

/**
 * Finds the rows of a batch that ClickHouse lacks. One statement compares, for each survey and the batch's span of
 * time, the number of first versions and the sum of their ids with those of the batches; only rows of surveys that
 * differ are looked up by id. They may differ with nothing missing, when a batch was stored twice or another process
 * stored the one before.
 */
export function createBatchCheck({ firstVersions, missing }: StoredRows) {
  const remembered = new Map<string, SumsByTime>();

  const remember = ({ firstVersionSums, toMs }: BatchKeys): void => {
    for (const [surveyId, moments] of firstVersionSums) {
      // A copy, as the caller goes on with the keys.
      const known: SumsByTime = remembered.get(surveyId) ?? new Map();
      remembered.set(surveyId, known);
      for (const [moment, sum] of moments) add(known, moment, sum);
    }
    for (const [surveyId, moments] of remembered) {
      for (const moment of moments.keys()) if (moment < toMs - memoryMs) moments.delete(moment);
      if (moments.size === 0) remembered.delete(surveyId);
    }
  };

  /** Surveys of which ClickHouse does not hold exactly the expected rows of the span. */
  const differing = async ({ firstVersionSums, fromMs, toMs }: BatchKeys): Promise<Set<string>> => {
    const surveyIds = [...firstVersionSums.keys()];
    if (surveyIds.length === 0 || surveyIds.length > maxSurveysPerQuery) return new Set(surveyIds);
    const stored = await firstVersions({ surveyIds, fromMs, toMs });
    return new Set(
      surveyIds.filter((surveyId) => {
        const expected = { rows: 0, idSum: 0 };
        for (const moments of [remembered.get(surveyId), firstVersionSums.get(surveyId)])
          addWithin(expected, moments, fromMs, toMs);
        const found = stored.get(surveyId);
        return found?.rows !== expected.rows || found.idSum !== expected.idSum;
      }),
    );
  };

  /** The missing rows; undefined if all are stored. */
  return async (lines: Buffer, keys: BatchKeys = batchKeysOf(lines)): Promise<BatchPart | undefined> => {
    const suspects = await differing(keys);
    const absent = await missing([...firstVersionsOf(lines, suspects), ...keys.laterVersionKeys]);
    if (absent.length > 0) return selectLines(lines, new Set(absent.map(versionKeyOf)));
    remember(keys);
    return undefined;
  };
}

const versionKeyOf = ({ responseId, submittedAtMs, version }: RowKey): string =>
  `${responseId} ${submittedAtMs} ${version}`;

/** The keys of the rows of some lines. */
export function batchKeysOf(lines: Buffer): BatchKeys {
  const keys: BatchKeys = {
    firstVersionSums: new Map(),
    laterVersionKeys: [],
    fromMs: Number.POSITIVE_INFINITY,
    toMs: Number.NEGATIVE_INFINITY,
  };
  for (const view of rowViews(lines)) {
    if (view.version !== 1) {
      keys.laterVersionKeys.push(keyOf(lines, view));
      continue;
    }
    const surveyId = surveyIdOf(lines, view);
    const known = keys.firstVersionSums.get(surveyId);
    const moments: SumsByTime = known ?? new Map();
    if (!known) keys.firstVersionSums.set(surveyId, moments);
    add(moments, view.submittedAtMs, { rows: 1, idSum: view.idTail });
    keys.fromMs = Math.min(keys.fromMs, view.submittedAtMs);
    keys.toMs = Math.max(keys.toMs, view.submittedAtMs);
  }
  return keys;
}

function add(moments: SumsByTime, moment: number, { rows, idSum }: RowSum): void {
  const known = moments.get(moment);
  if (!known) moments.set(moment, { rows, idSum });
  else {
    known.rows += rows;
    known.idSum += idSum;
  }
}

function addWithin(sum: RowSum, moments: SumsByTime | undefined, fromMs: number, toMs: number): void {
  for (const [moment, { rows, idSum }] of moments ?? []) {
    if (moment < fromMs || moment > toMs) continue;
    sum.rows += rows;
    sum.idSum += idSum;
  }
}

function firstVersionsOf(lines: Buffer, surveyIds: ReadonlySet<string>): RowKey[] {
  if (surveyIds.size === 0) return [];
  const keys: RowKey[] = [];
  for (const view of rowViews(lines))
    if (view.version === 1 && surveyIds.has(surveyIdOf(lines, view))) keys.push(keyOf(lines, view));
  return keys;
}

/** The lines of the rows with these keys. */
function selectLines(lines: Buffer, keys: ReadonlySet<string>): BatchPart {
  const found: Buffer[] = [];
  for (const view of rowViews(lines))
    if (keys.has(versionKeyOf(keyOf(lines, view)))) found.push(lines.subarray(view.start, view.end));
  return { lines: linesOf(found.map((rows) => ({ count: 1, rows }))), rows: found.length };
}
