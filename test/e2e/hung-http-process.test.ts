import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { adminClient } from '../support/client.ts';
import { startService } from '../support/service.ts';

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** SIGSTOP, since a process whose event loop does not turn takes no notice of SIGTERM either. */
describe('the stop of a service with an HTTP process that hangs', () => {
  it('kills that process after its time, so that it does not keep the port, and takes the later steps', async () => {
    const service = await startService({ env: { WORKERS: '2' } });
    const lines = () =>
      service
        .logs()
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line): Record<string, unknown> => JSON.parse(line));
    const hung = lines().find(({ part, msg }) => part === 'http-1' && msg === 'listening')?.['pid'];
    assert.ok(typeof hung === 'number');
    try {
      const admin = await adminClient(service);
      const { id } = await admin.create('/surveys', { title: 'Hung', status: 'ACTIVE' });
      assert.equal((await admin.submit(id, { answers: [] })).status, 201);
      process.kill(hung, 'SIGSTOP');
      assert.equal(await service.stop(), 0, service.logs());
      assert.ok(!isAlive(hung), 'it is left behind');
      const said = lines().map(({ msg }) => msg);
      assert.deepEqual(said.slice(-1), ['stopped']);
      assert.ok(said.includes('an HTTP process has not ended in time and is killed'));
    } finally {
      if (isAlive(hung)) process.kill(hung, 'SIGKILL');
      await service.kill();
    }
  });
});
