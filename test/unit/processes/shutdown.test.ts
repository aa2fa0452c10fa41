import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';

const importing = `
import { createShutdown } from ${JSON.stringify(new URL('../../../src/processes/shutdown.js', import.meta.url).href)};
const say = (line) => console.log(line);
`;

/** A process whose HTTP processes end before they listen, so that its start fails while a signal stops it. */
const failingStart = `${importing}
const shutdown = createShutdown(false);
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

/** A process that writes what its parts know before it is told to stop, and in its first step. */
const told = `${importing}
const shutdown = createShutdown(false);
shutdown.add(async () => say('told: ' + shutdown.signal.aborted));
setInterval(() => undefined, 1000);
say('told: ' + shutdown.signal.aborted);
process.kill(process.pid, 'SIGTERM');
`;

/** A process that gets SIGTERM again while its first step runs. */
const signalledTwice = (isHttpProcess: boolean): string => `${importing}
const shutdown = createShutdown(${isHttpProcess});
shutdown.add(async () => {
  say('drain');
  const heard = new Promise((resolve) => process.once('SIGTERM', () => setImmediate(resolve)));
  process.kill(process.pid, 'SIGTERM');
  await heard;
  say('drained');
});
setInterval(() => undefined, 1000);
process.kill(process.pid, 'SIGTERM');
`;

/** An HTTP process with a drain delay, which is stopped by `cause`. */
const delayed = (cause: string): string => `${importing}
const shutdown = createShutdown(true);
shutdown.configure({ log: { info: () => undefined }, drainDelayMs: 5000 });
shutdown.add(async (delay) => say('drain for ' + delay.ms));
setInterval(() => undefined, 1000);
${cause};
`;

/** An HTTP process whose main process is killed while a step waits for a drain delay that outlasts the hard deadline. */
const cutShort = `${importing}
const shutdown = createShutdown(true);
shutdown.configure({ log: { info: () => undefined }, drainDelayMs: 60_000 });
shutdown.add(async (delay) => {
  say('drain for ' + delay.ms);
  const waited = delay.wait().then(() => say('waited no longer'));
  process.emit('disconnect');
  await waited;
});
setInterval(() => undefined, 1000);
process.kill(process.pid, 'SIGTERM');
`;

const run = (program: string): Promise<{ code: unknown; said: string[] }> =>
  new Promise((resolve) => {
    execFile(process.execPath, ['--input-type=module', '--eval', program], (error, said) =>
      resolve({ code: error?.code ?? 0, said: said.trim().split('\n') }),
    );
  });

describe('the stop of a process', () => {
  it('runs its steps once and in their order when a signal makes the start fail', async () => {
    assert.deepEqual(await run(failingStart), {
      code: 0,
      said: ['HTTP processes', 'service', 'service has ended', 'stores'],
    });
  });

  it('is known before its first step, so that nothing long is begun while load balancers are waited for', async () => {
    assert.deepEqual(await run(told), { code: 0, said: ['told: false', 'told: true'] });
  });

  it('goes on in an HTTP process that gets SIGTERM again, as from the main process after its group got one', async () => {
    assert.deepEqual(await run(signalledTwice(true)), { code: 0, said: ['drain', 'drained'] });
    assert.deepEqual(await run(signalledTwice(false)), { code: 1, said: ['drain'] });
  });

  it('waits for no balancer in an HTTP process whose main process was killed, since its next start needs the port', async () => {
    const signalled = "process.kill(process.pid, 'SIGTERM')";
    assert.deepEqual(await run(delayed(signalled)), { code: 0, said: ['drain for 5000'] });
    assert.deepEqual(await run(delayed("process.emit('disconnect')")), { code: 0, said: ['drain for 0'] });
  });

  it('waits no longer for a balancer once the main process is killed, also where SIGTERM came before', async () => {
    assert.deepEqual(await run(cutShort), { code: 0, said: ['drain for 60000', 'waited no longer'] });
  });
});
