import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Log } from '../../log.ts';
import { readOrCreateSecretFile } from '../../platform/secrets.ts';
import { endOrphan, type SupervisedChild, superviseChild } from './child-process.ts';
import type { Ports } from './host/ports.ts';

export interface ClickhouseOptions {
  /** Absolute path of an existing directory. */
  dir: string;
  ports: Ports;
  env: Record<string, string | undefined>;
  log: Log;
  /** Ends the start. */
  signal: AbortSignal;
}

const name = 'clickhouse';
const readyTimeoutMs = 120_000;
/** A server that hangs is killed early enough for the whole stop, which has a hard deadline (`processes/shutdown.ts`). */
const stopTimeoutMs = 4_000;
const probeTimeoutMs = 2_000;
/**
 * A server that does not answer a ping hangs; one that answers no query may be busy with long queries, so it gets more
 * time.
 */
const healthTimeouts = { pingMs: 20_000, queryMs: 90_000 };
/** Share of the machine's memory that the engine may use. */
const memoryShare = 0.35;
/**
 * Each running query takes a thread of libuv's pool; with the default of 4, four slow queries would block all file
 * access.
 */
const poolThreads = '16';

/** Runs the ClickHouse engine behind ClickHouse's HTTP interface on a loopback port, its tables in `dir`. */
export async function startClickhouse({
  dir,
  ports,
  env,
  log,
  signal,
}: ClickhouseOptions): Promise<SupervisedChild & { url: string }> {
  const ending = { name, dir, stopSignal: 'SIGTERM', stopTimeoutMs } as const;
  await endOrphan(ending, log);
  const password = readOrCreateSecretFile(join(dir, 'password'));
  mkdirSync(join(dir, 'data'), { recursive: true, mode: 0o700 });
  const server = fileURLToPath(new URL('./clickhouse-server.js', import.meta.url));
  const memoryBytes = Math.floor(totalmem() * memoryShare);
  const displayName = randomUUID();
  return ports.withPort(dir, async (port) => {
    const plan = {
      ...ending,
      command: process.execPath,
      args: ['--enable-source-maps', server, dir, String(port), String(memoryBytes), displayName],
      env: { ...env, UV_THREADPOOL_SIZE: poolThreads, TZ: 'UTC', NODE_OPTIONS: '' },
      hasChannel: true,
      isReady: () => isReady(port, password, displayName),
      readyTimeoutMs,
      healthChecks: [
        {
          isResponding: () =>
            hasReply(fetch(`http://127.0.0.1:${port}/ping`, { signal: AbortSignal.timeout(probeTimeoutMs) })),
          timeoutMs: healthTimeouts.pingMs,
        },
        {
          isResponding: () => hasReply(query(port, password, healthTimeouts.queryMs)),
          timeoutMs: healthTimeouts.queryMs,
        },
      ],
    };
    return { ...(await superviseChild(plan, log, signal)), url: clickhouseUrl(port, password) };
  });
}

export const clickhouseUrl = (port: number | string, password: string): string =>
  `http://default:${password}@127.0.0.1:${port}`;

/** A query, because a server answers pings without the password, and has no name in those replies. */
async function isReady(port: number, password: string, displayName: string): Promise<boolean> {
  const reply = await query(port, password, probeTimeoutMs);
  return (
    reply.ok &&
    reply.headers.get('x-clickhouse-server-display-name') === displayName &&
    (await reply.text()).trim() === '1'
  );
}

function query(port: number, password: string, withinMs: number): Promise<Response> {
  const authorization = `Basic ${Buffer.from(`default:${password}`).toString('base64')}`;
  return fetch(`http://127.0.0.1:${port}/?query=SELECT%201`, {
    headers: { authorization },
    signal: AbortSignal.timeout(withinMs),
  });
}

/** Whether there is a reply at all. */
const hasReply = (reply: Promise<Response>): Promise<boolean> =>
  reply.then(
    async ({ body }) => {
      await body?.cancel();
      return true;
    },
    () => false,
  );
