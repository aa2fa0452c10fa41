import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Log } from '../../log.ts';
import { readOrCreateSecretFile } from '../../platform/secrets.ts';
import { refuseMissingManifest } from './append-only-files.ts';
import { endOrphan, type SupervisedChild, superviseChild } from './child-process.ts';
import type { Ports } from './host/ports.ts';

export interface RedisOptions {
  name: string;
  /** Absolute path of an existing directory. */
  dir: string;
  ports: Ports;
  program: string;
  /** `always`: acknowledged writes are on disk. `everysec`: a crash of the machine may lose one second. */
  fsync: 'always' | 'everysec';
  maxMemoryBytes: number;
  env: Record<string, string | undefined>;
  log: Log;
  /** Ends the start. */
  signal: AbortSignal;
}

/** Long, because a large log may be replayed after a crash. */
const readyTimeoutMs = 180_000;
const stopTimeoutMs = 8_000;
const pingTimeoutMs = 1_000;

/**
 * Runs a Redis server on a loopback port with its append-only file in `dir`. It evicts nothing; when memory is full it
 * refuses writes.
 */
export async function startRedis(options: RedisOptions): Promise<SupervisedChild & { url: string }> {
  const { name, dir, program, env, log, signal } = options;
  const ending = { name, dir, stopSignal: 'SIGTERM', stopTimeoutMs } as const;
  await endOrphan(ending, log);
  refuseMissingManifest(dir);
  const password = readOrCreateSecretFile(join(dir, 'password'));
  const config = join(dir, 'redis.conf');
  const mark = randomUUID();
  return options.ports.withPort(dir, async (port) => {
    writeFileSync(config, configuration(options, { port, password, mark }), { mode: 0o600 });
    const plan = {
      ...ending,
      env,
      command: program,
      args: [config],
      isReady: () => isReady({ port, password, mark }),
      readyTimeoutMs,
    };
    return { ...(await superviseChild(plan, log, signal)), url: redisUrl(port, password) };
  });
}

export const redisUrl = (port: number | string, password: string): string => `redis://:${password}@127.0.0.1:${port}`;

interface ServerIdentity {
  port: number;
  password: string;
  /** A name of this start of the server. */
  mark: string;
}

function configuration(options: RedisOptions, { port, password, mark }: ServerIdentity): string {
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    `dir ${quoted(options.dir)}`,
    `requirepass ${password}`,
    'daemonize no',
    'loglevel notice',
    'save ""',
    'appendonly yes',
    `appendfsync ${options.fsync}`,
    // "yes" would suspend the fsync of acknowledged writes during a rewrite.
    'no-appendfsync-on-rewrite no',
    // A kill during a write leaves a partial command at the end, which was not acknowledged.
    'aof-load-truncated yes',
    `maxmemory ${options.maxMemoryBytes}`,
    'maxmemory-policy noeviction',
    // Nothing is written to the system's log: this setting only carries the mark.
    `syslog-ident ${mark}`,
  ];
  return `${lines.join('\n')}\n`;
}

function quoted(path: string): string {
  return `"${path.replace(/[\\"]/g, '\\$&')}"`;
}

/** Whether the server of this start has loaded its append-only file; until then it answers PING with -LOADING. */
function isReady({ port, password, mark }: ServerIdentity): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    let answer = '';
    const finish = (isUp: boolean) => {
      socket.destroy();
      resolve(isUp);
    };
    socket.setTimeout(pingTimeoutMs, () => finish(false));
    socket.once('error', () => finish(false));
    socket.once('close', () => finish(false));
    socket.once('connect', () => socket.write(`AUTH ${password}\r\nCONFIG GET syslog-ident\r\nPING\r\n`));
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
      if (/^-/m.test(answer)) finish(false);
      else if (answer.endsWith('+PONG\r\n')) finish(answer.includes(`\r\n${mark}\r\n`));
    });
  });
}
