import { randomBytes, randomUUID } from 'node:crypto';
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import type { Log } from '../../log.ts';
import { readOrCreateSecretFile } from '../../platform/secrets.ts';
import { errorMessage, StartError } from '../../platform/start-error.ts';
import { endOrphan, type SupervisedChild, superviseChild } from './child-process.ts';
import type { Ports } from './host/ports.ts';
import { findPostgresHome, type PostgresHome } from './postgres-home.ts';
import { removeStaleLockFile, retryWhileLockFileRemains } from './postgres-lock-file.ts';
import { runProgram } from './run-program.ts';

export interface PostgresOptions {
  /** Absolute path of an existing directory. */
  dir: string;
  ports: Ports;
  env: Record<string, string | undefined>;
  log: Log;
  /** How many connections the service may open. */
  serviceConnections: number;
  /** Ends the start. */
  signal: AbortSignal;
}

const name = 'postgres';
const superuser = 'survey';
/** The role of the service: owner of its database, without rights beyond it. */
const serviceRole = 'survey_app';
const servicePasswordFile = 'app-password';
const database = 'survey';
/** Long, because a large log may be replayed after a crash. */
const readyTimeoutMs = 180_000;
const stopTimeoutMs = 8_000;
const leastConnections = 200;
/** Connections beside those of the service: of its starts, exports and repairs, and of operators. */
const otherConnections = 50;

/**
 * Runs PostgreSQL on a loopback port, with its cluster in `dir` (or where `findPostgresHome` says) and a database
 * `survey`. `url` is of a role that owns the database, `adminUrl` of the superuser.
 */
export async function startPostgres({
  dir,
  ports,
  env,
  log,
  serviceConnections,
  signal,
}: PostgresOptions): Promise<SupervisedChild & { url: string; adminUrl: string }> {
  const home = findPostgresHome(dir);
  if (home.dir !== dir)
    log.info(
      { store: name, dir: home.dir },
      'the cluster of PostgreSQL lies outside DATA_DIR, where the file postgres/location says',
    );
  if (['cluster', 'location'].every((file) => existsSync(join(dir, file))))
    log.warn(
      { store: name, dir: home.dir },
      'DATA_DIR/postgres has a folder cluster and a file location that names another: the cluster in this dir is used',
    );
  // SIGINT is the fast shutdown: it ends the clients' sessions and writes a checkpoint. SIGTERM would wait for the
  // clients.
  const ending = { name, dir: home.dir, stopSignal: 'SIGINT', stopTimeoutMs } as const;
  await endOrphan(ending, log);
  removeDrafts(home.dir);
  const passwordFile = join(dir, 'password');
  const servicePassword = readOrCreateSecretFile(join(dir, servicePasswordFile));
  const cluster = join(home.dir, 'cluster');
  const hasCluster = existsSync(join(cluster, 'PG_VERSION'));
  if (hasCluster) checkVersion(home.major, cluster);
  else refuseIncompleteCluster(cluster);
  if (hasCluster && !hasText(passwordFile)) {
    log.warn({ store: name, file: passwordFile }, 'the password of PostgreSQL is missing: it gets a new one');
    const made = randomBytes(32).toString('base64url');
    await retryWhileLockFileRemains(() => setPassword({ home, cluster, password: made, env, signal }));
    // Only now: a kill before leaves no file, and the next start sets another one.
    readOrCreateSecretFile(passwordFile, () => made);
  }
  const password = readOrCreateSecretFile(passwordFile);
  if (!hasCluster) await createCluster({ home, cluster, password, env, signal });
  const clusterName = randomUUID();
  return ports.withPort(dir, async (port) => {
    const adminUrlOf = (db: string) => urlOf({ role: superuser, password, port, db });
    const plan = {
      ...ending,
      ...(home.user ? { user: home.user } : {}),
      command: join(home.bin, 'postgres'),
      args: ['-D', cluster, ...settings({ port, clusterName, serviceConnections })],
      env,
      beforeLaunch: () => removeStaleLockFile(cluster),
      isReady: () =>
        ensureDatabase({ adminUrlOf, servicePassword, clusterName }).catch((error: unknown) => {
          if (!isWrongPassword(error)) throw error;
          throw new StartError(
            `PostgreSQL refuses the password in ${passwordFile}: restore that file, or remove it, and the next start sets a new password`,
          );
        }),
      readyTimeoutMs,
    };
    return {
      ...(await retryWhileLockFileRemains(() => superviseChild(plan, log, signal))),
      url: urlOf({ role: serviceRole, password: servicePassword, port, db: database }),
      adminUrl: adminUrlOf(database),
    };
  });
}

/** URL of a running server for the service, as its files in `dir` say. */
export const postgresUrl = (port: string, readFile: (name: string) => string): string =>
  urlOf({ role: serviceRole, password: readFile(servicePasswordFile), port, db: database });

const urlOf = (parts: { role: string; password: string; port: number | string; db: string }): string =>
  `postgres://${parts.role}:${parts.password}@127.0.0.1:${parts.port}/${parts.db}`;

interface ServerSettings {
  port: number;
  /** A name of this start of the server. */
  clusterName: string;
  serviceConnections: number;
}

