import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createLog } from '../../../../src/log.ts';
import { readOrCreateSecretFile } from '../../../../src/platform/secrets.ts';
import { StartError } from '../../../../src/platform/start-error.ts';
import { superviseChild } from '../../../../src/stores/embedded/child-process.ts';
import { acquireLock } from '../../../../src/stores/embedded/host/lock.ts';
import { endProcess, findOrphan, writePidFile } from '../../../../src/stores/embedded/host/pid-file.ts';
import { createPorts } from '../../../../src/stores/embedded/host/ports.ts';
import { identityOf } from '../../../../src/stores/embedded/host/process-identity.ts';
import { canEnter, existingCluster } from '../../../../src/stores/embedded/postgres-home.ts';
import { startEmbeddedStores } from '../../../../src/stores/embedded/start-stores.ts';
import { eventually } from '../../../support/eventually.ts';

const root = mkdtempSync(join(tmpdir(), 'embedded-host-'));
after(() => rmSync(root, { recursive: true, force: true }));

function newDir(): string {
  return mkdtempSync(join(root, 'd'));
}

test('a lock is refused while its owner lives, and free after its release or its owner’s end', () => {
  const dir = newDir();
  const lock = acquireLock(dir);
  assert.throws(
    () => acquireLock(dir),
    (error) => error instanceof StartError && error.message.includes(`process ${process.pid}`),
  );
  lock.release();
  mkdirSync(join(dir, 'lock'));
  assert.throws(
    () => acquireLock(dir),
    (error) =>
      error instanceof StartError &&
      error.message.endsWith('lock is a folder, where the service keeps a file: remove it'),
  );
  rmSync(join(dir, 'lock'), { recursive: true });
  writeFileSync(join(dir, 'lock'), JSON.stringify({ pid: process.pid, identity: 'the same number, another process' }));
  const second = acquireLock(dir);
  second.release();
  writeFileSync(join(dir, 'lock'), 'half a rec');
  acquireLock(dir).release();
  assert.equal(existsSync(join(dir, 'lock')), false);
});

test('a lock that cannot be written names DATA_DIR', () => {
  const dir = join(newDir(), 'gone');
  assert.throws(
    () => acquireLock(dir),
    (error) => error instanceof StartError && error.message.startsWith(`DATA_DIR ${dir} cannot be written to: ENOENT`),
  );
});

test('root leaves a DATA_DIR of another user as it is, since that user could not start it again', {
  skip: process.getuid?.() !== 0,
}, async () => {
  const dataDir = newDir();
  mkdirSync(join(dataDir, 'redis-intake'), { mode: 0o700 });
  const password = join(dataDir, 'redis-intake', 'password');
  writeFileSync(password, 'theirs', { mode: 0o600 });
  chownSync(password, 4711, 4711);
  const needed = { redis: true, redisJobs: false, postgres: false, clickhouse: false };
  const start = () => startEmbeddedStores({ dataDir, needed, log: createLog('silent'), env: process.env });
  await assert.rejects(
    start().then((stores) => stores.stop()),
    (error) => error instanceof StartError && /made by the user with the number 4711/.test(error.message),
  );
  assert.deepEqual(
    [readdirSync(dataDir), readdirSync(join(dataDir, 'redis-intake'))],
    [['redis-intake'], ['password']],
  );
  chownSync(password, 0, 0);
  await (await start()).stop();
});

test('a release does not remove the lock of another owner', () => {
  const dir = newDir();
  const lock = acquireLock(dir);
  writeFileSync(join(dir, 'lock'), 'somebody else');
  lock.release();
  assert.equal(readFileSync(join(dir, 'lock'), 'utf8'), 'somebody else');
});

test('a process has one identity while it lives and none afterwards', async () => {
  const child = spawn('sleep', ['30']);
  const pid = child.pid ?? 0;
  const identity = identityOf(pid);
  assert.ok(identity);
  assert.equal(identityOf(pid), identity);
  child.kill('SIGKILL');
  await once(child, 'exit');
  assert.equal(identityOf(pid), undefined);
  assert.equal(identityOf(0), undefined);
});

