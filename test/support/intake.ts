import { newId } from '../../src/ids.ts';
import { createLog } from '../../src/log.ts';
import type { Appendix } from '../../src/stores/redis/appendix.ts';
import { createIntakeRedis } from '../../src/stores/redis/clients.ts';
import { createIntake, type Intake } from '../../src/stores/redis/intake.ts';
import { createLiveStream } from '../../src/stores/redis/live.ts';
import type { Shards } from '../../src/stores/redis/shards.ts';
import { createStream } from '../../src/stores/redis/stream.ts';
import { sharedStores } from './stores.ts';

/** An intake that has room. */
export const noPressure = { surplusBytes: () => 0, freed: () => undefined };

export const quiet = { committed: () => undefined, submitted: () => undefined };

/** A connection to a database of its own: what is written there are no rows, and a service on the same streams could only bury them. */
export async function connectIntake() {
  const redis = createIntakeRedis(new URL('/6', (await sharedStores()).redisUrl).href, createLog('silent'));
  await redis.connect();
  return redis;
}

/** An intake, with what reads what it writes. */
export async function openIntake(shards: Shards) {
  const plain = await connectIntake();
  const close = async (): Promise<void> => {
    await plain.quit();
    await (await sharedStores()).stop();
  };
  return { plain, intake: createIntake({ redis: plain, shards, metrics: quiet }), stream: createStream(plain), live: createLiveStream(plain), close };
}

export type OpenIntake = Awaited<ReturnType<typeof openIntake>>;

/** Makes a survey known, without any response; gives its id. */
export async function announced(intake: Pick<Intake, 'announce'>, facts: { id?: string; quota?: number; revision?: number } = {}): Promise<string> {
  const { id: surveyId = newId() } = facts;
  await intake.announce({ surveyId, revision: facts.revision ?? 1, quota: facts.quota ?? null, codePositions: 3, total: 0, completed: 0 });
  return surveyId;
}

/** A whole response under a new id, unless `more` says otherwise. */
export function appendix(surveyId: string, more: Partial<Appendix> = {}): Appendix {
  return {
    surveyId, revision: 1, caller: '', limit: 60, refusal: '', idempotencyKey: '', digest: '', isComplete: true, responseId: newId(), seen: null,
    row: '["row"]', reply: '{"reply":1}', state: '', ...more,
  };
}
