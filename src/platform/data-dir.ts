import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates DATA_DIR and its missing parents with mode 0711, because PostgreSQL's own user must pass through; the folders
 * inside restrict themselves.
 */
export function makeDataDir(path: string): void {
  // Not `recursive: true`: Node loops for ever if a parent refuses with ENOENT, as unavailable mounts do.
  const missing: string[] = [];
  for (let place = path; !existsSync(place); place = dirname(place)) missing.unshift(place);
  for (const place of missing) makeFolder(place, 0o711);
}

/** Creates a folder unless it exists, e.g. because another process created it concurrently. */
export function makeFolder(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}
