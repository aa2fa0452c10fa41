import type { MetricFamilies } from '../metrics.ts';
import type { FromHttpProcess, ToHttpProcess } from './messages.ts';
import { createPendingRequests } from './pending-requests.ts';

/** Longer than the main process waits for each of the others. */
const metricsTimeoutMs = 2000;

/** The main process as one of its HTTP processes sees it. */
export function createMainProcess() {
  const pending = createPendingRequests<MetricFamilies[]>(metricsTimeoutMs);
  const send = (message: FromHttpProcess) =>
    void (process.connected && process.send?.(message, undefined, undefined, () => undefined));
  return {
    listening: (port: number): void => send({ kind: 'listening', port }),
    /** The figures of all processes; undefined when the main process does not say them in time. */
    collectMetrics: () => pending.request((requestId) => send({ kind: 'metrics requested', requestId })),
    /** Answers the main process's questions for this one's figures. */
    answerMetricsRequests(collectOwnMetrics: () => Promise<MetricFamilies>): void {
      process.on('message', (message: ToHttpProcess) => {
        if (message.kind === 'all metrics') pending.resolve(message.requestId, message.metrics);
        else
          void collectOwnMetrics().then((metrics) => send({ kind: 'metrics', requestId: message.requestId, metrics }));
      });
    },
  };
}
