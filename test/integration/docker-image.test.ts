import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { assetPath } from '../../src/platform/assets.ts';

test('an image holds what the documented commands of its containers need', async () => {
  const dockerfile = readFileSync(assetPath('Dockerfile'), 'utf8');
  const documented = readFileSync(assetPath('docs/operating.md'), 'utf8');
  const commands = [...documented.matchAll(/docker compose (?:exec|run)[^`\n]* npm run (\w+)/g)].map(
    ([, name = '']) => name,
  );
  assert.deepEqual([...new Set(commands)].sort(), ['reconcile', 'replay']);
  const copiedScripts = /^COPY (scripts\/.*) \.\/scripts\/$/m.exec(dockerfile)?.[1]?.split(' ') ?? [];
  const image = mkdtempSync(join(tmpdir(), 'survey-image-'));
  try {
    for (const [, name = ''] of dockerfile.matchAll(/^COPY --from=build \/app\/(\S+) /gm))
      if (name === 'scripts') for (const script of copiedScripts) cpSync(assetPath(script), join(image, script));
      else if (name === 'package.json') cpSync(assetPath(name), join(image, name));
      else symlinkSync(assetPath(name), join(image, name));
    for (const command of commands) {
      const args = ['run', command, '--', '--help'];
      const said = await new Promise<string>((resolve) =>
        execFile('npm', args, { cwd: image }, (error, stdout, stderr) =>
          resolve(error ? `${error} ${stderr}` : stdout),
        ),
      );
      assert.match(said, new RegExp(`npm run ${command} `));
      assert.doesNotMatch(said, /Cannot find|Building/);
    }
  } finally {
    rmSync(image, { recursive: true, force: true });
  }
});

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
