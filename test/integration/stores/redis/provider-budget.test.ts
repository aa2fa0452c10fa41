import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import { createProviderBudget, windowMs } from '../../../../src/stores/redis/ai/provider-budget.ts';
import { openPatientRedis } from '../../../support/patient-redis.ts';
import { sharedStores } from '../../../support/stores.ts';

describe('the budget of calls to AI providers', () => {
  let redises: Redis[];
  before(async () => {
    const { redisJobsUrl } = await sharedStores();
    redises = await Promise.all(Array.from({ length: 4 }, () => openPatientRedis(redisJobsUrl)));
  });
  after(() => {
    for (const redis of redises) redis.disconnect();
  });
  const wide = { requestsPerMinute: 1000, tokensPerMinute: 1_000_000 };

  it('is exact over several processes', async () => {
    const [account, budgets] = [randomUUID(), redises.map((redis) => createProviderBudget(redis))];
    const waits = await Promise.all(
      Array.from(
        { length: 200 },
        (_, n) =>
          budgets[n % 4]?.acquire(account, { id: randomUUID(), tokens: 10 }, { ...wide, requestsPerMinute: 60 }) ?? -1,
      ),
    );
    assert.equal(waits.filter((ms) => ms === 0).length, 60);
    assert.ok(waits.every((ms) => ms >= 0 && ms <= windowMs));
    assert.ok(
      waits.filter((ms) => ms > 0).every((ms) => ms > windowMs - 5000),
      'the others wait until the first call is a minute old',
    );
  });

  it('counts tokens too, and returns those that were not used', async () => {
    const [account, budget] = [randomUUID(), createProviderBudget(redises[0] as Redis)];
    const allowance = { ...wide, tokensPerMinute: 1000 };
    assert.equal(await budget.acquire(account, { id: 'first', tokens: 600 }, allowance), 0);
    assert.ok((await budget.acquire(account, { id: 'second', tokens: 600 }, allowance)) > 0);
    await budget.recordUsage(account, { id: 'first', tokens: 400 });
    assert.equal(await budget.acquire(account, { id: 'second', tokens: 600 }, allowance), 0);
    await budget.recordUsage(account, { id: 'second', tokens: 700 });
    assert.ok(
      (await budget.acquire(account, { id: 'third', tokens: 1 }, allowance)) > 0,
      'what was taken beyond counts',
    );
  });

  it('goes on counting when a call that used no tokens is a minute old', async () => {
    const [account, redis] = [randomUUID(), redises[0] as Redis];
    const budget = createProviderBudget(redis);
    const allowance = { requestsPerMinute: 1, tokensPerMinute: 1000 };
    assert.equal(await budget.acquire(account, { id: 'first', tokens: 600 }, allowance), 0);
    await budget.recordUsage(account, { id: 'first', tokens: 0 });
    // It was made at the beginning of time.
    await redis.zadd(`ai:{${account}}:calls`, 1, 'first');
    assert.equal(await budget.acquire(account, { id: 'second', tokens: 600 }, allowance), 0);
    assert.ok((await budget.acquire(account, { id: 'third', tokens: 1 }, allowance)) > 0);
  });

  it('keeps the reservation of a call that asks again, from that time on', async () => {
    const [account, budget] = [randomUUID(), createProviderBudget(redises[0] as Redis)];
    const allowance = { requestsPerMinute: 2, tokensPerMinute: 100 };
    const first = { id: 'first', tokens: 60 };
    assert.equal(await budget.acquire(account, first, allowance), 0);
    assert.equal(await budget.acquire(account, { id: 'second', tokens: 40 }, allowance), 0);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const againAt = performance.now();
    assert.equal(await budget.acquire(account, first, allowance), 0);
    const waitMs = await budget.acquire(
      account,
      { id: 'third', tokens: 1 },
      { requestsPerMinute: 2, tokensPerMinute: 1000 },
    );
    assert.ok(waitMs > 0 && waitMs <= windowMs - 50, `${waitMs}: the second began first`);
    const untilFirstEndsMs = await budget.acquire(account, { id: 'third', tokens: 50 }, allowance);
    // The call has asked again a moment after that time. Redis counts whole milliseconds.
    assert.ok(
      untilFirstEndsMs >= windowMs - (performance.now() - againAt) - 2,
      `${untilFirstEndsMs}: the tokens of the first are counted once, from the time it asked again`,
    );
  });

  it('lets a call that exceeds the limit run alone', async () => {
    const [account, budget] = [randomUUID(), createProviderBudget(redises[0] as Redis)];
    const allowance = { ...wide, tokensPerMinute: 100 };
    assert.equal(await budget.acquire(account, { id: 'large', tokens: 5000 }, allowance), 0);
    assert.ok((await budget.acquire(account, { id: 'small', tokens: 1 }, allowance)) > 0);
  });

  it('keeps a fifth for other calls during bulk jobs, only while there are any', async () => {
    const [account, budget] = [randomUUID(), createProviderBudget(redises[0] as Redis)];
    const allowance = { requestsPerMinute: 10, tokensPerMinute: 1000 };
    const take = (of: string, count: number, isBulk: boolean) =>
      Promise.all(
        Array.from({ length: count }, () => budget.acquire(of, { id: randomUUID(), tokens: 10, isBulk }, allowance)),
      );
    const begun = (waits: number[]) => waits.filter((ms) => ms === 0).length;
    assert.equal(begun(await take(account, 12, true)), 10, 'alone it has the whole minute');
    const shared = randomUUID();
    assert.equal(begun(await take(shared, 1, false)), 1);
    const bulk = await take(shared, 12, true);
    assert.equal(begun(bulk), 7, 'eight of ten calls in all');
    assert.ok(bulk.every((ms) => ms <= windowMs));
    assert.equal(begun(await take(shared, 3, false)), 2, 'the others find room at once');
    const tokens = randomUUID();
    assert.equal(await budget.acquire(tokens, { id: 'one', tokens: 1 }, allowance), 0);
    assert.equal(await budget.acquire(tokens, { id: 'two', tokens: 750, isBulk: true }, allowance), 0);
    assert.ok((await budget.acquire(tokens, { id: 'three', tokens: 100, isBulk: true }, allowance)) > 0);
    assert.equal(await budget.acquire(tokens, { id: 'four', tokens: 100 }, allowance), 0);
  });

  it('keeps room for a waiting call that needs more than a fifth, however many calls bulk jobs would make', async () => {
    const [account, redis] = [randomUUID(), redises[0] as Redis];
    const budget = createProviderBudget(redis);
    const allowance = { requestsPerMinute: 100, tokensPerMinute: 1000 };
    const bulk = (id: string) => budget.acquire(account, { id, tokens: 100, isBulk: true }, allowance);
    const turn = { id: 'turn', tokens: 600 };
    assert.equal(await budget.acquire(account, { id: 'first', tokens: 1 }, allowance), 0);
    for (const id of ['1', '2', '3', '4', '5', '6', '7']) assert.equal(await bulk(id), 0);
    const askedAt = performance.now();
    const waitMs = await budget.acquire(account, turn, allowance);
    assert.ok(waitMs > 0);
    const keptMs = (await redis.pttl(`ai:{${account}}:wanted`)) + performance.now() - askedAt;
    assert.ok((await budget.acquire(account, { id: 'small', tokens: 300 }, allowance)) > 0);
    // Four of them are more than a minute old.
    for (const id of ['1', '2', '3', '4']) await redis.zadd(`ai:{${account}}:calls`, 1, id);
    assert.ok((await bulk('8')) > 0, 'a bulk job takes what the turn waits for');
    assert.equal(await budget.acquire(account, turn, allowance), 0);
    assert.ok(keptMs > waitMs, `its room is kept for ${keptMs} ms, and it was told to come after ${waitMs}`);
    await budget.recordUsage(account, { id: 'turn', tokens: 100 });
    assert.equal(await bulk('8'), 0, 'bulk jobs go on when nobody waits');
  });

  it('gives the only call of a minute to a waiting call, before one of a bulk job', async () => {
    const [account, redis] = [randomUUID(), redises[0] as Redis];
    const budget = createProviderBudget(redis);
    const allowance = { requestsPerMinute: 1, tokensPerMinute: 1000 };
    assert.equal(await budget.acquire(account, { id: 'one', tokens: 10, isBulk: true }, allowance), 0);
    assert.ok((await budget.acquire(account, { id: 'turn', tokens: 2000 }, allowance)) > 0);
    await redis.zadd(`ai:{${account}}:calls`, 1, 'one');
    assert.ok((await budget.acquire(account, { id: 'two', tokens: 10, isBulk: true }, allowance)) > 0);
    assert.equal(await budget.acquire(account, { id: 'turn', tokens: 2000 }, allowance), 0);
  });

  it('is separate for each account, and closed during a pause that the provider asked for', async () => {
    const [account, budget] = [randomUUID(), createProviderBudget(redises[0] as Redis)];
    await budget.pause(account, 30_000);
    await budget.pause(account, 1000);
    const waitMs = await budget.acquire(account, { id: 'one', tokens: 1 }, wide);
    assert.ok(waitMs > 25_000 && waitMs <= 30_000, `${waitMs}`);
    assert.equal(await budget.acquire(randomUUID(), { id: 'one', tokens: 1 }, wide), 0);
  });
});
