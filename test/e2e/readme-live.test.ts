import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { assetPath } from '../../src/assets.ts';
import { adminPassword, startService, type RunningService } from '../support/service.ts';
import { sharedStores, type SharedStores } from '../support/stores.ts';

const isPossible = ['bash', 'curl', 'timeout', 'sed'].every((program) => spawnSync(program, ['--version']).status === 0);

describe('README › Live', () => {
  let stores: SharedStores;
  let service: RunningService;
  before(async () => {
    stores = await sharedStores();
    service = await startService();
  });
  after(async () => {
    assert.equal(await service.stop(), 0);
    await stores?.stop();
  });

  it('does what it says when it is pasted', { skip: !isPossible && 'needs bash, curl, timeout and sed' }, async () => {
    const readme = assetPath('README.md');
    const lines = /\n## Live\n[\s\S]*?\n```sh\n([\s\S]*?)\n```\n/.exec(readFileSync(readme, 'utf8'))?.[1] ?? '';
    assert.ok(lines.includes('http://127.0.0.1:3000'));
    // The last line ends by its time-out, and the ws package lies in this folder.
    const { stdout } = await promisify(execFile)('bash', ['-c', `${lines.replaceAll('http://127.0.0.1:3000', service.origin)}\ntrue`], {
      cwd: dirname(readme), timeout: 60_000, env: { ...process.env, ADMIN_PASSWORD: adminPassword },
    });
    const output = stdout.split('\n');
    const said = (start: string) => output.filter((line) => line.startsWith(start)).map((line) => JSON.parse(line.slice(start.indexOf('{'))));
    const overSocket = said('{"type":"response"').map(({ responseId }) => responseId);
    const overEvents = said('data: {"type":"response"').map(({ responseId }) => responseId);
    assert.equal(overSocket.length, 3);
    assert.deepEqual(overEvents.slice(0, 3), overSocket);
    assert.equal(new Set(overEvents).size, 4, 'the fourth is what was missed since the cursor');
    assert.equal(said('data: {"type":"analytics"').at(-1).totalResponses, 3);
    assert.ok(output.includes('event: status'));
  });
});
