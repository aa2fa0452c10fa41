import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { createPace } from '../../../src/webhooks/pace.ts';
import { createRequestLimiter, type HostLimits } from '../../../src/webhooks/request-limit.ts';
import { unpaced } from '../../support/request-limits.ts';

const never = () => false;
/** What is due in 20 ms has its turn after them, where the process stood still meanwhile. */
const isOpen = async (waiting: Promise<unknown>) => {
  const late = sleep(20)
    .then(() => nextTurn())
    .then(() => nextTurn('waiting'));
  return (await Promise.race([waiting, late])) !== 'waiting';
};

let endpoints = 0;
/** A request of an endpoint of its own. */
const to = (host: string) => {
  endpoints += 1;
  return { host, endpointId: String(endpoints) };
};

const limitHosts = (host: HostLimits) => createRequestLimiter({ host, pace: unpaced() });

/** So many endpoints of one host with five requests each, none of which ends; returns how their waiting is ended. */
function hang(limiter: ReturnType<typeof createRequestLimiter>, count: number): () => Promise<unknown> {
  let isOver = false;
  const requests = Array.from({ length: count * 5 }, (_, n) =>
    limiter.acquire({ host: 'a', endpointId: `hanging ${Math.floor(n / 5)}` }, () => isOver),
  );
  return () => {
    isOver = true;
    return Promise.all(requests);
  };
}

