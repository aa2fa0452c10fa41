import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { createPace } from '../../../src/webhooks/pace.ts';
import { createRequestLimiter, type HostLimits } from '../../../src/webhooks/request-limit.ts';
import { unpaced } from '../../support/request-limits.ts';

const never = () => false;
const isOpen = async (waiting: Promise<unknown>) => (await Promise.race([waiting, sleep(20, 'waiting')])) !== 'waiting';

const limitHosts = (host: HostLimits) => createRequestLimiter({ host, pace: unpaced() });

describe('the limit of a host', () => {
  it('allows a number of concurrent requests to one host, and as many to another', async () => {
    const limiter = limitHosts({ connections: 2, requestsPerSecond: 100_000 });
    const [first] = [await limiter.acquire('a', never), await limiter.acquire('a', never)];
    const third = limiter.acquire('a', never);
    assert.equal(await isOpen(third), false);
    assert.ok(await limiter.acquire('b', never));
    first?.();
    assert.ok(await isOpen(third));
  });

  it('spreads requests to one host over time, whatever endpoint they are of', async () => {
    const limiter = limitHosts({ connections: 1000, requestsPerSecond: 100 });
    const startedAt = performance.now();
    let begun = 0;
    await Promise.all(
      Array.from({ length: 40 }, async () => {
        const release = await limiter.acquire('a', never);
        begun += 1;
        release?.();
      }),
    );
    assert.equal(begun, 40);
    const tookMs = performance.now() - startedAt;
    // 39 intervals of 10 ms; a turn taken up to 100 ms late does not delay the next.
    assert.ok(tookMs >= 280, `${tookMs} ms`);
  });

  it('costs each of hundreds that wait a few looks, and serves them in order', async () => {
    const [count, order]: [number, number[]] = [400, []];
    const limiter = limitHosts({ connections: 3, requestsPerSecond: 2000 });
    let looks = 0;
    const isOver = () => {
      looks += 1;
      return false;
    };
    await Promise.all(
      Array.from({ length: count }, async (_, n) => {
        const release = await limiter.acquire('a', isOver);
        order.push(n);
        await nextTurn();
        release?.();
      }),
    );
    assert.deepEqual(
      order,
      Array.from({ length: count }, (_, n) => n),
    );
    assert.ok(looks < 20 * count, `${looks} looks`);
  });

  it('gives up a request that is no longer wanted', async () => {
    const limiter = limitHosts({ connections: 1, requestsPerSecond: 100_000 });
    assert.ok(await limiter.acquire('a', never));
    let isOver = false;
    const second = limiter.acquire('a', () => isOver);
    isOver = true;
    assert.equal(await second, undefined);
  });
});

describe('the limit of all hosts together', () => {
  it('lets one request of a host with few pass the thousands of another', async (t) => {
    const pace = createPace({ leastPerSecond: 200, isUnderLoad: async () => true });
    t.mock.method(pace, 'perSecond', () => 200);
    const limiter = createRequestLimiter({ host: { connections: 5, requestsPerSecond: 100_000 }, pace });
    let begun = 0;
    const many = Array.from({ length: 100 }, async () => {
      (await limiter.acquire('many', never))?.();
      begun += 1;
    });
    (await limiter.acquire('few', never))?.();
    assert.ok(begun <= 10, `${begun} before it`);
    await Promise.all(many);
  });

  it('gives back the room at the host of a request that is no longer wanted', async (t) => {
    const pace = unpaced();
    t.mock.method(pace, 'perSecond', () => 1);
    const limiter = createRequestLimiter({ host: { connections: 1, requestsPerSecond: 100_000 }, pace });
    (await limiter.acquire('a', never))?.();
    let isOver = false;
    const second = limiter.acquire('a', () => isOver);
    isOver = true;
    assert.equal(await second, undefined);
    // It would wait for the host for ever; so it waits for its turn.
    assert.ok(await limiter.acquire('a', never));
  });
});
