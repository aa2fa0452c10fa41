import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { freePort } from '../../src/processes/http-processes.ts';
import { findOrphan } from '../../src/stores/embedded/host/pid-file.ts';
import { adminClient } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { eventually } from '../support/eventually.ts';
import { type RunningService, startService } from '../support/service.ts';

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const linesOf = (service: RunningService): Record<string, unknown>[] =>
  service
    .logs()
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.startsWith('{'))
    .map((line): Record<string, unknown> => JSON.parse(line));

/** The first HTTP process, which is stopped: one whose event loop does not turn takes no notice of SIGTERM either. */
function hang(service: RunningService): Promise<number> {
  // The line may come after the banner.
  return eventually(() => {
    const pid = linesOf(service).find(({ part, msg }) => part === 'http-1' && msg === 'listening')?.['pid'];
    assert.ok(typeof pid === 'number');
    process.kill(pid, 'SIGSTOP');
    return pid;
  });
}

describe('the stop of a service with an HTTP process that hangs', () => {
  it('kills that process after its time, so that it does not keep the port, and takes the later steps', async () => {
    const service = await startService({ env: { WORKERS: '2' } });
    let hung = 0;
    try {
      const admin = await adminClient(service);
      const { id } = await admin.create('/surveys', { title: 'Hung', status: 'ACTIVE' });
      assert.equal((await admin.submit(id, { answers: [] })).status, 201);
      hung = await hang(service);
      assert.equal(await service.stop(), 0, service.logs());
      assert.ok(!isAlive(hung), 'it is left behind');
      const said = await eventually(() => {
        const messages = linesOf(service).map(({ msg }) => msg);
        assert.deepEqual(messages.slice(-1), ['stopped']);
        return messages;
      });
      assert.ok(said.includes('an HTTP process has not ended in time and is killed'));
    } finally {
      if (hung > 0 && isAlive(hung)) process.kill(hung, 'SIGKILL');
      await service.kill();
    }
  });

  it('takes the later steps also where embedded stores hang too', async () => {
    const dataDir = temporaryDataDir();
    const service = await startService({ dataDir, env: { WORKERS: '2' } });
    const left = () => ['clickhouse', 'redis-jobs'].flatMap((store) => findOrphan(join(dataDir, store)) ?? []);
    let hung = 0;
    try {
      const admin = await adminClient(service);
      const { id } = await admin.create('/surveys', { title: 'Hung', status: 'ACTIVE' });
      const stores = left();
      assert.equal(stores.length, 2);
      assert.equal((await admin.submit(id, { answers: [] })).status, 201);
      for (const pid of stores) process.kill(pid, 'SIGSTOP');
      hung = await hang(service);
      assert.equal(await service.stop(), 0, service.logs());
      assert.deepEqual(left(), [], 'stores are left behind');
    } finally {
      if (hung > 0 && isAlive(hung)) process.kill(hung, 'SIGKILL');
      await service.kill();
      for (const pid of left()) process.kill(pid, 'SIGKILL');
      rmSync(dataDir, { recursive: true, force: true });
    }
  });

  it('leaves no such process with the port at a second signal', async () => {
    const service = await startService({ env: { WORKERS: '2' } });
    let hung = 0;
    try {
      hung = await hang(service);
      process.kill(service.pid, 'SIGTERM');
      await eventually(() => assert.ok(linesOf(service).some(({ msg, part }) => msg === 'stopping' && !part)));
      assert.equal(await service.stop(), 1);
      await freePort('127.0.0.1', service.port);
      hung = 0;
    } finally {
      if (hung > 0 && isAlive(hung)) process.kill(hung, 'SIGKILL');
      await service.kill();
    }
  });
});
