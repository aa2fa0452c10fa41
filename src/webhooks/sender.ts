import { createWorkerThread } from '../platform/worker-thread.ts';
import type { Send, SendResult } from './send.ts';
import type { SendThreadOptions, SendThreadRequest } from './send-thread.ts';

/** An attempt takes fifteen seconds at most: a thread that is busy and silent for much longer has hung. */
const longestSilenceMs = 60_000;

/**
 * Sends on a low-priority thread: connections, TLS and replies of other people's servers take no time from submissions.
 */
export function startSender(options: SendThreadOptions): { send: Send; cutConnections(): void } {
  const { run } = createWorkerThread<SendThreadRequest, SendResult | undefined>({
    script: new URL('./send-thread.js', import.meta.url),
    name: 'the sending thread',
    data: options,
    heartbeatTimeoutMs: longestSilenceMs,
  });
  let underWay = 0;
  return {
    async send(request) {
      underWay += 1;
      const result = await run(request).finally(() => (underWay -= 1));
      if (result === undefined) throw new Error('the sending thread gave no result');
      return result;
    },
    cutConnections() {
      // A thread that is idle, or not started yet, ends with the process.
      if (underWay > 0) run('cut all connections').catch(() => undefined);
    },
  };
}
