import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { signInNewUser } from '../support/new-user.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';
import { startReceiver } from '../support/webhook-receiver.ts';

let admin: Client;
let service: RunningService;
useService(
  (served) => {
    ({ admin, service } = served);
  },
  { env: { WEBHOOK_ALLOW_PRIVATE: 'true' } },
);

describe('the endpoint of an owner who may no longer see the survey', () => {
  it('stays enabled, reports why nothing is sent or kept, and continues by itself with what happens then', async () => {
    const [receiver, other] = await Promise.all([startReceiver(), startReceiver()]);
    try {
      const member = await signInNewUser(service, admin);
      const survey = await admin.create('/surveys', { title: 'Shared' });
      await admin.put(`/surveys/${survey.id}/members/${member.id}`, { role: 'EDITOR' });
      const hook = await member.create('/webhooks', {
        url: receiver.url,
        events: ['survey.published'],
        surveyId: survey.id,
      });
      await admin.create('/webhooks', { url: other.url, events: ['survey.published'], surveyId: survey.id });
      await admin.remove(`/surveys/${survey.id}/members/${member.id}`);

      const silent = await admin.get(`/webhooks/${hook.id}`);
      assert.deepEqual([silent.isActive, silent.disabledAt], [true, null]);
      assert.match(silent.disabledReason, /may not see the survey.*nothing is sent, or kept for later, until/);
      await admin.create(`/surveys/${survey.id}/questions`, { type: 'SHORT_TEXT', text: 'Which dish?' });
      await admin.expect(200, 'POST', `/surveys/${survey.id}/publish`);
      await eventually(() => assert.equal(other.received.length, 1, 'those who see the survey hear of it'));
      // A tool of an ADMIN writes back what it has read.
      const { isActive, events, description } = silent;
      assert.deepEqual(
        [
          (await admin.put(`/webhooks/${hook.id}`, { isActive, events, description })).isActive,
          (await admin.put(`/webhooks/${hook.id}`, { isActive: true })).isActive,
        ],
        [true, true],
      );
      const refused = await admin.call('POST', `/webhooks/${hook.id}/test`);
      assert.deepEqual([refused.status, refused.body.details.reason], [409, 'WEBHOOK_NOT_ACTIVE']);
      assert.match(refused.body.message, /may not see the survey/);

      await admin.put(`/surveys/${survey.id}/members/${member.id}`, { role: 'EDITOR' });
      const heard = await member.get(`/webhooks/${hook.id}`);
      assert.deepEqual([heard.isActive, heard.disabledReason], [true, null]);
      await member.expect(202, 'POST', `/webhooks/${hook.id}/test`);
      await eventually(() => assert.equal(receiver.received.length, 1));
      assert.equal((await member.get(`/webhooks/${hook.id}/deliveries`)).length, 1, 'only the test');
    } finally {
      await Promise.all([receiver.close(), other.close()]);
    }
  });
});
