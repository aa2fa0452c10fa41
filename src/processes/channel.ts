import type { MetricFamilies } from '../metrics.ts';
import type { StoreUrls } from '../stores/stores.ts';

/**
 * What the main process hands an HTTP process as the first message. Not in its environment, which other programs on the
 * machine may read: settings contain passwords and keys.
 */
export interface HttpProcessStart {
  urls: StoreUrls;
  name: string;
  /** The settings, as an environment has them. */
  env: Readonly<Record<string, string>>;
  /** How long it waits for the first answers of the stores; the default if absent. */
  storesTimeoutMs?: number | undefined;
}

/** Tells a process that it is an HTTP process. */
const nameVariable = 'SURVEY_HTTP_PROCESS';

/** The environment that makes a process an HTTP process, which waits for its start message. */
export const httpProcessEnvironment = (name: string): Record<string, string> => ({ [nameVariable]: name });

export const isHttpProcess = (env: NodeJS.ProcessEnv): boolean =>
  env[nameVariable] !== undefined && process.send !== undefined;

/** Waits for the start message. Rejects if the main process ends before. */
export function readHttpProcessStart(): Promise<HttpProcessStart> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: ToHttpProcess): void => {
      if (message.kind !== 'start') return;
      process.off('disconnect', onEnd).off('message', onMessage);
      resolve(message.start);
    };
    const onEnd = (): void => reject(new Error('the main process has ended'));
    process.on('message', onMessage).once('disconnect', onEnd);
  });
}

/** Messages of an HTTP process to the main process. `requestId` pairs a request with its reply. */
export type FromHttpProcess =
  | { kind: 'listening'; port: number }
  | { kind: 'metrics requested'; requestId: number }
  | { kind: 'metrics'; requestId: number; metrics: MetricFamilies };

/** Messages of the main process to an HTTP process. */
export type ToHttpProcess =
  | { kind: 'start'; start: HttpProcessStart }
  | { kind: 'metrics requested'; requestId: number }
  | { kind: 'all metrics'; requestId: number; metrics: MetricFamilies[] };

/** Pairs replies that arrive as messages with their requests. */
export function createPendingRequests<T>(timeoutMs: number) {
  const waiting = new Map<number, (reply: T | undefined) => void>();
  let last = 0;
  return {
    /** Sends a request; resolves with undefined when no reply arrives in time. */
    request(send: (requestId: number) => void): Promise<T | undefined> {
      last += 1;
      const requestId = last;
      return new Promise((resolve) => {
        const settle = (reply: T | undefined) => {
          clearTimeout(timer);
          waiting.delete(requestId);
          resolve(reply);
        };
        const timer = setTimeout(() => settle(undefined), timeoutMs);
        waiting.set(requestId, settle);
        send(requestId);
      });
    },
    resolve: (requestId: number, reply: T): void => waiting.get(requestId)?.(reply),
  };
}

/** Longer than the main process waits for each HTTP process. */
const allMetricsTimeoutMs = 2000;

/** The HTTP process's end of the channel to the main process. */
export function createMainProcessClient() {
  const pending = createPendingRequests<MetricFamilies[]>(allMetricsTimeoutMs);
  const send = (message: FromHttpProcess) =>
    void (process.connected && process.send?.(message, undefined, undefined, () => undefined));
  return {
    listening: (port: number): void => send({ kind: 'listening', port }),
    /** The metrics of all processes; undefined when the main process does not reply in time. */
    collectMetrics: () => pending.request((requestId) => send({ kind: 'metrics requested', requestId })),
    /** Answers the main process's requests for the metrics of this process. */
    answerMetricsRequests(collectOwnMetrics: () => Promise<MetricFamilies>): void {
      process.on('message', (message: ToHttpProcess) => {
        if (message.kind === 'all metrics') pending.resolve(message.requestId, message.metrics);
        else if (message.kind === 'metrics requested')
          void collectOwnMetrics().then((metrics) => send({ kind: 'metrics', requestId: message.requestId, metrics }));
      });
    },
  };
}
