import { openSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';

const maxLogBytes = 10 * 1024 * 1024;
const maxLineLength = 400;
const wroteNothing = 'it wrote nothing';

/** The log of a store from the start of one of its processes on. */
export interface StoreLog {
  fd: number;
  /** The line that tells most about why the process has ended or is not ready. */
  tellingLine(): string;
  /** Whether the process has written that its port is in use. */
  saysPortInUse(): boolean;
}

export function openStoreLog(dir: string): StoreLog {
  const file = join(dir, 'log');
  const fd = openSync(file, 'a', 0o600);
  if (statSync(file).size > maxLogBytes) truncateSync(file, 0);
  const start = statSync(file).size;
  const written = (): string => {
    try {
      return readFileSync(file).subarray(start).toString('utf8');
    } catch {
      return '';
    }
  };
  return {
    fd,
    tellingLine: () => tellingLineOf(written()),
    saysPortInUse: () => portInUse.test(written()),
  };
}

/** The words of the operating system, which Redis, PostgreSQL and Node.js repeat. */
const portInUse = /address already in use/i;

/** Redis warns at every start that it may fail where memory is not overcommitted. */
const warning = /\bWARNING\b/;
const trouble = /error|fatal|fail|cannot|can't|could not|unable|denied|bad |no such|no space/i;

/** The last line about trouble, else the last one, of what a process wrote. */
export function tellingLineOf(written: string): string {
  const lines = written.trim().split('\n');
  const telling = lines.findLast((line) => trouble.test(line) && !warning.test(line));
  return (telling ?? lines.at(-1) ?? '').trim().slice(0, maxLineLength) || wroteNothing;
}
