import { z } from 'zod';
import { isId } from '../platform/ids.ts';

/** What a job queue carries and how it is worked off. */
export interface QueueSpec<Payload extends z.ZodType = z.ZodType> {
  payload: Payload;
  /** How often BullMQ runs a job whose handler throws. */
  attempts: number;
  /** Pause before the next of these runs; doubles each time. */
  backoffMs: number;
  /** Jobs at once in one process. */
  concurrency: number;
}

const id = z.string().refine(isId, 'must be a UUID in lower case');

/**
 * The job catalogue. Payloads are ids: the truth is read again when the job runs. A job is only a hint, Postgres holds the record,
 * so a lost or repeated job does no harm. What a newer version adds to a payload is passed over.
 */
export const queues = {
  /** An endpoint has deliveries that are due. Waits on other people's servers, so many run at once. */
  webhooks: { payload: z.object({ webhookId: id }), attempts: 1, backoffMs: 1000, concurrency: 500 },
  /** A file is to be made. One at a time in a process: each keeps a processor busy for seconds. */
  exports: { payload: z.object({ exportId: id }), attempts: 5, backoffMs: 2000, concurrency: 1 },
  /** Analyses of answers by an AI provider. Wait on the provider, for hours where there are many answers. */
  analyses: { payload: z.object({ aiJobId: id }), attempts: 1, backoffMs: 1000, concurrency: 10 },
  /** Other work by an AI provider, which somebody waits for. */
  ai: { payload: z.object({ aiJobId: id }), attempts: 1, backoffMs: 1000, concurrency: 10 },
} as const satisfies Record<string, QueueSpec>;

export type QueueName = keyof typeof queues;
export type Payload<Name extends QueueName> = z.output<(typeof queues)[Name]['payload']>;

/** Puts jobs into queues. */
export interface JobSender {
  /**
   * `once`: while a job of this name waits, no second one is added; while it runs, one follows it. Rejects soon when Redis is away:
   * who adds must have a sweeper behind it.
   */
  add<Name extends QueueName>(
    name: Name,
    payload: Payload<Name>,
    options?: { once?: string; delayMs?: number },
  ): Promise<void>;
}
