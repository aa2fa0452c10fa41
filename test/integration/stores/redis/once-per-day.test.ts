import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import { createOncePerDay } from '../../../../src/stores/redis/once-per-day.ts';
import { freshRedis } from '../../../support/auth-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { sharedStores } from '../../../support/stores.ts';

describe('work that is done once a day', () => {
  const key = 'daily:rewrite';
  let redis: Redis;
  before(async () => {
    redis = await freshRedis();
  });
  beforeEach(async () => void (await redis.del(key)));
  after(async () => {
    await redis.quit();
    await (await sharedStores()).stop();
  });
  const lastsMs = () => redis.pttl(key);
  const isDone = async () => (await lastsMs()) > 86_000_000;

  /** A process that has begun the work, which ends as the test says. */
  const begin = async (options?: Parameters<typeof createOncePerDay>[1]) => {
    const end = new EventEmitter();
    const beginning = new EventEmitter();
    const begun = once(beginning, 'begun');
    const run = createOncePerDay(redis, options).run('rewrite', async () => {
      const ended = once(end, 'done');
      beginning.emit('begun');
      await ended;
    });
    await begun;
    return { run, end };
  };
  /** Whether another process does the work. */
  const isFree = async () => {
    let isBegun = false;
    await createOncePerDay(redis).run('rewrite', async () => {
      isBegun = true;
    });
    return isBegun;
  };

  it('is left by others while a process is at it, and marks the day when it is done', async () => {
    const { end, run } = await begin();
    const claimedForMs = await lastsMs();
    assert.ok(claimedForMs > 0 && claimedForMs <= 60_000, `${claimedForMs} ms`);
    assert.equal(await isFree(), false);
    end.emit('done');
    await run;
    assert.deepEqual([await isDone(), await isFree()], [true, false]);
  });

  it('keeps its claim for as long as it takes', async () => {
    const { end, run } = await begin({ renewMs: 5 });
    await redis.pexpire(key, 20_000);
    await eventually(async () => assert.ok((await lastsMs()) > 50_000));
    end.emit('done');
    await run;
    assert.ok(await isDone());
  });

  it('is done by another process when the claim of one that was killed has ended', async () => {
    const killed = await begin();
    await redis.pexpire(key, 0);
    const next = await begin();
    // The first one was not killed, but kept from Redis: its failure ends no claim of another.
    killed.end.emit('error', new Error('ClickHouse is away'));
    await assert.rejects(killed.run, /away/);
    assert.equal(await isFree(), false);
    next.end.emit('done');
    await next.run;
    assert.ok(await isDone());
  });
});
