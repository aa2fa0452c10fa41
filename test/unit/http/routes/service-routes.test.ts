import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { unavailable } from '../../../../src/errors.ts';
import { createOpenApi } from '../../../../src/http/reference/openapi.ts';
import { refusalsOf } from '../../../../src/http/reference/refusals.ts';
import { docsRoutes, openApiRoute } from '../../../../src/http/routes/docs.ts';
import { type HealthRoutesDeps, healthRoutes } from '../../../../src/http/routes/health.ts';
import { isLoopback, isLoopbackHost, metricsRoute } from '../../../../src/http/routes/metrics.ts';
import { createMetrics } from '../../../../src/metrics.ts';
import { authenticateKnown, countingLimits, startLoopback } from '../../../support/loopback-server.ts';

type Server = Awaited<ReturnType<typeof startLoopback>>;

describe('the reference page', () => {
  let server: Server;
  before(async () => {
    const text = JSON.stringify(await createOpenApi({ routes: [], version: '1.2.3' }));
    const openApiText = async () => text;
    server = await startLoopback({ api: [openApiRoute({ openApiText })], root: docsRoutes() });
  });
  after(() => server.stop());

  it('is served beside the document', async () => {
    for (let time = 0; time < 2; time += 1) {
      const reply = await fetch(`${server.origin}/api/v1/openapi.json`);
      assert.match(reply.headers.get('content-type') ?? '', /^application\/json/);
      assert.ok(reply.headers.get('x-ratelimit-limit'));
      const document: any = await reply.json();
      assert.deepEqual([document.openapi, document.info.version], ['3.1.0', '1.2.3']);
    }
  });

  it('is the same with and without a slash at its end, and finds its files from both', async () => {
    for (const path of ['/docs', '/docs/']) {
      const reply = await fetch(server.origin + path, { redirect: 'error' });
      const html = await reply.text();
      assert.deepEqual([reply.status, reply.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
      const links = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(
        ([, link = '']) => new URL(link, server.origin + path),
      );
      assert.ok(links.length >= 5);
      for (const link of links) {
        assert.equal(link.origin, server.origin);
        const file = await fetch(link);
        assert.equal(file.status, 200, link.href);
        assert.ok((await file.arrayBuffer()).byteLength > 0, link.href);
        assert.ok(link.pathname.startsWith('/docs/') || link.pathname === '/api/v1/openapi.json', link.href);
      }
    }
  });

  it('has no inline script or style, and may load only from this host', async () => {
    const reply = await fetch(`${server.origin}/docs`);
    const html = await reply.text();
    assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=|https?:/i);
    const policy = reply.headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /script-src 'self'/);
    assert.doesNotMatch(policy, /unsafe|\*|https?:/);
  });

  it('serves the files that it names and no others', async () => {
    const types = {
      'page.js': 'text/javascript',
      'page.css': 'text/css',
      'swagger-ui.css': 'text/css',
      'swagger-ui-bundle.js': 'text/javascript',
      'favicon-32x32.png': 'image/png',
    };
    for (const [name, type] of Object.entries(types)) {
      const reply = await fetch(`${server.origin}/docs/${name}`, { method: 'HEAD' });
      assert.ok(reply.headers.get('content-type')?.startsWith(type), name);
      assert.equal(reply.headers.get('x-content-type-options'), 'nosniff', name);
      assert.ok(Number(reply.headers.get('content-length')) > 100, name);
    }
    for (const name of [
      'package.json',
      'index.html',
      'page.html',
      '..%2fpackage.json',
      '..%2f..%2fopenapi.ts',
      'constructor',
    ]) {
      const reply = await fetch(`${server.origin}/docs/${name}`);
      assert.equal(reply.status, 404, name);
    }
  });
});

