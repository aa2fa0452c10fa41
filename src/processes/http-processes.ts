import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Log } from '../log.ts';
import type { MetricFamilies } from '../metrics.ts';
import { StartError } from '../platform/start-error.ts';
import type { FromHttpProcess, ToHttpProcess } from './messages.ts';
import { createPendingRequests } from './pending-requests.ts';

export interface HttpProcessesOptions {
  count: number;
  /** Added to the environment of each. */
  env(name: string): Record<string, string>;
  /** The figures of this process, which go with those of the others. */
  collectOwnMetrics(): Promise<MetricFamilies>;
  log: Log;
}

export interface HttpProcesses {
  /** Resolves with the port when all listen; rejects when one cannot. */
  start(): Promise<number>;
  /** SIGTERM to all; resolves when all have ended. */
  stop(): Promise<void>;
}

/** A process that cannot say its figures in this time is left out of them. */
const metricsTimeoutMs = 1000;
const restartAfterMs = 500;
const main = fileURLToPath(new URL('../main.js', import.meta.url));

/** Processes that share one port; the kernel spreads connections over them. One that dies is started again under its name. */
export function createHttpProcesses({ count, env, collectOwnMetrics, log }: HttpProcessesOptions): HttpProcesses {
  const children = new Map<string, ChildProcess>();
  const pending = createPendingRequests<MetricFamilies>(metricsTimeoutMs);
  let isStopping = false;

  const collectMetrics = async (): Promise<MetricFamilies[]> => {
    const others = [...children.values()].map((child) =>
      pending.request((requestId) => send(child, { kind: 'metrics requested', requestId })),
    );
    return (await Promise.all([collectOwnMetrics(), ...others])).filter((metrics) => metrics !== undefined);
  };

  const startOne = (name: string): Promise<number> =>
    new Promise((resolve, reject) => {
      let isOver = false;
      const ended = (how: string) => {
        if (isOver) return;
        isOver = true;
        children.delete(name);
        reject(new StartError(`an HTTP process ended: ${how}`));
        if (isStopping) return;
        log.warn({ how, process: name }, 'an HTTP process died and is started again');
        setTimeout(() => void (isStopping || startOne(name).catch(() => undefined)), restartAfterMs);
      };
      try {
        // Figures hold NaN, which JSON cannot carry.
        const child = fork(main, { env: { ...process.env, ...env(name) }, serialization: 'advanced' });
        children.set(name, child);
        child.on('message', (message: FromHttpProcess) => {
          if (message.kind === 'listening') resolve(message.port);
          else if (message.kind === 'metrics') pending.resolve(message.requestId, message.metrics);
          else
            void collectMetrics().then((metrics) =>
              send(child, { kind: 'all metrics', requestId: message.requestId, metrics }),
            );
        });
        child.once('exit', (code, signal) => ended(signal ?? `code ${code}`));
        child.once('error', (error) => ended(error.message));
      } catch (error) {
        // For want of descriptors or memory it may not even begin.
        ended(error instanceof Error ? error.message : String(error));
      }
    });

  return {
    start: async () => {
      const ports = await Promise.all(Array.from({ length: count }, (_, index) => startOne(`http-${index + 1}`)));
      return ports[0] ?? 0;
    },
    stop: async () => {
      isStopping = true;
      await Promise.all([...children.values()].map(end));
    },
  };
}

/** One that has just ended hears nothing any more; that it does not answer is all there is to know. */
function send(child: ChildProcess, message: ToHttpProcess): void {
  if (child.connected) child.send(message, () => undefined);
}

function end(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
}
