import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { createSessionStore } from '../../../../src/stores/postgres/sessions.ts';
import { type AuthServer, password, startAuthServer } from '../../../support/auth-server.ts';
import { createClient } from '../../../support/client.ts';

let server: AuthServer;
before(async () => {
  server = await startAuthServer();
  await server.addUser('a@example.org', 'EDITOR');
});
after(() => server.stop());

interface Tokens {
  accessToken: string;
  refreshToken: string;
  expiresIn: number;
}

const login = (): Promise<Tokens> => createClient(server).post('/auth/login', { email: 'a@example.org', password });
const tryRefresh = (refreshToken: string) =>
  createClient(server).call('POST', '/auth/refresh', { body: { refreshToken } });
const refresh = (refreshToken: string): Promise<Tokens> => createClient(server).post('/auth/refresh', { refreshToken });
const me = async ({ accessToken }: Tokens) => (await createClient(server, accessToken).call('GET', '/auth/me')).status;
const hashOf = (token: string) => createHash('sha256').update(token).digest();
const sessionOf = ({ accessToken }: Tokens): string =>
  JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString()).sid;
const age = (token: string, seconds: number) =>
  server.sql`UPDATE refresh_tokens SET used_at = used_at - make_interval(secs => ${seconds}) WHERE token_hash = ${hashOf(token)}`;
const liveTokens = async (session: string) =>
  (
    await server.sql`
    SELECT 1 FROM refresh_tokens t JOIN sessions s ON s.id = t.session_id WHERE s.id = ${session} AND s.ended_at IS NULL AND t.used_at IS NULL`
  ).length;

/**
 * A session whose first token was used again nine seconds after its use. A busy machine may let the second pass that is
 * left: such a repeat shows nothing, and another session is begun.
 */
async function repeatedAfterNineSeconds(): Promise<{ first: Tokens; second: Tokens }> {
  for (;;) {
    const first = await login();
    const second = await refresh(first.refreshToken);
    await age(first.refreshToken, 9);
    const { status, body } = await tryRefresh(first.refreshToken);
    const [used] = await server.sql<{ isRecent: boolean }[]>`
      SELECT used_at > clock_timestamp() - interval '10 seconds' AS "isRecent" FROM refresh_tokens
      WHERE token_hash = ${hashOf(first.refreshToken)}`;
    if (!used?.isRecent) continue;
    assert.deepEqual([status, body.data?.refreshToken], [200, second.refreshToken]);
    return { first, second };
  }
}

