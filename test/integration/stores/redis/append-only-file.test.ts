import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import { createErasureLog, isRewriting } from '../../../../src/stores/redis/append-only-file.ts';
import { createShards } from '../../../../src/stores/redis/intake/shards.ts';
import { createStream } from '../../../../src/stores/redis/intake/stream.ts';
import { eventually } from '../../../support/eventually.ts';
import { openPatientRedis } from '../../../support/patient-redis.ts';
import { sharedStores } from '../../../support/stores.ts';

describe('the append-only files of an intake and jobs that share a server', () => {
  let redis: Redis;
  let jobsRedis: Redis;
  before(async () => {
    const { redisUrl } = await sharedStores();
    redis = await openPatientRedis(new URL('/10', redisUrl).href);
    jobsRedis = await openPatientRedis(new URL('/11', redisUrl).href);
    await redis.flushdb();
  });
  after(async () => {
    await redis.flushdb();
    await Promise.all([redis.quit(), jobsRedis.quit()]);
  });

  const erasureLog = () => createErasureLog({ redis, jobsRedis, stream: createStream(redis), shards: createShards(1) });
  /** Rewrites that the server was asked for so far. */
  const timesAsked = async () =>
    Number(/^cmdstat_bgrewriteaof:calls=(\d+)/m.exec(await redis.info('commandstats'))?.[1] ?? 0);

  it('are one, which is rewritten once', async () => {
    const before = await timesAsked();
    assert.equal(await erasureLog().rewrite(1234, 60_000), true);
    assert.equal((await timesAsked()) - before, 1);
    assert.equal((await erasureLog().state()).rewrittenAtMs, 1234);
  });

  it('are rewritten although the server is rewriting them by itself at that moment', async () => {
    await eventually(async () => assert.equal(await isRewriting(redis), false));
    await redis.bgrewriteaof();
    assert.equal(await erasureLog().rewrite(2345, 60_000), true);
  });
});
