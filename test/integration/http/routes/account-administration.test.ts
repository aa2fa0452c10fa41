import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { ensureFirstAdmin, type FirstAdminSettings } from '../../../../src/auth/first-admin.ts';
import { createPasswords } from '../../../../src/auth/passwords.ts';
import { blankSurvey } from '../../../../src/domain/blank-survey.ts';
import { createLog } from '../../../../src/log.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createAudit } from '../../../../src/stores/postgres/audit.ts';
import { createUserStore } from '../../../../src/stores/postgres/users.ts';
import { type AuthServer, freshDatabase, password, startAuthServer } from '../../../support/auth-server.ts';
import { type Client, createClient } from '../../../support/client.ts';
import { eventually } from '../../../support/eventually.ts';

let server: AuthServer;
let admin: Client;
let adminId: string;
before(async () => {
  server = await startAuthServer();
  adminId = (await server.addUser('root@localhost', 'ADMIN')).id;
  admin = await signIn('root@localhost');
});
after(() => server.stop());

async function signIn(email: string): Promise<Client> {
  return createClient(server, (await createClient(server).post('/auth/login', { email, password })).accessToken);
}

let people = 0;
async function person(role: 'ADMIN' | 'EDITOR' | 'VIEWER') {
  people += 1;
  const user = await server.addUser(`somebody${people}@example.org`, role);
  return { user, client: await signIn(user.email) };
}

const reason = async (reply: Promise<{ status: number; body: any }>) => {
  const { status, body } = await reply;
  return [status, body.code, body.details?.reason];
};

