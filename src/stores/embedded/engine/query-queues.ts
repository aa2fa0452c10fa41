import { isWord, tokens } from './query-text.ts';

export interface QueryQueue {
  /** Runs the work when one of the lane's places is free; first come, first served. Rejects at once when `signal` aborts the wait. */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

/** At most `places` works at once. */
export function createQueryQueue(maxConcurrent: number): QueryQueue {
  let free = maxConcurrent;
  const waiting: (() => void)[] = [];
  const enter = (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const leave = () => {
        waiting.splice(waiting.indexOf(admit), 1);
        reject(new Error('the client went away while the query waited'));
      };
      const admit = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      signal.addEventListener('abort', leave, { once: true });
      waiting.push(admit);
    });
  return {
    async run(work, signal) {
      signal.throwIfAborted();
      if (free > 0) free--;
      else await enter(signal);
      try {
        return await work();
      } finally {
        // The place goes straight to the next in line, so that nobody who comes just now overtakes it.
        const next = waiting.shift();
        if (next) next();
        else free++;
      }
    },
  };
}

export type QueueName = 'read' | 'insert' | 'change' | 'kill';

const readingVerbs = new Set(['SELECT', 'WITH', 'SHOW', 'DESCRIBE', 'DESC', 'EXPLAIN', 'EXISTS', 'CHECK', 'VALUES']);

/** The lane of a statement without inline data. WITH may also begin an INSERT … SELECT. */
export function queueOf(verb: string, sql: string): QueueName {
  if (verb === 'KILL') return 'kill';
  if (!readingVerbs.has(verb)) return 'change';
  if (verb !== 'WITH') return 'read';
  for (const token of tokens(sql)) if (isWord(token, 'INSERT')) return 'change';
  return 'read';
}
