import { Redis } from 'ioredis';

/**
 * A connection whose commands may take as long as Redis does, for tests of what Redis holds. The connections of the
 * service give a command up after a second or two, for which a busy machine may stop Redis.
 */
export async function openPatientRedis(url: string): Promise<Redis> {
  const redis = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: null });
  await redis.connect();
  return redis;
}

/**
 * Connects a client of the service. On a busy machine its first attempt may take longer than the two seconds that it
 * has; then `connect` fails, and the client tries again by itself.
 */
export async function connectPatiently(redis: Redis): Promise<void> {
  const isReady = new Promise<void>((resolve) => redis.once('ready', resolve));
  redis.connect().catch(() => undefined);
  await isReady;
}
