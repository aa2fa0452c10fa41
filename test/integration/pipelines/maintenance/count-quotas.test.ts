import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ClickHouseError } from '@clickhouse/client';
import type { CachedSurvey } from '../../../../src/actors/survey-cache.ts';
import type { Outcome } from '../../../../src/domain/outcome.ts';
import type { CellQuota } from '../../../../src/domain/quotas/cell-quota.ts';
import { checkAnswers, compileSurvey } from '../../../../src/domain/submission/answers.ts';
import { createLog } from '../../../../src/log.ts';
import { createCountQuotas } from '../../../../src/pipelines/maintenance/count-quotas.ts';
import { type CountTurnsDeps, quotaCountTasks } from '../../../../src/pipelines/maintenance/count-turns.ts';
import { newId } from '../../../../src/platform/ids.ts';
import type { ResponseRecord } from '../../../../src/stores/clickhouse/responses.ts';
import type { IntakeSubmission } from '../../../../src/stores/redis/intake/append-protocol.ts';
import { createShards, quotasKey } from '../../../../src/stores/redis/intake/shards.ts';
import { appendix, type OpenIntake, openIntake, submittedAt } from '../../../support/intake.ts';
import { surveyOf } from '../../../support/path-surveys.ts';

const shards = createShards(1);
const { survey: plain, questions } = surveyOf([{ type: 'MULTIPLE_CHOICE', options: [{ text: 'a' }] }]);
const quota: CellQuota = {
  id: newId(),
  code: 1,
  name: 'A',
  limit: 2,
  where: {
    questionId: questions[0]?.id ?? '',
    operator: 'isAnyOf',
    optionIds: [questions[0]?.options[0]?.id ?? ''],
  },
  counts: 'COMPLETED',
  whenFull: 'OVER_QUOTA',
  isActive: true,
  version: 1,
};

/** A response that is COMPLETED in the cell. */
function responseOf(surveyId: string): ResponseRecord {
  const answers = [{ questionId: questions[0]?.id, optionId: questions[0]?.options[0]?.id }];
  const checked = checkAnswers(compileSurvey(plain), answers, { isComplete: true, uploads: new Map() });
  assert.ok(checked.ok);
  return {
    surveyId,
    responseId: newId(),
    submittedAt: new Date(submittedAt),
    version: 1,
    surveyVersion: 1,
    outcome: 'COMPLETED',
    completedAt: null,
    durationMs: null,
    language: 'en',
    respondent: '',
    metadata: {},
    row: checked.row,
  };
}

/** Nothing that a count reads beside the survey and the stored responses delays it or adds to it. */
const bareDeps = {
  reading: { caughtUp: async () => undefined },
  surveys: { idsWithQuotas: async () => [] },
  deadLetters: { ofSurvey: async () => [] },
  formerVersions: { ofResponse: async () => assert.fail('there is one version') },
  metrics: { quotaDifference: () => undefined },
  log: createLog('silent'),
};

/** Makes what runs the tasks that count quotas of which that was asked, as often as they are wanted. */
function createCounting(deps: Parameters<typeof createCountQuotas>[0] & Omit<CountTurnsDeps, 'count'>) {
  const tasks = quotaCountTasks({ ...deps, count: createCountQuotas(deps) });
  return async (): Promise<void> => {
    for (const { everyMs, run } of tasks) if (everyMs <= 1000) await run();
  };
}

