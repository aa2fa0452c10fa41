import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { blankCollector } from '../../../src/domain/collectors/collector.ts';
import { checkAnswers, compileSurvey } from '../../../src/domain/submission/answers.ts';
import type { SurveyWithQuestions } from '../../../src/domain/survey.ts';
import { newId } from '../../../src/platform/ids.ts';
import { type ReconcileOptions, reconcile } from '../../../src/reconcile/reconcile.ts';
import type { ResponseRecord } from '../../../src/stores/clickhouse/responses.ts';
import { createShards } from '../../../src/stores/redis/intake/shards.ts';
import { surveyOf } from '../../support/path-surveys.ts';

const { survey: plain, questions } = surveyOf([{ type: 'YES_NO' }]);
const [question] = questions;
const answers = [{ questionId: question?.id ?? '', textValue: 'yes' }];
const withCollector: SurveyWithQuestions = {
  ...plain,
  collectors: [
    {
      ...blankCollector({ id: newId(), surveyId: plain.id, code: 0, linkId: 'abcdefghij', nowMs: 0 }),
      name: 'Panel',
      responseQuota: 100,
    },
  ],
};
const withQuota: SurveyWithQuestions = {
  ...plain,
  quotas: [
    {
      id: newId(),
      code: 1,
      name: 'Panel',
      limit: 100,
      where: { questionId: question?.id ?? '', operator: 'answered' },
      counts: 'COMPLETED',
      whenFull: 'OVER_QUOTA',
      isActive: true,
      version: 1,
    },
  ],
};
const never = () => assert.fail('not asked here');

/**
 * Runs over stores that hold one complete response; another is accepted after the totals were compared, and is stored
 * once somebody waits for it. `surplus`: what the counter of the collector or quota says above that.
 */
async function run(
  survey: SurveyWithQuestions,
  { surplus = 0, isBusy = false }: { surplus?: number; isBusy?: boolean } = {},
): Promise<string[]> {
  const checked = checkAnswers(compileSurvey(survey), answers, { isComplete: true, uploads: new Map() });
  assert.ok(checked.ok);
  const record: ResponseRecord = {
    surveyId: survey.id,
    responseId: newId(),
    submittedAt: new Date(1_750_000_000_000),
    version: 1,
    surveyVersion: survey.version,
    outcome: 'COMPLETED',
    completedAt: null,
    durationMs: null,
    language: 'en',
    respondent: '',
    metadata: {},
    row: checked.row,
  };
  let [accepted, stored] = [1, 1];
  let isCounting = false;
  const countStored = (): number => {
    const found = stored;
    if (isBusy && isCounting) accepted += 1;
    return found;
  };
  const said: string[] = [];
  const options: ReconcileOptions = {
    shards: createShards(1),
    surveyId: survey.id,
    after: undefined,
    isRepairing: false,
    retry: { tries: 1, pauseMs: 0 },
    print: (line) => void said.push(line),
    stream: {
      newestId: async () => `${accepted}-0`,
      acknowledged: async () => {
        stored = accepted;
        return `${stored}-0`;
      },
      acknowledgedBefore: never,
      hasEntryUpTo: never,
      findDeadLetters: async function* () {
        yield* [];
      },
    },
    retentionCheck: { missing: never },
    lostParts: { find: async () => [] },
    deadLetters: { ofSurvey: async () => [] },
    formerVersions: { ofResponse: never },
    deletedSurveys: { findAbsent: never },
    intake: {
      counts: async () => ({ total: accepted, completed: accepted }),
      completedByCollector: async () => new Map([[0, accepted + surplus]]),
      quotas: {
        state: async () => ({
          counts: new Map([[1, { count: accepted + surplus, isCounting: false }]]),
          isSettled: true,
        }),
      },
    },
    responses: {
      insertBatch: never,
      surveyIds: never,
      countCompleteByCode: never,
      wasDeleted: async () => false,
      countBySurvey: async () => {
        const found = countStored();
        return new Map([[survey.id, { total: found, complete: found }]]);
      },
      snapshot: async function* () {
        yield Array.from({ length: countStored() }, () => record);
      },
    },
    surveys: {
      saveCounts: never,
      addEvents: never,
      savedCounts: async () => [
        { surveyId: survey.id, revision: 1, responses: 1, completed: 1, quota: null, isOpen: true },
      ],
      load: async () => {
        accepted += 1;
        isCounting = true;
        return survey;
      },
    },
  };
  const isConsistent = await reconcile(options);
  const differences = said.filter((line) => line.startsWith('survey '));
  assert.equal(isConsistent, differences.length === 0);
  return differences;
}

describe('npm run reconcile, by collector and quota', () => {
  for (const [what, survey] of [
    ['collector', withCollector],
    ['quota', withQuota],
  ] as const) {
    it(`waits for what a ${what} has counted before it counts what is stored`, async () => {
      assert.deepEqual(await run(survey), []);
      assert.deepEqual(await run(survey, { isBusy: true }), []);
    });

    it(`finds what a ${what} counts and nobody has stored, also while others come in`, async () => {
      for (const isBusy of [false, true]) {
        const [difference = '', ...others] = await run(survey, { surplus: 5, isBusy });
        assert.match(difference, /the intake counts \d .* "Panel", the response store holds 2$/);
        assert.deepEqual(others, []);
      }
    });
  }
});
