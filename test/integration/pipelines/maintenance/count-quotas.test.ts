import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { CachedSurvey } from '../../../../src/actors/survey-cache.ts';
import type { CellQuota } from '../../../../src/domain/quotas/cell-quota.ts';
import { compileSurvey } from '../../../../src/domain/submission/answers.ts';
import { createLog } from '../../../../src/log.ts';
import { createCountQuotas } from '../../../../src/pipelines/maintenance/count-quotas.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createShards } from '../../../../src/stores/redis/intake/shards.ts';
import { appendix, type OpenIntake, openIntake } from '../../../support/intake.ts';
import { surveyOf } from '../../../support/path-surveys.ts';

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

/** Nothing that a count reads beside the survey and the stored responses delays it or adds to it. */
const bareDeps = {
  reading: { caughtUp: async () => undefined },
  surveys: { idsWithQuotas: async () => [] },
  deadLetters: { ofSurvey: async () => [] },
  formerVersions: { ofResponse: async () => assert.fail('there is one version') },
  metrics: { quotaDifference: () => undefined },
  log: createLog('silent'),
};

describe('a count of stored responses in quotas by cell that failed', () => {
  let open: OpenIntake;
  before(async () => {
    open = await openIntake(createShards(1));
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
      stopping,
      onLook,
    }: { others?: string[]; stopping?: AbortController; onLook?: (surveyId: string) => void } = {},
  ) => {
    const surveyId = newId();
    const survey = { ...plain, id: surveyId, quotas: [quota] };
    const facts = { surveyId, revision: 1, quota: null, codePositions: 3, completed: total, total };
    await open.intake.announce({ ...facts, cellQuotas: [quota] });
    const state = { nowMs: 0, isFailing: true, begun: 0, isIncomplete: false };
    const { run } = createCountQuotas({
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
          yield [];
        },
        wasDeleted: async () => false,
      },
      lostParts: { find: async () => (state.isIncomplete ? [{ table: 'responses', name: 'a', path: '/a' }] : []) },
      ...(stopping && { stopping: stopping.signal }),
      monotonicMs: () => state.nowMs,
      freezeMs: 60_000,
    });
    const submit = async () => (await open.intake.append(appendix(surveyId))).code;
    const runAfter = async (ms: number) => {
      state.nowMs += ms;
      await run();
      return state.begun;
    };
    return { state, submit, runAfter, surveyId };
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
    const { state, submit, runAfter, surveyId } = await startCounting(0);
    state.isFailing = false;
    await runAfter(0);
    const countNow = async () => (await open.intake.quotas.counts(surveyId)).get(1)?.count;
    const { isSettled } = await open.intake.quotas.state(surveyId);
    await open.intake.append(appendix(surveyId, { cells: [1] }));
    state.isIncomplete = true;
    await open.intake.quotas.requestCount(surveyId);
    const begun = await runAfter(60_000);
    assert.deepEqual([isSettled, begun, await countNow(), await submit()], [true, 1, 1, 'ACCEPTED']);
    state.isIncomplete = false;
    await open.intake.quotas.requestCount(surveyId);
    assert.deepEqual([await runAfter(60_000), await countNow()], [2, 0]);
  });
});

describe('a request to count the quotas by cell of a survey that has none', () => {
  let open: OpenIntake;
  before(async () => {
    open = await openIntake(createShards(1));
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
    const { run } = createCountQuotas({
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
