import { setTimeout as pause } from 'node:timers/promises';
import type { TailCheck } from '../pipelines/ingest/tail-check.ts';
import type { ResponseStore } from '../stores/clickhouse/responses.ts';
import type { SavedCounts, SurveyStore } from '../stores/postgres/surveys.ts';
import type { Intake } from '../stores/redis/intake.ts';
import type { Shard, Shards } from '../stores/redis/shards.ts';
import { isAtOrAfter, type Stream } from '../stores/redis/stream.ts';

export interface ReconcileOptions {
  shards: Shards;
  stream: Pick<Stream, 'newest' | 'acknowledged' | 'letters'>;
  tailCheck: TailCheck;
  intake: Pick<Intake, 'counts'>;
  responses: Pick<ResponseStore, 'insertBatch' | 'countOf'>;
  surveys: Pick<SurveyStore, 'savedCounts' | 'saveCounts'>;
  isRepairing: boolean;
  surveyId: string | undefined;
  after: string | undefined;
  print(line: string): void;
  /** How often and how long counts that move are looked at again. */
  patience?: { tries: number; pauseMs: number };
}

const pageSize = 100;
const usualPatience = { tries: 5, pauseMs: 1000 };
const storedWithinMs = 15_000;

interface Counts {
  total: number;
  completed: number;
}

/** Compares what was accepted with what is stored and what surveys say of it, on a system that is at work. True: nothing differs any more. */
export async function reconcile(options: ReconcileOptions): Promise<boolean> {
  const isTailRight = options.surveyId === undefined && options.after === undefined ? await reconcileTails(options) : true;
  const areCountsRight = await reconcileCounts(options);
  return isTailRight && areCountsRight;
}

async function reconcileTails({ shards, stream, tailCheck, responses, isRepairing, print }: ReconcileOptions): Promise<boolean> {
  let isRight = true;
  for (const shard of shards.all) {
    let [seen, lacking, restored] = [0, 0, 0];
    for await (const { seen: more, missing } of tailCheck.missing(shard, { after: '0-0', until: await stream.acknowledged(shard) })) {
      seen += more;
      if (!missing) continue;
      lacking += missing.rows;
      for (const line of missing.lines.toString().split('\n')) print(`shard ${shard.index}: not stored: ${namesIn(line)}`);
      if (isRepairing && (await responses.insertBatch(missing)).kind === 'stored') restored += missing.rows;
    }
    const repaired = restored > 0 ? `, ${restored} stored again` : '';
    print(`shard ${shard.index}: ${seen} rows kept in the stream, ${lacking} of them missing${repaired}`);
    if (lacking > restored) isRight = false;
  }
  return isRight;
}

/** The survey and the response of a row: its answers are nobody's business here. */
const namesIn = (line: string): string => `response ${line.slice(41, 77)} of survey ${line.slice(2, 38)}`;

async function reconcileCounts(options: ReconcileOptions): Promise<boolean> {
  const { surveys, surveyId, print } = options;
  let [looked, different] = [0, 0];
  for (let after = options.after; ; ) {
    const page = await surveys.savedCounts({ after, surveyId, limit: pageSize });
    for (const saved of page) {
      looked += 1;
      if (!(await reconcileSurvey(options, saved))) different += 1;
    }
    after = page.at(-1)?.surveyId;
    if (after === undefined || page.length < pageSize) break;
    print(`surveys up to ${after} were looked at`);
  }
  print(`${looked} surveys looked at, ${different} differ`);
  return different === 0;
}

async function reconcileSurvey(options: ReconcileOptions, saved: SavedCounts): Promise<boolean> {
  const { surveyId } = saved;
  const { patience = usualPatience, isRepairing, print, surveys } = options;
  let differences: string[] = [];
  let row: SavedCounts | undefined = saved;
  for (let attempt = 0; attempt < patience.tries; attempt += 1) {
    if (attempt > 0) {
      await pause(patience.pauseMs);
      row = await savedOf(surveys, surveyId);
    }
    if (!row) return true;
    differences = await compare(options, row);
    if (differences.length === 0) return true;
  }
  for (const difference of differences) print(`survey ${surveyId}: ${difference}`);
  if (!isRepairing) return false;
  const counts = await options.intake.counts(surveyId);
  if (counts) await surveys.saveCounts([{ surveyId, responses: counts.total, completed: counts.completed }]);
  const left = row && counts ? await compare(options, { ...row, responses: counts.total, completed: counts.completed }) : differences;
  if (left.length === 0) print(`survey ${surveyId}: its row was corrected`);
  return left.length === 0;
}

async function savedOf(surveys: ReconcileOptions['surveys'], surveyId: string): Promise<SavedCounts | undefined> {
  const [saved] = await surveys.savedCounts({ surveyId, limit: 1 });
  return saved;
}

/** What differs although nothing that was accepted meanwhile explains it. */
async function compare({ intake, responses, stream, shards }: ReconcileOptions, saved: SavedCounts): Promise<string[]> {
  const { surveyId } = saved;
  const before = await intake.counts(surveyId);
  // The intake forgets surveys that were never announced to it: there is nothing to compare.
  if (!before) return [];
  await stored(stream, shards.of(surveyId));
  const there = (await responses.countOf([surveyId])).get(surveyId) ?? { total: 0, complete: 0 };
  const letters = await deadLetters(stream, shards.of(surveyId), surveyId);
  const after = (await intake.counts(surveyId)) ?? before;
  const isMoving = before.total !== after.total || before.completed !== after.completed;
  const differences: string[] = [];
  const differs = (found: number, of: keyof Counts): boolean => found < Math.min(before[of], after[of]) - letters || found > Math.max(before[of], after[of]);
  if (differs(there.total, 'total')) differences.push(`the intake accepted ${after.total}, the response store holds ${there.total}`);
  if (differs(there.complete, 'completed')) differences.push(`the intake counts ${after.completed} complete, the response store holds ${there.complete}`);
  if (!isMoving && (saved.responses !== after.total || saved.completed !== after.completed)) differences.push(`its row says ${saved.responses} (${saved.completed} complete), the intake ${after.total} (${after.completed})`);
  if (saved.isOpen && saved.quota !== null && Math.min(before.completed, after.completed) > saved.quota) differences.push(`${after.completed} complete responses are more than its quota of ${saved.quota}`);
  return differences;
}

/** Accepted rows that the response store could not read: they are neither stored nor lost. */
async function deadLetters(stream: ReconcileOptions['stream'], shard: Shard, surveyId: string): Promise<number> {
  let count = 0;
  for await (const _ of stream.letters(shard, { surveyId })) count += 1;
  return count;
}

/** Waits until all that the shard has accepted by now is stored. */
async function stored(stream: ReconcileOptions['stream'], shard: Shard): Promise<void> {
  const goal = await stream.newest(shard);
  const until = performance.now() + storedWithinMs;
  while (!isAtOrAfter(await stream.acknowledged(shard), goal)) {
    if (performance.now() > until) throw new Error(`What shard ${shard.index} accepted is not stored within ${storedWithinMs / 1000} s: does the service run, and is its response store there?`);
    await pause(50);
  }
}
