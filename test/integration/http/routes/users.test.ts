import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { blankSurvey } from '../../../../src/domain/blank-survey.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createAiStore } from '../../../../src/stores/postgres/ai/jobs.ts';
import { type AccountServer, useAccountServer } from '../../../support/account-server.ts';
import { password, startAuthServer } from '../../../support/auth-server.ts';
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

  it('are told of the length of an overlong password alone, which is neither judged nor compared', async () => {
    const overlong = '1'.repeat(60_000);
    const tooLong = 'must have 8 to 200 characters';
    const detailsOf = async (method: string, path: string, body: unknown) => {
      const reply = await admin.call(method, path, { body });
      return [reply.status, reply.body.details];
    };
    const user = { email: 'long@example.org', password: overlong, role: 'VIEWER' };
    const refused = [400, [{ path: 'password', message: tooLong }]];
    assert.deepEqual(await detailsOf('POST', '/users', user), refused);
    assert.deepEqual(await detailsOf('PUT', `/users/${adminId}`, { password: overlong }), refused);
    assert.deepEqual(await detailsOf('POST', '/auth/password', { currentPassword: overlong, newPassword: overlong }), [
      400,
      [
        { path: 'currentPassword', message: 'is longer than any password' },
        { path: 'newPassword', message: tooLong },
      ],
    ]);
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
      const by = ({ id: userId }: { id: string }) => ({ userId, sessionId: null, keyId: null });
      for (let n = 0; n < 20; n += 1) {
        // Each gives up the place at the same moment.
        const both = await Promise.allSettled([
          alone.users.change(b.id, { role: 'EDITOR' }, by(b)),
          alone.users.change(a.id, { isDisabled: true }, by(a)),
        ]);
        assert.deepEqual(both.map((outcome) => outcome.status).sort(), ['fulfilled', 'rejected']);
        const [left, gone] = both[0]?.status === 'fulfilled' ? [a, b] : [b, a];
        await alone.users.change(gone.id, { role: 'ADMIN', isDisabled: false }, by(left));
      }
      await alone.users.change(b.id, { role: 'VIEWER' }, by(a));
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

  it('stay, with their surveys, where the ADMIN who deletes them is disabled or loses the role first', async () => {
    for (const [change, expected] of [
      [{ isDisabled: true }, 401],
      [{ role: 'VIEWER' }, 403],
      [{ role: 'EDITOR' }, 403],
    ] as const) {
      const [{ user }, deleting] = [await person('EDITOR'), await person('ADMIN')];
      const survey = blankSurvey(newId(), user.id, Date.now());
      await server.surveys.create(survey);
      const calls: ReturnType<Client['call']>[] = [];
      await server.sql.begin(async (tx) => {
        await tx`SELECT FROM users WHERE id = ${deleting.user.id} FOR UPDATE`;
        for (const call of [
          () => admin.call('PUT', `/users/${deleting.user.id}`, { body: change }),
          () => deleting.client.call('DELETE', `/users/${user.id}`),
        ]) {
          calls.push(call());
          await eventually(async () => {
            const waiting = await server.sql`
              SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
            assert.equal(waiting.count, calls.length);
          });
        }
      });
      const statuses = (await Promise.all(calls)).map(({ status }) => status);
      assert.deepEqual(statuses, [200, expected], JSON.stringify(change));
      assert.equal((await server.surveys.find(survey.id))?.ownerId, user.id);
    }
  });

  it('leave their surveys to the oldest other ADMIN if they delete themselves', async () => {
    const leaving = await person('ADMIN');
    const survey = blankSurvey(newId(), leaving.user.id, Date.now());
    await server.surveys.create(survey);
    await leaving.client.remove(`/users/${leaving.user.id}`);
    assert.equal((await server.surveys.find(survey.id))?.ownerId, adminId);
    assert.equal((await leaving.client.call('GET', '/auth/me')).status, 401);
  });

  it('have no AI jobs that go on once they are disabled or VIEWERs, and keep those of others', async () => {
    const store = createAiStore(server.sql);
    const begin = async (ownerId: string) => {
      const id = newId();
      await store.findOrCreate({ id, ownerId, surveyId: null, topic: `generate/${id}`, request: {} });
      return id;
    };
    const statuses = (ids: string[]) => Promise.all(ids.map(async (id) => (await store.find(id))?.status));
    for (const change of [{ isDisabled: true }, { role: 'VIEWER' }]) {
      const { user } = await person('EDITOR');
      const ids = [await begin(user.id), await begin(user.id), await begin(adminId)];
      const claimed = await store.claim(ids[0] ?? '');
      assert.ok(claimed);
      await admin.put(`/users/${user.id}`, { role: 'EDITOR' });
      assert.deepEqual(await statuses(ids), ['RUNNING', 'PENDING', 'PENDING']);
      await admin.put(`/users/${user.id}`, change);
      assert.deepEqual(await statuses(ids), ['CANCELLED', 'CANCELLED', 'PENDING'], JSON.stringify(change));
      assert.equal(await store.heartbeat(claimed, null), false, 'it ends at its next heartbeat');
    }
  });
});
