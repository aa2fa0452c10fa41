import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { postBytes } from '../../bench/support/load.ts';

export interface SteadyLoadOptions {
  port: number;
  /** Path and JSON body of each POST. */
  path: string;
  body: string;
  perSecond: number;
}

export interface SteadyLoadResult {
  /** Replies by status; `0`: connections that broke off. */
  statuses: Record<string, number>;
  /** Milliseconds from the moment at which a request was due, so that waiting for a free connection counts. */
  p50Ms: number;
  p99Ms: number;
}

/**
 * A steady load from a thread of its own, so that an attack that is sent by the main thread disturbs no times. `read`
 * gives what was measured since the last time.
 */
export async function startSteadyLoad(options: SteadyLoadOptions) {
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: { steadyLoad: options } });
  await once(worker, 'online');
  return {
    async read(): Promise<SteadyLoadResult> {
      const reply = once(worker, 'message');
      worker.postMessage('read');
      return (await reply)[0];
    },
    stop: () => worker.terminate(),
  };
}

export type SteadyLoad = Awaited<ReturnType<typeof startSteadyLoad>>;

const connections = 32;

if (!isMainThread && workerData?.steadyLoad !== undefined) sendSteadily(workerData.steadyLoad);

function sendSteadily({ port, path, body, perSecond }: SteadyLoadOptions): void {
  const request = postBytes(path, body);
  let [times, statuses]: [number[], Record<string, number>] = [[], {}];
  const waiting: number[] = [];
  const free: ((dueAt: number) => void)[] = [];
  // In turn: one that is idle for ten seconds is closed by the service, perhaps while a request is on its way.
  const send = () => {
    while (waiting.length > 0 && free.length > 0) free.shift()?.(waiting.shift() ?? 0);
  };
  const open = () => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    let dueAt: number | undefined;
    const take = (at: number) => {
      dueAt = at;
      socket.write(request);
    };
    const note = (status: string) => {
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (dueAt !== undefined && status !== '0') times.push(performance.now() - dueAt);
      dueAt = undefined;
    };
    socket.on('connect', () => {
      free.push(take);
      send();
    });
    // A reply to a submission is smaller than a packet.
    socket.on('data', (chunk) => {
      note(chunk.toString('latin1', 9, 12));
      free.push(take);
      send();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      const at = free.indexOf(take);
      if (at >= 0) free.splice(at, 1);
      if (dueAt !== undefined) note('0');
      setTimeout(open, 50);
    });
  };
  for (let n = 0; n < connections; n += 1) open();
  const startedAt = performance.now();
  let due = 0;
  setInterval(() => {
    for (; due < ((performance.now() - startedAt) / 1000) * perSecond; due += 1)
      waiting.push(startedAt + (due * 1000) / perSecond);
    send();
  }, 2);
  parentPort?.on('message', () => {
    times.sort((one, other) => one - other);
    const at = (share: number) =>
      Math.round((times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN) * 10) / 10;
    parentPort?.postMessage({ statuses, p50Ms: at(0.5), p99Ms: at(0.99) } satisfies SteadyLoadResult);
    [times, statuses] = [[], {}];
  });
}
