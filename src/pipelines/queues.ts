import { z } from 'zod';
import { isId } from '../platform/ids.ts';

/** Payload, retries and concurrency of one job queue. */
export interface QueueSpec<Payload extends z.ZodType = z.ZodType> {
  payload: Payload;
  /** How often a job runs when its handler keeps throwing. */
  attempts: number;
  /** Milliseconds before the second attempt; doubles each time. */
  backoffMs: number;
  /** Jobs at once in one process. */
  concurrency: number;
  /**
   * When a job counts as abandoned by a killed process, and how often that may happen; BullMQ's defaults (30 s, once)
   * if absent.
   */
  stalled?: { lockMs: number; checkMs: number; maxCount: number };
}

const id = z.string().refine(isId, 'must be a UUID in lower case');

/**
 * The job catalogue. The keys are the names of the queues in Redis. A payload holds ids only: PostgreSQL holds the
 * record and is read again when the job runs, so a lost or repeated job does no harm. Unknown fields, which a newer
 * version may add, are ignored.
 */
export const queues = {
  /** An endpoint has due deliveries. Jobs wait for other people's servers, so many run at once. */
  webhooks: { payload: z.object({ webhookId: id }), attempts: 1, backoffMs: 1000, concurrency: 500 },
  /** Writes one export file. One at a time in a process, because each keeps a processor busy for seconds. */
  exports: {
    payload: z.object({ exportId: id }),
    attempts: 5,
    backoffMs: 2000,
    concurrency: 1,
    stalled: { lockMs: 15_000, checkMs: 5000, maxCount: 5 },
  },
  /** Analyses answers by an AI provider, for hours if there are many. */
  analyses: { payload: z.object({ aiJobId: id }), attempts: 1, backoffMs: 1000, concurrency: 10 },
  /** Other work by an AI provider, whose result somebody waits for. */
  ai: { payload: z.object({ aiJobId: id }), attempts: 1, backoffMs: 1000, concurrency: 10 },
} as const satisfies Record<string, QueueSpec>;

export type QueueName = keyof typeof queues;
export type Payload<Name extends QueueName> = z.output<(typeof queues)[Name]['payload']>;

export interface AddOptions {
  /** While a job of this name waits, no second one is added; while it runs, one follows it. */
  once?: string;
  /** BullMQ's job id: while a job of this id waits, runs or is to be retried, adding it again changes nothing. */
  jobId?: string;
  delayMs?: number;
  /** From 1; jobs with a lower number run first, those without before all of them. */
  priority?: number;
}

/** Below BullMQ's greatest. */
const maxPriority = 2_000_000;
/** Minutes are counted from here, and begin anew almost four years later. */
const firstMinuteMs = Date.UTC(2026, 10, 1);

/**
 * Each open job that the user has before a new one counts as a minute that this one was asked for later: so a user with
 * many does not hold up the others for long, and is not held up for ever either.
 */
export const fairPriority = (openBefore: number, nowMs: number = Date.now()): number =>
  1 + ((Math.max(0, Math.floor((nowMs - firstMinuteMs) / 60_000)) + openBefore) % maxPriority);

/** Jobs of a queue by their state. */
export interface QueueCounts {
  name: QueueName;
  waiting: number;
  active: number;
  /** To be run at a later time, or tried again. */
  delayed: number;
  /** Failed for good, of the last thousand that are kept. */
  failed: number;
}

export interface JobCounter {
  /** Rejects within seconds while Redis is away. */
  counts(): Promise<QueueCounts[]>;
}

/** Adds jobs to queues. */
export interface JobSender {
  /** Rejects within seconds while Redis is away: a periodic task of the caller must find what was not added. */
  add<Name extends QueueName>(name: Name, payload: Payload<Name>, options?: AddOptions): Promise<void>;
}
