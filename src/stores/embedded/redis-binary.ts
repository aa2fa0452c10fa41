import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, rmSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Log } from '../../log.ts';
import { StartError } from '../../platform/start-error.ts';

type Env = Record<string, string | undefined>;

const howToInstall =
  'Redis is missing: install redis-server (Debian, Ubuntu: "sudo apt-get install redis-server"; macOS: "brew install redis"; or valkey-server), or set REDIS_URL and REDIS_JOBS_URL';

/**
 * Path of a Redis server: `redis-server` or `valkey-server` of the PATH. Run by root on Debian, it installs a missing
 * one. `linkDir` may get a link to it. Throws a StartError that says how to install it.
 */
export function findRedis(env: Env, linkDir: string, log: Log): string {
  const found = onPath('redis-server', env) ?? onPath('valkey-server', env) ?? linkedServer(env, linkDir);
  if (found !== undefined) return found;
  if (process.getuid?.() !== 0 || onPath('apt-get', env) === undefined) throw new StartError(howToInstall);
  log.info('Redis is missing: installing the Debian package redis-tools');
  install(env);
  const installed = onPath('redis-server', env) ?? linkedServer(env, linkDir);
  if (installed === undefined) throw new StartError(howToInstall);
  return installed;
}

/**
 * The server in Debian's package redis-tools: redis-check-rdb is the same program, which acts by the name it is called
 * by. The package redis-server only adds a link and a system service on port 6379.
 */
function linkedServer(env: Env, linkDir: string): string | undefined {
  const program = onPath('redis-check-rdb', env);
  if (program === undefined) return undefined;
  const link = join(linkDir, 'redis-server');
  rmSync(link, { force: true });
  symlinkSync(program, link);
  const answer = spawnSync(link, ['--version'], { encoding: 'utf8' });
  return answer.status === 0 && answer.stdout.includes('server') ? link : undefined;
}

function install(env: Env): void {
  const quiet = { ...env, DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of [
    ['update', '-q'],
    ['install', '-y', '-q', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120', 'redis-tools'],
  ]) {
    const done = spawnSync('apt-get', args, { env: quiet, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    if (done.status === 0) continue;
    const reason = (done.stderr ?? '').trim().split('\n').at(-1) ?? '';
    // `apt-get update` may fail for one source; only the installation must succeed.
    if (args[0] === 'install')
      throw new StartError(
        `${howToInstall} (apt-get failed: ${reason || done.error?.message || `exit code ${done.status}`})`,
      );
  }
}

function onPath(program: string, env: Env): string | undefined {
  const places = (env['PATH'] ?? '').split(delimiter).filter((place) => place !== '');
  return places.map((place) => join(place, program)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  if (!existsSync(file)) return false;
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
