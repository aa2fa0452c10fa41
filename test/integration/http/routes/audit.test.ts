import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AccountServer, useAccountServer } from '../../../support/account-server.ts';
import { password } from '../../../support/auth-server.ts';
import type { Client } from '../../../support/client.ts';
import { eventually } from '../../../support/eventually.ts';

let server: AccountServer;
let admin: Client;
let person: AccountServer['person'];
useAccountServer((started) => {
  server = started;
  ({ admin, person } = started);
});

describe('the audit', () => {
  it('lists who did what, filtered and paged', async () => {
    const { user, client } = await person('EDITOR');
    const key = await client.create('/api-keys', { name: 'x', role: 'VIEWER' });
    await client.remove(`/api-keys/${key.id}`);
    await client.call('POST', '/auth/login', { body: { email: user.email, password: 'wrong password' } });
    const mine = await admin.get(`/audit?actorId=${user.id}`);
    assert.deepEqual(
      mine.map((entry: any) => entry.action),
      ['api-key.deleted', 'api-key.created', 'session.started'],
    );
    assert.deepEqual(
      [mine[1].actorKind, mine[1].objectKind, mine[1].objectId, mine[1].details],
      ['USER', 'api-key', key.id, { role: 'VIEWER' }],
    );
    const refused = await eventually(async () => {
      const found = await admin.get(`/audit?objectKind=user&objectId=${user.id}&action=session.refused`);
      assert.equal(found.length, 1);
      return found;
    });
    assert.deepEqual(
      [refused[0].actorId, refused[0].actorKind, refused[0].details],
      [null, 'SYSTEM', { address: '127.0.0.1' }],
    );
    const paged = await admin.call('GET', `/audit?actorId=${user.id}&limit=1&page=2`);
    assert.deepEqual(
      [paged.body.data.length, paged.body.data[0].action, paged.body.pagination.total],
      [1, 'api-key.created', 3],
    );
    assert.equal((await admin.call('GET', '/audit?actorId=x')).status, 400);
    const [last, middle] = [mine[0].at, mine[1].at];
    const between = async (from: string, to: string) =>
      (await admin.get(`/audit?actorId=${user.id}&since=${from}&until=${to}`)).map((entry: any) => entry.action);
    assert.deepEqual(await between(middle, last), ['api-key.created'], 'the end is not included');
    assert.deepEqual(await between(last, '2999-01-01T00:00:00Z'), ['api-key.deleted']);
    assert.equal((await admin.call('GET', '/audit?since=yesterday')).status, 400);
  });

  it('refuses unknown filter values, and names the known ones', async () => {
    for (const [name, value, known] of [
      ['action', 'user.create', 'user.created'],
      ['action', 'x', 'dead-letters.replayed'],
      ['objectKind', 'users', 'user'],
    ] as const) {
      const { status, body } = await admin.call('GET', `/audit?${name}=${value}`);
      assert.deepEqual([status, body.code, body.details[0].path], [400, 'VALIDATION_ERROR', name], value);
      assert.match(body.details[0].message, new RegExp(`^must be one of .*\\b${known}\\b`));
    }
  });

  it('holds no password, token or address of a person', async () => {
    const { user, client } = await person('EDITOR');
    const { key } = await client.create('/api-keys', { name: 'x', role: 'VIEWER' });
    await admin.put(`/users/${user.id}`, { email: 'secret.address@example.org', password: 'a canary password' });
    const text = JSON.stringify(await server.sql`SELECT * FROM audit`);
    for (const secret of [key, 'a canary password', 'secret.address', user.email, password])
      assert.ok(!text.includes(secret), secret);
  });

  it('cannot be changed or shortened', async () => {
    await assert.rejects(server.sql`UPDATE audit SET action = 'x'`, /only ever added to/);
    await assert.rejects(server.sql`DELETE FROM audit`, /only ever added to/);
  });

  it('does not undo a call if its event cannot be written', async () => {
    await server.people.audit.record({
      actor: { userId: 'no id', keyId: null },
      action: 'user.created',
      objectKind: 'user',
      objectId: 'z',
    });
    const { total } = await server.people.audit.list({ objectId: 'z', page: 1, limit: 1 });
    assert.equal(total, 0);
  });
});
