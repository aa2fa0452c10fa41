import type { RowKey, RowSum, StoredRows } from '../../stores/clickhouse/read/stored-rows.ts';
import { keyOf, rowViews, surveyIdOf } from './row-keys.ts';
import type { BatchPart } from './store-batch.ts';

/** Rows of former batches are remembered so long, as those of the next one may be of the same moments. */
const memoryMs = 10_000;
/** A batch of more surveys is looked up row by row. */
const maxSurveysPerQuery = 500;

/** First versions of a survey's responses, by the millisecond at which they were submitted. */
type SumsByTime = Map<number, RowSum>;

export interface BatchKeys {
  /** By survey. */
  firstVersionSums: Map<string, SumsByTime>;
  /** Rows that go on with a response or end it. */
  laterVersionKeys: RowKey[];
  /** The span of the first versions. */
  fromMs: number;
  toMs: number;
}

/**
 * Tells which rows of a batch ClickHouse lacks. One statement compares, survey by survey, how many first versions it holds of the batch's span of
 * time, and the sum of their ids, with what the batches brought; only where these differ are rows looked up by their ids. They differ without
 * anything missing where a batch was stored twice, or another process stored the one before.
 */
export function createBatchCheck({ firstVersions, missing }: StoredRows) {
  const remembered = new Map<string, SumsByTime>();

  const remember = ({ firstVersionSums, toMs }: BatchKeys): void => {
    for (const [surveyId, moments] of firstVersionSums) {
      const known = remembered.get(surveyId);
      if (known) for (const [moment, sum] of moments) add(known, moment, sum);
      else remembered.set(surveyId, moments);
    }
    for (const [surveyId, moments] of remembered) {
      for (const moment of moments.keys()) if (moment < toMs - memoryMs) moments.delete(moment);
      if (moments.size === 0) remembered.delete(surveyId);
    }
  };

  /** Surveys of which ClickHouse does not hold exactly what is expected of the span. */
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

/** What names the rows of some lines. */
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
    let moments = keys.firstVersionSums.get(surveyId);
    if (!moments) keys.firstVersionSums.set(surveyId, (moments = new Map()));
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

/** The lines of the rows with these names. */
function selectLines(lines: Buffer, names: ReadonlySet<string>): BatchPart {
  const found: Buffer[] = [];
  for (const view of rowViews(lines))
    if (names.has(versionKeyOf(keyOf(lines, view)))) found.push(lines.subarray(view.start, view.end));
  return {
    lines: Buffer.concat(found.flatMap((line, index) => (index === 0 ? [line] : [lineFeed, line]))),
    rows: found.length,
  };
}

const lineFeed = Buffer.from('\n');
