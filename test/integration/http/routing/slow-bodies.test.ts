import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../../../../src/platform/ids.ts';
import { type AuthServer, password, startAuthServer } from '../../../support/auth-server.ts';
import { eventually } from '../../../support/eventually.ts';

let server: AuthServer;
before(async () => {
  server = await startAuthServer();
});
after(() => server.stop());

const call = async (method: string, path: string, token?: string, body?: object) => {
  const reply = await fetch(server.base + path, {
    method,
    headers: { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: reply.status, data: ((await reply.json()) as { data: any }).data };
};

/** Signs a new user in. */
async function signIn(role: 'ADMIN' | 'EDITOR') {
  const email = `${newId()}@example.org`;
  const { id } = await server.addUser(email, role);
  const { data } = await call('POST', '/auth/login', undefined, { email, password });
  return { id, token: data.accessToken as string };
}

/** Sends the end of the body only after `meanwhile`, half a second later than its head; gives the status. */
async function callSlowly(
  method: string,
  path: string,
  token: string,
  body: object,
  meanwhile: () => Promise<unknown>,
) {
  const text = JSON.stringify(body);
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': text.length,
  };
  const outgoing = request(server.base + path, { method, headers, agent: false });
  const status = new Promise<number>((resolve, reject) => {
    outgoing.on('response', (reply) => resolve(reply.resume().statusCode ?? 0));
    outgoing.on('error', reject);
  });
  outgoing.write(text.slice(0, -1));
  await sleep(500);
  await meanwhile();
  outgoing.end('}');
  return status;
}

/** Waits until so many statements wait for locks. */
const lockWaits = (expected: number) =>
  eventually(async () => {
    const [row] = await server.sql`SELECT count(*)::int AS waits FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    assert.equal(row?.['waits'], expected);
  });

describe('a right that ends while a body is on its way', () => {
  it('is gone with the session', async () => {
    const { token } = await signIn('EDITOR');
    const key = { name: 'Late', role: 'EDITOR' };
    const signOut = () => call('POST', '/auth/logout', token);
    assert.equal(await callSlowly('POST', '/api-keys', token, key, signOut), 401);
    const [row] = await server.sql`SELECT count(*)::int AS keys FROM api_keys`;
    assert.equal(row?.['keys'], 0);
  });

  it('is gone with the session, also where the body is read piece by piece', async () => {
    const { token } = await signIn('EDITOR');
    const signOut = () => call('POST', '/auth/logout', token);
    assert.equal(await callSlowly('POST', '/probe/stream', token, { some: 'text' }, signOut), 401);
  });

  it('is gone with the role', async () => {
    const [first, second, other] = [await signIn('ADMIN'), await signIn('ADMIN'), await signIn('EDITOR')];
    const demote = () => call('PUT', `/users/${second.id}`, first.token, { role: 'EDITOR' });
    assert.equal(await callSlowly('PUT', `/users/${other.id}`, second.token, { role: 'ADMIN' }, demote), 403);
    assert.equal((await call('GET', `/users/${other.id}`, first.token)).data.role, 'EDITOR');
  });

  it('is gone with the session, also where a new password ends it after the last check', async () => {
    const [first, other] = [await signIn('ADMIN'), await signIn('EDITOR')];
    const email = `${newId()}@example.org`;
    for (const [method, path, body] of [
      ['POST', '/api-keys', { name: 'Late', role: 'ADMIN' }],
      ['POST', '/users', { email, password: 'a password of its own', role: 'ADMIN' }],
      ['PUT', `/users/${other.id}`, { role: 'ADMIN' }],
    ] as const) {
      const second = await signIn('ADMIN');
      // Each in turn, as a statement waits five seconds for a lock.
      const replies = await server.sql.begin(async (tx) => {
        await tx`SELECT 1 FROM users WHERE id = ${second.id} FOR UPDATE`;
        const change = call('PUT', `/users/${second.id}`, first.token, { password: 'a wholly different one' });
        await lockWaits(1);
        const late = call(method, path, second.token, body);
        await lockWaits(2);
        return [change, late];
      });
      const statuses = await Promise.all(replies.map(async (reply) => (await reply).status));
      assert.deepEqual(statuses, [200, 401], `${method} ${path}`);
    }
    assert.equal((await call('GET', `/users/${other.id}`, first.token)).data.role, 'EDITOR');
  });

  it('is gone with the role, also where it is taken away after the last check', async () => {
    const [first, other] = [await signIn('ADMIN'), await signIn('EDITOR')];
    const email = `${newId()}@example.org`;
    const lateCalls = (ownId: string) =>
      [
        ['POST', '/users', { email, password: 'a password of its own', role: 'ADMIN' }],
        ['PUT', `/users/${ownId}`, { role: 'ADMIN', password: 'a wholly different one' }],
        ['PUT', `/users/${ownId}`, { role: 'ADMIN' }],
        ['PUT', `/users/${other.id}`, { role: 'ADMIN' }],
        ['PUT', `/users/${other.id}`, { password: 'a wholly different one' }],
        ['PUT', `/users/${other.id}`, { email }],
        ['PUT', `/users/${other.id}`, { isDisabled: true }],
        ['PUT', `/users/${other.id}`, { apiKeyRequestsPerMinute: 9 }],
        ['DELETE', `/users/${other.id}`, undefined],
      ] as const;
    const before = await call('GET', `/users/${other.id}`, first.token);
    for (const index of lateCalls('').keys()) {
      const second = await signIn('ADMIN');
      const [method, path, body] = lateCalls(second.id)[index] ?? assert.fail();
      const replies = await server.sql.begin(async (tx) => {
        await tx`SELECT 1 FROM users WHERE id = ${second.id} FOR UPDATE`;
        const demotion = call('PUT', `/users/${second.id}`, first.token, { role: 'VIEWER' });
        await lockWaits(1);
        const late = call(method, path, second.token, body);
        await lockWaits(2);
        return [demotion, late];
      });
      const statuses = await Promise.all(replies.map(async (reply) => (await reply).status));
      assert.deepEqual(statuses, [200, 403], `${method} ${path} ${JSON.stringify(body)}`);
      assert.equal((await call('GET', `/users/${second.id}`, first.token)).data.role, 'VIEWER');
    }
    assert.deepEqual(await call('GET', `/users/${other.id}`, first.token), before);
    assert.equal(await server.users.findByEmail(email), undefined);
  });

  it('goes on with the session otherwise', async () => {
    const { token } = await signIn('EDITOR');
    assert.equal(await callSlowly('POST', '/probe/stream', token, { some: 'text' }, async () => 0), 200);
    assert.equal(await callSlowly('POST', '/api-keys', token, { name: 'Slow', role: 'EDITOR' }, async () => 0), 201);
  });
});
