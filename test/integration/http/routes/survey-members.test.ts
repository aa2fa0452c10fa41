import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { blankSurvey } from '../../../../src/domain/blank-survey.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { type AccountServer, useAccountServer } from '../../../support/account-server.ts';
import { type Client, createClient } from '../../../support/client.ts';
import { eventually } from '../../../support/eventually.ts';

let server: AccountServer;
let admin: Client;
let adminId: string;
let person: AccountServer['person'];
useAccountServer((started) => {
  server = started;
  ({ admin, adminId, person } = started);
});

describe('surveys', () => {
  const rights = ['read', 'edit', 'own'] as const;
  const statuses = (client: Client, id: string) =>
    Promise.all(rights.map(async (right) => (await client.call('GET', `/surveys/${id}/probe/${right}`)).status));

  it('are shared with members, and every role gets exactly its rights', async () => {
    const [owner, member, viewer, stranger] = [
      await person('EDITOR'),
      await person('EDITOR'),
      await person('VIEWER'),
      await person('EDITOR'),
    ];
    const survey = blankSurvey(newId(), owner.user.id, Date.now());
    await server.surveys.create(survey);
    const path = `/surveys/${survey.id}/members`;
    assert.deepEqual(await statuses(member.client, survey.id), [404, 404, 404]);
    const shared = await owner.client.put(`${path}/${member.user.id}`, { role: 'VIEWER' });
    assert.deepEqual([shared.userId, shared.email, shared.role], [member.user.id, member.user.email, 'VIEWER']);
    assert.deepEqual(await statuses(member.client, survey.id), [200, 403, 403]);
    await owner.client.put(`${path}/${member.user.id}`, { role: 'EDITOR' });
    await owner.client.put(`${path}/${viewer.user.id}`, { role: 'EDITOR' });
    assert.deepEqual(await statuses(member.client, survey.id), [200, 200, 403]);
    assert.deepEqual(await statuses(viewer.client, survey.id), [200, 403, 403]);
    assert.deepEqual(await statuses(owner.client, survey.id), [200, 200, 200]);
    assert.deepEqual(await statuses(admin, survey.id), [200, 200, 200]);
    assert.deepEqual(
      (await owner.client.get(path)).map((item: any) => item.userId),
      [member.user.id, viewer.user.id],
    );
    assert.equal((await member.client.call('GET', path)).status, 403);
    assert.equal(
      (await member.client.call('PUT', `${path}/${stranger.user.id}`, { body: { role: 'VIEWER' } })).status,
      403,
    );
    await owner.client.remove(`${path}/${member.user.id}`);
    assert.deepEqual(await statuses(member.client, survey.id), [404, 404, 404]);
    assert.equal((await owner.client.call('DELETE', `${path}/${member.user.id}`)).status, 404);
    const [foreign, unknown] = [
      await stranger.client.call('GET', path),
      await stranger.client.call('GET', `/surveys/${randomUUID()}/members`),
    ];
    assert.deepEqual({ ...foreign.body, requestId: '' }, { ...unknown.body, requestId: '' });
  });

  it('are left by members themselves, whatever was shared, but not by their keys and not for others', async () => {
    const [owner, editor, reader, viewer, stranger] = [
      await person('EDITOR'),
      await person('EDITOR'),
      await person('EDITOR'),
      await person('VIEWER'),
      await person('EDITOR'),
    ];
    const survey = blankSurvey(newId(), owner.user.id, Date.now());
    await server.surveys.create(survey);
    const path = (id: string) => `/surveys/${survey.id}/members/${id}`;
    for (const [{ user }, role] of [
      [editor, 'EDITOR'],
      [reader, 'VIEWER'],
      [viewer, 'VIEWER'],
    ] as const)
      await owner.client.put(path(user.id), { role });
    const { key } = await reader.client.create('/api-keys', { name: 'x', role: 'EDITOR' });
    const status = async (client: Client, id: string) => (await client.call('DELETE', path(id))).status;
    assert.deepEqual(
      [
        await status(editor.client, viewer.user.id),
        await status(createClient(server, key), reader.user.id),
        await status(stranger.client, stranger.user.id),
      ],
      [403, 403, 404],
    );
    assert.deepEqual([await status(owner.client, owner.user.id), await status(admin, adminId)], [404, 404]);
    for (const { user, client } of [editor, reader, viewer])
      assert.deepEqual([await status(client, user.id), await status(client, user.id)], [200, 404]);
    assert.deepEqual(await owner.client.get(`/surveys/${survey.id}/members`), []);
    const left = await admin.get(`/audit?action=member.left&objectId=${survey.id}`);
    assert.deepEqual(
      left.map((entry: any) => [entry.actorId, entry.details.userId]),
      [viewer, reader, editor].map(({ user }) => [user.id, user.id]),
    );
  });

  it('of an EDITOR are only read by a VIEWER key of that EDITOR', async () => {
    const { user, client } = await person('EDITOR');
    const survey = blankSurvey(newId(), user.id, Date.now());
    await server.surveys.create(survey);
    const { key } = await client.create('/api-keys', { name: 'x', role: 'VIEWER' });
    assert.deepEqual(await statuses(createClient(server, key), survey.id), [200, 403, 403]);
  });

  it('are shared by the address of a user, however it is written', async () => {
    const [owner, member] = [await person('EDITOR'), await person('EDITOR')];
    const survey = blankSurvey(newId(), owner.user.id, Date.now());
    await server.surveys.create(survey);
    const path = `/surveys/${survey.id}/members`;
    const shared = await owner.client.create(path, { email: ` ${member.user.email.toUpperCase()} `, role: 'EDITOR' });
    assert.deepEqual([shared.userId, shared.role], [member.user.id, 'EDITOR']);
    assert.deepEqual(await statuses(member.client, survey.id), [200, 200, 403]);
    await owner.client.create(path, { email: member.user.email, role: 'VIEWER' });
    assert.deepEqual(await statuses(member.client, survey.id), [200, 403, 403]);
    for (const email of ['nobody@example.org', owner.user.email]) {
      const refused = await owner.client.call('POST', path, { body: { email, role: 'VIEWER' } });
      assert.deepEqual([refused.status, refused.body.details[0].path], [400, 'email']);
    }
  });

  it('are not shared with who has become their owner meanwhile', async () => {
    const [owner, heir] = [await person('EDITOR'), await person('EDITOR')];
    const survey = blankSurvey(newId(), owner.user.id, Date.now());
    await server.surveys.create(survey);
    let shared: ReturnType<Client['call']> | undefined;
    await server.sql.begin(async (tx) => {
      await tx`SELECT FROM users WHERE id = ${heir.user.id} FOR UPDATE`;
      const path = `/surveys/${survey.id}/members/${heir.user.id}`;
      shared = owner.client.call('PUT', path, { body: { role: 'VIEWER' } });
      await eventually(async () => {
        const waiting = await server.sql`
          SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
        assert.equal(waiting.count, 1);
      });
      await tx`UPDATE surveys SET owner_id = ${heir.user.id} WHERE id = ${survey.id}`;
    });
    assert.equal((await shared)?.status, 503);
    assert.deepEqual(await heir.client.get(`/surveys/${survey.id}/members`), []);
  });

  it('are not shared with their owner, unknown users or unknown roles', async () => {
    const { user, client } = await person('EDITOR');
    const survey = blankSurvey(newId(), user.id, Date.now());
    await server.surveys.create(survey);
    const put = async (userId: string, body: unknown) =>
      (await client.call('PUT', `/surveys/${survey.id}/members/${userId}`, { body })).status;
    assert.deepEqual(
      [
        await put(user.id, { role: 'EDITOR' }),
        await put(randomUUID(), { role: 'EDITOR' }),
        await put('x', { role: 'EDITOR' }),
      ],
      [400, 404, 404],
    );
    assert.deepEqual(
      [await put(adminId, { role: 'ADMIN' }), await put(adminId, { role: 'EDITOR', surveyId: survey.id })],
      [400, 400],
    );
  });
});
