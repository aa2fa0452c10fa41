import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes DATA_DIR where it is missing, with what is missing above it: passable for others, because of PostgreSQL's own user; every folder
 * inside closes itself.
 */
export function makeDataDir(path: string): void {
  // Each by itself: where a parent refuses with ENOENT, as mounts do that are away, Node's own way of making parents never ends.
  const missing: string[] = [];
  for (let place = path; !existsSync(place); place = dirname(place)) missing.unshift(place);
  for (const place of missing) makeFolder(place, 0o711);
}

/** One that another process has made meanwhile is as good. */
export function makeFolder(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}
