import { setTimeout as pause } from 'node:timers/promises';
import { defaultCollectorCode } from '../domain/collectors/collector.ts';
import { collectorCodeOf, indexCollectors } from '../domain/collectors/survey-collectors.ts';
import { activeQuotas } from '../domain/quotas/cell-quota.ts';
import { idsOfLine } from '../domain/response-row.ts';
import { compileSurvey } from '../domain/submission/answers.ts';
import type { SurveyWithQuestions } from '../domain/survey.ts';
import type { RetainedRowsCheck } from '../pipelines/ingest/retained-rows-check.ts';
import { maxRetentionMs } from '../pipelines/ingest/retention.ts';
import { type CountCellsDeps, countCells } from '../pipelines/maintenance/count-cells.ts';
import type { LostParts } from '../stores/clickhouse/read/lost-parts.ts';
import type { ResponseStore } from '../stores/clickhouse/responses.ts';
import type { SavedCounts, SurveyStore } from '../stores/postgres/surveys.ts';
import { isAtOrAfter } from '../stores/redis/intake/entry-id.ts';
import type { Intake } from '../stores/redis/intake/intake.ts';
import type { Shard, Shards } from '../stores/redis/intake/shards.ts';
import type { Stream } from '../stores/redis/intake/stream.ts';
import { type AbsentSurveysDeps, reconcileAbsentSurveys } from './absent-surveys.ts';

export interface ReconcileOptions extends CountCellsDeps, Pick<AbsentSurveysDeps, 'deletedSurveys'> {
  shards: Shards;
  stream: Pick<Stream, 'newestId' | 'acknowledged' | 'acknowledgedBefore' | 'hasEntryUpTo' | 'findDeadLetters'>;
  retentionCheck: RetainedRowsCheck;
  intake: Pick<Intake, 'counts' | 'completedByCollector'> & { quotas: Pick<Intake['quotas'], 'state'> };
  responses: AbsentSurveysDeps['responses'] &
    Pick<ResponseStore, 'insertBatch' | 'countCompleteByCode' | 'snapshot' | 'wasDeleted'>;
  lostParts: Pick<LostParts, 'find'>;
  surveys: Pick<SurveyStore, 'savedCounts' | 'saveCounts' | 'load' | 'addEvents'>;
  isRepairing: boolean;
  surveyId: string | undefined;
  after: string | undefined;
  print(line: string): void;
  /** How often counts that differ are compared again, and the pause before each, for those that are just changing. */
  retry?: { tries: number; pauseMs: number };
}

const pageSize = 100;
const defaultRetry = { tries: 5, pauseMs: 1000 };
const storeTimeoutMs = 15_000;

interface Counts {
  total: number;
  completed: number;
}

/**
 * Compares accepted with stored responses and with the counts in survey rows, while the service runs. Returns true if
 * nothing differs, or all differences were repaired, and ClickHouse holds neither a damaged part nor responses of surveys
 * that are not there.
 */
export async function reconcile(options: ReconcileOptions): Promise<boolean> {
  const isWhole = options.surveyId === undefined && options.after === undefined;
  const isWindowConsistent = !isWhole || (await reconcileRetentionWindow(options));
  const hasNoAbsentSurveys = !isWhole || (await reconcileAbsentSurveys(options));
  const areCountsConsistent = await reconcileCounts(options);
  const isComplete = await reportLostParts(options);
  return isWindowConsistent && hasNoAbsentSurveys && isComplete && areCountsConsistent;
}

/** Counts of an intake that was emptied come from ClickHouse, so they do not show what a lost part held. */
async function reportLostParts({ lostParts, print }: ReconcileOptions): Promise<boolean> {
  const lost = await lostParts.find();
  for (const { table, name, path } of lost)
    print(
      `ClickHouse has moved a damaged part out of the table ${table}, whose rows may be missing: ${name} (${path})`,
    );
  return lost.length === 0;
}

async function reconcileRetentionWindow({
  shards,
  stream,
  retentionCheck,
  responses,
  isRepairing,
  print,
}: ReconcileOptions): Promise<boolean> {
  let isConsistent = true;
  for (const shard of shards.all) {
    let [checkedRows, missingRows, restoredRows] = [0, 0, 0];
    // Nobody knows any more which surveys were erased since then: their rows would be stored again.
    const after = await stream.acknowledgedBefore(shard, maxRetentionMs);
    if (await stream.hasEntryUpTo(shard, after))
      print(`shard ${shard.index}: entries that were stored more than a day ago are left out`);
    for await (const { seen: checked, missing } of retentionCheck.missing(shard, {
      after,
      until: await stream.acknowledged(shard),
    })) {
      checkedRows += checked;
      if (!missing) continue;
      missingRows += missing.rows;
      for (const line of missing.lines.toString().split('\n'))
        print(`shard ${shard.index}: not stored: ${describeRow(line)}`);
      if (isRepairing && (await responses.insertBatch(missing)).kind === 'stored') restoredRows += missing.rows;
    }
    const repaired = restoredRows > 0 ? `, ${restoredRows} stored again` : '';
    print(`shard ${shard.index}: ${checkedRows} rows in the stream, ${missingRows} of them not stored${repaired}`);
    if (missingRows > restoredRows) isConsistent = false;
  }
  return isConsistent;
}