describe('health', () => {
  const state = {
    draining: false,
    full: false,
    nowMs: 0,
    writes: 0,
    intake: async (): Promise<unknown> => 'OK',
    clickhouse: async (): Promise<unknown> => 'Ok.',
  };
  const deps: HealthRoutesDeps = {
    isDraining: () => state.draining,
    fullIntakeProblem: () => (state.full ? unavailable('The intake is full for the moment') : undefined),
    writeToIntake: () => {
      state.writes += 1;
      return state.intake();
    },
    dependencies: { clickhouse: () => state.clickhouse(), postgres: async () => 1 },
    nowMs: () => state.nowMs,
    timeoutMs: 60,
  };
  let server: Server;
  before(async () => {
    server = await startLoopback({ root: healthRoutes(deps) });
  });
  after(() => server.stop());

  const ask = async (path = '/health/ready') => {
    const reply = await fetch(server.origin + path);
    const body: any = await reply.json();
    return { status: reply.status, body, retryAfter: reply.headers.get('retry-after') };
  };
  /** After what was found before has grown old. */
  const askAnew = () => {
    state.nowMs += 1000;
    return ask();
  };

  it('is ready while everything answers', async () => {
    assert.deepEqual((await askAnew()).body, {
      success: true,
      data: {
        status: 'ready',
        checks: { intake: 'ok', clickhouse: 'ok', postgres: 'ok', running: 'ok', room: 'ok' },
        degraded: [],
      },
    });
  });

  it('is ready after a pause of the process for longer than a check may take, if the reply has come by then', async () => {
    const { port1, port2 } = new MessageChannel();
    state.intake = () =>
      new Promise((resolve) => {
        port1.once('message', resolve);
        port2.postMessage('OK');
        const pausedAt = performance.now();
        while (performance.now() < pausedAt + 100);
      });
    const { status, body } = await askAnew();
    state.intake = async () => 'OK';
    port1.close();
    assert.deepEqual([status, body.data?.checks.intake], [200, 'ok'], JSON.stringify(body));
  });

  it('stays ready without ClickHouse, and reports it as degraded', async () => {
    state.clickhouse = async () => {
      throw new Error('connect ECONNREFUSED 10.0.0.7');
    };
    const { status, body } = await askAnew();
    assert.deepEqual([status, body.data.checks.clickhouse, body.data.degraded], [200, 'failed', ['clickhouse']]);
    assert.doesNotMatch(JSON.stringify(body), /ECONNREFUSED|10\.0\.0/);
    state.clickhouse = async () => 'Ok.';
  });

  it('is not ready while the intake fails, or does not write in time', async () => {
    state.intake = async () => {
      throw new Error('READONLY');
    };
    const failed = await askAnew();
    assert.deepEqual(
      [
        failed.status,
        failed.body.code,
        failed.body.details.reason,
        failed.body.details.checks.intake,
        failed.retryAfter,
      ],
      [503, 'SERVICE_UNAVAILABLE', 'INTAKE_UNAVAILABLE', 'failed', '2'],
    );
    state.intake = () => new Promise(() => undefined);
    const startedAt = performance.now();
    const slow = await askAnew();
    assert.deepEqual([slow.status, slow.body.details.checks.intake], [503, 'timed out']);
    const tookMs = performance.now() - startedAt;
    assert.ok(tookMs >= 55 && tookMs < 5000, `${tookMs} ms`);
    state.intake = async () => 'OK';
  });

  it('is not ready once the service stops, or while the intake is too full; both count at once', async () => {
    assert.equal((await askAnew()).status, 200);
    state.draining = true;
    assert.equal((await ask()).body.details.reason, 'DRAINING');
    [state.draining, state.full] = [false, true];
    assert.equal((await ask()).body.details.reason, 'INTAKE_FULL');
    state.full = false;
    assert.equal((await ask()).status, 200);
  });

  it('checks the stores once for concurrent callers', async () => {
    state.nowMs += 1000;
    const before = state.writes;
    await Promise.all(Array.from({ length: 20 }, () => ask()));
    assert.equal(state.writes - before, 1);
  });

  it('reports that the process lives without using a store', async () => {
    const before = state.writes;
    state.nowMs += 1000;
    state.draining = true;
    assert.deepEqual(await ask('/health/live'), {
      status: 200,
      body: { success: true, data: { status: 'live' } },
      retryAfter: null,
    });
    state.draining = false;
    assert.equal(state.writes, before);
  });
});

