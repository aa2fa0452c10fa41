import { type ChildProcess, fork } from 'node:child_process';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Log } from '../log.ts';
import type { MetricFamilies } from '../metrics.ts';
import { childEnvironment } from '../platform/child-environment.ts';
import type { DrainDelay } from '../platform/drain-delay.ts';
import { cannotListen, errorMessage, StartError } from '../platform/start-error.ts';
import {
  createPendingRequests,
  type FromHttpProcess,
  type HttpProcessStart,
  httpProcessEnvironment,
  type ToHttpProcess,
} from './channel.ts';
import { createProcessMetrics } from './process-metrics.ts';

export interface HttpProcessesOptions {
  count: number;
  /** What the process of this name is told at its start. */
  startOf(name: string): HttpProcessStart;
  /** The metrics of this process, which are shown with those of the others. */
  collectOwnMetrics(): Promise<MetricFamilies>;
  /** How long a process may take to stop, apart from the drain delay. One that takes longer is killed. */
  stopWithinMs: number;
  log: Log;
}

export interface HttpProcesses {
  /** Resolves with the port when all listen; rejects when one cannot. */
  start(): Promise<number>;
  /** Sends SIGTERM to all, and later SIGKILL to those that hang; resolves when all have ended. */
  stop(drainDelay: Pick<DrainDelay, 'ms'>): Promise<void>;
}

/** A process that does not reply in this time is represented by the metrics of its last reply. */
const metricsTimeoutMs = 1000;
const restartAfterMs = 500;
const portTimeoutMs = 5000;
const portRetryMs = 50;
const main = fileURLToPath(new URL('../main.js', import.meta.url));

/**
 * Processes that share one port; the kernel spreads connections over them. One that dies is restarted under its name.
 */
export function createHttpProcesses({
  count,
  startOf,
  collectOwnMetrics,
  stopWithinMs,
  log,
}: HttpProcessesOptions): HttpProcesses {
  const children = new Map<string, ChildProcess>();
  const pending = createPendingRequests<MetricFamilies>(metricsTimeoutMs);
  let isStopping = false;

  const processMetrics = createProcessMetrics();

  // Where this process exits before its stop is over, one that hangs would take no notice of that, and keep the port.
  process.on('exit', () => {
    for (const child of children.values()) child.kill('SIGKILL');
  });

  const collectMetrics = async (): Promise<MetricFamilies[]> => {
    const others = [...children.values()].map((child) =>
      pending.request((requestId) => send(child, { kind: 'metrics requested', requestId })),
    );
    const [own] = await Promise.all([collectOwnMetrics(), ...others]);
    return [own, ...(await processMetrics.all())];
  };

  const handleMessage = (
    { name, child }: { name: string; child: ChildProcess },
    message: FromHttpProcess,
    onListening: (port: number) => void,
  ): void => {
    if (message.kind === 'listening') onListening(message.port);
    else if (message.kind === 'metrics') {
      // A message may arrive after its sender has ended, whose metrics were added to those of ended ones.
      if (children.get(name) === child) processMetrics.reported(name, message.metrics);
      pending.resolve(message.requestId, message.metrics);
    } else
      void collectMetrics().then((metrics) =>
        send(child, { kind: 'all metrics', requestId: message.requestId, metrics }),
      );
  };

  const startOne = (name: string): Promise<number> =>
    new Promise((resolve, reject) => {
      let isOver = false;
      const ended = (how: string) => {
        if (isOver) return;
        isOver = true;
        children.delete(name);
        processMetrics.ended(name);
        reject(new StartError(`an HTTP process ended: ${how}`));
        if (isStopping) return;
        log.warn({ how, process: name }, 'an HTTP process died and is started again');
        setTimeout(() => void (isStopping || startOne(name).catch(() => undefined)), restartAfterMs);
      };
      try {
        // Metrics contain NaN, which JSON cannot carry.
        const env = { ...childEnvironment(process.env, 'node'), ...httpProcessEnvironment(name) };
        const child = fork(main, { env, serialization: 'advanced' });
        children.set(name, child);
        send(child, { kind: 'start', start: startOf(name) });
        child.on('message', (message: FromHttpProcess) => handleMessage({ name, child }, message, resolve));
        child.once('exit', (code, signal) => ended(signal ?? `code ${code}`));
        child.once('error', (error) => ended(error.message));
      } catch (error) {
        // fork throws when file descriptors or memory are exhausted.
        ended(errorMessage(error));
      }
    });

  return {
    start: async () => {
      const ports = await Promise.all(Array.from({ length: count }, (_, index) => startOne(`http-${index + 1}`)));
      return ports[0] ?? 0;
    },
    stop: async ({ ms }) => {
      isStopping = true;
      const onHung = (name: string) =>
        log.warn({ process: name }, 'an HTTP process has not ended in time and is killed');
      await Promise.all([...children].map(([name, child]) => end(child, ms + stopWithinMs, () => onHung(name))));
    },
  };
}

/** Sends a message, or nothing to a process that has just ended: its reply times out. */
function send(child: ChildProcess, message: ToHttpProcess): void {
  if (child.connected) child.send(message, () => undefined);
}

/** Ends a process; one whose event loop does not turn takes no notice of SIGTERM, and would keep the port. */
function end(child: ChildProcess, withinMs: number, onHung: () => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      onHung();
      child.kill('SIGKILL');
    }, withinMs);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve();
    });
    child.kill('SIGTERM');
  });
}

/**
 * Resolves with the port once nobody listens there, and with a free one for 0; rejects after five seconds, since HTTP
 * processes that a killed main process has left are closing theirs. The kernel lets several processes bind a shared
 * port, so without this check a second service would join unnoticed and take half of the connections.
 */
export async function freePort(host: string, port: number): Promise<number> {
  const until = performance.now() + portTimeoutMs;
  for (;;) {
    try {
      return await bindPort(host, port);
    } catch (error) {
      const isInUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
      if (!isInUse || performance.now() > until) throw cannotListen(host, port, 'PORT');
    }
    await pause(portRetryMs);
  }
}

/** Listens for a moment; resolves with the port. */
function bindPort(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen({ host, port, exclusive: true }, () => {
      const { port: found } = probe.address() as AddressInfo;
      probe.close(() => resolve(found));
    });
  });
}