describe('a count of stored responses in quotas by cell that failed', () => {
  let open: OpenIntake;
  before(async () => {
    open = await openIntake(shards);
  });
  after(() => open?.close());

  /**
   * A survey of so many accepted responses that the intake hears of for the first time, and how it is counted: each
   * count that fails takes eight seconds, by a clock of its own.
   */
  const startCounting = async (
    total: number,
    {
      others = [],
      quotas = [quota],
      stopping,
      onLook,
    }: {
      others?: string[];
      quotas?: CellQuota[];
      stopping?: AbortController;
      onLook?: (surveyId: string) => void;
    } = {},
  ) => {
    const surveyId = newId();
    const survey = { ...plain, id: surveyId, quotas };
    const facts = { surveyId, revision: 1, quota: null, codePositions: 3, completed: total, total };
    await open.intake.announce({ ...facts, cellQuotas: quotas });
    const warnings: unknown[] = [];
    const log = createLog('silent');
    log.warn = (fields: unknown) => void warnings.push(fields);
    const state = {
      nowMs: 0,
      isFailing: true,
      begun: 0,
      isIncomplete: false,
      stored: [] as ResponseRecord[],
      onSnapshot: (): Promise<void> => Promise.resolve(),
      find: async () => (state.isIncomplete ? [{ table: 'responses', name: 'a', path: '/a' }] : []),
    };
    const run = createCounting({
      ...bareDeps,
      actors: {
        async sync(id) {
          onLook?.(id);
          return { survey, compiled: compileSurvey(survey) } as unknown as CachedSurvey;
        },
      },
      intake: { ...open.intake, quotas: { ...open.intake.quotas, surveysToCount: async () => [surveyId, ...others] } },
      responses: {
        async *snapshot() {
          state.begun += 1;
          stopping?.abort();
          if (state.isFailing) {
            state.nowMs += 8000;
            throw new Error('the response store is slow');
          }
          await state.onSnapshot();
          yield state.stored;
        },
        wasDeleted: async () => false,
      },
      lostParts: { find: () => state.find() },
      log,
      ...(stopping && { stopping: stopping.signal }),
      monotonicMs: () => state.nowMs,
      freezeMs: 60_000,
    });
    const submit = async (cells: readonly number[] = [], more: Partial<IntakeSubmission> = {}) =>
      (await open.intake.append(appendix(surveyId, { cells, ...more }))).code;
    const remove = (outcome: Outcome = 'COMPLETED') =>
      open.intake.deleteResponse({
        surveyId,
        responseId: newId(),
        submittedAtMs: submittedAt,
        outcome,
        row: '["gone"]',
      });
    const countNow = async (code = 1) => (await open.intake.quotas.counts(surveyId)).get(code)?.count;
    /** Compares, and gives the count of the quota then. */
    const compare = async () => {
      await open.intake.quotas.requestCount(surveyId);
      await runAfter(60_000);
      return countNow();
    };
    const runAfter = async (ms: number) => {
      state.nowMs += ms;
      await run();
      return state.begun;
    };
    return { state, submit, remove, runAfter, countNow, compare, surveyId, warnings };
  };

  it('is tried again within two seconds while submissions wait for it, as after Redis was emptied', async () => {
    const { state, submit, runAfter } = await startCounting(5);
    assert.equal(await submit(), 'FROZEN');
    const begun = [await runAfter(0), await runAfter(100), await runAfter(1900), await runAfter(2000)];
    assert.deepEqual(begun, [1, 1, 2, 3]);
    assert.equal(await submit(), 'FROZEN');
    state.isFailing = false;
    assert.equal(await runAfter(2000), 4);
    assert.equal(await submit(), 'ACCEPTED');
  });

  it('is put off for half a minute while none wait, since they would wait for the next one', async () => {
    const { state, submit, runAfter } = await startCounting(0);
    assert.equal(await runAfter(0), 1);
    assert.equal(await submit(), 'ACCEPTED');
    state.isFailing = false;
    assert.deepEqual([await runAfter(2000), await runAfter(27_900), await runAfter(100)], [1, 1, 2]);
  });

  it('ends with the survey that it has begun when the service stops, however many are left', async () => {
    const looked: string[] = [];
    const others = Array.from({ length: 3 }, () => newId());
    const { state, submit, runAfter, surveyId } = await startCounting(5, {
      others,
      stopping: new AbortController(),
      onLook: (id) => looked.push(id),
    });
    state.isFailing = false;
    assert.equal(await runAfter(0), 1);
    assert.deepEqual(looked, [surveyId]);
    assert.equal(await submit(), 'ACCEPTED');
  });

  it('is not tried again while stored responses are missing, once the quotas were counted', async () => {
    const { state, submit, runAfter, countNow, compare, surveyId } = await startCounting(0);
    state.isFailing = false;
    await runAfter(0);
    const { isSettled } = await open.intake.quotas.state(surveyId);
    await submit([1]);
    await open.plain.hincrby(quotasKey(shards.of(surveyId), surveyId), 'c1', 1);
    state.isIncomplete = true;
    await open.intake.quotas.requestCount(surveyId);
    const begun = await runAfter(60_000);
    assert.deepEqual([isSettled, begun, await countNow(), await submit()], [true, 1, 2, 'ACCEPTED']);
    state.isIncomplete = false;
    state.stored = [responseOf(surveyId), { ...responseOf(surveyId), row: compileSurvey(plain).emptyRow }];
    assert.deepEqual([await compare(), state.begun], [1, 2]);
  });

  it('lowers no count by the responses that were accepted and are not stored, as after the table was lost', async () => {
    const { state, submit, remove, runAfter, compare, surveyId } = await startCounting(0);
    state.isFailing = false;
    await runAfter(0);
    const submitted = [await submit([1]), await submit([1]), await submit([1])];
    assert.deepEqual(submitted, ['ACCEPTED', 'ACCEPTED', 'OVER_QUOTA']);
    assert.deepEqual([await compare(), await submit([1])], [2, 'OVER_QUOTA']);
    const [first, ...others] = Array.from({ length: 4 }, () => responseOf(surveyId));
    assert.ok(first);
    state.stored = [first];
    assert.equal(await compare(), 2, 'three lack');
    // As if one of them had been counted in this cell by mistake.
    state.stored = [first, ...others.map((other) => ({ ...other, outcome: 'OVER_QUOTA' as const }))];
    assert.equal(await compare(), 2, 'one that is COMPLETED lacks');
    await remove();
    state.stored.pop();
    assert.deepEqual([await compare(), await submit([1])], [1, 'ACCEPTED'], 'the seat of a deleted one comes back');
  });

  it('lowers no count by those that are deleted while it reads what is stored, and says what is missing later', async () => {
    const { state, submit, remove, runAfter, compare, surveyId, warnings } = await startCounting(0);
    state.isFailing = false;
    await runAfter(0);
    for (const cells of [[1], [1], [], []]) assert.equal(await submit(cells), 'ACCEPTED');
    const others = [responseOf(surveyId), responseOf(surveyId)];
    state.stored = others.map((other) => ({ ...other, row: compileSurvey(plain).emptyRow }));
    state.onSnapshot = async () => {
      for (const _ of others) await remove();
    };
    assert.deepEqual([await compare(), await submit([1])], [2, 'OVER_QUOTA'], 'those with the seats lack');
    assert.deepEqual(warnings, [], 'a deletion may be why some lack');
    state.onSnapshot = async () => undefined;
    state.stored = [{ ...responseOf(surveyId), outcome: 'OVER_QUOTA' }];
    assert.deepEqual([await compare(), await compare()], [2, 2]);
    const warning = { surveyId, missing: { total: 2, completed: 2 } };
    assert.deepEqual(warnings, [warning], 'once while it is the same');
    await runAfter(24 * 3600_000);
    await compare();
    assert.deepEqual(warnings, [warning, warning], 'and again on another day');
  });

  it('leaves a missing save its seats in quotas of what it changes: the completed, or also the started', async () => {
    const started: CellQuota = { ...quota, id: newId(), code: 2, counts: 'STARTED' };
    const { state, submit, runAfter, countNow, compare, surveyId } = await startCounting(0, {
      quotas: [quota, started],
    });
    state.isFailing = false;
    await runAfter(0);
    const countBoth = async () => [await compare(), await countNow(2)];
    await submit([2], { outcome: 'PARTIAL' });
    // As if the first cell had a seat that nobody took.
    await open.plain.hincrby(quotasKey(shards.of(surveyId), surveyId), 'c1', 1);
    assert.deepEqual(await countBoth(), [0, 1], 'a PARTIAL lacks');
    await submit([1, 2]);
    state.stored = [{ ...responseOf(surveyId), outcome: 'PARTIAL', row: compileSurvey(plain).emptyRow }];
    assert.deepEqual(await countBoth(), [1, 2], 'a PARTIAL lacks, and that another one was completed in the cell');
  });

  it('is tried again where nobody can say whether a part is lost, unless for lack of the right to look', async () => {
    const { state, submit, runAfter, surveyId, compare } = await startCounting(0);
    state.isFailing = false;
    state.find = async () => assert.fail('ClickHouse is busy');
    assert.equal(await runAfter(0), 0);
    state.find = () =>
      Promise.reject(new ClickHouseError({ message: 'no rights', code: '497', type: 'ACCESS_DENIED' }));
    await submit([1]);
    state.stored = [responseOf(surveyId)];
    assert.deepEqual([await compare(), state.begun], [1, 1]);
  });
});

