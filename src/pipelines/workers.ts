import { type ConnectionOptions, Queue, UnrecoverableError, Worker } from 'bullmq';
import { PermanentFailure } from '../errors.ts';
import type { Log } from '../log.ts';
import { createBoundedWarnings } from '../platform/bounded-warnings.ts';
import type { StoreConnection } from '../stores/connections/store-connection.ts';
import { type JobCounter, type JobSender, type Payload, type QueueName, type QueueSpec, queues } from './queues.ts';

export interface WorkersOptions {
  /** URL of the Redis for jobs. */
  url: string;
  /** Jobs are refused until this connection is ready. */
  connection: Pick<StoreConnection, 'assertReady'>;
  log: Log;
}

export interface Consumer {
  /** Takes no more jobs of the queue and resolves when the running ones have ended. */
  stop(): Promise<void>;
}

export interface Workers extends JobSender, JobCounter {
  /**
   * Runs the jobs of a queue in this process. A PermanentFailure, or a payload that does not match its schema, fails
   * the job without further attempts. `onExhausted` is called with the error of the last attempt.
   */
  consume<Name extends QueueName>(
    name: Name,
    handle: (payload: Payload<Name>) => Promise<void>,
    onExhausted?: (payload: Payload<Name>, error: unknown) => Promise<void>,
  ): Consumer;
  /** Stops all consumers and closes the connections. */
  stop(): Promise<void>;
}

/** The job queues of one process: the only place that uses BullMQ. Queues and workers have connections of their own. */
export function createWorkers({ url, connection, log }: WorkersOptions): Workers {
  const queuesByName = new Map<QueueName, Queue>();
  const workers: Worker[] = [];
  // BullMQ goes on at once after an error, so that there may be dozens a second.
  const logError = (queue: QueueName) => {
    const warn = createBoundedWarnings(log);
    return (error: Error) => warn({ err: error, queue }, 'job queue error');
  };

  const queueOf = (name: QueueName): Queue => {
    const known = queuesByName.get(name);
    if (known) return known;
    const queue = new Queue(name, { connection: senderConnection(url) });
    queue.on('error', logError(name));
    queuesByName.set(name, queue);
    return queue;
  };

  return {
    async add(name, payload, { once, jobId, delayMs = 0, priority } = {}) {
      connection.assertReady();
      const { attempts, backoffMs } = queues[name];
      await queueOf(name).add(name, payload, {
        attempts,
        backoff: { type: 'exponential', delay: backoffMs },
        removeOnComplete: true,
        // A failed job that is kept would block its id.
        removeOnFail: jobId === undefined ? { count: 1000 } : true,
        ...(jobId !== undefined && { jobId }),
        ...(delayMs > 0 && { delay: delayMs }),
        ...(priority !== undefined && { priority }),
        ...(once !== undefined && { deduplication: { id: once, keepLastIfActive: true } }),
      });
    },
    async counts() {
      connection.assertReady();
      const names = Object.keys(queues) as QueueName[];
      return Promise.all(
        names.map(async (name) => {
          const {
            waiting = 0,
            prioritized = 0,
            active = 0,
            delayed = 0,
            failed = 0,
          } = await queueOf(name).getJobCounts('waiting', 'prioritized', 'active', 'delayed', 'failed');
          return { name, waiting: waiting + prioritized, active, delayed, failed };
        }),
      );
    },
    consume(name, handle, onExhausted) {
      const { payload, attempts, concurrency, stalled }: QueueSpec = queues[name];
      const parse = (data: unknown) => payload.parse(data) as Parameters<typeof handle>[0];
      const exhausted = async (data: unknown, error: unknown) => onExhausted?.(parse(data), error);
      const worker = new Worker(name, (job) => run(() => handle(parse(job.data))), {
        connection: workerConnection(url),
        concurrency,
        drainDelay: maxReadSeconds,
        ...(stalled && {
          lockDuration: stalled.lockMs,
          stalledInterval: stalled.checkMs,
          maxStalledCount: stalled.maxCount,
        }),
      });
      worker.on('error', logError(name));
      worker.on('failed', (job, error) => {
        log.warn({ err: error, queue: name, jobId: job?.id }, 'a job failed');
        // Deaths of its process are no attempts, and a job that met too many of them is not tried again either.
        if (job && (job.finishedOn !== undefined || job.attemptsMade >= attempts))
          exhausted(job.data, error).catch((failure: unknown) =>
            log.warn({ err: failure, queue: name, jobId: job.id }, 'a job that failed for good could not be recorded'),
          );
      });
      workers.push(worker);
      return { stop: () => worker.close() };
    },
    async stop() {
      await Promise.allSettled(workers.map((worker) => worker.close()));
      await Promise.allSettled([...queuesByName.values()].map((queue) => queue.close()));
    },
  };
}

/** Tells BullMQ not to repeat what would fail again. */
async function run(step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (error instanceof PermanentFailure || (error instanceof Error && error.name === 'ZodError'))
      throw new UnrecoverableError(error.message);
    throw error;
  }
}

const retryStrategy = (times: number) => Math.min(50 * times, 1000);
const sendTimeoutMs = 2000;
/** A worker waits for jobs in blocking reads of at most this length; BullMQ shortens them for delayed jobs. */
const maxReadSeconds = 5;
/**
 * Longer than any blocking read of a worker (10 s at most): a connection silent for this long is dead and is replaced.
 */
const workerSilenceMs = 15_000;

/** For adding jobs: fails within seconds while Redis is away. */
function senderConnection(url: string): ConnectionOptions {
  return {
    url,
    maxRetriesPerRequest: 1,
    enableOfflineQueue: true,
    commandTimeout: sendTimeoutMs,
    connectTimeout: sendTimeoutMs,
    socketTimeout: 5000,
    retryStrategy,
  };
}

/** For running jobs: waits for as long as Redis is away. */
function workerConnection(url: string): ConnectionOptions {
  return {
    url,
    maxRetriesPerRequest: null,
    connectTimeout: sendTimeoutMs,
    socketTimeout: workerSilenceMs,
    retryStrategy,
  };
}
