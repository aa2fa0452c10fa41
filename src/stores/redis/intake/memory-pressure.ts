import type { Redis } from 'ioredis';
import { type Problem, unavailable } from '../../../errors.ts';
import { definitionBytesKey, type Shards } from './shards.ts';

export interface MemoryPressure {
  /** The refusal while the intake is too full for more submissions; undefined while there is room. */
  refusal(): Problem | undefined;
  /** Whether less than half of the memory is used, so that more than the necessary may be kept. */
  hasSpareMemory(): boolean;
  /** Bytes of stored entries that should be trimmed; 0 while there is room. */
  surplusBytes(): number;
  /** Subtracts trimmed bytes from `surplusBytes` until the memory is measured again. */
  recordFreed(bytes: number): void;
  /**
   * Maximum bytes of one survey that may wait for the response store; undefined (no limit) while there is enough room.
   */
  maxPendingBytesPerSurvey(): number | undefined;
  /**
   * 1/64 of the memory: the maximum of a caller's large rows a minute to a survey, and of a generation of idempotency
   * records.
   */
  sliceBytes(): number;
  /** Maximum bytes of the definitions of all open surveys. */
  definitionBytes(): number;
  stop(): void;
}

/** What the intake's memory is used for, in bytes. */
export interface IntakeMemoryUse {
  /** Responses that the response store does not have yet. */
  waiting: number;
  /** Idempotency records and open responses. */
  idempotency: number;
  /** Definitions of open surveys, for when PostgreSQL is away. */
  definitions: number;
  /** Stored responses in the retention window, and the rest. */
  other: number;
}

export interface MemoryPressureOptions {
  shards: Shards;
  report(share: number, use: IntakeMemoryUse): void;
  /** The server did not answer. What was measured last still decides. */
  reportUnknown(): void;
}

const pollMs = 500;
/** Above this share of the memory submissions are refused: ingest needs room to store and acknowledge accepted ones. */
const refuseAboveShare = 0.8;
/** Above this share a survey may have at most `maxSurveyShare` of the memory waiting, which leaves room for others. */
const limitSurveysAboveShare = 0.6;
const maxSurveyShare = 0.25;
/** Below this share nothing that is stored is trimmed early. */
const spareBelowShare = 0.5;
const sliceCount = 64;
/** With 1 GiB, enough for some 15,000 open surveys of twenty questions. */
const definitionShare = 1 / 16;
/** Assumed memory of a server without `maxmemory`. */
const assumedMaxMemory = 1024 * 1024 * 1024;
/** Bytes of a used key in the sets `idem:seen:…`. */
const usedKeyBytes = 5;

/** Measures twice a second how full the intake's Redis is and with what, and reports it. */
export function watchMemoryPressure(
  redis: Redis,
  { shards, report, reportUnknown }: MemoryPressureOptions,
): MemoryPressure {
  // 0 where the server has no bound.
  let [share, excessBytes, maxMemory] = [0, 0, 0];
  let use: IntakeMemoryUse = { waiting: 0, idempotency: 0, definitions: 0, other: 0 };
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
  let measuring: Promise<void> | undefined;
  const poll = (): void => {
    measuring ??= measure()
      .catch(reportUnknown)
      .finally(() => (measuring = undefined));
  };
  const timer = setInterval(poll, pollMs);
  timer.unref();
  poll();
  return {
    refusal: () =>
      share > refuseAboveShare
        ? unavailable(`The intake is full: ${describeUse(use)}`, 1 + Math.floor(Math.random() * 10))
        : undefined,
    hasSpareMemory: () => share < spareBelowShare,
    surplusBytes: () => excessBytes,
    recordFreed: (bytes) => {
      excessBytes -= bytes;
    },
    maxPendingBytesPerSurvey: () => (share > limitSurveysAboveShare ? maxMemory * maxSurveyShare : undefined),
    sliceBytes: () => (maxMemory === 0 ? assumedMaxMemory : maxMemory) / sliceCount,
    definitionBytes: () => (maxMemory === 0 ? assumedMaxMemory : maxMemory) * definitionShare,
    stop: () => clearInterval(timer),
  };
}

async function measureUse(redis: Redis, { all }: Shards, used: number): Promise<IntakeMemoryUse> {
  const [pending, definitionBytes, generations, usedKeys] = await Promise.all([
    redis.mget(all.map(({ prefix }) => `${prefix}pending`)),
    redis.mget(all.map(definitionBytesKey)),
    redis.hvals('idem:generations'),
    redis.hvals('idem:seen'),
  ]);
  const sum = (texts: readonly (string | null)[]) =>
    texts.reduce((total, text) => total + Math.max(0, Number(text ?? 0)), 0);
  const waiting = sum(pending);
  const idempotency = sum(generations) + sum(usedKeys) * usedKeyBytes;
  const definitions = sum(definitionBytes);
  return { waiting, idempotency, definitions, other: Math.max(0, used - waiting - idempotency - definitions) };
}

function describeUse({ waiting, idempotency, other }: IntakeMemoryUse): string {
  const mebibytes = (bytes: number) => `${Math.round(bytes / 1_048_576)} MiB`;
  return `${mebibytes(waiting)} of responses wait for the response store, ${mebibytes(idempotency)} are idempotency records, ${mebibytes(other)} are stored responses and the rest`;
}
