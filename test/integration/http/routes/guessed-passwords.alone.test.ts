import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Redis } from 'ioredis';
import { createAccountGuard } from '../../../../src/auth/account-guard.ts';
import { createLog } from '../../../../src/log.ts';
import { type AuthPeople, createAuthPeople } from '../../../support/auth-people.ts';
import { type AuthServer, password, startAuthServer } from '../../../support/auth-server.ts';
import { createClient } from '../../../support/client.ts';

let server: AuthServer;
let people: AuthPeople;
before(async () => {
  server = await startAuthServer();
  people = createAuthPeople(server);
});
after(() => server.stop());

describe('guessing', () => {
  it('from one address is limited over login and refresh together', async () => {
    const limited = await startAuthServer({ limits: { auth: 10 } });
    try {
      const from = (address: string, path: string, body: unknown) =>
        createClient(limited).call('POST', path, { body, headers: { 'x-forwarded-for': address } });
      for (let n = 0; n < 10; n += 1) {
        const reply =
          n % 2
            ? await from('192.0.2.1', '/auth/login', { email: 'a@b', password: 'guess' })
            : await from('192.0.2.1', '/auth/refresh', { refreshToken: 'guess' });
        assert.deepEqual(
          [reply.status, reply.headers.get('x-ratelimit-limit'), reply.headers.get('x-ratelimit-remaining')],
          [401, '10', String(9 - n)],
        );
      }
      const eleventh = await from('192.0.2.1', '/auth/login', { email: 'a@b', password: 'guess' });
      assert.equal(eleventh.status, 429);
      assert.ok(Number(eleventh.headers.get('retry-after')) >= 1);
      assert.equal((await from('192.0.2.2', '/auth/login', { email: 'a@b', password: 'guess' })).status, 401);
    } finally {
      await limited.stop();
    }
  });

  it('one account from many addresses is stopped, without locking its owner out', async () => {
    const owner = await people.signedIn('EDITOR');
    const from = (n: number, email: string, word: string) =>
      people.anyone().call('POST', '/auth/login', {
        body: { email, password: word },
        headers: { 'x-forwarded-for': `198.51.100.${n}` },
      });
    assert.equal((await from(250, owner.user.email, password)).status, 200);
    for (const email of [owner.user.email, 'nobody-at-all@example.org']) {
      for (let n = 0; n < 100; n += 1) assert.equal((await from(n, email, 'guess')).status, 401);
      for (let n = 0; n < 3; n += 1) assert.equal((await from(200, email, 'guess')).status, 401);
      const stopped = await from(200, email, 'guess');
      assert.equal(stopped.status, 429);
      assert.ok(Number(stopped.headers.get('retry-after')) > 3000);
    }
    assert.equal((await from(200, owner.user.email, password)).status, 429, 'a guess that is right tells nothing');
    assert.equal((await from(201, owner.user.email, password)).status, 200, 'a new address of the owner gets in');
    assert.equal((await from(250, owner.user.email, password)).status, 200, 'a known address still gets in');
    assert.equal((await owner.client.call('GET', '/auth/me')).status, 200);
    await people.anyone().post('/auth/refresh', { refreshToken: owner.tokens.refreshToken });
  });

  it('is not limited by account while Redis is away', async () => {
    const away = new Redis(1, '127.0.0.1', { enableOfflineQueue: false, retryStrategy: () => null });
    away.on('error', () => undefined);
    const guard = createAccountGuard({ redis: away, keyedHash: (_scope, text) => text, log: createLog('silent') });
    await guard.failed('a@b', '192.0.2.1');
    await guard.succeeded('a@b', '192.0.2.1');
    await guard.assertNotLocked('a@b', '192.0.2.1');
    away.disconnect();
  });

  it('in a flood is refused with SERVICE_UNAVAILABLE before any hashing', async () => {
    const replies = await Promise.all(
      Array.from({ length: 150 }, (_, n) =>
        people.anyone().call('POST', '/auth/login', { body: { email: `flood${n}@example.org`, password: 'guess' } }),
      ),
    );
    const turnedAway = replies.filter((reply) => reply.status === 503);
    assert.ok(turnedAway.length > 0);
    for (const reply of turnedAway)
      assert.deepEqual([reply.body.code, Number(reply.headers.get('retry-after')) >= 1], ['SERVICE_UNAVAILABLE', true]);
    assert.deepEqual(new Set(replies.map((reply) => reply.status)), new Set([401, 503]));
  });

  it('the current password with a stolen token is stopped', async () => {
    const { client } = await people.signedIn('EDITOR');
    const guess = () =>
      client.call('POST', '/auth/password', { body: { currentPassword: 'guess', newPassword: 'another good one' } });
    for (let n = 0; n < 100; n += 1) assert.equal((await guess()).status, 400);
    assert.equal((await guess()).status, 429);
  });

  it('the current password of an ADMIN by changes that are refused is stopped', async () => {
    const { user, client } = await people.signedIn('ADMIN');
    const taken = (await server.addUser('taken@example.org', 'VIEWER')).email;
    const guess = (text: string) => client.call('PUT', `/users/${user.id}`, { body: { password: text, email: taken } });
    for (let n = 0; n < 100; n += 1) assert.equal((await guess(`no such guess ${n}`)).status, 409);
    assert.equal((await guess(password)).status, 429);
    assert.equal((await client.call('PUT', `/users/${user.id}`, { body: { isDisabled: false } })).status, 200);
  });
});
