import { Worker, type ResourceLimits } from 'node:worker_threads';

/** What a thread gets. */
export interface SideRequest<Request> {
  id: number;
  request: Request;
}

/** What it says to that; `error` is the message of a failure. Of a request that takes long it may say that it is at work, as often as it comes on. */
export type SideReply<Result> = { id: number; result: Result } | { id: number; error: string } | { id: number; isAtWork: true };

export interface SideThreadOptions {
  /** The module that the thread runs. */
  body: URL;
  /** For people. */
  name: string;
  /** A thread that says nothing for so long although something is asked of it is ended. It is wall time: what is healthy says something far more often. */
  silentMs?: number;
  resourceLimits?: ResourceLimits;
}

interface Pending<Request, Result> {
  request: Request;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** A thread that nobody has needed for so long ends. */
const idleMs = 60_000;

/**
 * Has work done on a thread of its own, one request after the other. The thread starts when it is needed and keeps no process alive; when it
 * dies what it was busy with fails, which is the oldest request, and another thread goes on with the rest.
 */
export function createSideThread<Request, Result>({ body, name, silentMs, resourceLimits = {} }: SideThreadOptions) {
  const pending = new Map<number, Pending<Request, Result>>();
  let worker: Worker | undefined;
  let timer: NodeJS.Timeout | undefined;
  let lastId = 0;

  const end = (ended: Worker, error: Error): void => {
    if (worker !== ended) return;
    clearTimeout(timer);
    worker = undefined;
    void ended.terminate();
    const [oldest, ...others] = pending;
    if (!oldest) return;
    pending.delete(oldest[0]);
    oldest[1].reject(error);
    for (const [id, waiting] of others) send(id, waiting);
    if (worker) watch(worker);
  };
  const send = (id: number, { request, reject }: Pending<Request, Result>): void => {
    try {
      worker ??= start();
      worker.ref();
      worker.postMessage({ id, request } satisfies SideRequest<Request>);
    } catch (error) {
      pending.delete(id);
      reject(error);
    }
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
    let failure = new Error(`${name} has ended`);
    started.on('message', (reply: SideReply<Result>) => {
      const waiting = pending.get(reply.id);
      if (!('isAtWork' in reply)) pending.delete(reply.id);
      if (worker === started) watch(started);
      if ('error' in reply) waiting?.reject(new Error(reply.error));
      else if ('result' in reply) waiting?.resolve(reply.result);
    });
    // What it still said comes before its exit, but not always before its error.
    started.on('error', (error) => (failure = error instanceof Error ? error : new Error(`${name} has failed`)));
    started.on('exit', () => end(started, failure));
    return started;
  };

  return {
    ask: (request: Request): Promise<Result> =>
      new Promise((resolve, reject) => {
        lastId += 1;
        const waiting = { request, resolve, reject };
        pending.set(lastId, waiting);
        send(lastId, waiting);
        if (worker && pending.size === 1) watch(worker);
      }),
  };
}