describe('users', () => {
  it('are created, read, changed, listed and deleted by an ADMIN', async () => {
    const made = await admin.create('/users', {
      email: ' New.Person@Example.org ',
      password: 'long enough',
      role: 'VIEWER',
    });
    assert.deepEqual(
      { ...made, id: '', createdAt: '', updatedAt: '' },
      {
        id: '',
        email: 'New.Person@Example.org',
        role: 'VIEWER',
        isDisabled: false,
        apiKeyRequestsPerMinute: null,
        mustChangePassword: true,
        createdAt: '',
        updatedAt: '',
      },
    );
    assert.match(made.createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.deepEqual(await admin.get(`/users/${made.id}`), made);
    const changed = await admin.put(`/users/${made.id}`, { role: 'EDITOR', email: 'renamed@example.org' });
    assert.deepEqual([changed.role, changed.email], ['EDITOR', 'renamed@example.org']);
    const list = await admin.call('GET', '/users?limit=1&page=1');
    assert.deepEqual(
      list.body.data.map((user: any) => user.id),
      [made.id],
    );
    assert.equal(list.body.pagination.page, 1);
    assert.ok(list.body.pagination.total >= 2);
    const found = async (query: string) => (await admin.get(`/users?${query}`)).map(({ id }: any) => id);
    assert.deepEqual(await found('search=RENAMED%40EX'), [made.id]);
    assert.deepEqual((await admin.call('GET', '/users?search=renamed')).body.pagination, {
      page: 1,
      limit: 20,
      total: 1,
    });
    assert.deepEqual(await found('search=renamed%25'), []);
    assert.deepEqual((await found(`id=${made.id}&id=${adminId}&id=${randomUUID()}`)).sort(), [made.id, adminId].sort());
    assert.equal((await admin.call('GET', '/users?id=1')).status, 400);
    assert.deepEqual(await admin.remove(`/users/${made.id}`), { id: made.id, deleted: true });
    assert.equal((await admin.call('GET', `/users/${made.id}`)).status, 404);
    assert.equal((await admin.call('DELETE', `/users/${made.id}`)).status, 404);
    assert.equal((await admin.call('PUT', `/users/${made.id}`, { body: { role: 'VIEWER' } })).status, 404);
  });

  it('have unique e-mail addresses, regardless of spelling', async () => {
    const { user } = await person('VIEWER');
    for (const email of [user.email, user.email.toUpperCase(), `ｓ${user.email.slice(1)}`])
      assert.deepEqual(
        await reason(admin.call('POST', '/users', { body: { email, password, role: 'VIEWER' } })),
        [409, 'CONFLICT', 'EMAIL_TAKEN'],
        email,
      );
    assert.deepEqual(await reason(admin.call('PUT', `/users/${adminId}`, { body: { email: user.email } })), [
      409,
      'CONFLICT',
      'EMAIL_TAKEN',
    ]);
    const twins = await Promise.all(
      ['twin@x', 'TWIN@x'].map((email) => admin.call('POST', '/users', { body: { email, password, role: 'VIEWER' } })),
    );
    assert.deepEqual(twins.map((reply) => reply.status).sort(), [201, 409]);
  });

  it('are refused with unknown fields, bad addresses, passwords and roles', async () => {
    const good = { email: 'ok@example.org', password: 'long enough', role: 'VIEWER' };
    const bad = [
      { ...good, id: randomUUID() },
      { ...good, isDisabled: false },
      { ...good, passwordHash: 'x' },
      { ...good, createdAt: '2020-01-01T00:00:00Z' },
      { ...good, email_key: 'x' },
      { ...good, email: 'no address' },
      { ...good, password: 'short' },
      { ...good, password: 'x'.repeat(201) },
      { ...good, role: 'OWNER' },
      { ...good, role: 'admin' },
      { email: 'ok@example.org' },
    ];
    for (const body of bad)
      assert.equal((await admin.call('POST', '/users', { body })).status, 400, JSON.stringify(body).slice(0, 80));
    for (const body of [{}, { id: randomUUID() }, { role: null }, { ownerId: randomUUID() }])
      assert.equal((await admin.call('PUT', `/users/${adminId}`, { body })).status, 400);
    for (const query of ['page=0', 'limit=101', 'limit=0', 'page=x', 'role=ADMIN'])
      assert.equal((await admin.call('GET', `/users?${query}`)).status, 400, query);
    assert.equal(await server.users.findByEmail('ok@example.org'), undefined);
  });

  it('cannot promote themselves, nor see or change others', async () => {
    for (const role of ['EDITOR', 'VIEWER'] as const) {
      const { user, client } = await person(role);
      const calls = [
        ['GET', '/users'],
        ['GET', `/users/${user.id}`],
        ['GET', '/audit'],
        ['DELETE', `/users/${adminId}`],
        ['PUT', `/users/${user.id}`, { role: 'ADMIN' }],
        ['POST', '/users', { email: 'x@y', password, role: 'ADMIN' }],
      ] as const;
      for (const [method, path, body] of calls)
        assert.equal(
          (await client.call(method, path, body === undefined ? {} : { body })).status,
          403,
          `${role} ${method} ${path}`,
        );
      assert.equal((await client.get('/auth/me')).role, role);
    }
  });

  it('always leave one active ADMIN', async () => {
    const alone = await startAuthServer();
    try {
      const [a, b] = [await alone.addUser('a@x', 'ADMIN'), await alone.addUser('b@x', 'ADMIN')];
      for (let n = 0; n < 20; n += 1) {
        // Each takes the other's place away at the same moment.
        const both = await Promise.allSettled([
          alone.users.change(b.id, { role: 'EDITOR' }, null),
          alone.users.change(a.id, { isDisabled: true }, null),
        ]);
        assert.deepEqual(both.map((outcome) => outcome.status).sort(), ['fulfilled', 'rejected']);
        for (const { id } of [a, b]) await alone.users.change(id, { role: 'ADMIN', isDisabled: false }, null);
      }
      await alone.users.change(b.id, { role: 'VIEWER' }, null);
      const isLeft = {
        id: a.id,
        client: createClient(
          alone,
          (await createClient(alone).post('/auth/login', { email: 'a@x', password })).accessToken,
        ),
      };
      for (const [method, body] of [
        ['PUT', { role: 'VIEWER' }],
        ['PUT', { isDisabled: true }],
        ['DELETE', undefined],
      ] as const)
        assert.deepEqual(
          await reason(isLeft.client.call(method, `/users/${isLeft.id}`, body ? { body } : {})),
          [409, 'CONFLICT', 'LAST_ADMIN'],
          method,
        );
      await isLeft.client.put(`/users/${isLeft.id}`, { email: 'renamed@x' });
    } finally {
      await alone.stop();
    }
  });

  it('leave their surveys to the ADMIN who deletes them', async () => {
    const { user } = await person('EDITOR');
    const survey = blankSurvey(newId(), user.id, Date.now());
    await server.surveys.create(survey);
    await server.sql`INSERT INTO survey_members (survey_id, user_id, role) VALUES (${survey.id}, ${adminId}, 'VIEWER')`;
    await admin.remove(`/users/${user.id}`);
    assert.equal((await server.surveys.find(survey.id))?.ownerId, adminId);
    assert.equal(await server.surveys.memberRole(survey.id, adminId), undefined);
  });

  it('leave their surveys to the oldest other ADMIN if they delete themselves', async () => {
    const leaving = await person('ADMIN');
    const survey = blankSurvey(newId(), leaving.user.id, Date.now());
    await server.surveys.create(survey);
    await leaving.client.remove(`/users/${leaving.user.id}`);
    assert.equal((await server.surveys.find(survey.id))?.ownerId, adminId);
    assert.equal((await leaving.client.call('GET', '/auth/me')).status, 401);
  });
});

describe('the first ADMIN', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  beforeEach(async () => {
    database = await freshDatabase();
  });
  afterEach(() => database.drop());
  const log = createLog('silent');
  const start = (given: FirstAdminSettings) =>
    ensureFirstAdmin(
      {
        users: createUserStore(database.sql),
        audit: createAudit(database.sql, log),
        passwords: createPasswords(),
        newId,
        log,
      },
      given,
    );
  const together = async (given: FirstAdminSettings) =>
    (await Promise.all(Array.from({ length: 4 }, () => start(given)))).flatMap(
      ({ createdPassword }) => createdPassword ?? [],
    );
  const users = async () =>
    (await database.sql`SELECT role, email FROM users ORDER BY email`).map(({ role, email }) => `${role} ${email}`);
  const passwordHash = async () => (await database.sql`SELECT password_hash FROM users`)[0]?.['password_hash'];

  it('is created once by processes that start together, and its password is shown once', async () => {
    const told = await together({ email: 'admin@localhost' });
    assert.equal(told.length, 1);
    assert.ok((told[0]?.length ?? 0) >= 20);
    assert.deepEqual(await users(), ['ADMIN admin@localhost']);
    assert.deepEqual(await start({ email: 'other@localhost' }), {});
  });

  it('has to change a password that was printed, not one that was configured', async () => {
    const mustChange = async () =>
      (await database.sql`SELECT email, must_change_password FROM users ORDER BY email`).map((user) => ({ ...user }));
    await start({ email: 'admin@localhost' });
    await start({ email: 'second@localhost', password, resetWord: 'second' });
    assert.deepEqual(await mustChange(), [
      { email: 'admin@localhost', must_change_password: true },
      { email: 'second@localhost', must_change_password: false },
    ]);
    await start({ email: 'admin@localhost', password, resetWord: 'configured' });
    await start({ email: 'second@localhost', resetWord: 'printed' });
    assert.deepEqual(await mustChange(), [
      { email: 'admin@localhost', must_change_password: false },
      { email: 'second@localhost', must_change_password: true },
    ]);
  });

  it('gets a configured password without showing it, and a bad address is refused by the name of its setting', async () => {
    await assert.rejects(start({ email: 'nobody' }), /ADMIN_EMAIL/);
    assert.deepEqual(await start({ email: 'admin@localhost', password }), {});
  });

  it('comes with a note at a later start with another ADMIN_PASSWORD, and without one with the same', async () => {
    await start({ email: 'admin@localhost', password });
    assert.deepEqual(await start({ email: 'admin@localhost', password }), {});
    const { note } = await start({ email: 'admin@localhost', password: 'another password' });
    assert.match(note ?? '', /^ADMIN_PASSWORD is not used: .*ADMIN_RESET/);
  });

  it('is reset once for each word, by one of the processes that start together', async () => {
    await start({ email: 'admin@localhost', password });
    const told = await together({ email: 'admin@localhost', resetWord: 'true' });
    assert.equal(told.length, 1);
    const hash = await passwordHash();
    assert.ok((await createPasswords().check(told[0] ?? '', hash)).isMatch);
    assert.deepEqual(await start({ email: 'admin@localhost', resetWord: 'true' }), {});
    assert.equal(await passwordHash(), hash);
    assert.ok((await start({ email: 'admin@localhost', resetWord: 'again' })).createdPassword);
    assert.notEqual(await passwordHash(), hash);
  });

  it('is created by a reset if no user has the address, once by processes that start together', async () => {
    await start({ email: 'admin@localhost', password });
    assert.equal((await together({ email: 'second@localhost', resetWord: 'true' })).length, 1);
    assert.deepEqual(await users(), ['ADMIN admin@localhost', 'ADMIN second@localhost']);
  });
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
    const expiresAt = new Date(Date.now() + 2500).toISOString();
    const made = await client.create('/api-keys', { name: 'short', role: 'VIEWER', expiresAt });
    assert.equal(made.expiresAt, expiresAt);
    const program = createClient(server, made.key);
    assert.equal((await program.call('GET', '/auth/me')).status, 200);
    await eventually(async () => assert.equal((await program.call('GET', '/auth/me')).status, 401));
    assert.ok(Date.now() >= Date.parse(expiresAt));
    assert.equal((await client.get('/api-keys'))[0].expiresAt, expiresAt);
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
    const reset = await ensureFirstAdmin(
      {
        users: server.users,
        passwords: createPasswords(),
        newId,
        audit: createAudit(server.sql, createLog('silent')),
        log: createLog('silent'),
      },
      { email, password: 'given by the operator', resetWord: 'once' },
    );
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
