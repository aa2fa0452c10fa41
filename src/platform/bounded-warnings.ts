import type { Log } from '../log.ts';

const windowMs = 10_000;
const linesPerWindow = 3;

/**
 * Warnings of one source that may repeat in a tight loop while a store is away: at most three lines in ten seconds. The
 * next line says how many were left out.
 */
export function createBoundedWarnings(log: Pick<Log, 'warn'>, now: () => number = () => performance.now()) {
  let windowBegan = -Infinity;
  let lines = 0;
  let leftOut = 0;
  return (fields: Record<string, unknown>, message: string): void => {
    if (now() - windowBegan >= windowMs) {
      windowBegan = now();
      lines = 0;
    }
    if (lines === linesPerWindow) {
      leftOut += 1;
      return;
    }
    lines += 1;
    log.warn({ ...fields, ...(leftOut > 0 && { leftOut }) }, message);
    leftOut = 0;
  };
}

export type BoundedWarnings = ReturnType<typeof createBoundedWarnings>;
