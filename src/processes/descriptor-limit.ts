import { readFileSync } from 'node:fs';
import type { Log } from '../log.ts';

/** The embedded ClickHouse needs some hundreds; with fewer it answers, and takes no insert. */
const leastDescriptors = 1024;

/** Warns of a low limit of open files, which the processes of the stores inherit. */
export function warnOfLowDescriptorLimit(log: Pick<Log, 'warn'>, limits = limitsOfThisProcess()): void {
  const limit = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  if (limit < leastDescriptors)
    log.warn(
      { limit },
      `few files may be open at once, so connections may be refused and ClickHouse may store nothing: raise the limit to ${leastDescriptors} at least (ulimit -n)`,
    );
}

/** '' where the system does not say. */
function limitsOfThisProcess(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return '';
  }
}
