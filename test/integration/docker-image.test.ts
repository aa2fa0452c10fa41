import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { assetPath } from '../../src/platform/assets.ts';

test('an image is healthy when the port that its roles listen on says so', async () => {
  const [, command = '[]'] =
    /^HEALTHCHECK [\s\S]*?CMD (\[.*\])$/m.exec(readFileSync(assetPath('Dockerfile'), 'utf8')) ?? [];
  const [, ...args] = JSON.parse(command) as string[];
  const server = createServer((request, reply) => reply.writeHead(request.url === '/health/ready' ? 200 : 404).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const open = String((server.address() as AddressInfo).port);
  const shut = '9';
  const code = (env: Record<string, string>) =>
    new Promise<number>((resolve) => execFile(process.execPath, args, { env }, (error) => resolve(error ? 1 : 0)));
  const cases: [healthy: boolean, env: Record<string, string>][] = [
    [true, { PORT: open }],
    [false, { PORT: shut }],
    [true, { PORT: open, METRICS_PORT: shut, ROLES: 'http' }],
    [true, { PORT: open, METRICS_PORT: shut, ROLES: 'all' }],
    [true, { PORT: open, METRICS_PORT: '', ROLES: '' }],
    [true, { PORT: shut, METRICS_PORT: open, ROLES: 'ingest,jobs' }],
    [false, { PORT: open, METRICS_PORT: shut, ROLES: 'jobs' }],
    [true, { PORT: shut, ROLES: 'jobs' }],
  ];
  const codes = await Promise.all(cases.map(([, env]) => code(env)));
  server.close();
  assert.deepEqual(
    codes,
    cases.map(([isHealthy]) => (isHealthy ? 0 : 1)),
  );
});
