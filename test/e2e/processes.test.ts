import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { adminClient, type Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { callAtOnce, callOnce, type OneReply } from '../support/one-connection.ts';
import { adminEmail, type RunningService, runToExit, sharedStoreUrls, startService } from '../support/service.ts';

const names = ['http-1', 'http-2', 'http-3'];
/** A value that no other test uses: the counters lie in a store that all tests share. */
const limits = { RATE_LIMIT_AUTH: '43', TRUSTED_PROXIES: '127.0.0.1' };
const secrets = { OPENAI_API_KEY: 'sk-of-a-provider-0123456789' };

describe('several HTTP processes on one port', () => {
  let service: RunningService;
  let admin: Client;
  before(async () => {
    service = await startService({ env: { WORKERS: '3', ...limits, ...secrets } });
    admin = await adminClient(service);
  });
  after(async () => {
    assert.equal(await service.stop(), 0);
    assert.ok(
      !service.logs().includes('"level":"error"'),
      service
        .logs()
        .split('\n')
        .find((line) => line.includes('"level":"error"')),
    );
  });

  it('hold no setting in their environment, which others on the machine may read', {
    skip: process.platform === 'linux' ? false : 'reads /proc',
  }, async () => {
    const children = readdirSync('/proc').filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/status`, 'utf8').includes(`\nPPid:\t${service.pid}\n`);
      } catch {
        return false;
      }
    });
    assert.ok(children.length >= names.length);
    for (const pid of children) {
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
      const settings = Object.entries({ ...secrets, ...sharedStoreUrls() }).flat();
      const found = ['ADMIN_', 'RATE_LIMIT_', '_URL', ...settings].filter((text) => environment.includes(text));
      assert.deepEqual(found, [], `process ${pid}`);
    }
    assert.match(JSON.stringify(await admin.get('/ai/settings')), /6789/, 'they know the settings anyway');
  });

  const submit = (surveyId: string, body: unknown = { answers: [] }, headers?: Record<string, string>) =>
    callOnce(service.base, 'POST', `/responses/surveys/${surveyId}/submit`, { body, ...(headers && { headers }) });
  const counts = (replies: readonly OneReply[]) => {
    const found: Record<string, number> = {};
    for (const { status, body } of replies) {
      const key = status === 201 ? '201' : `${status} ${body?.details?.reason ?? body?.code}`;
      found[key] = (found[key] ?? 0) + 1;
    }
    return found;
  };
  const makeSurvey = async (fields: Record<string, unknown> = {}): Promise<string> =>
    (await admin.create('/surveys', { title: 'Shared', status: 'ACTIVE', ...fields })).id;
  /** Asks again where a process was left out, as one is that has not replied since its start. */
  const figures = () =>
    eventually(async () => {
      const { status, body } = await callOnce(service.origin, 'GET', '/metrics');
      assert.equal(status, 200);
      for (const name of ['main', ...names])
        assert.ok(body.includes(`\nhttp_process_requests{process="${name}"} `), `${name} is left out`);
      return body as string;
    });
  const figure = (text: string, series: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${series} `))
        ?.slice(series.length + 1) ?? Number.NaN,
    );
  const requestsOf = (text: string, name: string) => figure(text, `http_process_requests{process="${name}"}`);
  const pidOf = (name: string): number => {
    const line = service
      .logs()
      .split('\n')
      .filter((text) => text.includes('"listening"') && text.includes(`"${name}"`))
      .at(-1);
    return (JSON.parse(line ?? '{}') as { pid: number }).pid;
  };

  it('all take part, and each reports the metrics of all', async () => {
    const surveyId = await makeSurvey();
    const accepted = 'intake_submissions_total{outcome="ACCEPTED"}';
    const before = await figures();
    assert.deepEqual(counts(await callAtOnce(150, () => submit(surveyId))), { 201: 150 });
    // Of a process that is late its last figures count.
    for (let look = 0; look < 6; look += 1)
      await eventually(async () => {
        const text = await figures();
        assert.equal(figure(text, accepted) - (figure(before, accepted) || 0), 150);
        for (const name of names)
          assert.ok(requestsOf(text, name) > requestsOf(before, name), `${name} served nothing`);
        assert.equal(requestsOf(text, 'main'), 0);
        for (const name of ['main', ...names])
          assert.ok(figure(text, `process_resident_memory_bytes{process="${name}"}`) > 1e6, name);
        assert.ok(figure(text, 'ingest_lag_entries{shard="0"}') >= 0, 'the main process’s ingest is among them');
      });
  });

  it('accept exactly the submission limit together', async () => {
    const surveyId = await makeSurvey({ submissionRateLimit: 60 });
    const replies = await callAtOnce(200, () => submit(surveyId));
    assert.deepEqual(counts(replies), { 201: 60, '429 RATE_LIMITED': 140 });
    assert.deepEqual(
      replies
        .filter(({ status }) => status === 201)
        .map(({ headers }) => Number(headers['x-ratelimit-remaining']))
        .sort((a, b) => a - b),
      Array.from({ length: 60 }, (_, n) => n),
    );
    for (const { headers } of replies.filter(({ status }) => status === 429))
      assert.match(String(headers['retry-after']), /^([1-9]|[1-5]\d|60)$/);
  });

  it('accept exactly the limits of API keys and sign-ins together', async () => {
    const { key } = await admin.create('/api-keys', { name: 'limited', role: 'VIEWER', requestsPerMinute: 37 });
    const calls = await callAtOnce(90, () =>
      callOnce(service.base, 'GET', '/surveys?limit=1', { headers: { authorization: `Bearer ${key}` } }),
    );
    assert.deepEqual(
      [calls.filter(({ status }) => status === 200).length, calls.filter(({ status }) => status === 429).length],
      [37, 53],
    );
    // From an address whose window begins here; malformed ones count and cost no hash.
    const headers = { 'x-forwarded-for': `2001:db8:${randomUUID().slice(0, 4)}::1` };
    const signIns = await callAtOnce(90, () =>
      callOnce(service.base, 'POST', '/auth/login', { body: { email: adminEmail }, headers }),
    );
    assert.deepEqual(counts(signIns), { '400 VALIDATION_ERROR': 43, '429 RATE_LIMITED': 47 });
  });

  it('take exactly the quota together, and announce once that it is reached', async () => {
    const hook = await admin.create('/webhooks', {
      url: 'https://receiver.example.org/',
      events: ['quota.reached'],
      isActive: true,
    });
    const surveyId = await makeSurvey({ responseQuota: 50 });
    assert.deepEqual(counts(await callAtOnce(300, () => submit(surveyId))), { 201: 50, '409 QUOTA_REACHED': 250 });
    await eventually(async () => {
      const survey = await admin.get(`/surveys/${surveyId}`);
      assert.deepEqual([survey.status, survey.responseCount], ['CLOSED', 50]);
    });
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${surveyId}`)).totalResponses, 50));
    const told = await eventually(async () => {
      const { data } = (await admin.call('GET', `/webhooks/${hook.id}/deliveries`)).body;
      assert.ok(data.length > 0);
      return data;
    });
    assert.equal(told.length, 1);
    await admin.remove(`/webhooks/${hook.id}`);
  });

  it('answer one key with one response, whichever is asked', async () => {
    const surveyId = await makeSurvey();
    const replies = await callAtOnce(100, () =>
      submit(surveyId, { answers: [] }, { 'idempotency-key': 'over-all-processes' }),
    );
    assert.deepEqual(counts(replies), { 201: 100 });
    assert.equal(new Set(replies.map(({ body }) => body.data.responseId)).size, 1);
    assert.equal(replies.filter(({ headers }) => headers['idempotent-replayed'] === 'true').length, 99);
    assert.equal((await admin.get(`/surveys/${surveyId}`)).responseCount, 1);
  });

  it('agree on a survey as soon as one of them has replied to a change', async () => {
    const surveyId = await makeSurvey();
    // Every process holds the survey before it changes.
    assert.deepEqual(counts(await callAtOnce(30, () => submit(surveyId))), { 201: 30 });
    for (let round = 0; round < 3; round += 1) {
      await admin.put(`/surveys/${surveyId}`, { status: 'PAUSED' });
      assert.deepEqual(counts(await callAtOnce(30, () => submit(surveyId))), { '409 SURVEY_NOT_ACTIVE': 30 });
      await admin.put(`/surveys/${surveyId}`, { status: 'ACTIVE' });
      assert.deepEqual(counts(await callAtOnce(30, () => submit(surveyId))), { 201: 30 });
    }
    const question = await admin.create(`/surveys/${surveyId}/questions`, {
      type: 'NPS',
      text: 'New',
      isRequired: true,
    });
    assert.deepEqual(counts(await callAtOnce(30, () => submit(surveyId))), { '400 VALIDATION_ERROR': 30 });
    assert.deepEqual(
      counts(
        await callAtOnce(30, (n) => submit(surveyId, { answers: [{ questionId: question.id, numberValue: n % 11 }] })),
      ),
      { 201: 30 },
    );
    await admin.remove(`/surveys/${surveyId}`);
    assert.deepEqual(counts(await callAtOnce(30, () => submit(surveyId))), { '404 NOT_FOUND': 30 });
  });

  it('read and change a survey as the others have saved it', async () => {
    const surveyId = await makeSurvey();
    const authorization = { authorization: `Bearer ${admin.token}` };
    const shown = () => callOnce(service.base, 'GET', `/public/surveys/${surveyId}`);
    assert.deepEqual(counts(await callAtOnce(30, () => submit(surveyId))), { 201: 30 });
    // A change waits some seconds for what is not stored yet, and a busy machine may take longer.
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${surveyId}`)).totalResponses, 30));
    for (let round = 0; round < 5; round += 1) {
      const question = await admin.create(`/surveys/${surveyId}/questions`, {
        type: 'FILE_UPLOAD',
        text: 'New',
        order: 0,
      });
      const changed = await callAtOnce(6, () =>
        callOnce(service.base, 'PUT', `/surveys/questions/${question.id}`, {
          body: { text: `Round ${round}` },
          headers: authorization,
        }),
      );
      assert.deepEqual(
        changed.map(({ status }) => status),
        Array.from({ length: 6 }, () => 200),
      );
      const last = await admin.create(`/surveys/${surveyId}/questions`, { type: 'FILE_UPLOAD', text: 'File' });
      const uploads = await callAtOnce(6, () =>
        callOnce(service.base, 'POST', `/uploads/surveys/${surveyId}/questions/${last.id}`, {
          body: 'a text',
          headers: { 'content-type': 'text/plain' },
        }),
      );
      assert.deepEqual(
        uploads.map(({ status }) => status),
        Array.from({ length: 6 }, () => 201),
      );
      await admin.put(`/surveys/${surveyId}`, { title: `Title ${round}` });
      assert.deepEqual(
        new Set((await callAtOnce(12, shown)).map(({ body }) => body?.data?.title)),
        new Set([`Title ${round}`]),
      );
      await admin.put(`/surveys/${surveyId}`, { status: 'PAUSED' });
      assert.deepEqual(new Set((await callAtOnce(12, shown)).map(({ status }) => status)), new Set([404]));
      await admin.put(`/surveys/${surveyId}`, { status: 'ACTIVE' });
      assert.deepEqual(new Set((await callAtOnce(12, shown)).map(({ status }) => status)), new Set([200]));
    }
  });

  it('continue when one is killed, which is replaced under its name', async () => {
    const surveyId = await makeSurvey();
    await callAtOnce(60, () => callOnce(service.base, 'GET', `/public/surveys/${randomUUID()}`));
    const refusals = 'http_refusals_total{code="NOT_FOUND"}';
    const text = await eventually(async () => {
      const all = await figures();
      assert.ok(figure(all, refusals) >= 60);
      return all;
    });
    const startedAt = figure(text, 'process_start_time_seconds{process="http-2"}');
    const killed = pidOf('http-2');
    let [accepted, isEnough] = [0, false];
    const load = Promise.all(
      Array.from({ length: 8 }, async () => {
        while (!isEnough)
          accepted += (await submit(surveyId, { answers: [], responseId: crypto.randomUUID() })).status === 201 ? 1 : 0;
      }),
    );
    process.kill(killed, 'SIGKILL');
    const before = accepted;
    await eventually(() => assert.ok(accepted - before > 20, `${accepted - before} were accepted`)).finally(() => {
      isEnough = true;
    });
    await load;
    await eventually(async () => {
      const later = await figures();
      assert.ok(figure(later, 'process_start_time_seconds{process="http-2"}') > startedAt);
      assert.notEqual(pidOf('http-2'), killed);
      assert.ok(figure(later, refusals) >= figure(text, refusals), 'a counter never falls');
    }, 20_000);
    await eventually(async () =>
      assert.ok((await admin.get(`/analytics/surveys/${surveyId}`)).totalResponses >= accepted),
    );
    assert.deepEqual(counts(await callAtOnce(30, () => submit(surveyId))), { 201: 30 });
  });

  it('do not let a second service join them on their port', async () => {
    for (const workers of ['1', '2']) {
      const { code, said } = await runToExit({
        env: { PORT: String(service.port), WORKERS: workers, LOG_LEVEL: 'silent', ...sharedStoreUrls() },
      });
      assert.equal(code, 1);
      assert.match(
        said,
        /^survey-service cannot start: cannot listen on 127\.0\.0\.1:\d+: the port \(PORT\) is in use or not allowed, or the address \(HOST\) is none of this machine\n$/,
      );
    }
    assert.equal((await callOnce(service.origin, 'GET', '/health/live')).status, 200);
  });

  it('name METRICS_PORT where it is the port that is in use', async () => {
    const { code, said } = await runToExit({
      env: { ROLES: 'jobs', METRICS_PORT: String(service.port), LOG_LEVEL: 'silent', ...sharedStoreUrls() },
    });
    assert.equal(code, 1);
    assert.match(said, /^survey-service cannot start: cannot listen on \S+: the port \(METRICS_PORT\) is in use /);
  });
});

