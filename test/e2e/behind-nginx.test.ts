import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { assetPath } from '../../src/platform/assets.ts';
import type { Client } from '../support/client.ts';
import { debianProgram } from '../support/debian-program.ts';
import { eventually } from '../support/eventually.ts';
import { openEvents, openLive } from '../support/live-client.ts';
import { adminEmail, adminPassword, type RunningService } from '../support/service.ts';
import { quietPort } from '../support/switchable-proxy.ts';
import { useService } from '../support/use-service.ts';

const program = debianProgram('nginx', 'nginx-light');
const submitLimit = 3;

describe('behind nginx, set up as docs/operating.md says', { skip: 'missing' in program && program.missing }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'survey-nginx-'));
  let service: RunningService;
  let admin: Client;
  let nginx: ChildProcess;
  let port: number;
  const proxied = () => ({ base: `http://127.0.0.1:${port}/api/v1` });
  useService(
    (served) => {
      ({ service, admin } = served);
    },
    { env: { TRUSTED_PROXIES: '127.0.0.1', RATE_LIMIT_SUBMIT: String(submitLimit) } },
  );
  before(async () => {
    port = await quietPort();
    const [, documented = ''] = /```nginx\n(.*?)```/s.exec(readFileSync(assetPath('docs/operating.md'), 'utf8')) ?? [];
    const server = documented
      .replace('127.0.0.1:3000', `127.0.0.1:${service.port}`)
      .replace('server {\n', `server {\n  listen 127.0.0.1:${port};\n`);
    // Its workers run as another user where it is started by root.
    chmodSync(folder, 0o755);
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (kind) => `${kind}_temp_path ${folder}/${kind};`,
    );
    const file = join(folder, 'nginx.conf');
    writeFileSync(
      file,
      `daemon off;\npid ${folder}/pid;\nevents {}\nhttp {\naccess_log off;\n${paths.join('\n')}\n${server}}\n`,
    );
    nginx = spawn('path' in program ? program.path : '', ['-c', file, '-e', join(folder, 'errors')]);
    await eventually(async () => assert.equal((await fetch(`http://127.0.0.1:${port}/health/ready`)).status, 200));
  });
  after(async () => {
    if (nginx?.kill()) await once(nginx, 'exit');
    rmSync(folder, { recursive: true, force: true });
  });

  /** The status of a submission that comes from this address of the loopback network. */
  const submitFrom = (localAddress: string, surveyId: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const path = `/api/v1/responses/surveys/${surveyId}/submit`;
      const headers = { 'content-type': 'application/json' };
      const call = request({ port, host: '127.0.0.1', localAddress, method: 'POST', path, headers }, (reply) => {
        reply.resume();
        reply.on('end', () => resolve(reply.statusCode));
      });
      call.on('error', reject);
      call.end('{"answers":[]}');
    });

  it('submissions are limited by the address of the respondent', async () => {
    const { id } = await admin.create('/surveys', { title: 'Proxied', status: 'ACTIVE' });
    const statuses = [];
    for (let n = 0; n <= submitLimit; n += 1) statuses.push(await submitFrom('127.0.0.2', id));
    assert.deepEqual(statuses, [201, 201, 201, 429]);
    assert.equal(await submitFrom('127.0.0.3', id), 201);
  });

  it('responses are streamed over WebSocket and as events while they come', async () => {
    const { id } = await admin.create('/surveys', { title: 'Proxied', status: 'ACTIVE' });
    const live = await openLive(proxied(), admin.token ?? '');
    live.send({ type: 'subscribe', surveyId: id, channels: ['responses'] });
    await live.next('subscribed');
    const events = await openEvents(`${proxied().base}/surveys/${id}/live`, admin.token ?? '');
    assert.equal(await submitFrom('127.0.0.4', id), 201);
    await live.next('response');
    await events.next('response');
    live.socket.terminate();
    events.close();
  });

  it('its own pages may sign in and connect, on any port', async () => {
    const origin = `http://127.0.0.1:${port}`;
    const reply = await fetch(`${proxied().base}/auth/login`, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/json' },
      body: JSON.stringify({ email: adminEmail, password: adminPassword, session: 'cookie' }),
    });
    assert.equal(reply.status, 200, await reply.text());
    const live = await openLive(proxied(), admin.token ?? '', { origin });
    live.socket.terminate();
  });
});