test('an orphan is found only in its own directory, and killed if it ignores the first signal', async () => {
  const dir = newDir();
  const child = spawn('sh', ['-c', 'trap "" TERM; echo ready; while :; do sleep 1; done'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(child.stdout, 'data');
  const pid = child.pid ?? 0;
  writePidFile(dir, pid);
  assert.equal(findOrphan(dir), pid);
  const copy = newDir();
  writeFileSync(join(copy, 'pid'), readFileSync(join(dir, 'pid')));
  assert.equal(findOrphan(copy), undefined);
  await endProcess(pid, { signal: 'SIGTERM', timeoutMs: 100 });
  assert.equal(findOrphan(dir), undefined);
});

test('a secret is created once and is readable by its owner only', () => {
  const dir = newDir();
  const secret = readOrCreateSecretFile(join(dir, 'password'));
  assert.equal(readOrCreateSecretFile(join(dir, 'password')), secret);
  assert.ok(secret.length >= 32);
  assert.equal(statSync(join(dir, 'password')).mode & 0o777, 0o600);
  assert.notEqual(readOrCreateSecretFile(join(newDir(), 'password')), secret);
});

test('a store keeps its port, and two stores of one start never get the same', async () => {
  const [a, b] = [newDir(), newDir()];
  const portOf = (ports: ReturnType<typeof createPorts>, dir: string) => ports.withPort(dir, async (port) => port);
  const ports = createPorts();
  const first = await portOf(ports, a);
  writeFileSync(join(b, 'port'), String(first));
  assert.notEqual(await portOf(ports, b), first);
  assert.equal(await portOf(createPorts(), a), first);
});

test('a store whose port another program had for a moment at its start gets another port', async () => {
  const tried: number[] = [];
  const dir = newDir();
  const child = await createPorts().withPort(dir, (port) => {
    tried.push(port);
    const isFirst = tried.length === 1;
    return superviseChild(
      {
        name: 'listener',
        dir,
        command: 'sh',
        // The words of Redis, which the line that tells most does not have.
        args: [
          '-c',
          isFirst ? 'echo "bind: Address already in use"; echo "Failed listening, aborting"; exit 1' : 'exec sleep 60',
        ],
        env: process.env,
        isReady: async () => !isFirst,
        readyTimeoutMs: 5000,
        stopSignal: 'SIGTERM',
        stopTimeoutMs: 2000,
      },
      createLog('silent'),
    );
  });
  await child.stop();
  assert.equal(new Set(tried).size, 2);
});

test('another user can enter a directory only if all directories above permit it', {
  skip: process.platform === 'win32' ? 'Windows has no such rights' : false,
}, () => {
  const stranger = { uid: 65_533, gid: 65_533 };
  const open = join(newDir(), 'open');
  mkdirSync(open, { mode: 0o711 });
  assert.equal(canEnter(open, stranger), false);
  assert.equal(canEnter('/', stranger), true);
  assert.equal(canEnter(open, { uid: process.getuid?.() ?? 0, gid: stranger.gid }), true);
});

test('a store that cannot be started again is retried until it can', async () => {
  const dir = newDir();
  const child = await superviseChild(
    {
      name: 'sleeper',
      dir,
      command: 'sleep',
      args: ['60'],
      env: process.env,
      isReady: async () => true,
      readyTimeoutMs: 5000,
      stopSignal: 'SIGTERM',
      stopTimeoutMs: 2000,
    },
    createLog('silent'),
  );
  const first = child.pid() ?? 0;
  // As with the last file descriptor gone, its log cannot be opened.
  rmSync(join(dir, 'log'));
  mkdirSync(join(dir, 'log'));
  process.kill(first, 'SIGKILL');
  await eventually(() => assert.equal(child.pid(), undefined));
  await new Promise((resolve) => setTimeout(resolve, 400));
  assert.equal(child.pid(), undefined);
  rmSync(join(dir, 'log'), { recursive: true });
  await eventually(() => assert.ok(child.pid() !== undefined && child.pid() !== first));
  await child.stop();
});

test('a store that replies to nothing is killed and restarted, one that is only slow is not', async () => {
  const dir = newDir();
  let isHung = false;
  let asked = 0;
  const child = await superviseChild(
    {
      name: 'hanging',
      dir,
      command: 'sleep',
      args: ['600'],
      env: process.env,
      isReady: async () => true,
      readyTimeoutMs: 5000,
      stopSignal: 'SIGTERM',
      stopTimeoutMs: 1000,
      healthChecks: [
        {
          isResponding: async () => {
            asked += 1;
            return !isHung;
          },
          timeoutMs: 1000,
        },
      ],
    },
    createLog('silent'),
  );
  const first = child.pid();
  await eventually(() => assert.ok(asked >= 2), 10_000);
  assert.equal(child.pid(), first);
  isHung = true;
  await eventually(() => assert.ok(child.pid() !== undefined && child.pid() !== first), 15_000);
  isHung = false;
  await child.stop();
});

test('a store that writes very much has a log of bounded size, which ends with its last lines', async (t) => {
  const dir = newDir();
  const child = await superviseChild(
    {
      name: 'talker',
      dir,
      command: 'sh',
      args: ['-c', 'yes "it goes on" | head -n 1000000; echo "Error: the last one"; exec sleep 600'],
      env: process.env,
      isReady: async () => true,
      readyTimeoutMs: 5000,
      stopSignal: 'SIGTERM',
      stopTimeoutMs: 2000,
    },
    createLog('silent'),
  );
  t.after(() => child.stop());
  await eventually(() => {
    const written = readFileSync(join(dir, 'log'), 'utf8');
    assert.ok(written.endsWith('it goes on\nError: the last one\n') && written.length < 10_000_000);
  });
});

test('a cluster outside DATA_DIR is refused to a copy of DATA_DIR, and found by one that was moved', () => {
  const dir = newDir();
  const cluster = join(dir, 'cluster');
  for (const name of ['cluster', 'first', 'copy']) mkdirSync(join(dir, name));
  const [first, copy] = [join(dir, 'first', 'location'), join(dir, 'copy', 'location')];
  writeFileSync(first, `${cluster}\n`);
  assert.deepEqual([existingCluster(first), existingCluster(first)], [cluster, cluster]);
  writeFileSync(copy, `${cluster}\n`);
  assert.throws(() => existingCluster(copy), new RegExp(`is the one of ${first}`));
  assert.equal(existingCluster(first), cluster, 'the first one keeps it');
  rmSync(first);
  assert.equal(existingCluster(copy), cluster, 'moved');
});
