import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { ClickHouseError } from '@clickhouse/client';
import { resultOfFailure } from '../../../../src/pipelines/exports/failure.ts';
import { type ExportTask, runInChildProcess } from '../../../../src/pipelines/exports/run-in-child-process.ts';
import { CallTimeout, toProblem } from '../../../../src/stores/clickhouse/errors.ts';
import { ServerUnresponsive } from '../../../../src/stores/clickhouse/server-health.ts';
import { withPostgres } from '../../../../src/stores/postgres/client.ts';

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
  return { task, close: (closed?: () => void) => silent.close(closed) };
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

test('a process whose stores refuse its connections says that they are away', async () => {
  const { task, close } = await silentTask();
  await new Promise<void>((resolve) => close(resolve));
  const result = await runInChildProcess(task, {
    signal: new AbortController().signal,
    onProgress: () => undefined,
    isUnderLoad: async () => false,
  });
  assert.deepEqual(result, { kind: 'unavailable', reason: 'The control plane cannot be reached' });
});

test('a query that takes too long or too much memory is no outage of its store, one that finds none is', () => {
  const refusal = (type: string) => new ClickHouseError({ message: 'refused', code: '1', type });
  const kindOf = (cause: unknown) => resultOfFailure(toProblem(cause)).kind;
  for (const tooMuch of [refusal('TIMEOUT_EXCEEDED'), refusal('MEMORY_LIMIT_EXCEEDED'), new CallTimeout(15_000)])
    assert.equal(kindOf(tooMuch), 'retryable');
  for (const away of [refusal('UNKNOWN_TABLE'), refusal('READONLY'), new ServerUnresponsive(), new Error('reset')])
    assert.equal(kindOf(away), 'unavailable');
  assert.equal(kindOf(refusal('SYNTAX_ERROR')), 'retryable');
});

test('a statement of PostgreSQL that takes too long is no outage either, one that finds no database is', async () => {
  const kindsOf = async (code: string) => {
    const error = Object.assign(new Error('canceling statement due to statement timeout'), { code });
    const refused: unknown = await withPostgres(() => Promise.reject(error)).catch((problem: unknown) => problem);
    return [resultOfFailure(error).kind, resultOfFailure(refused).kind];
  };
  assert.deepEqual(await kindsOf('57014'), ['retryable', 'retryable']);
  for (const away of ['57P01', 'CONNECTION_CLOSED', '53300'])
    assert.deepEqual(await kindsOf(away), ['unavailable', 'unavailable'], away);
});
