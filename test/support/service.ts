import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { temporaryDataDir } from './data-dir.ts';
import { openPatientRedis } from './patient-redis.ts';

export interface RunningService {
  /** `http://127.0.0.1:PORT` */
  origin: string;
  /** `origin` + `/api/v1` */
  base: string;
  port: number;
  dataDir: string;
  pid: number;
  /** Everything that it logged so far, one JSON line each. */
  logs(): string;
  /** Its output on stdout. */
  printed(): string;
  /** SIGTERM, then waits for the end; gives the exit code. */
  stop(): Promise<number | null>;
  /** kill -9 of the main process alone. */
  kill(): Promise<void>;
  exited: Promise<number | null>;
}

export interface ServiceOptions {
  env?: Record<string, string>;
  /** Kept between starts; without it a temporary one is made, and removed by `stop`. */
  dataDir?: string;
  /** How many file descriptors the process may have. */
  openFiles?: number;
}

export const adminEmail = 'admin@localhost';
export const adminPassword = 'correct horse battery staple';

const readyWithinMs = 60_000;
/** As in `npm start`. */
const heapFlags = ['--max-semi-space-size=64', '--initial-old-space-size=192'];
const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));

/**
 * Starts the built service as a process of its own, on a free port and with limits that do not get in a test's way. The
 * stores are the run's shared ones where their URLs are in the environment and no data directory is given, else
 * embedded in the data directory.
 */
