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
        ?.handle({ params: { responseId }, query: {}, survey, principal: null } as never);
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

describe('the list of responses', () => {
  it('is sent in pieces where it is long, and reads each once the one before is taken', async () => {
    const survey = blankSurvey();
    const recordAt = (ms: number): ResponseRecord => ({
      surveyId: survey.id,
      responseId: newId(),
      submittedAt: new Date(ms),
      version: 1,
      surveyVersion: 1,
      outcome: 'COMPLETED',
      completedAt: new Date(ms),
      durationMs: null,
      language: 'en',
      respondent: '',
      metadata: {},
      row: { codes: [], numbers: [], texts: [] },
    });
    const [first, second, third] = [recordAt(3), recordAt(2), recordAt(1)];
    let pieces = 0;
    async function* rest() {
      pieces += 1;
      yield { records: [second], isLast: false };
      pieces += 1;
      yield { records: [third], isLast: true };
    }
    const [list] = responseRoutes({
      reading: { find: async () => undefined },
      responses: { list: async () => ({ records: [first], rest: rest(), total: 4, nextCursor: 'more' }) },
      surveys: { load: async () => survey },
      erasure: { eraseOne: async () => false },
      annotations: { findByNames: async () => ({}) },
    });
    const query = { page: 1, limit: 3, filter: [] };
    const outcome = await list?.handle({ params: { surveyId: survey.id }, query } as never);
    assert.ok(outcome?.kind === 'stream');
    assert.deepEqual([outcome.status, pieces], [200, 0]);
    let text = '';
    for await (const bytes of outcome.source) {
      text += Buffer.from(bytes).toString();
      if (text.includes(second.responseId) && !text.includes(third.responseId)) assert.equal(pieces, 1);
    }
    const { success, data, pagination } = JSON.parse(text);
    assert.deepEqual(
      [success, data.map(({ id }: { id: string }) => id), pagination],
      [
        true,
        [first, second, third].map(({ responseId }) => responseId),
        { page: 1, limit: 3, total: 4, nextCursor: 'more' },
      ],
    );
  });
});
