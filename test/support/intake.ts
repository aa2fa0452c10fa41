import type { Redis } from 'ioredis';
import type { BatchSink } from '../../src/pipelines/ingest/store-batch.ts';
import { isServerGeneratedId, newId } from '../../src/platform/ids.ts';
import type { IntakeSubmission } from '../../src/stores/redis/intake/append-protocol.ts';
import { hashOfKey, hashOfResponseId } from '../../src/stores/redis/intake/idempotency.ts';
import { createIntake, type Intake } from '../../src/stores/redis/intake/intake.ts';
import type { AnnouncedCollector, AnnouncedQuota } from '../../src/stores/redis/intake/scripts.ts';
import { answersKey, responseKey, type Shards } from '../../src/stores/redis/intake/shards.ts';
import { createStream, type StreamEntry } from '../../src/stores/redis/intake/stream.ts';
import { createLiveStream } from '../../src/stores/redis/live-stream.ts';
import { openPatientRedis } from './patient-redis.ts';
import { sharedStores } from './stores.ts';

/** An intake that has room. */
export const noMemoryPressure = { surplusBytes: () => 0, recordFreed: () => undefined };

export const noMetrics = { committed: () => undefined, submitted: () => undefined };

/**
 * A connection to a database of its own: what is written there are no rows, and a service on the same streams could
 * only bury them.
 */
export async function connectIntake() {
  return openPatientRedis(new URL('/6', (await sharedStores()).redisUrl).href);
}

/** An intake, with what reads what it writes. */
export async function openIntake(shards: Shards) {
  const plain = await connectIntake();
  const close = async (): Promise<void> => {
    await plain.quit();
    await (await sharedStores()).stop();
  };
  return {
    plain,
    intake: createIntake({ redis: plain, shards, metrics: noMetrics }),
    stream: createStream(plain),
    live: createLiveStream(plain),
    close,
  };
}

export type OpenIntake = Awaited<ReturnType<typeof openIntake>>;

/** Makes a survey known, without any response; gives its id. */
export async function announceSurvey(
  intake: Pick<Intake, 'announce'>,
  facts: {
    id?: string;
    quota?: number;
    revision?: number;
    isClosable?: boolean;
    cellQuotas?: readonly AnnouncedQuota[];
    collectors?: readonly AnnouncedCollector[];
  } = {},
): Promise<string> {
  const { id: surveyId = newId() } = facts;
  await intake.announce({
    surveyId,
    revision: facts.revision ?? 1,
    quota: facts.quota ?? null,
    codePositions: 3,
    total: 0,
    completed: 0,
    isClosable: facts.isClosable ?? false,
    ...(facts.cellQuotas && { cellQuotas: facts.cellQuotas }),
    ...(facts.collectors && { collectors: facts.collectors }),
  });
  return surveyId;
}

/**
 * A whole response under a new id, unless `more` says otherwise: `key` is an idempotency key, and an id of the client's
 * is one that was not seen before.
 */
export function appendix(
  surveyId: string,
  { key = '', ...more }: Partial<IntakeSubmission> & { key?: string } = {},
): IntakeSubmission {
  const { responseId = newId(), observedVersion = null, digest = '' } = more;
  return {
    surveyId,
    revision: 1,
    caller: '',
    limit: 60,
    mustRefuse: false,
    keyHash: key === '' ? '' : hashOfKey(surveyId, key),
    outcome: 'COMPLETED',
    responseId,
    observedVersion,
    idHash: observedVersion === 0 && !isServerGeneratedId(responseId) ? hashOfResponseId(responseId) : '',
    submittedAtMs: submittedAt,
    isLookupDone: false,
    row: '["row"]',
    savedState: '',
    idempotencyRecords: '',
    ...more,
    digest: digestOf(digest),
  };
}

/** Drops the records of keys and ids, as after an hour or when memory is needed: only that they were used is known. */
export async function forgetRecord(redis: Redis, hash: string): Promise<void> {
  for (const name of await redis.keys('idem:recent:*')) await redis.hdel(name, hash.slice(8, 22));
}

/** Drops the marks of used keys, as after three days. */
export async function forgetUse(redis: Redis, hash: string): Promise<void> {
  for (const name of await redis.keys('idem:seen:*:*'))
    await redis.srem(name, Number.parseInt(hash.slice(8, 16), 16) - 2 ** 31);
}

/** Drops the state of a response, and all that is known of keys and ids, as days do. */
export async function forgetStates(redis: Redis, responseId: string): Promise<void> {
  await redis.del(
    responseKey(responseId),
    answersKey(responseId),
    ...(await redis.keys('idem:recent:*')),
    ...(await redis.keys('idem:seen:*')),
  );
}

/** Drops all that the intake of the shared stores knows of a client's response id, as two days do. */
export async function forgetResponseId(responseId: string): Promise<void> {
  const redis = await openPatientRedis((await sharedStores()).redisUrl);
  const hash = hashOfResponseId(responseId);
  await forgetRecord(redis, hash);
  await forgetUse(redis, hash);
  await redis.del(responseKey(responseId));
  await redis.quit();
}

/** When a response is submitted, unless said otherwise. */
export const submittedAt = Date.parse('2026-11-21T10:00:00.123Z');

/** As long as digests are. */
export const digestOf = (name: string): string => (name === '' ? '' : name.padEnd(12, '.').slice(0, 12));

/** An entry of a stream. */
export function streamEntry(id: string, more: Partial<StreamEntry> = {}): StreamEntry {
  return {
    id,
    count: 1,
    codeColumns: 0,
    surveyIds: [],
    sizes: [],
    filled: [],
    reachedQuotas: [],
    invited: [],
    rows: Buffer.from('[]'),
    records: Buffer.alloc(0),
    ...more,
  };
}

/** A response store that takes everything, unless said otherwise. */
export const acceptingSink = (insertBatch: BatchSink['insertBatch'] = async () => ({ kind: 'stored' })): BatchSink => ({
  insertBatch,
  insertRecords: async () => undefined,
  missing: async () => undefined,
});