function settings({ port, clusterName, serviceConnections }: ServerSettings): string[] {
  const values = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    cluster_name: clusterName,
    unix_socket_directories: '',
    max_connections: String(Math.max(leastConnections, serviceConnections + otherConnections)),
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

interface DatabaseAccess extends Pick<ServerSettings, 'clusterName'> {
  adminUrlOf(db: string): string;
  servicePassword: string;
}

/**
 * Whether the server of this start answers; makes the service's role and database if they are missing, and gives the
 * role what a former version made as superuser.
 */
async function ensureDatabase({ adminUrlOf, servicePassword, clusterName }: DatabaseAccess): Promise<boolean> {
  const isOwn = await asAdmin(adminUrlOf('postgres'), async (sql) => {
    const [server] = await sql`select current_setting('cluster_name') as name`;
    if (server?.['name'] !== clusterName) return false;
    const [role] = await sql`select 1 from pg_roles where rolname = ${serviceRole}`;
    // The password is one of our own, of letters, digits, - and _.
    await sql.unsafe(
      `${role ? 'alter' : 'create'} role ${serviceRole} login nosuperuser password '${servicePassword}'`,
    );
    const [found] = await sql`
      select pg_get_userbyid(datdba) as owner from pg_database where datname = ${database}`;
    if (!found) await sql`create database ${sql(database)} owner ${sql(serviceRole)}`;
    else if (found['owner'] !== serviceRole) await sql`alter database ${sql(database)} owner to ${sql(serviceRole)}`;
    return true;
  });
  if (!isOwn) return false;
  await asAdmin(adminUrlOf(database), async (sql) => {
    const statements = await sql<{ statement: string }[]>`
      select statement || ${` owner to ${serviceRole}`} as statement from (
        select relnamespace as schema, relowner as owner, c.oid, 'alter table ' || c.oid::regclass as statement
        from pg_class c
        where relkind in ('r', 'p', 'v', 'm') or relkind = 'S' and not exists (
          select 1 from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('a', 'i'))
        union all
        select pronamespace, proowner, oid, 'alter routine ' || oid::regprocedure from pg_proc
        union all
        select typnamespace, typowner, oid, 'alter type ' || oid::regtype from pg_type where typtype in ('e', 'd')
      ) made
      join pg_namespace n on n.oid = made.schema
      where pg_get_userbyid(owner) = ${superuser} and nspname not like 'pg\\_%' and nspname <> 'information_schema'
        and not exists (select 1 from pg_depend d where d.objid = made.oid and d.deptype = 'e')`;
    for (const { statement } of statements) await sql.unsafe(statement);
  });
  return true;
}

async function asAdmin<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  // Without fetch_types: the client does not handle a failure of that query, so a dying server would end this process.
  const sql = postgres(url, { max: 1, connect_timeout: 2, idle_timeout: 1, fetch_types: false, onnotice: () => {} });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

const isWrongPassword = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '28P01';

const hasText = (file: string): boolean => existsSync(file) && readFileSync(file, 'utf8').trim() !== '';

/** Throws a StartError if files lie where a cluster would be made: they are what is left of one. */
function refuseIncompleteCluster(cluster: string): void {
  if (!existsSync(cluster) || readdirSync(cluster).length === 0) return;
  throw new StartError(
    `the database in ${cluster} is incomplete, as the file PG_VERSION is missing: restore that folder from a backup, or move it away to begin with an empty database`,
  );
}

interface ClusterStep {
  home: PostgresHome;
  cluster: string;
  password: string;
  env: PostgresOptions['env'];
  signal: AbortSignal;
}

/**
 * Sets the superuser's password by the server's single-user mode, which asks for none. It is written to the standard
 * input, since other users see arguments.
 */
async function setPassword({ home, cluster, password, env, signal }: ClusterStep): Promise<void> {
  const args = [
    '--single',
    '-D',
    cluster,
    '-c',
    'log_statement=none',
    '-c',
    'log_min_error_statement=panic',
    'postgres',
  ];
  try {
    removeStaleLockFile(cluster);
    await runProgram(join(home.bin, 'postgres'), {
      args,
      env,
      cwd: home.dir,
      user: home.user,
      input: `alter role ${superuser} password '${password}'\n`,
      signal,
    });
  } catch (error) {
    throw new StartError(`PostgreSQL cannot set a new password in ${cluster}: ${errorMessage(error)}`, {
      cause: error,
    });
  }
}

const draftPrefix = 'cluster.new';
const draftPasswordFile = 'initdb-password';

/**
 * Runs initdb in a draft directory that is renamed when complete, so that a kill leaves no partial cluster. Each start
 * has a draft of its own, since what a killed start has left may still be written for a moment.
 */
async function createCluster({ home, cluster, password, env, signal }: ClusterStep): Promise<void> {
  const passwordFile = join(home.dir, draftPasswordFile);
  try {
    const draft = mkdtempSync(join(home.dir, `${draftPrefix}-`));
    writeFileSync(passwordFile, password, { mode: 0o600 });
    if (home.user) for (const place of [draft, passwordFile]) chownSync(place, home.user.uid, home.user.gid);
    const args = initArguments(draft, passwordFile);
    await runProgram(join(home.bin, 'initdb'), { args, env, cwd: home.dir, user: home.user, signal });
    renameSync(draft, cluster);
  } catch (error) {
    throw new StartError(`PostgreSQL cannot make its cluster in ${cluster}: ${errorMessage(error)}`, { cause: error });
  } finally {
    removeDrafts(home.dir);
  }
}

/** Removes what a start has left that was stopped or killed while it made the cluster. */
function removeDrafts(dir: string): void {
  for (const name of readdirSync(dir).filter((found) => found === draftPasswordFile || found.startsWith(draftPrefix)))
    try {
      rmSync(join(dir, name), { recursive: true, force: true });
    } catch {
      // A program of a killed start may still write there: the next start removes it.
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
