import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { runInChildProcess } from '../../../../src/pipelines/exports/run-in-child-process.ts';

const pause = new Int32Array(new SharedArrayBuffer(4));

test('several messages to a process that has just been killed are no uncaught exception, and the export is retried', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => silent.once('listening', resolve));
  const { port } = silent.address() as { port: number };
  const answers: ((isUnderLoad: boolean) => void)[] = [];
  const result = await runInChildProcess(
    {
      exportId: 'none',
      urls: { postgres: `postgres://a@127.0.0.1:${port}/a`, clickhouse: [`http://127.0.0.1:${port}`] },
      dataDir: '/nonexistent',
      cluster: undefined,
      logLevel: 'silent',
    },
    {
      signal: new AbortController().signal,
      onProgress: () => undefined,
      isUnderLoad: () =>
        new Promise((resolve) => {
          answers.push(resolve);
          if (answers.length !== 3) return;
          const pids = execFileSync('pgrep', ['-P', String(process.pid), '-f', 'exports/child-process.js'], {
            encoding: 'utf8',
          });
          for (const pid of pids.trim().split('\n')) process.kill(Number(pid), 'SIGKILL');
          // This process does not see the end before it has sent its messages.
          Atomics.wait(pause, 0, 0, 300);
          for (const answer of answers) answer(true);
        }),
    },
  );
  silent.close();
  assert.equal(result.kind, 'retryable');
});
