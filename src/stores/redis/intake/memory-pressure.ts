import type { Redis } from 'ioredis';
import { type Problem, unavailable } from '../../../errors.ts';
import { definitionBytesKey, type Shards } from './shards.ts';

export interface MemoryPressure {
  /** A refusal while the intake is too full to take more; undefined while there is room. */
  refusal(): Problem | undefined;
  /** Whether there is memory for more than must be held. */
  hasSpareMemory(): boolean;
  /** How much of what need not be held is to be given back, in bytes; 0 while there is room. */
  surplusBytes(): number;
  /** So much has been given back since the server was last asked. */
  freed(bytes: number): void;
  /** Bytes that one survey may have waiting for the response store; undefined while the intake has room for more than a few. */
  maxPendingBytesPerSurvey(): number | undefined;
  /** A small part of the memory: what one caller may send in large rows a minute, and what a generation of idempotency records takes. */
  sliceBytes(): number;
  /** What the definitions of open surveys may take together, in bytes. */
  definitionBytes(): number;
  stop(): void;
}

/** What takes the intake's memory, in bytes. */
export interface IntakeMemoryUse {
  /** Responses that the response store does not have yet. */
  waiting: number;
  /** Idempotency records and open responses. */
  remembered: number;
  /** Definitions of open surveys, for when PostgreSQL is away. */
  definitions: number;
  /** Stored responses that live streams may ask for, and the rest. */
  other: number;
}

export interface MemoryPressureOptions {
  shards: Shards;
  report(share: number, use: IntakeMemoryUse): void;
}

const pollMs = 500;
/** Past this share submissions are refused: what is accepted must still find room for its bookkeeping. */
const refuseAboveShare = 0.8;
/** Past this share a survey that has more than its part of the memory waiting is refused, so that the others find room. */
const limitSurveysAboveShare = 0.6;
const maxSurveyShare = 0.25;
/** Up to this share, what is stored already is kept for those who may ask for it again. */
const spareBelowShare = 0.5;
const slices = 64;
/** Of 1 GiB, enough for some 15,000 open surveys of twenty questions. */
const definitionPart = 1 / 16;
/** A server without a bound of its own: what its responses may take at most before they are large. */
const assumedMaxMemory = 1024 * 1024 * 1024;
/** Of a key in the sets that remember its use. */
const seenKeyBytes = 5;

/** Watches how full the intake's Redis is and with what, and tells it each time. */
export function watchMemoryPressure(redis: Redis, { shards, report }: MemoryPressureOptions): MemoryPressure {
  // 0 where the server has no bound.
  let [share, excessBytes, maxMemory] = [0, 0, 0];
  let use: IntakeMemoryUse = { waiting: 0, remembered: 0, definitions: 0, other: 0 };
  const measure = async () => {
    const text = await redis.info('memory');
    const infoNumber = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1] ?? 0);
    const used = infoNumber('used_memory');
    maxMemory = infoNumber('maxmemory');
    share = maxMemory === 0 ? 0 : used / maxMemory;
    excessBytes = maxMemory === 0 ? 0 : Math.max(0, used - maxMemory * spareBelowShare);
    use = await measureUse(redis, shards, used);
    report(share, use);
  };
  const timer = setInterval(() => void measure().catch(() => undefined), pollMs);
  timer.unref();
  void measure().catch(() => undefined);
  return {
    refusal: () =>
      share > refuseAboveShare
        ? unavailable(`The intake is full: ${describeUse(use)}`, 1 + Math.floor(Math.random() * 10))
        : undefined,
    hasSpareMemory: () => share < spareBelowShare,
    surplusBytes: () => excessBytes,
    freed: (bytes) => {
      excessBytes -= bytes;
    },
    maxPendingBytesPerSurvey: () => (share > limitSurveysAboveShare ? maxMemory * maxSurveyShare : undefined),
    sliceBytes: () => (maxMemory === 0 ? assumedMaxMemory : maxMemory) / slices,
    definitionBytes: () => (maxMemory === 0 ? assumedMaxMemory : maxMemory) * definitionPart,
    stop: () => clearInterval(timer),
  };
}

async function measureUse(redis: Redis, { all }: Shards, used: number): Promise<IntakeMemoryUse> {
  const [pending, kept, generations, seen] = await Promise.all([
    redis.mget(all.map(({ prefix }) => `${prefix}pending`)),
    redis.mget(all.map(definitionBytesKey)),
    redis.hvals('idem:generations'),
    redis.hvals('idem:seen'),
  ]);
  const sum = (texts: readonly (string | null)[]) =>
    texts.reduce((total, text) => total + Math.max(0, Number(text ?? 0)), 0);
  const [waiting, remembered, definitions] = [sum(pending), sum(generations) + sum(seen) * seenKeyBytes, sum(kept)];
  return { waiting, remembered, definitions, other: Math.max(0, used - waiting - remembered - definitions) };
}

function describeUse({ waiting, remembered }: IntakeMemoryUse): string {
  const mebibytes = (bytes: number) => `${Math.round(bytes / 1_048_576)} MiB`;
  return `${mebibytes(waiting)} of responses wait for the response store, ${mebibytes(remembered)} are idempotency records`;
}
