import { type ResourceLimits, Worker } from 'node:worker_threads';

/** Message to the worker thread. */
export interface ThreadRequest<Request> {
  id: number;
  request: Request;
}

/**
 * Reply of the worker thread; `error` is an error message. `isInProgress` is a heartbeat, sent repeatedly during long
 * requests.
 */
export type ThreadReply<Result> =
  | { id: number; result: Result }
  | { id: number; error: string }
  | { id: number; isInProgress: true };

export interface WorkerThreadOptions {
  /** The module that the thread runs. */
  script: URL;
  /** For people. */
  name: string;
  /** A busy thread without any message for this long (wall time) is terminated. */
  heartbeatTimeoutMs?: number;
  resourceLimits?: ResourceLimits;
  /** The thread reads it as `workerData`. */
  data?: unknown;
}

interface PendingRequest<Request, Result> {
  request: Request;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** An idle thread is terminated after this time. */
const idleTimeoutMs = 60_000;

/**
 * Hands requests to a worker thread in their order. It starts on demand and does not keep the process alive when idle.
 * If the thread dies, the oldest request fails, which is the running one where the thread takes one at a time, and a new
 * thread continues with the rest.
 */
export function createWorkerThread<Request, Result>({
  script,
  name,
  heartbeatTimeoutMs,
  resourceLimits = {},
  data,
}: WorkerThreadOptions) {
  const pending = new Map<number, PendingRequest<Request, Result>>();
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
  const send = (id: number, { request, reject }: PendingRequest<Request, Result>): void => {
    try {
      worker ??= start();
      worker.ref();
      worker.postMessage({ id, request } satisfies ThreadRequest<Request>);
    } catch (error) {
      pending.delete(id);
      reject(error);
    }
  };
  const watch = (watched: Worker): void => {
    clearTimeout(timer);
    if (pending.size === 0) {
      watched.unref();
      timer = setTimeout(() => end(watched, new Error(`${name} was idle`)), idleTimeoutMs).unref();
    } else if (heartbeatTimeoutMs !== undefined)
      timer = setTimeout(() => end(watched, new Error(`${name} was silent for too long`)), heartbeatTimeoutMs);
  };
  const start = (): Worker => {
    const started = new Worker(script, { resourceLimits, workerData: data });
    let failure = new Error(`${name} has ended`);
    started.on('message', (reply: ThreadReply<Result>) => {
      const waiting = pending.get(reply.id);
      if (!('isInProgress' in reply)) pending.delete(reply.id);
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
    run: (request: Request): Promise<Result> =>
      new Promise((resolve, reject) => {
        lastId += 1;
        const waiting = { request, resolve, reject };
        pending.set(lastId, waiting);
        send(lastId, waiting);
        if (worker && pending.size === 1) watch(worker);
      }),
  };
}
