import { Queue, UnrecoverableError, Worker } from 'bullmq';
import { PermanentFailure } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Contact } from '../stores/contact.ts';
import { drainDelay, senderConnection, workerConnection } from './queue-connections.ts';
import { queues, type JobSender, type Payload, type QueueName } from './queues.ts';

export interface WorkersOptions {
  /** The Redis for jobs. */
  url: string;
  /** Until it is reached, jobs are refused. */
  contact: Pick<Contact, 'require'>;
  log: Log;
}

export interface Workers extends JobSender {
  /** Works a queue off in this process; a payload that does not fit its schema fails for good. */
  work<Name extends QueueName>(name: Name, handle: (payload: Payload<Name>) => Promise<void>): void;
  /** Takes no more jobs and lets those that run end; then the connections. */
  stop(): Promise<void>;
}

/** The job queues of one process, over connections of their own. */
export function createWorkers({ url, contact, log }: WorkersOptions): Workers {
  const senders = new Map<QueueName, Queue>();
  const workers: Worker[] = [];
  const trouble = (queue: QueueName) => (error: Error) => log.warn({ err: error, queue }, 'job queue trouble');

  const senderOf = (name: QueueName): Queue => {
    let queue = senders.get(name);
    if (!queue) {
      senders.set(name, (queue = new Queue(name, { connection: senderConnection(url) })));
      queue.on('error', trouble(name));
    }
    return queue;
  };

  return {
    async add(name, payload, { once, delayMs = 0 } = {}) {
      contact.require();
      const { attempts, backoffMs } = queues[name];
      await senderOf(name).add(name, payload, {
        attempts, backoff: { type: 'exponential', delay: backoffMs }, removeOnComplete: true, removeOnFail: { count: 1000 },
        ...(delayMs > 0 && { delay: delayMs }), ...(once !== undefined && { deduplication: { id: once, keepLastIfActive: true } }),
      });
    },
    work(name, handle) {
      const { payload, concurrency } = queues[name];
      const process = async (job: { data: unknown }) => run(() => handle(payload.parse(job.data) as Parameters<typeof handle>[0]));
      const worker = new Worker(name, process, { connection: workerConnection(url), concurrency, drainDelay });
      worker.on('error', trouble(name));
      worker.on('failed', (job, error) => log.warn({ err: error, queue: name, jobId: job?.id }, 'a job failed'));
      workers.push(worker);
    },
    async stop() {
      await Promise.allSettled(workers.map((worker) => worker.close()));
      await Promise.allSettled([...senders.values()].map((queue) => queue.close()));
    },
  };
}

async function run(step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    // Running it again would change nothing.
    if (error instanceof PermanentFailure || (error instanceof Error && error.name === 'ZodError')) throw new UnrecoverableError(error.message);
    throw error;
  }
}
