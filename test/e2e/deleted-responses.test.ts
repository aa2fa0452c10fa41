import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Client, createClient } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { adminEmail, adminPassword, type RunningService, startService } from '../support/service.ts';

describe('a deleted response', () => {
  let service: RunningService;
  let admin: Client;
  before(async () => {
    service = await startService();
    const login = await createClient(service).call('POST', '/auth/login', {
      body: { email: adminEmail, password: adminPassword },
    });
    admin = createClient(service, login.body.data.accessToken);
  });
  after(async () => assert.equal(await service.stop(), 0));

  it('is in no list, statistic or crosstab from the reply on', async () => {
    const survey = await admin.create('/surveys', { title: 'Deletions' });
    const ask = (text: string) => admin.create(`/surveys/${survey.id}/questions`, { type: 'YES_NO', text });
    const [first, second] = [await ask('First?'), await ask('Second?')];
    await admin.post(`/surveys/${survey.id}/publish`);
    const count = 12;
    const ids: string[] = [];
    for (let n = 0; n < count; n += 1) {
      const reply = await admin.submit(survey.id, {
        answers: [first, second].map(({ id }) => ({ questionId: id, textValue: 'yes' })),
        respondent: 'panel-1',
      });
      ids.push(reply.body.data.responseId);
    }
    const shown = async () => {
      const [list, analytics, crosstab] = await Promise.all([
        admin.call('GET', `/responses/surveys/${survey.id}?limit=100`),
        admin.get(`/analytics/surveys/${survey.id}`),
        admin.post(`/analytics/surveys/${survey.id}/crosstab`, { questionId1: first.id, questionId2: second.id }),
      ]);
      return [list.body.data.length, list.body.pagination?.total, analytics.totalResponses, crosstab.total];
    };
    await eventually(async () => assert.deepEqual(await shown(), [count, count, count, count]));
    for (const [index, id] of ids.slice(0, 8).entries()) {
      assert.equal((await admin.call('DELETE', `/responses/${id}`)).status, 200);
      const left = count - index - 1;
      assert.deepEqual(await shown(), [left, left, left, left]);
    }
    assert.equal((await admin.call('DELETE', `/surveys/${survey.id}/respondents/panel-1`)).status, 200);
    assert.deepEqual(await shown(), [0, 0, 0, 0]);
  });
});
