import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { type Client, createClient } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { finishedExport } from '../support/exports.ts';
import { openLive } from '../support/live-client.ts';
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

const person = async (role: 'ADMIN' | 'EDITOR' | 'VIEWER' = 'EDITOR') => {
  const client = await signInNewUser(service, admin, role);
  return { id: client.id, token: client.token ?? '', client };
};
const surveyOf = async ({ client }: { client: Client }): Promise<string> =>
  (await client.create('/surveys', { title: 'Handed on' })).id;
const handOver = (client: Client, surveyId: string, userId: string) =>
  client.call('PUT', `/surveys/${surveyId}/owner`, { body: { userId } });
const membersOf = async (surveyId: string) =>
  (await admin.get(`/surveys/${surveyId}/members`)).map(({ userId, role }: { userId: string; role: string }) => [
    userId,
    role,
  ]);

describe('transferring a survey to another owner', () => {
  it('makes the other user the owner and the former owner a member', async () => {
    const [giver, taker] = [await person(), await person()];
    const surveyId = await surveyOf(giver);
    await giver.client.put(`/surveys/${surveyId}/members/${taker.id}`, { role: 'VIEWER' });
    const reply = await handOver(giver.client, surveyId, taker.id);
    assert.deepEqual(
      [reply.status, reply.body.data.id, reply.body.data.ownerId, reply.body.data.title],
      [200, surveyId, taker.id, 'Handed on'],
    );
    assert.deepEqual(await membersOf(surveyId), [[giver.id, 'EDITOR']]);
    assert.equal((await giver.client.put(`/surveys/${surveyId}`, { title: 'Still edited' })).ownerId, taker.id);
    assert.deepEqual(
      [
        (await handOver(giver.client, surveyId, giver.id)).status,
        (await giver.client.call('DELETE', `/surveys/${surveyId}`)).status,
      ],
      [403, 403],
    );
    const [entry] = await admin.get(`/audit?action=survey.handed-over&objectId=${surveyId}`);
    assert.deepEqual([entry.actorId, entry.details], [giver.id, { from: giver.id, to: taker.id }]);
    await taker.client.remove(`/surveys/${surveyId}`);
  });

  it('is possible for an ADMIN on any survey, and naming the present owner changes nothing', async () => {
    const [giver, taker] = [await person(), await person('ADMIN')];
    const surveyId = await surveyOf(giver);
    const once = await handOver(admin, surveyId, taker.id);
    const again = await handOver(admin, surveyId, taker.id);
    assert.deepEqual([once.status, again.status, again.body.data], [200, 200, once.body.data]);
    assert.deepEqual(await membersOf(surveyId), [[giver.id, 'EDITOR']]);
    assert.equal((await admin.get(`/audit?action=survey.handed-over&objectId=${surveyId}`)).length, 1);
  });

  it('is refused to users who may own no survey, and by callers other than the owner and an ADMIN', async () => {
    const [owner, editor, stranger, viewer, disabled] = [
      await person(),
      await person(),
      await person(),
      await person('VIEWER'),
      await person(),
    ];
    await admin.put(`/users/${disabled.id}`, { isDisabled: true });
    const surveyId = await surveyOf(owner);
    await owner.client.put(`/surveys/${surveyId}/members/${editor.id}`, { role: 'EDITOR' });
    const refusals = await Promise.all([
      handOver(owner.client, surveyId, viewer.id),
      handOver(owner.client, surveyId, disabled.id),
      handOver(owner.client, surveyId, randomUUID()),
      handOver(owner.client, surveyId, 'nobody'),
      handOver(editor.client, surveyId, editor.id),
      handOver(stranger.client, surveyId, stranger.id),
      handOver(viewer.client, surveyId, viewer.id),
    ]);
    assert.deepEqual(
      refusals.map(({ status }) => status),
      [400, 400, 404, 404, 403, 404, 404],
    );
    assert.equal(refusals[0]?.body.details[0].path, 'userId');
    assert.deepEqual(
      [(await admin.get(`/surveys/${surveyId}`)).ownerId, await membersOf(surveyId)],
      [owner.id, [[editor.id, 'EDITOR']]],
    );
  });

  it('leaves one owner under concurrency, and loses no edit', async () => {
    for (let round = 0; round < 3; round += 1) {
      const [giver, one, other] = [await person(), await person(), await person()];
      const surveyId = await surveyOf(giver);
      const title = `Edited in round ${round}`;
      const [edit, ...passed] = await Promise.all([
        admin.call('PUT', `/surveys/${surveyId}`, { body: { title } }),
        handOver(giver.client, surveyId, one.id),
        handOver(giver.client, surveyId, other.id),
        admin.call('DELETE', `/users/${giver.id}`),
      ]);
      for (const { status } of passed) assert.ok([200, 401, 403, 404, 503].includes(status), `${status}`);
      assert.equal(passed[2]?.status, 200, 'a user is deleted whatever happens to the surveys');
      const survey = await admin.get(`/surveys/${surveyId}`);
      assert.deepEqual([edit.status, survey.title], [200, title]);
      assert.notEqual(survey.ownerId, giver.id);
      assert.ok((await admin.get(`/users/${survey.ownerId}`)).id);
      assert.ok(
        (await membersOf(surveyId)).every(([userId]: string[]) => userId !== survey.ownerId && userId !== giver.id),
      );
    }
  });
});

