import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The ports and passwords of the stores, which a start makes where they are missing. */
const addressFiles = {
  'redis-intake': ['port', 'password'],
  'redis-jobs': ['port', 'password'],
  clickhouse: ['port', 'password'],
  // The superuser's password lies in the cluster too, and stays.
  postgres: ['port', 'app-password'],
};

/**
 * Notes in DATA_DIR where it lies. Where the note names another place, DATA_DIR is a copy or was moved, so ports and
 * passwords are given up: while a store of the original restarts, one of the copy could get its port, and must not take
 * the connections that are meant for it.
 */
export function claimPlace(dataDir: string): void {
  const note = join(dataDir, 'place');
  const noted = existsSync(note) ? readFileSync(note, 'utf8') : undefined;
  if (noted === dataDir) return;
  // A former version wrote no note.
  if (noted !== undefined)
    for (const [store, names] of Object.entries(addressFiles))
      for (const name of names) rmSync(join(dataDir, store, name), { force: true });
  writeFileSync(`${note}.new`, dataDir, { mode: 0o600 });
  renameSync(`${note}.new`, note);
}
