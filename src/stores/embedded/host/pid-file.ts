import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { StartError } from '../../../platform/start-error.ts';
import { identityOf } from './process-identity.ts';

const record = z.object({ pid: z.number(), identity: z.string(), dir: z.string() });

/** Writes which process serves the store in `dir`, so that a start after a kill can find and end it. */
export function writePidFile(dir: string, pid: number): void {
  writeFileSync(join(dir, 'pid'), JSON.stringify({ pid, identity: identityOf(pid) ?? '', dir }));
}

export function removePidFile(dir: string): void {
  rmSync(join(dir, 'pid'), { force: true });
}

/**
 * The process that a killed instance left running on this directory. Process id, start time and directory must all
 * match, because a copied DATA_DIR names the processes of the original.
 */
export function findOrphan(dir: string): number | undefined {
  try {
    const found = record.parse(JSON.parse(readFileSync(join(dir, 'pid'), 'utf8')));
    return found.dir === dir && identityOf(found.pid) === found.identity ? found.pid : undefined;
  } catch {
    return undefined;
  }
}

export interface EndOptions {
  signal: NodeJS.Signals;
  timeoutMs: number;
}

const pollMs = 20;
const killTimeoutMs = 10_000;

/**
 * Ends the process with the signal, after `timeoutMs` with SIGKILL. Resolves when it has ended; throws a StartError if
 * it does not end.
 */
export async function endProcess(pid: number, { signal, timeoutMs }: EndOptions): Promise<void> {
  const identity = identityOf(pid);
  if (identity === undefined) return;
  const isGone = () => identityOf(pid) !== identity;
  send(pid, signal);
  const deadline = performance.now() + timeoutMs;
  while (!isGone()) {
    if (performance.now() > deadline + killTimeoutMs)
      throw new StartError(`process ${pid} does not end, not even by SIGKILL`);
    if (performance.now() > deadline) send(pid, 'SIGKILL');
    await delay(pollMs);
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}
