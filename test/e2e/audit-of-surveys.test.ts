import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { finishedExport } from '../support/exports.ts';
import { signInNewUser } from '../support/new-user.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

let service: RunningService;
let admin: Client;
useService(
  (served) => {
    ({ service, admin } = served);
  },
  { env: { WEBHOOK_ALLOW_PRIVATE: 'true' } },
);

interface Entry {
  action: string;
  actorKind: string;
  details: Record<string, unknown>;
}

const entriesOf = (surveyId: string): Promise<Entry[]> => admin.get(`/audit?surveyId=${surveyId}&limit=100`);
const closings = async (surveyId: string) =>
  (await entriesOf(surveyId))
    .filter(({ action }) => action === 'survey.closed')
    .map(({ actorKind, details }) => ({ actorKind, ...details }));

describe('the audit of a survey', () => {
  it('lists events of the survey, its questions, responses and files, and none of other surveys', async () => {
    const [one, other] = [
      await admin.create('/surveys', { title: 'One' }),
      await admin.create('/surveys', { title: 'Other' }),
    ];
    const question = await admin.create(`/surveys/${one.id}/questions`, { type: 'NPS', text: 'Well?' });
    await admin.create(`/surveys/${other.id}/questions`, { type: 'NPS', text: 'Well?' });
    await admin.put(`/surveys/questions/${question.id}`, { text: 'And now?' });
    await admin.post(`/surveys/${one.id}/publish`);
    const { responseId } = (await admin.submit(one.id, { answers: [] })).body.data;
    await eventually(async () => assert.equal((await admin.get(`/responses/surveys/${one.id}`)).length, 1));
    const { exportId } = await admin.expect(202, 'POST', `/exports/surveys/${one.id}`, { format: 'CSV' });
    assert.equal((await finishedExport(admin, exportId)).status, 'COMPLETED');
    assert.equal((await admin.call('GET', `/exports/${exportId}/download`)).status, 200);
    await admin.remove(`/responses/${responseId}`);
    await admin.put(`/surveys/${one.id}`, { title: 'One more', status: 'PAUSED' });
    const entries = await entriesOf(one.id);
    assert.deepEqual(
      entries.map(({ action }) => action),
      [
        'survey.changed',
        'response.deleted',
        'export.downloaded',
        'export.requested',
        'responses.read',
        'survey.published',
        'question.changed',
        'question.created',
        'survey.created',
      ],
    );
    assert.deepEqual(entries[0]?.details, {
      fields: ['title', 'status'],
      status: { from: 'ACTIVE', to: 'PAUSED' },
      version: 4,
    });
    assert.deepEqual(entries[5]?.details, { status: { from: 'DRAFT', to: 'ACTIVE' } });
    const downloads = await admin.get(`/audit?surveyId=${one.id}&action=export.downloaded`);
    assert.equal(downloads.length, 1);
    assert.deepEqual(await entriesOf(randomUUID()), []);
    assert.equal((await admin.call('GET', '/audit?surveyId=one')).status, 400);
  });

  it('lists events of its webhooks and deliveries, also when a webhook moves to another survey, and its copies', async () => {
    const [one, other] = [
      await admin.create('/surveys', { title: 'One' }),
      await admin.create('/surveys', { title: 'Other' }),
    ];
    const hook = await admin.create('/webhooks', {
      url: 'http://127.0.0.1:9/',
      events: ['survey.published'],
      surveyId: one.id,
    });
    await admin.put(`/webhooks/${hook.id}`, { url: 'http://127.0.0.1:9/elsewhere' });
    await admin.post(`/webhooks/${hook.id}/rotate-secret`);
    const delivery = await admin.expect(202, 'POST', `/webhooks/${hook.id}/test`);
    await admin.expect(202, 'POST', `/webhooks/${hook.id}/deliveries/${delivery.id}/redeliver`);
    await admin.expect(202, 'POST', `/webhooks/${hook.id}/replay`, {
      since: '2020-01-01T00:00:00Z',
      until: '2020-01-02T00:00:00Z',
    });
    await admin.put(`/webhooks/${hook.id}`, { surveyId: other.id });
    await admin.remove(`/webhooks/${hook.id}`);
    const copy = await admin.create(`/surveys/${one.id}/duplicate`, {});
    const actionsOf = async (surveyId: string) => (await entriesOf(surveyId)).map(({ action }) => action);
    assert.deepEqual(await actionsOf(one.id), [
      'survey.duplicated',
      'webhook.changed',
      'webhook.replayed',
      'webhook.redelivered',
      'webhook.tested',
      'webhook.secret-rotated',
      'webhook.changed',
      'webhook.created',
      'survey.created',
    ]);
    assert.deepEqual(await actionsOf(other.id), ['webhook.deleted', 'webhook.changed', 'survey.created']);
    assert.deepEqual(await actionsOf(copy.id), ['survey.duplicated']);
  });

  it('lists redeliveries of its events by an endpoint for all surveys', async () => {
    const hook = await admin.create('/webhooks', { url: 'http://127.0.0.1:9/', events: ['survey.published'] });
    const survey = await admin.create('/surveys', { title: 'Of many' });
    await admin.post(`/surveys/${survey.id}/publish`);
    const [delivery] = await eventually(async () => {
      const deliveries = await admin.get(`/webhooks/${hook.id}/deliveries`);
      assert.equal(deliveries.length, 1);
      return deliveries;
    });
    await admin.expect(202, 'POST', `/webhooks/${hook.id}/deliveries/${delivery.id}/redeliver`);
    assert.deepEqual(
      (await entriesOf(survey.id)).map(({ action }) => action),
      ['webhook.redelivered', 'survey.published', 'survey.created'],
    );
    await admin.remove(`/webhooks/${hook.id}`);
  });

  it('says whose it was and is, where its owner is deleted', async () => {
    const owner = await signInNewUser(service, admin);
    const [kept, removed] = [
      await owner.create('/surveys', { title: 'Kept' }),
      await owner.create('/surveys', { title: 'Removed' }),
    ];
    await owner.remove(`/surveys/${removed.id}`);
    await admin.remove(`/users/${owner.id}`);
    const { ownerId } = await admin.get(`/surveys/${kept.id}`);
    const [entry, ...others] = await entriesOf(kept.id);
    assert.deepEqual([entry?.action, entry?.details], ['survey.handed-over', { from: owner.id, to: ownerId }]);
    assert.deepEqual(
      others.map(({ action }) => action),
      ['survey.created'],
    );
    assert.equal((await entriesOf(removed.id))[0]?.action, 'survey.deleted');
  });

  it('records once that the service closed the survey, and why', async () => {
    const full = await admin.create('/surveys', { title: 'Full', responseQuota: 1, status: 'ACTIVE' });
    await admin.submit(full.id, { answers: [] });
    await eventually(async () =>
      assert.deepEqual(await closings(full.id), [
        { actorKind: 'SYSTEM', status: { from: 'ACTIVE', to: 'CLOSED' }, reason: 'QUOTA' },
      ]),
    );
    // Again where a busy machine takes so long to create it that it has ended by then, which is refused.
    const over = await eventually(() =>
      admin.create('/surveys', {
        title: 'Over',
        status: 'ACTIVE',
        endsAt: new Date(Date.now() + 1500).toISOString(),
      }),
    );
    await eventually(async () =>
      assert.deepEqual(await closings(over.id), [
        { actorKind: 'SYSTEM', status: { from: 'ACTIVE', to: 'CLOSED' }, reason: 'ENDED' },
      ]),
    );
    const byHand = await admin.create('/surveys', { title: 'By hand', status: 'ACTIVE' });
    await admin.put(`/surveys/${byHand.id}`, { status: 'CLOSED' });
    assert.deepEqual(await closings(byHand.id), []);
    assert.equal((await closings(full.id)).length, 1);
  });
});