describe('a request to count the quotas by cell of a survey that has none', () => {
  let open: OpenIntake;
  before(async () => {
    open = await openIntake(shards);
  });
  after(() => open?.close());

  /** Whether the survey is still to be counted after its row was read without quotas; `onRead` comes just after that. */
  async function isKept(onRead: (announce: (quotas: readonly CellQuota[]) => Promise<void>) => Promise<void>) {
    const survey = { ...plain, id: newId() };
    const { surveysToCount, requestCount } = open.intake.quotas;
    let revision = 0;
    const announce = async (cellQuotas: readonly CellQuota[]): Promise<void> => {
      revision += 1;
      const facts = { surveyId: survey.id, revision, quota: null, codePositions: 3, completed: 0, total: 0 };
      await open.intake.announce({ ...facts, cellQuotas });
    };
    await announce([]);
    await requestCount(survey.id);
    const run = createCounting({
      ...bareDeps,
      actors: {
        async sync() {
          const read = { survey, compiled: compileSurvey(survey) } as unknown as CachedSurvey;
          await onRead(announce);
          return read;
        },
      },
      intake: { ...open.intake, quotas: { ...open.intake.quotas, surveysToCount: async () => [survey.id] } },
      responses: { snapshot: () => assert.fail('nothing is counted'), wasDeleted: async () => false },
      lostParts: { find: async () => [] },
    });
    await run();
    return (await surveysToCount()).includes(survey.id);
  }

  it('is dropped', async () => {
    assert.equal(await isKept(async () => undefined), false);
  });

  it('is kept where a quota was added after its row was read', async () => {
    assert.equal(await isKept((announce) => announce([quota])), true);
  });
});
