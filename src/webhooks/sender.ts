import { createWorkerThread } from '../platform/worker-thread.ts';
import type { Send, SendResult } from './send.ts';
import type { SendThreadOptions, SendThreadRequest } from './send-thread.ts';

/**
 * Sends on a low-priority thread: connections, TLS and replies of other people's servers take no time from submissions.
 */
export function startSender(options: SendThreadOptions): { send: Send; cutConnections(): void } {
  const { run } = createWorkerThread<SendThreadRequest, SendResult | undefined>({
    script: new URL('./send-thread.js', import.meta.url),
    name: 'the sending thread',
    data: options,
  });
  return {
    async send(request) {
      const result = await run(request);
      if (result === undefined) throw new Error('the sending thread gave no result');
      return result;
    },
    cutConnections: () => void run('cut all connections').catch(() => undefined),
  };
}
