import { existsSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The ports and passwords of the stores, by the folder of each; a start makes those that are missing. */
const addressFiles = {
  'redis-intake': ['port', 'password'],
  'redis-jobs': ['port', 'password'],
  clickhouse: ['port', 'password'],
  // The superuser's password lies in the cluster too, and stays.
  postgres: ['port', 'app-password'],
};

export type StoreFolder = keyof typeof addressFiles;

/**
 * Whether the folder of a store lies where a start has noted it. Otherwise it is a copy or was moved, or a former version
 * has used it, which wrote no note: its port and password may be those of a store elsewhere.
 */
export function isAtItsPlace(dataDir: string, store: StoreFolder): boolean {
  const note = noteOf(dataDir, store);
  return existsSync(note) && readFileSync(note, 'utf8') === realpathSync(join(dataDir, store));
}

/**
 * Notes in the folder of a store where it lies. If it was not at its place, its port and password are given up: while a
 * store of the original restarts, one of a copy could get its port, and must not take the connections that are meant
 * for it.
 */
export function claimPlace(dataDir: string, store: StoreFolder): void {
  if (isAtItsPlace(dataDir, store)) return;
  for (const name of addressFiles[store]) rmSync(join(dataDir, store, name), { force: true });
  const note = noteOf(dataDir, store);
  writeFileSync(`${note}.new`, realpathSync(join(dataDir, store)), { mode: 0o600 });
  renameSync(`${note}.new`, note);
}

const noteOf = (dataDir: string, store: StoreFolder): string => join(dataDir, store, 'place');
