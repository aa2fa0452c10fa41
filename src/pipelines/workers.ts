import { Queue, UnrecoverableError, Worker } from 'bullmq';
import { PermanentFailure } from '../errors.ts';
import type { Log } from '../log.ts';
import type { StoreConnection } from '../stores/connections/store-connection.ts';
import { drainDelay, senderConnection, workerConnection } from './queue-connections.ts';
import { type JobSender, type Payload, type QueueName, queues } from './queues.ts';

export interface WorkersOptions {
  /** The Redis for jobs. */
  url: string;
  /** Until it is reached, jobs are refused. */
  contact: Pick<StoreConnection, 'assertReady'>;
  log: Log;
}

export interface Workers extends JobSender {
  /** Works a queue off in this process; a payload that does not fit its schema fails for good. */
  consume<Name extends QueueName>(name: Name, handle: (payload: Payload<Name>) => Promise<void>): void;
  /** Takes no more jobs and lets those that run end; then the connections. */
  stop(): Promise<void>;
}

/** The job queues of one process, over connections of their own. */
export function createWorkers({ url, contact, log }: WorkersOptions): Workers {
  const queuesByName = new Map<QueueName, Queue>();
  const workers: Worker[] = [];
  const logError = (queue: QueueName) => (error: Error) => log.warn({ err: error, queue }, 'job queue error');

  const queueOf = (name: QueueName): Queue => {
    let queue = queuesByName.get(name);
    if (!queue) {
      queuesByName.set(name, (queue = new Queue(name, { connection: senderConnection(url) })));
      queue.on('error', logError(name));
    }
    return queue;
  };

  return {
    async add(name, payload, { once, delayMs = 0 } = {}) {
      contact.assertReady();
      const { attempts, backoffMs } = queues[name];
      await queueOf(name).add(name, payload, {
        attempts,
        backoff: { type: 'exponential', delay: backoffMs },
        removeOnComplete: true,
        removeOnFail: { count: 1000 },
        ...(delayMs > 0 && { delay: delayMs }),
        ...(once !== undefined && { deduplication: { id: once, keepLastIfActive: true } }),
      });
    },
    consume(name, handle) {
      const { payload, concurrency } = queues[name];
      const process = async (job: { data: unknown }) =>
        run(() => handle(payload.parse(job.data) as Parameters<typeof handle>[0]));
      const worker = new Worker(name, process, { connection: workerConnection(url), concurrency, drainDelay });
      worker.on('error', logError(name));
      worker.on('failed', (job, error) => log.warn({ err: error, queue: name, jobId: job?.id }, 'a job failed'));
      workers.push(worker);
    },
    async stop() {
      await Promise.allSettled(workers.map((worker) => worker.close()));
      await Promise.allSettled([...queuesByName.values()].map((queue) => queue.close()));
    },
  };
}

async function run(step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    // Running it again would change nothing.
    if (error instanceof PermanentFailure || (error instanceof Error && error.name === 'ZodError'))
      throw new UnrecoverableError(error.message);
    throw error;
  }
}
