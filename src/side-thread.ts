import { Worker, type ResourceLimits } from 'node:worker_threads';

/** What a thread gets. */
export interface SideRequest<Request> {
  id: number;
  request: Request;
}

/** What it says to that; `error` is the message of a failure. */
export type SideReply<Result> = { id: number; result: Result } | { id: number; error: string };

export interface SideThreadOptions {
  /** The module that the thread runs. */
  body: URL;
  /** For people. */
  name: string;
  /** A thread that says nothing for so long although something is asked of it is ended. */
  silentMs?: number;
  resourceLimits?: ResourceLimits;
}

interface Pending<Result> {
  resolve(result: Result): void;
  reject(error: Error): void;
}

/** A thread that nobody has needed for so long ends. */
const idleMs = 60_000;

/**
 * Has work done on a thread of its own, one request after the other. The thread starts when it is needed and keeps no process alive; when it
 * dies everything that was asked of it fails, and the next request starts another.
 */
export function createSideThread<Request, Result>({ body, name, silentMs, resourceLimits = {} }: SideThreadOptions) {
  const pending = new Map<number, Pending<Result>>();
  let worker: Worker | undefined;
  let timer: NodeJS.Timeout | undefined;
  let lastId = 0;

  const end = (ended: Worker, error: Error): void => {
    if (worker !== ended) return;
    clearTimeout(timer);
    worker = undefined;
    for (const { reject } of pending.values()) reject(error);
    pending.clear();
    void ended.terminate();
  };
  const watch = (watched: Worker): void => {
    clearTimeout(timer);
    if (pending.size === 0) {
      watched.unref();
      timer = setTimeout(() => end(watched, new Error(`${name} was idle`)), idleMs).unref();
    } else if (silentMs !== undefined) timer = setTimeout(() => end(watched, new Error(`${name} was silent for too long`)), silentMs);
  };
  const start = (): Worker => {
    const started = new Worker(body, { resourceLimits });
    started.on('message', (reply: SideReply<Result>) => {
      const waiting = pending.get(reply.id);
      pending.delete(reply.id);
      if (worker === started) watch(started);
      if ('error' in reply) waiting?.reject(new Error(reply.error));
      else waiting?.resolve(reply.result);
    });
    started.on('error', (error) => end(started, error instanceof Error ? error : new Error(`${name} has failed`)));
    started.on('exit', () => end(started, new Error(`${name} has ended`)));
    return started;
  };

  return {
    ask: (request: Request): Promise<Result> =>
      new Promise((resolve, reject) => {
        worker ??= start();
        worker.ref();
        lastId += 1;
        pending.set(lastId, { resolve, reject });
        if (pending.size === 1) watch(worker);
        worker.postMessage({ id: lastId, request } satisfies SideRequest<Request>);
      }),
  };
}
