import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { createHostLimiter } from '../../../src/webhooks/host-limit.ts';

const never = () => false;
const isOpen = async (waiting: Promise<unknown>) => (await Promise.race([waiting, sleep(20, 'waiting')])) !== 'waiting';

describe('the limit of a host', () => {
  it('allows a number of concurrent requests to one host, and as many to another', async () => {
    const limiter = createHostLimiter({ connections: 2, requestsPerSecond: 100_000 });
    const [first] = [await limiter.acquire('a', never), await limiter.acquire('a', never)];
    const third = limiter.acquire('a', never);
    assert.equal(await isOpen(third), false);
    assert.ok(await limiter.acquire('b', never));
    first?.();
    assert.ok(await isOpen(third));
  });

  it('spreads requests to one host over time, whatever endpoint they are of', async () => {
    const limiter = createHostLimiter({ connections: 1000, requestsPerSecond: 100 });
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
    const limiter = createHostLimiter({ connections: 3, requestsPerSecond: 2000 });
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
    const limiter = createHostLimiter({ connections: 1, requestsPerSecond: 100_000 });
    assert.ok(await limiter.acquire('a', never));
    let isOver = false;
    const second = limiter.acquire('a', () => isOver);
    isOver = true;
    assert.equal(await second, undefined);
  });
});
