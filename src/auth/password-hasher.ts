import { Worker } from 'node:worker_threads';

export interface Argon2Cost {
  /** KiB */
  memoryCost: number;
  timeCost: number;
  parallelism: number;
}

export type HashRequest = { kind: 'hash'; password: string; cost: Argon2Cost } | { kind: 'verify'; password: string; stored: string };
export type HashReply = { id: number; result: string | boolean } | { id: number; error: string };

interface Pending {
  resolve(result: string | boolean): void;
  reject(error: Error): void;
}

/** A thread that nobody has needed for so long ends. */
const idleMs = 60_000;

/**
 * Computes password hashes one after the other on a thread of its own, which the system runs after everything else that is ready: a
 * flood of sign-ins takes the time that submissions leave. The thread starts when it is needed and keeps no process alive.
 */
export function createPasswordHasher() {
  const pending = new Map<number, Pending>();
  let worker: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let lastId = 0;

  const settle = (reply: HashReply) => {
    const waiting = pending.get(reply.id);
    pending.delete(reply.id);
    if (pending.size === 0) rest();
    if ('error' in reply) waiting?.reject(new Error(reply.error));
    else waiting?.resolve(reply.result);
  };
  const rest = () => {
    worker?.unref();
    idle = setTimeout(() => {
      void worker?.terminate();
      worker = undefined;
    }, idleMs);
    idle.unref();
  };
  const fail = (failed: Worker) => (error: Error) => {
    if (worker !== failed) return;
    worker = undefined;
    for (const waiting of pending.values()) waiting.reject(error);
    pending.clear();
  };
  const start = (): Worker => {
    const started = new Worker(new URL('./password-thread.js', import.meta.url));
    started.on('message', settle);
    started.on('error', fail(started));
    started.on('exit', () => fail(started)(new Error('the thread for passwords has ended')));
    return started;
  };
  const ask = (request: HashRequest) =>
    new Promise<string | boolean>((resolve, reject) => {
      clearTimeout(idle);
      worker ??= start();
      worker.ref();
      lastId += 1;
      pending.set(lastId, { resolve, reject });
      worker.postMessage({ id: lastId, ...request });
    });

  return {
    /** A PHC string. */
    hash: async (password: string, cost: Argon2Cost): Promise<string> => String(await ask({ kind: 'hash', password, cost })),
    verify: async (stored: string, password: string): Promise<boolean> => (await ask({ kind: 'verify', password, stored })) === true,
  };
}

export type PasswordHasher = ReturnType<typeof createPasswordHasher>;
