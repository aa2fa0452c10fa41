import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { type ExportTask, runInChildProcess } from '../../../../src/pipelines/exports/run-in-child-process.ts';

const pause = new Int32Array(new SharedArrayBuffer(4));
const childPids = (): number[] =>
  execFileSync('pgrep', ['-P', String(process.pid), '-f', 'exports/child-process.js'], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map(Number);

/** A task whose stores take connections and say nothing. */
async function silentTask() {
  const silent = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => silent.once('listening', resolve));
  const { port } = silent.address() as { port: number };
  const task: ExportTask = {
    exportId: 'none',
    urls: { postgres: `postgres://a@127.0.0.1:${port}/a`, clickhouse: [`http://127.0.0.1:${port}`] },
    dataDir: '/nonexistent',
    diskReservePercent: 0,
    cluster: undefined,
    logLevel: 'silent',
  };
  return { task, close: () => silent.close() };
}

test('several messages to a process that has just been killed are no uncaught exception, and the export is retried', async () => {
  const { task, close } = await silentTask();
  const answers: ((isUnderLoad: boolean) => void)[] = [];
  const result = await runInChildProcess(task, {
    signal: new AbortController().signal,
    onProgress: () => undefined,
    isUnderLoad: () =>
      new Promise((resolve) => {
        answers.push(resolve);
        if (answers.length !== 3) return;
        for (const pid of childPids()) process.kill(pid, 'SIGKILL');
        // This process does not see the end before it has sent its messages.
        Atomics.wait(pause, 0, 0, 300);
        for (const answer of answers) answer(true);
      }),
  });
  close();
  assert.equal(result.kind, 'retryable');
});

test('the process gets the certificate authorities that Node reads at its start, and no setting of the service', {
  skip: process.platform === 'linux' ? false : 'reads /proc',
}, async (context) => {
  const given = {
    NODE_EXTRA_CA_CERTS: '/dev/null',
    SSL_CERT_FILE: '/dev/null',
    TZ: 'Asia/Tokyo',
    SECRETS_KEY: 'a secret',
  };
  const before = process.env;
  context.after(() => {
    process.env = before;
  });
  process.env = { ...before, ...given };
  const { task, close } = await silentTask();
  const stop = new AbortController();
  let environment: string[] = [];
  await runInChildProcess(task, {
    signal: stop.signal,
    onProgress: () => undefined,
    isUnderLoad: async () => {
      environment = childPids().flatMap((pid) => readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0'));
      stop.abort();
      return false;
    },
  });
  close();
  const names = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'TZ', 'SECRETS_KEY'];
  assert.deepEqual(environment.filter((entry) => names.some((name) => entry.startsWith(`${name}=`))).toSorted(), [
    'NODE_EXTRA_CA_CERTS=/dev/null',
    'SSL_CERT_FILE=/dev/null',
    'TZ=UTC',
  ]);
});
