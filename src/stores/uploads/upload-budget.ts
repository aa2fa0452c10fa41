import type { Redis } from 'ioredis';
import { Problem, unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { leavesReserve } from '../../platform/disk-space.ts';
import { createSemaphore } from '../../platform/semaphore.ts';
import type { UploadRows } from '../postgres/uploads.ts';
import type { UploadStorage } from './storage.ts';

export interface UploadLimits {
  /** Bytes of a survey's files that no response has claimed. */
  surveyUnclaimedBytes: number;
  /** Bytes that one address may send in an hour. */
  addressHourlyBytes: number;
  /** Share of the disk that uploads leave free, in percent. */
  diskReservePercent: number;
}

export interface UploadBudgetDeps {
  rows: Pick<UploadRows, 'unclaimedBytes'>;
  storage: Pick<UploadStorage, 'diskSpace'>;
  redis: Pick<Redis, 'incrby' | 'eval' | 'expire' | 'ttl'>;
  limits: UploadLimits;
  log: Pick<Log, 'warn'>;
  /** Longest wait for the reservations before it; short in tests. */
  maxWaitMs?: number;
}

export interface BudgetRequest {
  surveyId: string;
  /** Keyed hash of the sender's address. It is not stored with the file, so that a response cannot be traced by it. */
  sender: string;
  /** Size of the file, or the largest allowed where it is not known yet. */
  bytes: number;
}

const windowSeconds = 3600;
/** Gives bytes back to a window that has not ended; a key that this made would have no end. */
const giveBackScript = `
  local sent = tonumber(redis.call('GET', KEYS[1]))
  if sent then redis.call('DECRBY', KEYS[1], math.min(sent, tonumber(ARGV[1]))) end`;
/** As long as a call of PostgreSQL that gets no answer. */
const defaultMaxWaitMs = 6000;

/**
 * Bounds what anybody can store: bytes an address and hour, unclaimed bytes a survey, and a reserve of the disk for the
 * stores.
 */
export function createUploadBudget({
  rows,
  storage,
  redis,
  limits,
  log,
  maxWaitMs = defaultMaxWaitMs,
}: UploadBudgetDeps) {
  /** Uploads of this process that are under way, by survey; other processes' uploads count when they are stored. */
  const underWay = new Map<string, number>();
  const addUnderWay = (surveyId: string, bytes: number): void => {
    const sum = (underWay.get(surveyId) ?? 0) + bytes;
    if (sum > 0) underWay.set(surveyId, sum);
    else underWay.delete(surveyId);
  };
  const keyOf = (sender: string) => `upload-bytes:${sender}`;

  const giveBack = (sender: string, bytes: number) => redis.eval(giveBackScript, 1, keyOf(sender), bytes);

  /** Counts the bytes for an address. Without Redis nothing is counted, as for general limits. */
  const countForAddress = async (sender: string, bytes: number): Promise<void> => {
    const key = keyOf(sender);
    try {
      const sent = await redis.incrby(key, bytes);
      // Sets the end of a new window, and of one that would last longer since Redis' clock was set back.
      await redis.expire(key, windowSeconds, 'LT');
      if (sent <= limits.addressHourlyBytes) return;
      await giveBack(sender, bytes);
    } catch (error) {
      log.warn({ err: error }, 'the bytes of an upload could not be counted; the upload is let through');
      return;
    }
    const left = await redis.ttl(key).catch(() => windowSeconds);
    throw new Problem('RATE_LIMITED', 'This address has uploaded too much in the last hour', {
      retryAfterSeconds: Math.max(1, left),
    });
  };
  const takeRoom = async (surveyId: string, bytes: number): Promise<void> => {
    // Read before the stores are asked: what ends meanwhile counts twice rather than not at all.
    const coming = [...underWay.values()].reduce((sum, size) => sum + size, bytes);
    const ofSurvey = (underWay.get(surveyId) ?? 0) + bytes;
    const space = await storage.diskSpace();
    if (space && !leavesReserve(space, { bytes: coming, reservePercent: limits.diskReservePercent }))
      throw unavailable('There is no room for uploads right now', 60);
    if ((await rows.unclaimedBytes(surveyId)) + ofSurvey > limits.surveyUnclaimedBytes)
      throw unavailable('Too many files of this survey wait for their responses', 60);
    addUnderWay(surveyId, bytes);
  };
  /** Reservations are made one after another, so that none counts room that another is about to take. */
  const turns = createSemaphore({ concurrency: 1, maxQueued: 200 });
  /** Waits for its turn no longer than the bound: a store that says nothing holds each turn until its call is given up. */
  const takeRoomInTurn = async (surveyId: string, bytes: number): Promise<void> => {
    const signal = AbortSignal.timeout(maxWaitMs);
    try {
      await turns.run(() => takeRoom(surveyId, bytes), signal);
    } catch (error) {
      if (signal.aborted && error === signal.reason) throw unavailable('Other uploads wait for a store right now', 5);
      throw error;
    }
  };

  return {
    /**
     * Reserves room for a file. Throws RATE_LIMITED or SERVICE_UNAVAILABLE. `settle` must be called when the file is
     * stored or has failed, with the bytes that count for the address: those that were read, or 0 where the service has
     * failed.
     */
    async reserve({ surveyId, sender, bytes }: BudgetRequest): Promise<{ settle(countedBytes: number): void }> {
      await takeRoomInTurn(surveyId, bytes);
      try {
        await countForAddress(sender, bytes);
      } catch (error) {
        addUnderWay(surveyId, -bytes);
        throw error;
      }
      return {
        settle(countedBytes) {
          addUnderWay(surveyId, -bytes);
          if (countedBytes < bytes) void giveBack(sender, bytes - countedBytes).catch(() => undefined);
        },
      };
    },
  };
}

export type UploadBudget = ReturnType<typeof createUploadBudget>;
