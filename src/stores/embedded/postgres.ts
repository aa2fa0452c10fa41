import { execFile } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import postgres from 'postgres';
import type { Log } from '../../log.ts';
import { readOrCreateSecretFile } from '../../platform/secrets.ts';
import { errorMessage, StartError } from '../../platform/start-error.ts';
import { endOrphan, type SupervisedChild, superviseChild } from './child-process.ts';
import type { Ports } from './host/ports.ts';
import { findPostgresHome, type PostgresHome } from './postgres-home.ts';

export interface PostgresOptions {
  /** Absolute path of an existing directory. */
  dir: string;
  ports: Ports;
  env: Record<string, string | undefined>;
  log: Log;
}

const name = 'postgres';
const superuser = 'survey';
const database = 'survey';
/** Long, because a large log may be replayed after a crash. */
const readyTimeoutMs = 180_000;
const stopTimeoutMs = 8_000;

/**
 * Runs PostgreSQL on a loopback port, with its cluster in `dir` (or where `findPostgresHome` says) and a database
 * `survey`.
 */
export async function startPostgres({
  dir,
  ports,
  env,
  log,
}: PostgresOptions): Promise<SupervisedChild & { url: string }> {
  const home = findPostgresHome(dir);
  if (home.dir !== dir)
    log.info(
      { store: name, dir: home.dir },
      'the directory above DATA_DIR is closed to the user postgres: its cluster lies elsewhere',
    );
  // SIGINT is the fast shutdown: it ends the clients' sessions and writes a checkpoint. SIGTERM would wait for the
  // clients.
  const ending = { name, dir: home.dir, stopSignal: 'SIGINT', stopTimeoutMs } as const;
  await endOrphan(ending, log);
  const password = readOrCreateSecretFile(join(dir, 'password'));
  const cluster = join(home.dir, 'cluster');
  if (!existsSync(join(cluster, 'PG_VERSION'))) await createCluster(home, cluster, password, env);
  else checkVersion(home.major, cluster);
  return ports.withPort(dir, async (port) => {
    const urlOf = (db: string) => postgresUrl(port, password, db);
    const plan = {
      ...ending,
      ...(home.user ? { user: home.user } : {}),
      command: join(home.bin, 'postgres'),
      args: ['-D', cluster, ...settings(port)],
      env,
      isReady: () => ensureDatabase(urlOf('postgres')),
      readyTimeoutMs,
    };
    return { ...(await retryWhileLockFileRemains(() => superviseChild(plan, log))), url: urlOf(database) };
  });
}

export const postgresUrl = (port: number | string, password: string, db: string = database): string =>
  `postgres://${superuser}:${password}@127.0.0.1:${port}/${db}`;

const lockFileTimeoutMs = 10_000;
const lockFileRetryMs = 250;

/** Retries while the lock file of a killed postmaster still exists. */
async function retryWhileLockFileRemains<T>(start: () => Promise<T>): Promise<T> {
  const until = performance.now() + lockFileTimeoutMs;
  for (;;) {
    try {
      return await start();
    } catch (error) {
      if (!errorMessage(error).includes('postmaster.pid') || performance.now() > until) throw error;
    }
    await delay(lockFileRetryMs);
  }
}

function settings(port: number): string[] {
  const values = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: '200',
    shared_buffers: '128MB',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_statement: 'none',
    // Statements may contain personal data and must not be logged.
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
  };
  return Object.entries(values).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
}

/** Whether the server answers; creates the service's database if it is missing. */
async function ensureDatabase(url: string): Promise<boolean> {
  // Without fetch_types: the client does not handle a failure of that query, so a dying server would end this process.
  const sql = postgres(url, { max: 1, connect_timeout: 2, idle_timeout: 1, fetch_types: false, onnotice: () => {} });
  try {
    const found = await sql`select 1 from pg_database where datname = ${database}`;
    if (found.length === 0) await sql`create database ${sql(database)}`;
    return true;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

const run = promisify(execFile);

/** Runs initdb in a draft directory that is renamed when complete, so that a kill leaves no partial cluster. */
async function createCluster(
  home: PostgresHome,
  cluster: string,
  password: string,
  env: PostgresOptions['env'],
): Promise<void> {
  const draft = `${cluster}.new`;
  const secretDir = mkdtempSync(join(tmpdir(), 'initdb-'));
  const passwordFile = join(secretDir, 'password');
  try {
    rmSync(draft, { recursive: true, force: true });
    mkdirSync(draft, { mode: 0o700 });
    writeFileSync(passwordFile, password, { mode: 0o600 });
    if (home.user) for (const place of [draft, secretDir, passwordFile]) chownSync(place, home.user.uid, home.user.gid);
    await run(join(home.bin, 'initdb'), initArguments(draft, passwordFile), { env, cwd: home.dir, ...home.user });
    renameSync(draft, cluster);
  } catch (error) {
    throw new StartError(`PostgreSQL cannot make its cluster in ${cluster}: ${errorMessage(error)}`, { cause: error });
  } finally {
    rmSync(secretDir, { recursive: true, force: true });
  }
}

/** PostgreSQL's builtin C.UTF-8, so that sorting and case folding do not depend on the machine's locales. */
function initArguments(cluster: string, passwordFile: string): string[] {
  const locale = ['--encoding', 'UTF8', '--locale', 'C', '--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8'];
  return ['-D', cluster, '-U', superuser, '--pwfile', passwordFile, '--auth', 'scram-sha-256', ...locale];
}

function checkVersion(major: string, cluster: string): void {
  const made = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim();
  if (made === major) return;
  throw new StartError(
    `the database in ${cluster} was made by PostgreSQL ${made} and this is ${major}: move it with pg_dump, or set DATABASE_URL`,
  );
}