export async function startService({ env = {}, dataDir, openFiles }: ServiceOptions = {}): Promise<RunningService> {
  const folder = dataDir ?? temporaryDataDir();
  const shared = dataDir === undefined ? sharedStoreUrls() : {};
  const [command, ...args] = [...limited(openFiles), process.execPath, ...heapFlags, ...profilerFlags(), main];
  const child = spawn(command ?? '', args, {
    env: {
      ...cleanEnvironment(),
      PORT: '0',
      DATA_DIR: folder,
      ADMIN_EMAIL: adminEmail,
      ADMIN_PASSWORD: adminPassword,
      WEBHOOK_HOST_CONNECTIONS: '10000',
      WEBHOOK_HOST_REQUESTS_PER_SECOND: '100000',
      WEBHOOK_BUSY_REQUESTS_PER_SECOND: '100000',
      RATE_LIMIT_AUTH: '100000',
      RATE_LIMIT_SUBMIT: '10000000',
      RATE_LIMIT_API: '10000000',
      API_KEYS_PER_USER: '10000',
      LIVE_STREAMS_PER_USER: '100000',
      LOG_LEVEL: 'info',
      ...shared,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = collect(child);
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  const origin = await ready(child, output, exited);
  const stop = async () => {
    child.kill('SIGTERM');
    const code = await exited;
    if (code !== 0) await endLeases(child.pid, shared['REDIS_URL']);
    if (dataDir === undefined) rmSync(folder, { recursive: true, force: true });
    return code;
  };
  const kill = async () => {
    child.kill('SIGKILL');
    await exited;
    await endLeases(child.pid, shared['REDIS_URL']);
  };
  return {
    origin,
    base: `${origin}/api/v1`,
    port: Number(new URL(origin).port),
    dataDir: folder,
    pid: child.pid ?? 0,
    logs: output.logs,
    printed: output.printed,
    stop,
    kill,
    exited,
  };
}

/**
 * Ends the leases of a process that has ended without doing so: a service of the next test on the same stores would store
 * nothing until they run out.
 */
async function endLeases(pid: number | undefined, redisUrl: string | undefined): Promise<void> {
  if (redisUrl === undefined) return;
  const redis = await openPatientRedis(redisUrl);
  for (const key of await redis.keys('{s*}:owner'))
    if ((await redis.hget(key, 'name'))?.startsWith(`${hostname()}-${pid}-`)) await redis.del(key);
  redis.disconnect();
}

/** A command that runs the one after it with so many descriptors. */
const limited = (openFiles: number | undefined): string[] =>
  openFiles === undefined ? [] : ['sh', '-c', `ulimit -n ${openFiles} && exec "$@"`, 'sh'];

/** SERVICE_PROFILE_DIR=folder writes a CPU profile of the service there when it stops. */
function profilerFlags(): string[] {
  const folder = process.env['SERVICE_PROFILE_DIR'];
  return folder ? ['--cpu-prof', `--cpu-prof-dir=${folder}`] : [];
}

/** Starts a service that is expected to refuse; gives its exit code and what it said. */
export async function runToExit({ env = {}, dataDir }: ServiceOptions): Promise<{ code: number | null; said: string }> {
  const child = spawn(process.execPath, [main], {
    env: { ...cleanEnvironment(), PORT: '0', DATA_DIR: dataDir ?? temporaryDataDir(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = collect(child);
  const code = await new Promise<number | null>((resolve) => child.once('close', (exit) => resolve(exit)));
  return { code, said: output.printed() + output.logs() };
}

/** Begins to start a service, without waiting until it is ready. */
export function beginService({ env = {}, dataDir }: ServiceOptions & { dataDir: string }) {
  const child = spawn(process.execPath, [main], {
    env: { ...cleanEnvironment(), PORT: '0', DATA_DIR: dataDir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = collect(child);
  return {
    exited: new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code))),
    logs: output.logs,
    signal: (name: NodeJS.Signals) => void child.kill(name),
  };
}

/** The environment without settings of the service, so that a test says all of them itself. */
function cleanEnvironment(): Record<string, string> {
  const passed = ['PATH', 'HOME', 'LANG', 'TZ', 'TMPDIR', 'USER', 'NODE_OPTIONS'];
  return Object.fromEntries(
    Object.entries(process.env).filter(
      (pair): pair is [string, string] => passed.includes(pair[0]) && pair[1] !== undefined,
    ),
  );
}

/** Keys of all services that share the run's stores: others would be refused at the start. */
const sharedKeys = {
  SECRETS_KEY: 'the secrets key of all tests',
  JWT_PRIVATE_KEY:
    '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIO6NnjmMeuM8TwxDwFVemV1pW9xybq3lPfZ/ini+lJAu\n-----END PRIVATE KEY-----',
};

/** Settings of a service on the run's shared stores: their URLs and keys; none where each service has its own. */
export function sharedStoreUrls(): Record<string, string> {
  const pairs = [
    ['REDIS_URL', 'TEST_REDIS_URL'],
    ['REDIS_JOBS_URL', 'TEST_REDIS_JOBS_URL'],
    ['DATABASE_URL', 'TEST_DATABASE_URL'],
    ['CLICKHOUSE_URL', 'TEST_CLICKHOUSE_URL'],
  ] as const;
  const urls = pairs.flatMap(([name, from]) => (process.env[from] ? [[name, process.env[from]]] : []));
  return urls.length === 0 ? {} : { ...sharedKeys, ...Object.fromEntries(urls) };
}

function collect(child: ChildProcess) {
  let [printed, logs] = ['', ''];
  child.stdout?.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    logs += chunk.toString();
  });
  return { printed: () => printed, logs: () => logs };
}

function ready(
  child: ChildProcess,
  output: ReturnType<typeof collect>,
  exited: Promise<number | null>,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`the service was not ready in time:\n${output.printed()}\n${output.logs()}`));
      // Nobody else knows of the process: it would keep the test file from ending.
      child.kill('SIGKILL');
    }, readyWithinMs);
    const look = () => {
      const found = /base address\s+(http\S+)\/api\/v1|metrics\s+(http\S+)\/metrics/
        .exec(output.printed())
        ?.slice(1)
        .find((origin) => origin !== undefined);
      if (found === undefined) return;
      clearTimeout(timer);
      resolve(found);
    };
    child.stdout?.on('data', look);
    void exited.then((code) => {
      clearTimeout(timer);
      reject(new Error(`the service ended with code ${code ?? 'none'}:\n${output.printed()}\n${output.logs()}`));
    });
  });
}
