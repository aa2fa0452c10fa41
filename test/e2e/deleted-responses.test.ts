import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { freshDatabase } from '../support/auth-server.ts';
import { adminClient, type Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { type RunningService, startService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';

describe('a deleted response', () => {
  let service: RunningService;
  let admin: Client;
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  before(async () => {
    await sharedStores();
    database = await freshDatabase();
    service = await startService({ env: { DATABASE_URL: database.url } });
    admin = await adminClient(service);
  });
  after(async () => {
    assert.equal(await service.stop(), 0);
    await database.drop();
  });

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

  it('is in the audit once anything of it is erased, though the erasure is cut short', async () => {
    const { id } = await admin.create('/surveys', { title: 'Cut short', status: 'ACTIVE' });
    const ids: string[] = [];
    for (const respondent of ['panel-1', 'panel-2', 'panel-2']) {
      const reply = await admin.submit(id, { answers: [], respondent });
      ids.push(reply.body.data.responseId);
    }
    const total = async () => (await admin.get(`/analytics/surveys/${id}`)).totalResponses;
    const audited = async (action: string) =>
      (await admin.get(`/audit?surveyId=${id}&action=${action}`)).map(({ objectId, details }: any) => [
        objectId,
        details,
      ]);
    await eventually(async () => assert.equal(await total(), 3));
    // Annotations are deleted after the tombstone of the response was accepted.
    await database.sql
      .unsafe(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
      CREATE TRIGGER refuse BEFORE DELETE ON ai_findings EXECUTE FUNCTION refuse()`)
      .simple();
    assert.equal((await admin.call('DELETE', `/responses/${ids[0]}`)).status, 500);
    await eventually(async () => assert.equal(await total(), 2));
    assert.deepEqual(await audited('response.deleted'), [[ids[0], { surveyId: id }]]);
    assert.equal((await admin.call('DELETE', `/surveys/${id}/respondents/panel-2`)).status, 500);
    await eventually(async () => assert.equal(await total(), 0));
    const [[objectId, { deleted, responseIds }], ...others] = await audited('respondent.erased');
    assert.deepEqual([objectId, deleted, responseIds.toSorted(), others], [id, 2, ids.slice(1).sort(), []]);
    await database.sql`DROP TRIGGER refuse ON ai_findings`;
  });
});
