import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { createFirstAdmin } from '../../../../src/auth/first-admin.ts';
import { createPasswords } from '../../../../src/auth/passwords.ts';
import { createLog } from '../../../../src/log.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createAudit } from '../../../../src/stores/postgres/audit.ts';
import { type AccountServer, useAccountServer } from '../../../support/account-server.ts';
import { password } from '../../../support/auth-server.ts';
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

describe('API keys', () => {
  it('act as their user, are shown once, and end at once when deleted', async () => {
    const { user, client } = await person('EDITOR');
    const made = await client.create('/api-keys', { name: ' Reports ', role: 'VIEWER', requestsPerMinute: 5000 });
    assert.match(made.key, /^sk_[A-Za-z0-9_-]{43}$/);
    assert.deepEqual(
      [made.name, made.role, made.requestsPerMinute, made.lastFour, made.lastUsedAt, made.userId],
      ['Reports', 'VIEWER', 5000, made.key.slice(-4), null, user.id],
    );
    const program = createClient(server, made.key);
    const me = await program.call('GET', '/auth/me');
    assert.deepEqual(
      [me.status, me.body.data.id, me.body.data.role, me.headers.get('x-ratelimit-limit')],
      [200, user.id, 'VIEWER', '5000'],
    );
    const [listed] = await eventually(async () => {
      const list = await client.get('/api-keys');
      assert.ok(list[0].lastUsedAt);
      return list;
    });
    assert.equal(listed.key, undefined);
    assert.ok(!JSON.stringify(await server.sql`SELECT * FROM api_keys`).includes(made.key.slice(3)));
    assert.deepEqual(await client.remove(`/api-keys/${made.id}`), { id: made.id, deleted: true });
    assert.equal((await program.call('GET', '/auth/me')).status, 401);
  });

  it('cannot end after the year 9999, which is refused', async () => {
    const { client } = await person('EDITOR');
    const create = async (expiresAt: string) => {
      const { status, body } = await client.call('POST', '/api-keys', {
        body: { name: 'x', role: 'VIEWER', expiresAt },
      });
      return [status, body.details?.[0]?.path, body.data?.expiresAt];
    };
    assert.deepEqual(await create('9999-12-31T23:59:59-12:00'), [400, 'expiresAt', undefined]);
    const last = '9999-12-31T23:59:59.999Z';
    assert.deepEqual(await create(last), [201, undefined, last]);
  });

  it('never have more rights than their creator or their user', async () => {
    const { user, client } = await person('EDITOR');
    assert.equal((await client.call('POST', '/api-keys', { body: { name: 'x', role: 'ADMIN' } })).status, 403);
    const viewer = await person('VIEWER');
    assert.equal((await viewer.client.call('POST', '/api-keys', { body: { name: 'x', role: 'VIEWER' } })).status, 403);
    const { key } = await client.create('/api-keys', { name: 'x', role: 'EDITOR' });
    const program = createClient(server, key);
    assert.equal((await program.call('POST', '/api-keys', { body: { name: 'y', role: 'VIEWER' } })).status, 403);
    await admin.put(`/users/${user.id}`, { role: 'VIEWER' });
    assert.equal((await program.get('/auth/me')).role, 'VIEWER');
    await admin.put(`/users/${user.id}`, { role: 'ADMIN' });
    assert.equal((await program.get('/auth/me')).role, 'EDITOR');
    assert.equal((await program.call('GET', '/users')).status, 403);
    await admin.put(`/users/${user.id}`, { isDisabled: true });
    assert.equal((await program.call('GET', '/auth/me')).status, 401);
  });

  it('are seen and deleted by their user and by an ADMIN only', async () => {
    const [mine, other] = [await person('EDITOR'), await person('EDITOR')];
    const key = await mine.client.create('/api-keys', { name: 'x', role: 'VIEWER' });
    assert.deepEqual(await other.client.get('/api-keys'), []);
    const [foreign, unknown] = [
      await other.client.call('DELETE', `/api-keys/${key.id}`),
      await other.client.call('DELETE', `/api-keys/${randomUUID()}`),
    ];
    assert.deepEqual([foreign.status, foreign.body.message], [404, unknown.body.message]);
    assert.ok((await admin.get('/api-keys')).some((item: any) => item.id === key.id));
    await admin.remove(`/api-keys/${key.id}`);
  });

  it('that may only read cannot delete stronger keys', async () => {
    const { client } = await person('EDITOR');
    const [reading, writing] = [
      await client.create('/api-keys', { name: 'reads', role: 'VIEWER' }),
      await client.create('/api-keys', { name: 'writes', role: 'EDITOR' }),
    ];
    const reader = createClient(server, reading.key);
    const refused = await reader.call('DELETE', `/api-keys/${writing.id}`);
    assert.deepEqual([refused.status, refused.body.code], [403, 'FORBIDDEN']);
    assert.equal((await createClient(server, writing.key).call('GET', '/auth/me')).status, 200);
    await createClient(server, writing.key).remove(`/api-keys/${reading.id}`);
    await client.remove(`/api-keys/${writing.id}`);
  });

  it('have a rate limit of their own, apart from their user and other keys', async () => {
    const { client } = await person('EDITOR');
    const [tight, other] = [
      await client.create('/api-keys', { name: 'tight', role: 'VIEWER', requestsPerMinute: 3 }),
      await client.create('/api-keys', { name: 'other', role: 'VIEWER', requestsPerMinute: 3 }),
    ];
    const call = async (key: string) => (await createClient(server, key).call('GET', '/auth/me')).status;
    const statuses = await Promise.all(Array.from({ length: 8 }, () => call(tight.key)));
    assert.deepEqual(
      [statuses.filter((code) => code === 200).length, statuses.filter((code) => code === 429).length],
      [3, 5],
    );
    assert.deepEqual([await call(other.key), (await client.call('GET', '/auth/me')).status], [200, 200]);
  });

  it('share a ceiling, which an ADMIN may raise, and are 20 at most', async () => {
    const { user, client } = await person('EDITOR');
    const post = (body: Record<string, unknown>) =>
      client.call('POST', '/api-keys', { body: { name: 'x', role: 'VIEWER', ...body } });
    const refused = await post({ requestsPerMinute: 10_001 });
    assert.deepEqual([refused.status, refused.body.details[0].path], [400, 'requestsPerMinute']);
    await admin.put(`/users/${user.id}`, { apiKeyRequestsPerMinute: 7 });
    assert.equal((await post({ requestsPerMinute: 8 })).status, 400);
    const keys = [await post({ requestsPerMinute: 7 }), await post({})].map(({ body }) => body.data.key);
    const statuses = await Promise.all(
      Array.from({ length: 12 }, (_, n) => createClient(server, keys[n % 2]).call('GET', '/auth/me')),
    );
    assert.deepEqual(
      [200, 429].map((code) => statuses.filter(({ status }) => status === code).length),
      [7, 5],
    );
    assert.equal((await client.call('GET', '/auth/me')).status, 200, 'sessions go on');
    await admin.put(`/users/${user.id}`, { apiKeyRequestsPerMinute: 1_000_000 });
    assert.equal((await post({ requestsPerMinute: 1_000_000 })).status, 201);
    const made = await Promise.all(Array.from({ length: 20 }, () => post({})));
    assert.equal(made.filter(({ status }) => status === 201).length, 17, 'also at once');
    assert.deepEqual(made.find(({ status }) => status !== 201)?.body.details, { reason: 'TOO_MANY_API_KEYS' });
  });

  it('end by themselves when they expire', async () => {
    const { client } = await person('EDITOR');
    const make = async (name: string, ms: number) => {
      const expiresAt = new Date(Date.now() + ms).toISOString();
      const made = await client.create('/api-keys', { name, role: 'VIEWER', expiresAt });
      assert.equal(made.expiresAt, expiresAt);
      const use = async () => (await createClient(server, made.key).call('GET', '/auth/me')).status;
      return { expiresAt, use };
    };
    const long = await make('long', 3_600_000);
    assert.equal(await long.use(), 200);
    // Again where a busy machine reads it so late that it has expired by then, which is refused.
    const short = await eventually(() => make('short', 2500));
    // Until then it is good: the first refusal comes after its end.
    await eventually(async () => assert.equal(await short.use(), 401));
    assert.ok(Date.now() >= Date.parse(short.expiresAt));
    assert.equal(await long.use(), 200);
    const listed: { name: string; expiresAt: string }[] = await client.get('/api-keys');
    assert.equal(listed.find(({ name }) => name === 'short')?.expiresAt, short.expiresAt);
    for (const past of ['2020-01-01T00:00:00.000Z', 'soon'])
      assert.equal(
        (await client.call('POST', '/api-keys', { body: { name: 'x', role: 'VIEWER', expiresAt: past } })).status,
        400,
      );
  });

  it('end when an ADMIN resets the password of their user, unless they are kept', async () => {
    const { user, client } = await person('EDITOR');
    const [one, other] = [
      await client.create('/api-keys', { name: 'one', role: 'VIEWER' }),
      await client.create('/api-keys', { name: 'other', role: 'EDITOR' }),
    ];
    const statuses = () =>
      Promise.all(
        [one, other].map(async ({ key }) => (await createClient(server, key).call('GET', '/auth/me')).status),
      );
    await admin.put(`/users/${user.id}`, { password: 'a wholly different one', keepApiKeys: true });
    assert.deepEqual(await statuses(), [200, 200]);
    await admin.put(`/users/${user.id}`, { password: 'and one more that differs' });
    assert.deepEqual(await statuses(), [401, 401]);
    assert.equal((await admin.call('PUT', `/users/${user.id}`, { body: { keepApiKeys: true } })).status, 400);
  });

  it('end when their user changes the password, unless they are kept, and at ADMIN_RESET', async () => {
    const { client } = await person('EDITOR');
    const make = async () => (await client.create('/api-keys', { name: 'program', role: 'VIEWER' })).key;
    const status = async (key: string) => (await createClient(server, key).call('GET', '/auth/me')).status;
    const change = (currentPassword: string, newPassword: string, more: object = {}) =>
      client.post('/auth/password', { currentPassword, newPassword, ...more });
    const key = await make();
    await change(password, 'a wholly different one', { keepApiKeys: true });
    assert.equal(await status(key), 200);
    await change('a wholly different one', 'and one more that differs');
    assert.equal(await status(key), 401);
    const { email } = await client.get('/auth/me');
    const lasting = await make();
    const reset = await createFirstAdmin(
      {
        users: server.users,
        passwords: createPasswords(),
        newId,
        audit: createAudit(server.sql, createLog('silent')),
        log: createLog('silent'),
      },
      { email, password: 'given by the operator', resetWord: 'once' },
    ).ensure();
    assert.deepEqual(reset, {});
    await eventually(async () => assert.equal(await status(lasting), 401));
  });

  it('of an ADMIN have the same ceiling, which an ADMIN may raise for a user', async () => {
    const { user, client } = await person('ADMIN');
    const post = (requestsPerMinute: number) =>
      client.call('POST', '/api-keys', { body: { name: 'x', role: 'ADMIN', requestsPerMinute } });
    assert.equal((await post(10_001)).status, 400);
    await client.put(`/users/${user.id}`, { apiKeyRequestsPerMinute: 20_000 });
    assert.equal((await post(10_001)).status, 201);
    await client.put(`/users/${user.id}`, { apiKeyRequestsPerMinute: 4 });
    const { key } = await client.create('/api-keys', { name: 'y', role: 'ADMIN' });
    const statuses = await Promise.all(
      Array.from({ length: 6 }, () => createClient(server, key).call('GET', '/auth/me')),
    );
    assert.equal(statuses.filter((reply) => reply.status === 429).length, 2);
  });

  it('of an ADMIN make no users and keys, and change none', async () => {
    const { user } = await person('EDITOR');
    const { key } = await admin.create('/api-keys', { name: 'x', role: 'ADMIN' });
    const program = createClient(server, key);
    for (const [method, path, body] of [
      ['POST', '/users', { email: 'new@example.invalid', password: 'a password of its own', role: 'ADMIN' }],
      ['PUT', `/users/${user.id}`, { role: 'ADMIN' }],
      ['PUT', `/users/${user.id}`, { password: 'a password of its own' }],
      ['DELETE', `/users/${user.id}`, undefined],
      ['POST', '/api-keys', { name: 'y', role: 'VIEWER' }],
    ] as const)
      assert.equal((await program.call(method, path, body && { body })).status, 403, `${method} ${path}`);
    assert.equal((await program.get(`/users/${user.id}`)).role, 'EDITOR', 'reading is free');
  });

  it('have no session to end and no password to change', async () => {
    const { client } = await person('EDITOR');
    const program = createClient(server, (await client.create('/api-keys', { name: 'x', role: 'EDITOR' })).key);
    assert.equal((await program.call('POST', '/auth/logout')).status, 403);
    assert.equal(
      (
        await program.call('POST', '/auth/password', {
          body: { currentPassword: password, newPassword: 'another good one' },
        })
      ).status,
      403,
    );
  });

  it('are refused with unknown fields and bad values', async () => {
    for (const more of [
      { userId: adminId },
      { key: 'sk_x' },
      { requestsPerMinute: 0 },
      { requestsPerMinute: 1.5 },
      { name: ' ' },
      { role: 'ROOT' },
    ])
      assert.equal(
        (await admin.call('POST', '/api-keys', { body: { name: 'x', role: 'VIEWER', ...more } })).status,
        400,
        JSON.stringify(more),
      );
  });
});
