import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { type AuthPeople, createAuthPeople } from '../../../support/auth-people.ts';
import { type AuthServer, password, startAuthServer } from '../../../support/auth-server.ts';
import { type Client, createClient } from '../../../support/client.ts';
import { eventually } from '../../../support/eventually.ts';
import { forgedTokens, tokenParts } from '../../../support/forged-tokens.ts';

let server: AuthServer;
let people: AuthPeople;
before(async () => {
  server = await startAuthServer();
  people = createAuthPeople(server);
});
after(() => server.stop());

/** An ADMIN of whom nothing else is asked. */
const newCaller = async () => ({ userId: (await people.newPerson('ADMIN')).id, sessionId: null, keyId: null });
const status = async (client: Client, path = '/auth/me') => (await client.call('GET', path)).status;

describe('signing in', () => {
  it('gives tokens and the user', async () => {
    const user = await people.newPerson('EDITOR');
    const data = await people.anyone().post('/auth/login', { email: ` ${user.email.toUpperCase()} `, password });
    assert.deepEqual(Object.keys(data).sort(), ['accessToken', 'expiresIn', 'refreshToken', 'user']);
    assert.deepEqual(data.user, { id: user.id, email: user.email, role: 'EDITOR' });
    assert.equal(data.expiresIn, 900);
    const me = await createClient(server, data.accessToken).get('/auth/me');
    assert.deepEqual(Object.keys(me).sort(), [
      'apiKeyRequestsPerMinute',
      'createdAt',
      'email',
      'id',
      'isDisabled',
      'mustChangePassword',
      'role',
      'updatedAt',
    ]);
  });

  it('refuses an unknown e-mail, a wrong password and a disabled user alike: status, body and headers', async () => {
    const user = await people.newPerson('EDITOR');
    const off = await people.newPerson('EDITOR');
    await server.users.change(off.id, { isDisabled: true }, await newCaller());
    const attempts = [
      { email: user.email, password: 'wrong password' },
      { email: 'nobody@example.org', password: 'wrong password' },
      { email: off.email, password },
      { email: 'not an address', password: 'wrong password' },
      { email: user.email, password: "' OR 1=1; --" },
      { email: "' OR 1=1; --", password: 'x' },
      { email: user.email, password: 'short' },
    ];
    const seen = await Promise.all(attempts.map((body) => people.anyone().call('POST', '/auth/login', { body })));
    const comparable = seen.map(({ status: code, headers, body: { requestId, ...body } }) => {
      assert.ok(requestId);
      const names = [...headers].filter(
        ([name]) => !['date', 'x-request-id', 'x-ratelimit-remaining', 'x-ratelimit-reset'].includes(name),
      );
      return { code, body, names };
    });
    assert.equal(comparable[0]?.code, 401);
    assert.equal(comparable[0]?.body.code, 'UNAUTHORIZED');
    for (const other of comparable) assert.deepEqual(other, comparable[0]);
  });

  it('takes as long for an unknown e-mail as for a wrong password', async () => {
    const user = await people.newPerson('EDITOR');
    const median = (list: number[]) => list.sort((a, b) => a - b)[list.length >> 1] ?? 0;
    const compare = async () => {
      const times: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] };
      for (let n = 0; n < 30; n += 1)
        for (const kind of ['known', 'unknown'] as const) {
          const started = performance.now();
          await people.anyone().call('POST', '/auth/login', {
            body: { email: kind === 'known' ? user.email : `nobody${n}@example.org`, password: 'wrong password' },
          });
          times[kind].push(performance.now() - started);
        }
      const [known, unknown] = [median(times.known), median(times.unknown)];
      assert.ok(Math.abs(known - unknown) / known < 0.3, `known ${known} ms, unknown ${unknown} ms`);
    };
    // Other work of the machine may disturb one comparison; a difference of the service would appear every time.
    await compare().catch(compare).catch(compare);
  });

  it('refuses strange bodies with VALIDATION_ERROR', async () => {
    const bodies = [
      {},
      null,
      [],
      '"x"',
      { email: 'a@b' },
      { email: 1, password: 2 },
      { email: 'a@b', password: 'x'.repeat(1000) },
      { email: 'a@b', password: 'x\u0000' },
      { email: 'a@b', password, role: 'ADMIN' },
    ];
    for (const body of bodies)
      assert.equal((await people.anyone().call('POST', '/auth/login', { body })).status, 400, JSON.stringify(body));
  });

  it('rehashes a password with outdated parameters', async () => {
    const { hash } = await import('@node-rs/argon2');
    const user = await people.newPerson('EDITOR');
    const weak = await hash(password, { memoryCost: 8192, timeCost: 1 });
    await server.sql`UPDATE users SET password_hash = ${weak} WHERE id = ${user.id}`;
    await people.signIn(user.email);
    const renewed = (await server.users.find(user.id))?.passwordHash;
    assert.match(renewed ?? '', /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    await people.signIn(user.email);
    assert.equal((await server.users.find(user.id))?.passwordHash, renewed);
  });

  it('is decided by the hash that another sign-in or a change of the password has stored meanwhile', async () => {
    const { hash } = await import('@node-rs/argon2');
    for (const [stored, expected] of [
      [password, 200],
      ['quite another password', 401],
    ] as const) {
      const user = await people.newPerson('EDITOR');
      let reply: ReturnType<Client['call']> | undefined;
      await server.sql.begin(async (tx) => {
        await tx`SELECT FROM users WHERE id = ${user.id} FOR UPDATE`;
        reply = people.anyone().call('POST', '/auth/login', { body: { email: user.email, password } });
        await eventually(async () =>
          assert.equal(
            (
              await server.sql`
                SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
            ).length,
            1,
            'its session is about to start',
          ),
        );
        await tx`UPDATE users SET password_hash = ${await hash(stored)} WHERE id = ${user.id}`;
      });
      assert.equal((await reply)?.status, expected, stored);
    }
  });
});

describe('a call without a live token', () => {
  it('gets 401 and WWW-Authenticate for every forged token', async () => {
    const { user, tokens } = await people.signedIn('ADMIN');
    const sessionId = JSON.parse(Buffer.from(tokens.accessToken.split('.')[1] ?? '', 'base64url').toString()).sid;
    const options = { pem: server.signingKey, userId: user.id, sessionId };
    assert.equal(
      await status(createClient(server, (await tokenParts(options)).good)),
      200,
      'the forgeries start from a token that is believed',
    );
    const forgeries = await forgedTokens(options);
    const other = await people.newPerson('ADMIN');
    forgeries.push(
      { name: "another user's session", token: (await tokenParts({ ...options, userId: other.id })).good },
      { name: 'a session that never was', token: (await tokenParts({ ...options, sessionId: randomUUID() })).good },
      { name: 'a real refresh token', token: tokens.refreshToken },
    );
    assert.ok(forgeries.length >= 25);
    for (const { name, token } of forgeries) {
      const reply = await people.anyone().call('GET', '/auth/me', { token });
      assert.deepEqual(
        [reply.status, reply.body.code, reply.headers.get('www-authenticate')],
        [401, 'UNAUTHORIZED', 'Bearer'],
        name,
      );
    }
  });

  it('gets 401 for other schemes, empty and doubled headers', async () => {
    const { tokens } = await people.signedIn('ADMIN');
    const good = `Bearer ${tokens.accessToken}`;
    for (const authorization of [
      '',
      'Bearer',
      'Bearer ',
      `Basic ${btoa('a:b')}`,
      tokens.accessToken,
      `${good}, ${good}`,
      `Token ${tokens.accessToken}`,
      `${good} x`,
    ])
      assert.equal(
        (await people.anyone().call('GET', '/auth/me', { headers: { authorization } })).status,
        401,
        authorization.slice(0, 20),
      );
    assert.equal(
      (await people.anyone().call('GET', '/auth/me', { headers: { authorization: `bearer ${tokens.accessToken}` } }))
        .status,
      200,
    );
    assert.ok(
      [401, 431].includes((await people.anyone().call('GET', '/auth/me', { token: 'A'.repeat(65_536) })).status),
    );
  });

  it('cannot use an access token as a refresh token', async () => {
    const { tokens } = await people.signedIn('EDITOR');
    assert.equal(
      (await people.anyone().call('POST', '/auth/refresh', { body: { refreshToken: tokens.accessToken } })).status,
      401,
    );
    assert.equal(
      (await people.anyone().call('POST', '/auth/refresh', { body: { refreshToken: `rt_${'A'.repeat(43)}` } })).status,
      401,
    );
  });
});

describe('what ends a session counts within a second', () => {
  it('signing out', async () => {
    const { client, tokens } = await people.signedIn('EDITOR');
    assert.equal(await status(client), 200);
    await client.post('/auth/logout');
    assert.equal(await status(client), 401);
    assert.equal(
      (await people.anyone().call('POST', '/auth/refresh', { body: { refreshToken: tokens.refreshToken } })).status,
      401,
    );
  });

  it('signing out with the refresh token of another own session, but not with a stranger’s', async () => {
    const [mine, strangers] = [await people.signedIn('EDITOR'), await people.signedIn('EDITOR')];
    const second = await people.signIn(mine.user.email);
    await mine.client.post('/auth/logout', { refreshToken: second.tokens.refreshToken });
    assert.equal(await status(second.client), 401);
    const third = await people.signIn(mine.user.email);
    await third.client.post('/auth/logout', { refreshToken: strangers.tokens.refreshToken });
    assert.equal(await status(strangers.client), 200);
  });

  it('signing out everywhere, for this user alone', async () => {
    const [mine, strangers] = [await people.signedIn('EDITOR'), await people.signedIn('EDITOR')];
    const second = await people.signIn(mine.user.email);
    await mine.client.post('/auth/logout', { everywhere: true });
    assert.deepEqual(
      [await status(mine.client), await status(second.client), await status(strangers.client)],
      [401, 401, 200],
    );
  });

  it('disabling, role change and deletion, also in other processes', async () => {
    const [disabled, demoted, deleted] = [
      await people.signedIn('EDITOR'),
      await people.signedIn('ADMIN'),
      await people.signedIn('EDITOR'),
    ];
    const caller = await newCaller();
    for (const { client } of [disabled, demoted, deleted]) assert.equal(await status(client), 200);
    await server.users.change(disabled.user.id, { isDisabled: true }, caller);
    await server.users.change(demoted.user.id, { role: 'EDITOR' }, caller);
    await server.users.remove(deleted.user.id, caller);
    const changedAt = performance.now();
    let lastBelievedMs = 0;
    await eventually(
      async () => {
        const askedMs = performance.now() - changedAt;
        const seen = [
          await status(disabled.client),
          await status(demoted.client, '/users'),
          await status(deleted.client),
        ];
        if (seen.includes(200)) lastBelievedMs = askedMs;
        assert.deepEqual(seen, [401, 403, 401]);
      },
      10_000,
      20,
    );
    // By when it was asked: how long an answer takes is the machine's affair.
    assert.ok(lastBelievedMs < 1000, `it was still believed after ${lastBelievedMs} ms`);
    assert.equal(await status(demoted.client), 200);
  });

  it('a new password of their own ends the other sessions and keeps this one', async () => {
    const { user, client } = await people.signedIn('VIEWER');
    const other = await people.signIn(user.email);
    const wrong = await client.call('POST', '/auth/password', {
      body: { currentPassword: 'not this', newPassword: 'another good one' },
    });
    assert.deepEqual(
      [wrong.status, wrong.body.code, wrong.body.details[0].path],
      [400, 'VALIDATION_ERROR', 'currentPassword'],
    );
    assert.equal(
      (await client.call('POST', '/auth/password', { body: { currentPassword: password, newPassword: 'short' } }))
        .status,
      400,
    );
    await client.post('/auth/password', { currentPassword: password, newPassword: 'another good one' });
    assert.deepEqual([await status(client), await status(other.client)], [200, 401]);
    assert.equal(
      (await people.anyone().call('POST', '/auth/login', { body: { email: user.email, password } })).status,
      401,
    );
    await people.anyone().post('/auth/login', { email: user.email, password: 'another good one' });
  });

  it('a password that an ADMIN sets ends all of them', async () => {
    const [admin, person] = [await people.signedIn('ADMIN'), await people.signedIn('EDITOR')];
    await admin.client.put(`/users/${person.user.id}`, { password: 'set by an admin' });
    assert.equal(await status(person.client), 401);
    await admin.client.put(`/users/${admin.user.id}`, { password: 'set by an admin' });
    assert.equal(await status(admin.client), 200);
  });

  it('a password that somebody else has chosen is to be changed, until the user has', async () => {
    const [admin, person] = [await people.signedIn('ADMIN'), await people.newPerson('EDITOR')];
    const mustChange = async (client: Client) => (await client.get('/auth/me')).mustChangePassword;
    await admin.client.put(`/users/${person.id}`, { password: 'set by an admin' });
    const { client } = await people.signIn(person.email, 'set by an admin');
    assert.equal(await mustChange(client), true);
    await client.post('/auth/password', { currentPassword: 'set by an admin', newPassword: 'another good one' });
    assert.equal(await mustChange(client), false);
    await admin.client.put(`/users/${admin.user.id}`, { password: 'set by oneself' });
    assert.equal(await mustChange(admin.client), false);
  });

  it('the same password again is refused, and is still to be changed', async () => {
    const given = 'set by an ａdmin';
    const assertRefused = async (client: Client, [method, path]: [string, string], body: Record<string, string>) => {
      const reply = await client.call(method, path, { body });
      const refusal = [reply.status, reply.body.code, reply.body.details?.[0].path];
      assert.deepEqual(refusal, [400, 'VALIDATION_ERROR', Object.keys(body).at(-1)]);
    };
    const [first, second, person] = [
      await people.signedIn('ADMIN'),
      await people.newPerson('ADMIN'),
      await people.newPerson('EDITOR'),
    ];
    for (const { id, email } of [second, person]) {
      await first.client.put(`/users/${id}`, { password: given });
      const { client } = await people.signIn(email, given);
      for (const again of [given, given.normalize('NFKC')]) {
        await assertRefused(client, ['POST', '/auth/password'], {
          currentPassword: given,
          newPassword: again,
        });
        if (id === second.id) await assertRefused(client, ['PUT', `/users/${id}`], { password: again });
      }
      assert.equal((await client.get('/auth/me')).mustChangePassword, true);
    }
  });

  it('open connections can check their caller', async () => {
    const { tokens, client } = await people.signedIn('EDITOR');
    const principal = await server.people.authenticate(`Bearer ${tokens.accessToken}`, () => true);
    assert.equal((await server.people.current(principal))?.userId, principal.userId);
    await client.post('/auth/logout');
    assert.equal(await server.people.current(principal), undefined);
  });
});
