import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { freePort } from '../../src/processes/http-processes.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { startStores, withSql } from '../support/embedded-stores.ts';
import { eventually } from '../support/eventually.ts';
import { beginService, sharedStoreUrls, startService } from '../support/service.ts';
import { quietPort } from '../support/switchable-proxy.ts';

/** Processes whose command names the folder, with what runs in them. */
const processesOf = (folder: string): { pid: number; command: string }[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return command.includes(folder) ? [{ pid: Number(name), command }] : [];
      } catch {
        return [];
      }
    });

describe('a service whose first start is interrupted while PostgreSQL makes its cluster', {
  skip: process.platform === 'linux' ? false : 'reads /proc',
}, () => {
  const folders: string[] = [];
  after(() => {
    for (const folder of folders) {
      for (const { pid } of processesOf(folder)) process.kill(pid, 'SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  });
  const { DATABASE_URL: _, ...otherStores } = sharedStoreUrls();

  for (const [signal, exitCode] of [
    ['SIGTERM', 0],
    ['SIGKILL', null],
  ] as const)
    it(`leaves neither initdb nor a password behind after ${signal}, and starts at once`, async () => {
      const [dataDir, temporary] = [temporaryDataDir(), temporaryDataDir()];
      folders.push(dataDir, temporary);
      const service = beginService({ dataDir, env: { ...otherStores, TMPDIR: temporary } });
      const initdb = await eventually(() => {
        const found = processesOf(dataDir).find(({ command }) => /bin\/initdb -D/.test(command));
        return found?.pid ?? assert.fail(service.logs());
      });
      // It would be done soon, and gone by itself.
      process.kill(initdb, 'SIGSTOP');
      service.signal(signal);
      assert.equal(await service.exited, exitCode);
      await eventually(() => assert.deepEqual(processesOf(dataDir), []));
      const stores = await startStores(dataDir, ['postgres']);
      try {
        await withSql(stores.databaseUrl, (sql) => sql`create table kept (a int)`);
      } finally {
        await stores.stop();
      }
      assert.deepEqual(
        readdirSync(join(dataDir, 'postgres')).filter((name) => /new|initdb/.test(name)),
        [],
      );
      assert.deepEqual(
        readdirSync(temporary).filter((name) => name.startsWith('initdb')),
        [],
      );
    });
});

describe('a service whose main process was killed', () => {
  it('starts again at its port, although its HTTP processes have a drain delay', async () => {
    const env = { WORKERS: '2', PORT: String(await quietPort()) };
    const first = await startService({ env: { ...env, DRAIN_DELAY_MS: '10000' } });
    await first.kill();
    rmSync(first.dataDir, { recursive: true, force: true });
    const second = await startService({ env });
    assert.equal(await second.stop(), 0);
  });

  it('starts again at its port, although they were told to stop before', async () => {
    const env = { WORKERS: '2', PORT: String(await quietPort()) };
    const first = await startService({ env: { ...env, DRAIN_DELAY_MS: '10000' } });
    process.kill(first.pid, 'SIGTERM');
    await eventually(async () => assert.equal((await fetch(`${first.origin}/health/ready`)).status, 503));
    await first.kill();
    rmSync(first.dataDir, { recursive: true, force: true });
    const second = await startService({ env });
    assert.equal(await second.stop(), 0);
  });

  it('waits for a port that is closed within moments', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    const port = await eventually(() => {
      const address = other.address();
      return address !== null && typeof address === 'object' ? address.port : assert.fail('it does not listen yet');
    });
    setTimeout(() => other.close(), 300);
    assert.equal(await freePort('127.0.0.1', port), port);
  });
});
