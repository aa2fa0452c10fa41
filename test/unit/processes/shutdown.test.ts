import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';

/** A process whose HTTP processes end before they listen, so that its start fails while a signal stops it. */
const program = `
import { createShutdown } from ${JSON.stringify(new URL('../../../src/processes/shutdown.js', import.meta.url).href)};
const shutdown = createShutdown(false);
const say = (line) => console.log(line);
shutdown.add(async () => say('stores'));
shutdown.add(async () => {
  say('service');
  for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
  say('service has ended');
});
shutdown.add(async () => {
  say('HTTP processes');
  void shutdown.fail(() => say('the start failed'));
});
setInterval(() => undefined, 1000);
process.kill(process.pid, 'SIGTERM');
`;

describe('the stop of a process', () => {
  it('runs its steps once and in their order when a signal makes the start fail', async () => {
    const { code, said } = await new Promise<{ code: unknown; said: string }>((resolve) => {
      execFile(process.execPath, ['--input-type=module', '--eval', program], (error, said) =>
        resolve({ code: error?.code ?? 0, said }),
      );
    });
    assert.deepEqual(
      [code, said.trim().split('\n')],
      [0, ['HTTP processes', 'service', 'service has ended', 'stores']],
    );
  });
});