/** The ids of a row, without its answers. */
function describeRow(line: string): string {
  const { surveyId, responseId } = idsOfLine(line) ?? { surveyId: 'unknown', responseId: 'unknown' };
  return `response ${responseId} of survey ${surveyId}`;
}

async function reconcileCounts(options: ReconcileOptions): Promise<boolean> {
  const { surveys, surveyId, print } = options;
  let [checked, different] = [0, 0];
  for (let after = options.after; ; ) {
    const page = await surveys.savedCounts({ after, surveyId, limit: pageSize });
    for (const saved of page) {
      checked += 1;
      if (!(await reconcileSurvey(options, saved))) different += 1;
    }
    after = page.at(-1)?.surveyId;
    if (after === undefined || page.length < pageSize) break;
    print(`compared the surveys up to ${after}; to continue after it: --after ${after}`);
  }
  if (surveyId !== undefined && checked === 0) {
    print(`there is no survey ${surveyId}`);
    return false;
  }
  print(`${checked} surveys compared, ${different} differ`);
  return different === 0;
}

async function reconcileSurvey(options: ReconcileOptions, saved: SavedCounts): Promise<boolean> {
  const { surveyId } = saved;
  const { retry = defaultRetry, isRepairing, print, surveys } = options;
  let differences: string[] = [];
  let row: SavedCounts | undefined = saved;
  for (let attempt = 0; attempt < retry.tries; attempt += 1) {
    if (attempt > 0) {
      await pause(retry.pauseMs);
      row = await findSavedCounts(surveys, surveyId);
    }
    if (!row) return true;
    differences = await findDifferences(options, row);
    if (differences.length === 0) return true;
  }
  for (const difference of differences) print(`survey ${surveyId}: ${difference}`);
  if (!isRepairing) return false;
  const counts = (await options.intake.counts(surveyId)) ?? (await countStored(options, surveyId));
  if (row)
    await surveys.saveCounts([{ surveyId, responses: counts.total, completed: counts.completed, insteadOf: row }]);
  row = await findSavedCounts(surveys, surveyId);
  const remaining = row ? await findDifferences(options, row) : differences;
  if (remaining.length === 0) print(`survey ${surveyId}: its row was corrected`);
  return remaining.length === 0;
}

async function countStored({ responses }: Pick<ReconcileOptions, 'responses'>, surveyId: string): Promise<Counts> {
  const stored = (await responses.countBySurvey([surveyId])).get(surveyId);
  return { total: stored?.total ?? 0, completed: stored?.complete ?? 0 };
}

async function findSavedCounts(
  surveys: ReconcileOptions['surveys'],
  surveyId: string,
): Promise<SavedCounts | undefined> {
  const [saved] = await surveys.savedCounts({ surveyId, limit: 1 });
  return saved;
}

/** The differences that responses accepted meanwhile do not explain, each as a sentence. */
async function findDifferences(options: ReconcileOptions, saved: SavedCounts): Promise<string[]> {
  const { intake, surveys, stream, shards } = options;
  const { surveyId } = saved;
  const before = await intake.counts(surveyId);
  await waitUntilStored(stream, shards.of(surveyId));
  const storedCounts = await countStored(options, surveyId);
  if (!before) return findUnannouncedDifferences(saved, storedCounts);
  const deadLetterCount = await countDeadLetters(stream, shards.of(surveyId), surveyId);
  const after = (await intake.counts(surveyId)) ?? before;
  const hasChanged = before.total !== after.total || before.completed !== after.completed;
  const differences: string[] = [];
  if (!isExplained(storedCounts.total, before.total, after.total, deadLetterCount))
    differences.push(`the intake accepted ${after.total}, the response store holds ${storedCounts.total}`);
  if (!isExplained(storedCounts.completed, before.completed, after.completed, deadLetterCount))
    differences.push(
      `the intake counts ${after.completed} complete, the response store holds ${storedCounts.completed}`,
    );
  if (!hasChanged && (saved.responses !== after.total || saved.completed !== after.completed))
    differences.push(
      `its row says ${saved.responses} (${saved.completed} complete), the intake ${after.total} (${after.completed})`,
    );
  if (saved.isOpen && saved.quota !== null && Math.min(before.completed, after.completed) > saved.quota)
    differences.push(`${after.completed} complete responses are more than its quota of ${saved.quota}`);
  const survey = differences.length === 0 ? await surveys.load(surveyId) : undefined;
  if (survey) differences.push(...(await findCollectorDifferences(options, survey)));
  if (survey) differences.push(...(await findQuotaDifferences(options, survey)));
  return differences;
}

