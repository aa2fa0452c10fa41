import { parentPort, workerData } from 'node:worker_threads';
import { lowerPriority } from '../platform/thread-priority.ts';
import type { ThreadReply, ThreadRequest } from '../platform/worker-thread.ts';
import { createGuard, type GuardOptions } from './guard.ts';
import { createAgentPool, createSender, type SendResult, type WebhookRequest } from './send.ts';

export type SendThreadOptions = Pick<GuardOptions, 'isPrivateAllowed'>;
export type SendThreadRequest = WebhookRequest | 'cut all connections';

// Entry point of the thread that sends to webhook endpoints.
lowerPriority();
const { isPrivateAllowed } = workerData as SendThreadOptions;
const agents = createAgentPool();
const send = createSender({ guard: createGuard({ isPrivateAllowed }), agents });
const reply = (message: ThreadReply<SendResult | undefined>) => parentPort?.postMessage(message);

parentPort?.on('message', ({ id, request }: ThreadRequest<SendThreadRequest>) => {
  if (request === 'cut all connections') {
    agents.destroyAll();
    return reply({ id, result: undefined });
  }
  void send(request).then(
    (result) => reply({ id, result }),
    (error: unknown) => reply({ id, error: String(error) }),
  );
});
