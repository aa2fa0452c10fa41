import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEraseSurvey, type EraseSurveyDeps } from '../../../../src/pipelines/maintenance/erase-survey.ts';

const lastSteps = ['erasureLog.noteSurveyErased', 'surveys.addEvents'];

/** Stores that note each call. `markSurveyDeleted` is the given one. */
function setUp(markSurveyDeleted: () => Promise<void>) {
  const calls: string[] = [];
  const noting = (name: string): object =>
    new Proxy({}, { get: (_, method) => async () => void calls.push(`${name}.${String(method)}`) });
  const events: unknown[] = [];
  const noneFound = { findEverIncompleteIds: async () => [], eraseSurvey: async () => void calls.push('erased') };
  const stores = {
    ...Object.fromEntries(
      ['intake', 'definitions', 'invitations', 'annotations', 'unsavedReplies', 'erasureLog'].map((name) => [
        name,
        noting(name),
      ]),
    ),
    deliveries: { markSurveyDeleted },
    surveys: {
      async addEvents(added: readonly unknown[]) {
        calls.push('surveys.addEvents');
        events.push(...added);
      },
    },
    responses: noneFound,
  };
  const core = {
    reading: { caughtUp: async () => undefined },
    uploads: noting('uploads'),
    deadLetters: { ofSurvey: async () => [], remove: async () => undefined },
  };
  const eraseSurvey = createEraseSurvey({
    stores,
    core,
    exportJobs: noting('exportJobs'),
  } as unknown as EraseSurveyDeps);
  return { calls, events, eraseSurvey };
}

test('a survey is erased although its deliveries cannot be marked, and the error is thrown for a retry', async () => {
  const { calls, eraseSurvey } = setUp(() => Promise.reject(new Error('canceling statement due to statement timeout')));
  await assert.rejects(eraseSurvey('a survey'), /statement timeout/);
  assert.ok(calls.includes('erased'));
  assert.deepEqual(calls.slice(-2), lastSteps);
});

test('a survey is erased while its deliveries are being marked', async () => {
  let end: () => void = () => undefined;
  const { calls, eraseSurvey } = setUp(() => new Promise((resolve) => (end = resolve)));
  let isDone = false;
  const erasing = eraseSurvey('a survey').then(() => (isDone = true));
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual([calls.slice(-2), isDone], [lastSteps, false]);
  end();
  await erasing;
});

test('the files of a deleted survey are left to an event of their own, for which no other survey waits', async () => {
  const { calls, events, eraseSurvey } = setUp(async () => undefined);
  await eraseSurvey('a survey');
  assert.deepEqual(events, [{ kind: 'survey.files-deleted', payload: { surveyId: 'a survey' } }]);
  assert.ok(!calls.some((call) => call.startsWith('uploads')));
});