describe('refreshing', () => {
  it('returns a new token pair of the same session, and nothing else', async () => {
    const first = await login();
    const second = await refresh(first.refreshToken);
    assert.deepEqual(Object.keys(second).sort(), ['accessToken', 'expiresIn', 'refreshToken']);
    assert.notEqual(second.refreshToken, first.refreshToken);
    assert.equal(sessionOf(second), sessionOf(first));
    assert.deepEqual([await me(first), await me(second)], [200, 200]);
  });

  it('keeps neither tokens nor their successors readable at rest', async () => {
    const first = await login();
    const second = await refresh(first.refreshToken);
    const [row] = await server.sql<{ text: string }[]>`SELECT string_agg(t::text, ' ') AS text FROM refresh_tokens t`;
    for (const token of [first.refreshToken, second.refreshToken]) {
      assert.ok(!row?.text.includes(token));
      assert.ok(!row?.text.includes(Buffer.from(token).toString('hex')));
    }
  });

  it('fifty times at once with one token leaves exactly one live successor', async () => {
    const first = await login();
    const replies = await Promise.all(Array.from({ length: 50 }, () => tryRefresh(first.refreshToken)));
    assert.deepEqual(new Set(replies.map((reply) => reply.status)), new Set([200]));
    const successors = new Set<string>(replies.map((reply) => reply.body.data.refreshToken));
    assert.equal(successors.size, 1);
    assert.equal(await liveTokens(sessionOf(first)), 1);
    const [successor = ''] = successors;
    await refresh(successor);
  });

  it('within ten seconds gives the same successor, after that it ends the session', async () => {
    const { first, second } = await repeatedAfterNineSeconds();
    await age(first.refreshToken, 2);
    assert.equal((await tryRefresh(first.refreshToken)).status, 401);
    assert.equal(await me(second), 401, 'the access tokens are over as well');
    assert.equal((await tryRefresh(second.refreshToken)).status, 401);
  });

  it('with a grand-parent ends the session before the reply, however fresh it is', async () => {
    for (let n = 0; n < 25; n += 1) {
      const first = await login();
      const second = await refresh(first.refreshToken);
      const third = await refresh(second.refreshToken);
      const [reuse, leaf] = await Promise.all([tryRefresh(first.refreshToken), tryRefresh(third.refreshToken)]);
      assert.equal(reuse.status, 401);
      assert.equal(await liveTokens(sessionOf(first)), 0);
      if (leaf.status === 200) assert.equal((await tryRefresh(leaf.body.data.refreshToken)).status, 401);
      for (const tokens of [first, second, third]) assert.equal(await me(tokens), 401);
    }
  });

  it('leaves other sessions of the same user alone when one is ended', async () => {
    const [stolen, other] = [await login(), await login()];
    await refresh(stolen.refreshToken);
    await age(stolen.refreshToken, 11);
    assert.equal((await tryRefresh(stolen.refreshToken)).status, 401);
    assert.equal(await me(other), 200);
    await refresh(other.refreshToken);
  });

  it('records the reuse in the audit', async () => {
    const first = await login();
    await refresh(first.refreshToken);
    await age(first.refreshToken, 11);
    await tryRefresh(first.refreshToken);
    const { items } = await server.people.audit.list({
      action: 'session.token-reused',
      objectId: sessionOf(first),
      page: 1,
      limit: 10,
    });
    assert.deepEqual(
      items.map((item) => [item.actorKind, item.objectKind]),
      [['SYSTEM', 'session']],
    );
  });

  it('records the session that its token ended beside the caller’s own, at signing out and signing in', async () => {
    const endOf = async (tokens: Awaited<ReturnType<typeof login>>) => {
      const query = { action: 'session.ended', objectId: sessionOf(tokens), page: 1, limit: 10 } as const;
      return (await server.people.audit.list(query)).items.map(({ actorKind, details }) => [
        actorKind,
        Object.keys(details),
      ]);
    };
    const post = (path: string, body: object, headers: object) =>
      fetch(`${server.base}/auth/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
    const [own, other, former] = [await login(), await login(), await login()];
    const out = await post(
      'logout',
      { refreshToken: other.refreshToken },
      { authorization: `Bearer ${own.accessToken}` },
    );
    assert.equal(out.status, 200);
    const cookie = `survey_session=${former.refreshToken}`;
    assert.equal(
      (await post('login', { email: 'a@example.org', password, session: 'cookie' }, { cookie })).status,
      200,
    );
    assert.deepEqual(await endOf(own), [['USER', []]]);
    for (const tokens of [other, former]) assert.deepEqual(await endOf(tokens), [['USER', ['userId']]]);
  });

  it('fails after the session has ended', async () => {
    const first = await login();
    const second = await refresh(first.refreshToken);
    await server.sql`UPDATE sessions SET expires_at = now() WHERE id = ${sessionOf(first)}`;
    assert.equal((await tryRefresh(second.refreshToken)).status, 401);
  });

  it('fails after the user is disabled', async () => {
    const user = await server.addUser('disabled@example.org', 'VIEWER');
    const first: Tokens = await createClient(server).post('/auth/login', { email: user.email, password });
    await server.sql`UPDATE users SET is_disabled = true WHERE id = ${user.id}`;
    assert.equal((await tryRefresh(first.refreshToken)).status, 401);
  });

  it('removes only sessions that ended a week ago', async () => {
    const [over, recent, live] = [await login(), await login(), await login()];
    await server.sql`UPDATE sessions SET ended_at = now() - interval '8 days' WHERE id = ${sessionOf(over)}`;
    await server.sql`UPDATE sessions SET ended_at = now() - interval '6 days' WHERE id = ${sessionOf(recent)}`;
    assert.equal(await createSessionStore(server.sql).sweep(), 1);
    const left = await server.sql<
      { id: string }[]
    >`SELECT id FROM sessions WHERE id = ANY(${[over, recent, live].map(sessionOf)}::uuid[]) ORDER BY id`;
    assert.deepEqual(left.map((row) => row.id).sort(), [sessionOf(recent), sessionOf(live)].sort());
  });
});
