import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { errorMessage, StartError } from '../../../platform/start-error.ts';
import { identityOf } from './process-identity.ts';

const owner = z.object({ pid: z.number(), identity: z.string() });

/**
 * Locks DATA_DIR for this process. The lock file contains the process id and start time, so that the lock of a killed
 * instance is recognised as stale even if its process id was reused. A process of another PID namespace or host cannot
 * be seen, so its lock is taken for a stale one (docs/operating.md, Deploy). Throws a StartError while another live
 * instance holds it, or if it cannot be written.
 */
export function acquireLock(dataDir: string): { release(): void } {
  const file = join(dataDir, 'lock');
  const draft = `${file}.${process.pid}`;
  const mine = JSON.stringify({ pid: process.pid, identity: identityOf(process.pid) ?? '' });
  try {
    writeFileSync(draft, mine);
    claim(draft, file, dataDir);
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`DATA_DIR ${dataDir} cannot be written to: ${errorMessage(error)}`, { cause: error });
  } finally {
    rmSync(draft, { force: true });
  }
  return {
    release: () => {
      if (read(file) === mine) rmSync(file, { force: true });
    },
  };
}

const maxAttempts = 5;

function claim(draft: string, file: string, dataDir: string): void {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    if (tryLink(draft, file)) return;
    const held = read(file);
    if (held === undefined && isFolder(file))
      throw new StartError(`${file} is a folder, where the service keeps a file: remove it`);
    if (held === undefined) continue;
    const pid = liveOwner(held);
    if (pid !== undefined)
      throw new StartError(
        `DATA_DIR ${dataDir} is in use by process ${pid}: stop it, or give this one another DATA_DIR`,
      );
    clearStale(file, held);
  }
  throw new StartError(`cannot lock DATA_DIR ${dataDir}: another start keeps taking the lock`);
}

function tryLink(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Removes the stale lock; if another start replaced it meanwhile, restores that one. */
function clearStale(file: string, held: string): void {
  const aside = `${file}.stale.${process.pid}`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  if (read(aside) !== held) tryLink(aside, file);
  rmSync(aside, { force: true });
}

function liveOwner(text: string): number | undefined {
  try {
    const { pid, identity } = owner.parse(JSON.parse(text));
    return identityOf(pid) === identity ? pid : undefined;
  } catch {
    return undefined;
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