/**
 * The intake does not know a survey that was never announced, or, since it was emptied, not announced again: its counters
 * will begin with the stored responses.
 */
function findUnannouncedDifferences(saved: SavedCounts, stored: Counts): string[] {
  if (saved.responses === stored.total && saved.completed === stored.completed) return [];
  return [
    `the intake does not know it, its row says ${saved.responses} (${saved.completed} complete), the response store holds ${stored.total} (${stored.completed})`,
  ];
}

/**
 * Whether responses that were accepted or deleted between two readings of a counter explain what was found between them.
 * Responses that the first one counts must have been stored before anything is looked for, except `missing` of them.
 */
const isExplained = (found: number, first: number, last: number, missing = 0): boolean =>
  found >= Math.min(first, last) - missing && found <= Math.max(first, last);

/** Collectors whose count no response that was accepted or deleted meanwhile explains. */
async function findCollectorDifferences(
  { intake, responses, deadLetters, stream, shards }: ReconcileOptions,
  survey: SurveyWithQuestions,
): Promise<string[]> {
  const index = indexCollectors(survey);
  const collectors = survey.collectors ?? [];
  const codes = collectors.map(({ code }) => code);
  const before = index.isCounted ? await intake.completedByCollector(survey.id, codes) : undefined;
  if (!before) return [];
  await waitUntilStored(stream, shards.of(survey.id));
  const stored =
    index.slot === null
      ? new Map([[defaultCollectorCode, (await responses.countBySurvey([survey.id])).get(survey.id)?.complete ?? 0]])
      : await responses.countCompleteByCode(survey.id, index.slot);
  const ofDeadLetters = new Map<number, number>();
  for (const { row } of await deadLetters.ofSurvey(survey.id)) {
    if (row.head?.outcome !== 'COMPLETED' || !row.answers) continue;
    const code = collectorCodeOf(index, row.answers.codes);
    ofDeadLetters.set(code, (ofDeadLetters.get(code) ?? 0) + 1);
  }
  const after = (await intake.completedByCollector(survey.id, codes)) ?? before;
  return collectors.flatMap(({ name, code }) => {
    const [first, last, found] = [before.get(code), after.get(code), stored.get(code) ?? 0];
    if (first === undefined || last === undefined) return [];
    if (isExplained(found + (ofDeadLetters.get(code) ?? 0), first, last)) return [];
    return [`the intake counts ${last} by the collector ${JSON.stringify(name)}, the response store holds ${found}`];
  });
}

/** Quotas by cell whose count no response that was accepted or deleted meanwhile explains. */
async function findQuotaDifferences(options: ReconcileOptions, survey: SurveyWithQuestions): Promise<string[]> {
  const { intake, stream, shards } = options;
  const quotas = activeQuotas(survey.quotas);
  const before = await intake.quotas.state(survey.id);
  if (quotas.length === 0 || !before.isSettled) return [];
  await waitUntilStored(stream, shards.of(survey.id));
  const { cells } = await countCells(options, { survey, compiled: compileSurvey(survey) });
  const after = await intake.quotas.state(survey.id);
  if (!after.isSettled) return [];
  return quotas.flatMap(({ name, code }) => {
    const [first, last] = [before.counts.get(code)?.count, after.counts.get(code)?.count];
    const found = cells.get(code) ?? 0;
    if (first === undefined || last === undefined || isExplained(found, first, last)) return [];
    return [`the intake counts ${last} in its quota ${JSON.stringify(name)}, the response store holds ${found}`];
  });
}

/** Accepted rows that the response store could not read: they are neither stored nor lost. */
async function countDeadLetters(stream: ReconcileOptions['stream'], shard: Shard, surveyId: string): Promise<number> {
  let count = 0;
  for await (const _ of stream.findDeadLetters(shard, { surveyId })) count += 1;
  return count;
}

/** Waits until all that the shard has accepted by now is stored. */
async function waitUntilStored(stream: ReconcileOptions['stream'], shard: Shard): Promise<void> {
  const newestId = await stream.newestId(shard);
  const deadlineMs = performance.now() + storeTimeoutMs;
  while (!isAtOrAfter(await stream.acknowledged(shard), newestId)) {
    if (performance.now() > deadlineMs)
      throw new Error(
        `Shard ${shard.index} was not stored within ${storeTimeoutMs / 1000} s: check that the service runs and reaches its response store`,
      );
    await pause(50);
  }
}
