import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createConsistentReads } from '../../../../src/actors/consistent-reads.ts';
import { responseRoutes } from '../../../../src/http/routes/responses.ts';
import { newId } from '../../../../src/platform/ids.ts';
import type { ResponseRecord } from '../../../../src/stores/clickhouse/read/record.ts';
import { createShards } from '../../../../src/stores/redis/intake/shards.ts';
import { blankSurvey } from '../../../support/questions.ts';

describe('the routes of one response', () => {
  const [survey, foreign] = [blankSurvey(), { ...blankSurvey(), id: newId() }];
  const responseId = newId();
  const recordOf = (surveyId: string): ResponseRecord => ({
    surveyId,
    responseId,
    submittedAt: new Date(0),
    version: 1,
    surveyVersion: 1,
    outcome: 'COMPLETED',
    completedAt: new Date(0),
    durationMs: null,
    language: 'en',
    respondent: '',
    metadata: {},
    row: { codes: [], numbers: [], texts: [] },
  });

  /** The calls as they run once the right on the survey was checked, over what is stored by then. */
  function setUp(stored: readonly ResponseRecord[]) {
    const erased: string[] = [];
    const none = async () => [];
    const reading = createConsistentReads({
      responses: {
        findAll: async (_id, surveyId) => stored.filter((record) => [undefined, record.surveyId].includes(surveyId)),
        wasDeleted: async () => false,
        hasAnswersAt: async () => false,
      },
      stream: { newestId: async () => '1-0', acknowledged: async () => '1-0', isDeleted: async () => false },
      deadLetters: { has: async () => false, ofResponse: none, withResponseId: none },
      shards: createShards(1),
    });
    const routes = responseRoutes({
      reading,
      responses: { list: async () => assert.fail('no list is read') },
      surveys: { load: async (id) => [survey, foreign].find((each) => each.id === id) },
      erasure: {
        eraseOne: async ({ surveyId }, _actor, record) => {
          if (record) erased.push(surveyId);
          return record !== undefined;
        },
      },
      annotations: { findByNames: async () => ({}) },
    });
    const call = async (method: 'GET' | 'DELETE') =>
      routes
        .find((route) => route.method === method && route.path === '/responses/{responseId}')
        ?.handle({ params: { responseId }, survey, principal: null } as never);
    return { erased, call };
  }

  it('neither show nor erase that of another survey where this one’s was deleted since the right was checked', async () => {
    const { erased, call } = setUp([recordOf(foreign.id)]);
    for (const method of ['GET', 'DELETE'] as const) await assert.rejects(call(method), { code: 'NOT_FOUND' });
    assert.deepEqual(erased, []);
  });

  it('show and erase that of the survey whose right was checked, though another’s is newer', async () => {
    const { erased, call } = setUp([recordOf(foreign.id), recordOf(survey.id)]);
    assert.match(JSON.stringify(await call('GET')), new RegExp(`"surveyId":"${survey.id}"`));
    await call('DELETE');
    assert.deepEqual(erased, [survey.id]);
  });
});
