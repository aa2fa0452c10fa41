import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../../../../src/platform/ids.ts';
import { type AuthServer, password, startAuthServer } from '../../../support/auth-server.ts';

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

  it('goes on with the session otherwise', async () => {
    const { token } = await signIn('EDITOR');
    assert.equal(await callSlowly('POST', '/probe/stream', token, { some: 'text' }, async () => 0), 200);
    assert.equal(await callSlowly('POST', '/api-keys', token, { name: 'Slow', role: 'EDITOR' }, async () => 0), 201);
  });
});
