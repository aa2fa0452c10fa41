import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage } from '../../platform/start-error.ts';
import { identityOf } from './host/process-identity.ts';

const lockFile = 'postmaster.pid';
const lockFileTimeoutMs = 10_000;
const lockFileRetryMs = 250;

/** Retries while the lock file of a killed postmaster still exists. */
export async function retryWhileLockFileRemains<T>(start: () => Promise<T>): Promise<T> {
  const until = performance.now() + lockFileTimeoutMs;
  for (;;) {
    try {
      return await start();
    } catch (error) {
      if (!errorMessage(error).includes(lockFile) || performance.now() > until) throw error;
    }
    await delay(lockFileRetryMs);
  }
}

/**
 * Removes the lock file of a killed postmaster if the process that it names is another program by now: PostgreSQL
 * refuses to start while any process of its user has that number. A file whose process has ended stays, as PostgreSQL
 * replaces it, and so does that of a cluster that any process serves. The caller holds the lock of DATA_DIR. Does nothing
 * on systems without /proc.
 */
export function removeStaleLockFile(cluster: string): void {
  const file = join(cluster, lockFile);
  if (!existsSync('/proc/self/stat') || !existsSync(file)) return;
  // The number of a server in single-user mode is negative.
  const pid = Math.abs(Number.parseInt(readFileSync(file, 'utf8'), 10));
  if (identityOf(pid) === undefined) return;
  const folder = realpathSync(cluster);
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  if (!processes.some((process) => mayServe(process, folder))) rmSync(file, { force: true });
}

/** Whether a process may belong to this cluster's server, whose processes all run in the cluster's folder. */
function mayServe(pid: string, cluster: string): boolean {
  try {
    // Every user may read this, but perhaps not the folder of another user's process.
    if (readFileSync(`/proc/${pid}/comm`, 'utf8').trim() !== 'postgres') return false;
  } catch {
    return false;
  }
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === cluster;
  } catch {
    return identityOf(Number(pid)) !== undefined && mayBelongToOwner(pid, cluster);
  }
}

/** Whether a process may be of the cluster's owner. One that hides what it does is shown as of root. */
function mayBelongToOwner(pid: string, cluster: string): boolean {
  const { uid } = statSync(`/proc/${pid}`, { throwIfNoEntry: false }) ?? {};
  return uid === 0 || uid === statSync(cluster).uid;
}
