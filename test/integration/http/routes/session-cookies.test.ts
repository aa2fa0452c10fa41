import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSessionCookie } from '../../../../src/http/session-cookie.ts';
import { type AuthServer, password, startAuthServer } from '../../../support/auth-server.ts';

const email = 'a@example.org';
let server: AuthServer;
before(async () => {
  server = await startAuthServer();
  await server.addUser(email, 'EDITOR');
});
after(() => server.stop());

const post = (path: string, body?: object, headers: Record<string, string> = {}) =>
  fetch(`${server.base}${path}`, {
    method: 'POST',
    headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
const cookieOf = (reply: Response): string => reply.headers.getSetCookie()[0] ?? '';
const pairOf = (cookie: string): string => cookie.split(';')[0] ?? '';
const signIn = () => post('/auth/login', { email, password, session: 'cookie' });

describe('a session in a cookie', () => {
  it('has its refresh token in an HttpOnly cookie for the calls of sessions alone, and not in the reply', async () => {
    const reply = await signIn();
    const { data } = (await reply.json()) as { data: Record<string, unknown> };
    assert.deepEqual(Object.keys(data).sort(), ['accessToken', 'expiresIn', 'user']);
    assert.match(
      cookieOf(reply),
      /^survey_session=[\w-]{20,}; Max-Age=\d+; Path=\/api\/v1\/auth; HttpOnly; SameSite=Strict$/,
    );
  });

  it('goes on by the cookie alone, each value once', async () => {
    const first = pairOf(cookieOf(await signIn()));
    const reply = await post('/auth/refresh', undefined, { cookie: `theme=dark; ${first}` });
    assert.equal(reply.status, 200);
    const { data } = (await reply.json()) as { data: { accessToken: string } };
    const me = await fetch(`${server.base}/auth/me`, { headers: { authorization: `Bearer ${data.accessToken}` } });
    assert.equal(me.status, 200);
    assert.notEqual(pairOf(cookieOf(reply)), first);
  });

  it('is refused without a cookie, and to pages of other sites', async () => {
    const cookie = pairOf(cookieOf(await signIn()));
    assert.equal((await post('/auth/refresh')).status, 401);
    assert.equal((await post('/auth/refresh', undefined, { cookie: 'survey_session=rt_guess' })).status, 401);
    const foreign = { cookie, origin: 'https://elsewhere.example' };
    assert.equal((await post('/auth/refresh', undefined, foreign)).status, 403);
    assert.equal((await post('/auth/login', { email, password, session: 'cookie' }, foreign)).status, 403);
    const own = { cookie, origin: new URL(server.base).origin };
    assert.equal((await post('/auth/refresh', undefined, own)).status, 200);
  });

  it('ends when somebody signs in anew in the same browser, whoever it is, and no other session does', async () => {
    const other = 'b@example.org';
    await server.addUser(other, 'VIEWER');
    const [first, elsewhere] = [await signIn(), await signIn()];
    const { data } = (await first.json()) as { data: { accessToken: string } };
    const former = pairOf(cookieOf(first));
    const refused = await post('/auth/login', { email, password: 'wrong one', session: 'cookie' }, { cookie: former });
    assert.equal(refused.status, 401);
    const authorization = `Bearer ${data.accessToken}`;
    assert.equal((await fetch(`${server.base}/auth/me`, { headers: { authorization } })).status, 200);
    const anew = await post('/auth/login', { email: other, password, session: 'cookie' }, { cookie: former });
    assert.equal(anew.status, 200);
    assert.equal((await fetch(`${server.base}/auth/me`, { headers: { authorization } })).status, 401);
    assert.equal((await post('/auth/refresh', undefined, { cookie: former })).status, 401);
    for (const cookie of [anew, elsewhere].map((reply) => pairOf(cookieOf(reply))))
      assert.equal((await post('/auth/refresh', undefined, { cookie })).status, 200);
  });

  it('ends everywhere when it is signed out, and its cookie with it', async () => {
    const signedIn = await signIn();
    const { data } = (await signedIn.json()) as { data: { accessToken: string } };
    const out = await post('/auth/logout', undefined, { authorization: `Bearer ${data.accessToken}` });
    assert.match(cookieOf(out), /^survey_session=; Max-Age=0;/);
    assert.equal((await post('/auth/refresh', undefined, { cookie: pairOf(cookieOf(signedIn)) })).status, 401);
  });

  it('is refused where a neighbouring host has set a second cookie of the name', async () => {
    const [own, planted] = [pairOf(cookieOf(await signIn())), pairOf(cookieOf(await signIn()))];
    for (const cookie of [`${planted}; ${own}`, `${own}; ${planted}`])
      assert.equal((await post('/auth/refresh', undefined, { cookie })).status, 401);
    assert.equal((await post('/auth/refresh', undefined, { cookie: own })).status, 200);
  });

  it('leaves no cookie behind once the session has ended', async () => {
    const reply = await post('/auth/refresh', undefined, { cookie: 'survey_session=rt_ended' });
    assert.equal(reply.status, 401);
    assert.match(cookieOf(reply), /^survey_session=; Max-Age=0;/);
  });
});

describe('the cookie of a session behind https', () => {
  const cookie = createSessionCookie({
    publicUrl: 'https://surveys.example.org',
    ttlSeconds: 60,
    path: '/api/v1/auth/refresh',
  });

  it('belongs to the host alone, which no other host can write', () => {
    assert.equal(
      cookie.set('rt_a')[1],
      '__Host-survey_session=rt_a; Max-Age=60; Path=/; HttpOnly; SameSite=Strict; Secure',
    );
    assert.equal(cookie.read('survey_session=rt_planted'), undefined);
    assert.equal(cookie.read('a=b; __Host-survey_session=rt_a'), 'rt_a');
  });

  it('is refused to the page of the same host without https, and to pages without an origin', () => {
    const host = 'surveys.example.org';
    for (const origin of ['http://surveys.example.org', 'null', '', 'https://surveys.example.org.evil.example'])
      for (const given of [host, '', undefined])
        assert.throws(() => cookie.assertSameOrigin({ origin, host: given }), /pages of the service itself only/);
    for (const origin of [undefined, 'https://surveys.example.org']) cookie.assertSameOrigin({ origin, host });
  });
});