describe('the metrics route', () => {
  const limits = countingLimits(3);
  let direct: Server;
  let proxied: Server;
  before(async () => {
    const metrics = ['main', 'http-1', 'http-2'].map((name) => createMetrics(name));
    for (const one of metrics) one.requested('/surveys', 200, 0.01);
    const metric = metricsRoute({
      collectMetrics: () => Promise.all(metrics.map((one) => one.collect())),
      authenticate: authenticateKnown,
      limits,
    });
    direct = await startLoopback({ root: [metric] });
    proxied = await startLoopback({ root: [metric], trustedProxies: ['127.0.0.1'] });
  });
  after(() => Promise.all([direct.stop(), proxied.stop()]));

  const statusOf = async (server: Server, headers: Record<string, string>) =>
    (await fetch(`${server.origin}/metrics`, { headers })).status;

  it('is open to the same machine', async () => {
    const reply = await fetch(`${direct.origin}/metrics`);
    assert.equal(reply.status, 200);
    assert.match(reply.headers.get('content-type') ?? '', /^text\/plain; version=/);
    assert.match(await reply.text(), /^# HELP http_request_seconds /m);
  });

  it('shows all processes: counters summed, resources by process', async () => {
    const text = await (await fetch(`${direct.origin}/metrics`)).text();
    assert.match(text, /^http_request_seconds_count\{[^}]*route="\/surveys"[^}]*\} 3$/m);
    for (const name of ['main', 'http-1', 'http-2']) {
      assert.match(text, new RegExp(`^http_process_requests\\{process="${name}"\\} 1$`, 'm'));
      for (const figure of [
        'process_resident_memory_bytes',
        'process_start_time_seconds',
        'nodejs_eventloop_lag_p99_seconds',
        'process_cpu_seconds_total',
      ])
        assert.match(text, new RegExp(`^${figure}\\{process="${name}"\\} [0-9.e+-]+$`, 'm'), figure);
    }
    const lines = text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => line.slice(0, line.lastIndexOf(' ')));
    assert.equal(new Set(lines).size, lines.length, 'no series is told twice');
  });

  it('is not open to callers behind a proxy on the same machine', async () => {
    for (const server of [direct, proxied])
      for (const header of [
        { 'x-forwarded-for': '203.0.113.9' },
        { 'x-forwarded-for': '127.0.0.1' },
        { forwarded: 'for=127.0.0.1' },
        { 'x-real-ip': '::1' },
        { via: '1.1 edge' },
      ] as Record<string, string>[]) {
        limits.counted.clear();
        assert.equal(await statusOf(server, header), 401, JSON.stringify(header));
      }
  });

  it('is open to an ADMIN from anywhere, and to no other role', async () => {
    const from = { 'x-forwarded-for': '203.0.113.9' };
    assert.equal(await statusOf(proxied, { ...from, authorization: 'Bearer admin' }), 200);
    assert.equal(await statusOf(proxied, { ...from, authorization: 'Bearer editor' }), 403);
    assert.equal(await statusOf(proxied, { ...from, authorization: 'Bearer viewer' }), 403);
  });

  it('says that a token cannot be checked while the store of users is away, as the reference does', async () => {
    const metric = metricsRoute({
      collectMetrics: async () => [],
      authenticate: async () => Promise.reject(unavailable('The control plane does not answer')),
      limits,
    });
    const away = await startLoopback({ root: [metric], trustedProxies: ['127.0.0.1'] });
    limits.counted.clear();
    assert.equal(await statusOf(away, { 'x-forwarded-for': '203.0.113.9', authorization: 'Bearer admin' }), 503);
    await away.stop();
    assert.ok(refusalsOf(metric).includes('SERVICE_UNAVAILABLE'));
  });

  it('counts failed tokens', async () => {
    limits.counted.clear();
    const from = { 'x-forwarded-for': '203.0.113.10', authorization: 'Bearer guess' };
    const statuses = [];
    for (let guess = 0; guess < 4; guess += 1) statuses.push(await statusOf(proxied, from));
    assert.deepEqual(statuses, [401, 401, 401, 429]);
  });

  it('knows a loopback address in every spelling', () => {
    for (const address of [
      '127.0.0.1',
      '127.8.9.10',
      '::1',
      '0:0:0:0:0:0:0:1',
      '0000:0000:0000:0000:0000:0000:0000:0001',
    ])
      assert.equal(isLoopback(address), true, address);
    for (const address of [
      '10.0.0.1',
      '128.0.0.1',
      '::',
      '::2',
      '::11',
      '1::1',
      '2001:db8::1',
      '0:0:0:0:0:0:1:1',
      '1',
      '',
      'localhost',
    ])
      assert.equal(isLoopback(address), false, address);
  });
});

it('a Host of this machine is localhost or a loopback address, with any port', () => {
  for (const host of [
    'localhost',
    'LOCALHOST:3000',
    '127.0.0.1',
    '127.0.0.1:3000',
    '127.9.9.9:1',
    '[::1]',
    '[::1]:3000',
  ])
    assert.ok(isLoopbackHost(host), host);
  for (const host of [
    '',
    'rebound.example.org',
    'localhost.example.org:3000',
    '127.0.0.1.example.org',
    '10.0.0.1',
    '[::2]',
    '0.0.0.0',
  ])
    assert.ok(!isLoopbackHost(host), host);
});