describe('a process without the http role', () => {
  it('serves metrics and health on METRICS_PORT, and nothing else', async () => {
    const service = await startService({ env: { ROLES: 'ingest,jobs', METRICS_PORT: '0' } });
    try {
      const [figures, other] = await Promise.all(
        ['/metrics', '/api/v1/surveys'].map((path) => callOnce(service.origin, 'GET', path)),
      );
      assert.equal(figures?.status, 200);
      await eventually(async () =>
        assert.match(
          (await callOnce(service.origin, 'GET', '/metrics')).body,
          /^ingest_lag_entries\{shard="0"\} \d+$/m,
        ),
      );
      // A busy store may miss its check.
      await eventually(async () => {
        const { status, body } = await callOnce(service.origin, 'GET', '/health/ready');
        assert.deepEqual([status, body.data?.status], [200, 'ready']);
      });
      assert.deepEqual([other?.status, other?.body.code], [404, 'NOT_FOUND']);
      const proxied = await callOnce(service.origin, 'GET', '/metrics', {
        headers: { 'x-forwarded-for': '203.0.113.9' },
      });
      assert.equal(proxied.status, 401);
      assert.match(service.printed(), /ready: ingest, jobs/);
      assert.doesNotMatch(service.printed(), /base address/);
    } finally {
      assert.equal(await service.stop(), 0);
    }
  });
});
