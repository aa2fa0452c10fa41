import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SurveyActors } from '../../../../src/actors/survey-actors.ts';
import type { SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { unavailable } from '../../../../src/errors.ts';
import { quotaRoutes } from '../../../../src/http/routes/quotas.ts';
import { withAudit } from '../../../../src/http/routing/audit.ts';
import { blankSurvey, nextId, withQuestion } from '../../../support/questions.ts';

/** The routes of quotas over a survey in memory, whose intake is away. */
function setUp() {
  const { survey, question } = withQuestion(blankSurvey(), { type: 'YES_NO', text: 'Again?' });
  const recorded: string[] = [];
  let stored = survey;
  const actors = {
    announceUnknown: async () => undefined,
    sync: async () => ({ survey: stored }),
    change: async (_id: string, decide: (current: SurveyWithQuestions) => { survey: SurveyWithQuestions }) => {
      stored = decide(stored).survey;
      return stored;
    },
  } as unknown as SurveyActors;
  const counts = async () => {
    throw unavailable('Quotas by cell cannot be read right now', 2);
  };
  const routes = withAudit(quotaRoutes({ actors, counts, now: () => 0, newId: nextId }), {
    record: async ({ action }) => void recorded.push(action),
  });
  const call = async (method: string, path: string, given: { params?: object; body?: object; query?: object }) => {
    const route = routes.find((entry) => entry.method === method && entry.path === `/surveys/{surveyId}/quotas${path}`);
    const params = { surveyId: survey.id, ...given.params };
    const outcome = await route?.handle({ ...given, params, survey, principal: { userId: nextId() } } as never);
    assert.ok(outcome?.kind === 'json');
    return [outcome.data].flat().map((data) => {
      const { name, limit, count, isCounting } = Object(data);
      return { name, limit, count, isCounting };
    });
  };
  return { call, recorded, question, quotas: () => stored.quotas ?? [] };
}

describe('quotas by cell while the intake cannot be read', () => {
  it('are made and changed as at other times, and their replies say that they are not counted yet', async () => {
    const { call, recorded, question, quotas } = setUp();
    const where = { questionId: question.id, operator: 'answered' };
    const unknown = { count: 0, isCounting: true };
    const made = await call('POST', '', { body: { name: 'All', limit: 5, where } });
    assert.deepEqual(made, [{ name: 'All', limit: 5, ...unknown }]);
    const grid = await call('POST', '/grid', { body: { questionIds: [question.id], limit: 3 } });
    assert.deepEqual(grid, [
      { name: 'Yes', limit: 3, ...unknown },
      { name: 'No', limit: 3, ...unknown },
    ]);
    const changed = await call('PUT', '/{quotaId}', { params: { quotaId: quotas()[0]?.id }, body: { limit: 6 } });
    assert.deepEqual(changed, [{ name: 'All', limit: 6, ...unknown }]);
    assert.deepEqual(recorded, ['quota.created', 'quotas.created', 'quota.changed']);
  });

  it('are not listed', async () => {
    await assert.rejects(setUp().call('GET', '', { query: { page: 1, limit: 100 } }), { code: 'SERVICE_UNAVAILABLE' });
  });
});