describe('the limit of a host', () => {
  it('allows a number of concurrent requests to one host, and as many to another', async () => {
    const limiter = limitHosts({ connections: 2, requestsPerSecond: 100_000 });
    const [first] = [await limiter.acquire(to('a'), never), await limiter.acquire(to('a'), never)];
    const third = limiter.acquire(to('a'), never);
    assert.equal(await isOpen(third), false);
    assert.ok(await limiter.acquire(to('b'), never));
    first?.();
    assert.ok(await isOpen(third));
  });

  it('counts a name with the dot of its root as the same host', async () => {
    const limiter = limitHosts({ connections: 1, requestsPerSecond: 100_000 });
    const release = await limiter.acquire(to('a.example'), never);
    const other = limiter.acquire(to('a.example.'), never);
    assert.equal(await isOpen(other), false);
    release?.();
    assert.equal(await isOpen(other), true);
  });

  it('spreads requests to one host over time, whatever endpoint they are of', async () => {
    const limiter = limitHosts({ connections: 1000, requestsPerSecond: 100 });
    const startedAt = performance.now();
    let begun = 0;
    await Promise.all(
      Array.from({ length: 40 }, async () => {
        const release = await limiter.acquire(to('a'), never);
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
        const release = await limiter.acquire(to('a'), isOver);
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

  it('leaves room for an endpoint while four of its host hang', async () => {
    let isOver = false;
    const limiter = limitHosts({ connections: 20, requestsPerSecond: 100_000 });
    /** Five loops whose requests hang, and begin again when they end. */
    const hangAt = (endpointId: string) => {
      const releases: (() => void)[] = [];
      const loop = async () => {
        const release = await limiter.acquire({ host: 'a', endpointId }, () => isOver);
        if (release) releases.push(release);
      };
      const begin = () => Promise.race([Promise.all([loop(), loop(), loop(), loop(), loop()]), sleep(20)]);
      return { releases, begin };
    };
    const hanging = ['1', '2', '3', '4'].map(hangAt);
    await Promise.all(hanging.map(({ begin }) => begin()));
    const held = () => hanging.map(({ releases }) => releases.length);
    assert.equal(held()[0], 5, 'an endpoint has five connections while enough are free');
    const other = { host: 'a', endpointId: 'other' };
    for (let n = 0; n < 100; n += 1) {
      const request = limiter.acquire(other, never);
      assert.ok(await isOpen(request), `${held()} of 20`);
      (await request)?.();
      // From time to time the requests of one time out, and its loops go on.
      if (n % 10 > 0) continue;
      const { releases, begin } = hanging[(n / 10) % 4] as ReturnType<typeof hangAt>;
      for (const release of releases.splice(0)) release();
      await begin();
    }
    isOver = true;
  });

  it('leaves room for an endpoint while seven of its host begin to hang at once', async () => {
    const limiter = limitHosts({ connections: 20, requestsPerSecond: 100_000 });
    const end = hang(limiter, 7);
    for (let n = 0; n < 20; n += 1) {
      const request = limiter.acquire({ host: 'a', endpointId: 'other' }, never);
      assert.ok(await isOpen(request), 'nothing is left');
      (await request)?.();
    }
    await end();
  });

  it('has an endpoint wait for a third of the timeout where more begin to hang, and then no more', async () => {
    const limiter = createRequestLimiter({
      host: { connections: 20, requestsPerSecond: 100_000 },
      pace: unpaced(),
      timeoutMs: 900,
    });
    const end = hang(limiter, 8);
    const other = { host: 'a', endpointId: 'other' };
    const startedAt = performance.now();
    const release = await Promise.race([limiter.acquire(other, never), sleep(10_000)]);
    assert.ok(release, 'nothing is left for it');
    assert.ok(performance.now() - startedAt >= 250, 'a further hanging endpoint could have the last place at once');
    release();
    for (let n = 0; n < 20; n += 1) {
      const request = limiter.acquire(other, never);
      assert.ok(await isOpen(request));
      (await request)?.();
    }
    await end();
  });

  it('keeps connections from endpoints that go on hanging, however many, for one that answers', async () => {
    let isOver = false;
    const limiter = createRequestLimiter({
      host: { connections: 20, requestsPerSecond: 100_000 },
      pace: unpaced(),
      timeoutMs: 300,
    });
    const loops = Array.from({ length: 30 }, async (_, n) => {
      while (!isOver) {
        const release = await limiter.acquire({ host: 'a', endpointId: String(n) }, () => isOver);
        await sleep(300);
        release?.();
      }
    });
    await sleep(900);
    for (let n = 0; n < 20; n += 1) {
      const request = limiter.acquire({ host: 'a', endpointId: 'other' }, never);
      assert.ok(await isOpen(request), 'nothing is left');
      (await request)?.();
      await sleep(20);
    }
    isOver = true;
    await Promise.all(loops);
  });

  it('has its endpoints take turns, however many requests each has waiting', async () => {
    const limiter = limitHosts({ connections: 1, requestsPerSecond: 100_000 });
    const order: string[] = [];
    const run = async (endpointId: string) => {
      const release = await limiter.acquire({ host: 'a', endpointId }, never);
      order.push(endpointId);
      await nextTurn();
      release?.();
    };
    await Promise.all(['x', 'x', 'x', 'x', 'y', 'y', 'z'].map(run));
    assert.equal(order.join(''), 'xyzxyxx');
  });

  it('gives up a request that is no longer wanted', async () => {
    const limiter = limitHosts({ connections: 1, requestsPerSecond: 100_000 });
    assert.ok(await limiter.acquire(to('a'), never));
    let isOver = false;
    const second = limiter.acquire(to('a'), () => isOver);
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
      (await limiter.acquire(to('many'), never))?.();
      begun += 1;
    });
    (await limiter.acquire(to('few'), never))?.();
    assert.ok(begun <= 10, `${begun} before it`);
    await Promise.all(many);
  });

  it('gives back the room at the host of a request that is no longer wanted', async (t) => {
    const pace = unpaced();
    t.mock.method(pace, 'perSecond', () => 1);
    const limiter = createRequestLimiter({ host: { connections: 1, requestsPerSecond: 100_000 }, pace });
    (await limiter.acquire(to('a'), never))?.();
    let isOver = false;
    const second = limiter.acquire(to('a'), () => isOver);
    isOver = true;
    assert.equal(await second, undefined);
    // It would wait for the host for ever; so it waits for its turn.
    assert.ok(await limiter.acquire(to('a'), never));
  });
});
