import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from '../../platform/start-error.ts';
import { SettingsError } from '../../settings/settings.ts';

const filesFolder = 'appendonlydir';
const manifestFile = 'appendonly.aof.manifest';
const dataFile = /^appendonly\.aof\.(\d+)\.(base|incr)\./;

/** Whether the server has written anything: its first base file is that of an empty server. */
function hasData(folder: string): boolean {
  if (!existsSync(folder)) return false;
  return readdirSync(folder).some((name) => {
    const [, sequence, kind] = dataFile.exec(name) ?? [];
    return kind === 'base' ? sequence !== '1' : kind === 'incr' && statSync(join(folder, name)).size > 0;
  });
}

/** Throws a StartError where Redis would begin with an empty intake, since it finds its files by the manifest only. */
export function refuseMissingManifest(dir: string): void {
  const folder = join(dir, filesFolder);
  if (!hasData(folder) || existsSync(join(folder, manifestFile))) return;
  throw new StartError(
    `${folder} holds data, but ${manifestFile} is missing, without which Redis would begin with none: restore the folder from a backup, or move it away to begin with an empty one`,
  );
}

/**
 * Refuses another server as the intake while DATA_DIR holds one that was used: responses that are accepted and not
 * stored yet may lie there only. The password tells whether REDIS_URL is of the embedded server itself, which another
 * process runs.
 */
export function refuseIntakeLeftBehind(dataDir: string, redisUrl: string): void {
  const dir = join(dataDir, 'redis-intake');
  if (!hasData(join(dir, filesFolder)) || new URL(redisUrl).password === passwordIn(dir)) return;
  throw new SettingsError(
    `REDIS_URL is set, but ${dir} holds an intake that was used, perhaps with accepted responses that are stored nowhere else: empty it as docs/operating.md says (Move the intake to a Redis of your own), and move the folder away. If REDIS_URL is meant to be this intake itself, its password has changed: it is in ${join(dir, 'password')}`,
  );
}

function passwordIn(dir: string): string | undefined {
  const file = join(dir, 'password');
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
}
