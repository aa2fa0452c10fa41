import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { type Client, createClient } from '../support/client.ts';
import { callAtOnce, callOnce, type OneReply } from '../support/one-connection.ts';
import { adminEmail, adminPassword, type RunningService, startService } from '../support/service.ts';

const network = randomUUID().slice(0, 4);
let people = 0;
/** A unique client address behind the trusted proxy, because all tests share the counters. */
const somebody = () => ({ 'x-forwarded-for': `2001:db8:${network}:${++people}::1` });

interface TimedReply extends OneReply {
  /** Milliseconds since 1970. */
  sentAt: number;
  heardAt: number;
}

describe('the default limits', () => {
  let service: RunningService;
  let admin: Client;
  before(async () => {
    service = await startService({
      env: { RATE_LIMIT_AUTH: '', RATE_LIMIT_SUBMIT: '', RATE_LIMIT_API: '', TRUSTED_PROXIES: '127.0.0.1' },
    });
    const login = await callOnce(service.base, 'POST', '/auth/login', {
      body: { email: adminEmail, password: adminPassword },
      headers: somebody(),
    });
    admin = createClient(service, login.body.data.accessToken);
  });
  after(() => service.stop());

  /** The n-th call of a row is the first to be refused, with everything that a client needs to know. */
  function assertLimited(replies: readonly TimedReply[], limit: number, passed: number): void {
    assert.deepEqual(
      replies.map(({ status }) => status),
      [...Array.from({ length: limit }, () => passed), ...Array.from({ length: replies.length - limit }, () => 429)],
    );
    for (const [index, { status, headers, body, sentAt, heardAt }] of replies.entries()) {
      assert.deepEqual(
        [headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']],
        [String(limit), String(Math.max(0, limit - 1 - index))],
      );
      // The service has computed them at a moment in between, and rounds up to whole seconds.
      const resetIn = (at: number) => Number(headers['x-ratelimit-reset']) - at / 1000;
      assert.ok(resetIn(heardAt) > -1 && resetIn(sentAt) < 62, `the window ends in ${resetIn(heardAt)} s`);
      if (status === 429) {
        assert.equal(body.code, 'RATE_LIMITED');
        const retryAfter = Number(headers['retry-after']);
        const [least, most] = [resetIn(heardAt) - 2, resetIn(sentAt) + 2];
        assert.ok(retryAfter >= least && retryAfter <= most, `${retryAfter}, not between ${least} and ${most}`);
      }
    }
  }

  async function inTurn(times: number, call: () => Promise<OneReply>): Promise<TimedReply[]> {
    const replies: TimedReply[] = [];
    for (let n = 0; n < times; n += 1) {
      const sentAt = Date.now();
      replies.push({ ...(await call()), sentAt, heardAt: Date.now() });
    }
    return replies;
  }

  it('allow ten sign-ins a minute for each address', async () => {
    const headers = somebody();
    assertLimited(
      await inTurn(12, () =>
        callOnce(service.base, 'POST', '/auth/login', { body: { email: 'a@example.org' }, headers }),
      ),
      10,
      400,
    );
    assert.equal(
      (await callOnce(service.base, 'POST', '/auth/refresh', { body: { refreshToken: 'x' }, headers })).status,
      429,
    );
    assert.equal((await callOnce(service.base, 'POST', '/auth/login', { body: {}, headers: somebody() })).status, 400);
  });

  it('allow sixty submissions a minute for each address and survey', async () => {
    const [one, other] = [
      await admin.create('/surveys', { title: 'One', status: 'ACTIVE' }),
      await admin.create('/surveys', { title: 'Other', status: 'ACTIVE' }),
    ];
    const me = somebody();
    const submit = (surveyId: string, headers = me) =>
      callOnce(service.base, 'POST', `/responses/surveys/${surveyId}/submit`, { body: { answers: [] }, headers });
    assertLimited(await inTurn(62, () => submit(one.id)), 60, 201);
    assert.deepEqual([(await submit(other.id)).status, (await submit(one.id, somebody())).status], [201, 201]);
  });

  it('allow a hundred other calls a minute for each user', async () => {
    const email = `limited-${randomUUID()}@example.org`;
    await admin.create('/users', { email, password: 'a password of some length', role: 'VIEWER' });
    const login = await callOnce(service.base, 'POST', '/auth/login', {
      body: { email, password: 'a password of some length' },
      headers: somebody(),
    });
    const headers = { authorization: `Bearer ${login.body.data.accessToken}` };
    assertLimited(
      await inTurn(102, () => callOnce(service.base, 'GET', '/surveys', { headers: { ...headers, ...somebody() } })),
      100,
      200,
    );
  });

  it('count clients behind a trusted proxy by their own address, and ignore addresses that clients claim', async () => {
    const { id } = await admin.create('/surveys', { title: 'Proxied', status: 'ACTIVE', submissionRateLimit: 3 });
    const through = (from: string, forwarded: string) =>
      callOnce(service.base, 'POST', `/responses/surveys/${id}/submit`, {
        body: { answers: [] },
        from,
        headers: { 'x-forwarded-for': forwarded, 'x-real-ip': forwarded, forwarded: `for=${forwarded}` },
      });
    const passed = (replies: readonly OneReply[]) => replies.filter(({ status }) => status === 201).length;
    assert.equal(
      passed(await callAtOnce(10, (n) => through('127.0.0.1', `198.51.100.${n}`))),
      10,
      'ten clients of the proxy',
    );
    assert.equal(
      passed(await callAtOnce(10, (n) => through('127.0.0.1', `203.0.113.${n}, 198.51.100.77`))),
      3,
      'one client that invents hops before itself',
    );
    // Elsewhere a machine has one loopback address only.
    if (process.platform === 'linux')
      assert.equal(
        passed(await callAtOnce(10, (n) => through('127.0.0.9', `198.51.100.${100 + n}`))),
        3,
        'one client without a proxy',
      );
  });
});