describe('webhooks, streams and files of a former owner', () => {
  it('work until the former owner leaves the survey', async () => {
    const [giver, taker] = [await person(), await person()];
    const surveyId = await surveyOf(giver);
    const receiver = await startReceiver();
    const live = await openLive(service, giver.token);
    try {
      const hook = await giver.client.create('/webhooks', {
        url: receiver.url,
        events: ['survey.published'],
        surveyId,
      });
      const { exportId } = await giver.client.expect(202, 'POST', `/exports/surveys/${surveyId}`, { format: 'CSV' });
      live.send({ type: 'subscribe', surveyId, channels: ['status'] });
      await live.next('subscribed');
      assert.equal((await handOver(giver.client, surveyId, taker.id)).status, 200);
      await taker.client.post(`/surveys/${surveyId}/publish`, {});
      await live.next('status', ({ status }) => status === 'ACTIVE');
      await eventually(() => assert.equal(receiver.received.length, 1));
      assert.equal((await finishedExport(taker.client, exportId)).status, 'COMPLETED');

      assert.deepEqual(await giver.client.remove(`/surveys/${surveyId}/members/${giver.id}`), {
        id: giver.id,
        deleted: true,
      });
      assert.equal((await live.next('error', ({ surveyId: about }) => about === surveyId))['code'], 'FORBIDDEN');
      assert.equal((await giver.client.call('GET', `/surveys/${surveyId}`)).status, 404);
      assert.equal((await giver.client.call('GET', `/exports/${exportId}`)).status, 404);
      assert.match((await giver.client.get(`/webhooks/${hook.id}`)).disabledReason, /may not see the survey/);
    } finally {
      live.socket.terminate();
      await receiver.close();
    }
  });
});

describe('the list of exports', () => {
  it('has the files of a survey for as long as their user may read it', async () => {
    const [owner, member, viewer, boss] = [
      await person(),
      await person(),
      await person('VIEWER'),
      await person('ADMIN'),
    ];
    const surveyId = await surveyOf(owner);
    const invite = ({ id }: { id: string }) =>
      owner.client.put(`/surveys/${surveyId}/members/${id}`, { role: 'VIEWER' });
    const ask = async ({ client }: { client: Client }): Promise<string> =>
      (await client.expect(202, 'POST', `/exports/surveys/${surveyId}`, { format: 'CSV' })).exportId;
    const listed = async (client: Client) =>
      Promise.all(
        ['', `?surveyId=${surveyId}`].map(async (query) => {
          const { data, pagination } = (await client.call('GET', `/exports${query}`)).body;
          assert.equal(pagination.total, data.length);
          return data.map(({ id }: { id: string }) => id);
        }),
      );
    for (const user of [member, viewer]) {
      await invite(user);
      const id = await ask(user);
      assert.deepEqual(await listed(user.client), [[id], [id]]);
      await owner.client.remove(`/surveys/${surveyId}/members/${user.id}`);
      assert.equal((await user.client.call('GET', `/exports/${id}`)).status, 404);
      assert.deepEqual(await listed(user.client), [[], []]);
      await invite(user);
      assert.deepEqual(await listed(user.client), [[id], [id]]);
    }
    const [owned, ofAdmin] = [await ask(owner), await ask(boss)];
    assert.deepEqual(await listed(owner.client), [[owned], [owned]]);
    assert.deepEqual(await listed(boss.client), [[ofAdmin], [ofAdmin]]);
    const { key } = await boss.client.create('/api-keys', { name: 'reads what it owns', role: 'VIEWER' });
    assert.deepEqual(await listed(createClient(service, key)), [[], []]);
  });
});
