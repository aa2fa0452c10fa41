import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { type OverlappedCall, overlapCalls } from '../../../../../src/pipelines/ai/analysis/overlapped-calls.ts';
import { prefetch } from '../../../../../src/pipelines/ai/analysis/prefetch.ts';

async function* numbers(count: number): AsyncGenerator<number> {
  for (let n = 0; n < count; n += 1) yield n;
}

async function turns(count = 20): Promise<void> {
  for (let turned = 0; turned < count; turned += 1) await turn();
}

/** Something that lasts until it is told to end. */
function gate(): { ended: Promise<void>; end(): void } {
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { ended, end };
}

const { signal } = new AbortController();
const nothing = async (): Promise<void> => undefined;

describe('calls that are under way together', () => {
  it('are let end and are stored when one of them is refused, and none begins after it', async () => {
    const [begun, stored]: [number[], number[]] = [[], []];
    const answer = gate();
    const call = async (n: number, { signal: own }: OverlappedCall) => {
      begun.push(n);
      if (n === 7) throw new Error('refused');
      await answer.ended;
      own.throwIfAborted();
      return n;
    };
    const all = overlapCalls(
      () => numbers(20),
      { atOnce: 8, delayMs: 0, signal },
      { call, store: nothing, finish: async (n) => void stored.push(n) },
    );
    const outcome = assert.rejects(all, /refused/);
    while (begun.length < 8) await turn();
    await turns();
    answer.end();
    await outcome;
    assert.deepEqual(
      [begun, stored],
      [
        [0, 1, 2, 3, 4, 5, 6, 7],
        [0, 1, 2, 3, 4, 5, 6],
      ],
    );
  });

  it('are broken off when the work as a whole is', async () => {
    const whole = new AbortController();
    let broken = 0;
    const call = (_: number, { signal: own }: OverlappedCall): Promise<never> =>
      new Promise((_resolve, reject) =>
        own.addEventListener('abort', () => {
          broken += 1;
          reject(new Error('broken off'));
        }),
      );
    const all = overlapCalls(
      () => numbers(4),
      { atOnce: 2, delayMs: 0, signal: whole.signal },
      { call, store: nothing, finish: nothing },
    );
    const outcome = assert.rejects(all);
    await turn();
    await turn();
    whole.abort();
    await outcome;
    assert.ok(broken > 0);
  });

  it('go on while what came before is being finished, but not while two are', async () => {
    const begun: number[] = [];
    const stores = [gate(), gate(), gate(), gate()];
    let isOver = false;
    const call = async (n: number) => {
      begun.push(n);
      return n;
    };
    const all = overlapCalls(
      () => numbers(4),
      { atOnce: 1, delayMs: 0, signal },
      { call, store: nothing, finish: (n) => stores[n]?.ended ?? nothing() },
    ).then(() => {
      isOver = true;
      return isOver;
    });
    while (begun.length < 2) await turn();
    await turns();
    assert.deepEqual(begun, [0, 1], 'neither is finished yet');
    stores[0]?.end();
    while (begun.length < 3) await turn();
    stores[1]?.end();
    while (begun.length < 4) await turn();
    stores[2]?.end();
    await turns();
    assert.equal(isOver, false, 'the last is not finished yet');
    stores[3]?.end();
    await all;
  });

  it('are let end and are finished when one before them cannot be, and none begins after it', async () => {
    const [begun, stored]: [number[], number[]] = [[], []];
    const [answer, store] = [gate(), gate()];
    const call = async (n: number) => {
      begun.push(n);
      if (n === 1) await answer.ended;
      return n;
    };
    const finish = async (n: number) => {
      if (n === 0)
        await store.ended.then(() => {
          throw new Error('no room');
        });
      stored.push(n);
    };
    const outcome = assert.rejects(
      overlapCalls(() => numbers(9), { atOnce: 1, delayMs: 0, signal }, { call, store: nothing, finish }),
      /no room/,
    );
    while (begun.length < 2) await turn();
    store.end();
    await turns();
    answer.end();
    await outcome;
    assert.deepEqual([begun, stored], [[0, 1], [1]]);
  });
});

describe('a call that is made ready while an answer is being stored', () => {
  /** Calls that are answered at once; what comes back is stored when `store` says so. */
  function scene(count: number, atOnce: number, needsCall = (_: number) => true) {
    const [ready, begun, stored]: [number[], number[], number[]] = [[], [], []];
    const stores = Array.from({ length: count }, gate);
    const failing = new Set<number>();
    let most = 0;
    const call = async (n: number, { begin }: OverlappedCall) => {
      ready.push(n);
      if (needsCall(n)) {
        await begin();
        begun.push(n);
        most = Math.max(most, begun.length - stored.length);
      }
      return n;
    };
    const store = async (n: number) => {
      await stores[n]?.ended;
      if (failing.has(n)) throw new Error('no room');
      stored.push(n);
    };
    const all = overlapCalls(() => numbers(count), { atOnce, delayMs: 0, signal }, { call, store, finish: nothing });
    return { all, ready, begun, stored, failing, store: (n: number) => stores[n]?.end(), most: () => most };
  }

  it('begins only when that is over', async () => {
    const { all, ready, begun, stored, store } = scene(3, 1);
    await turns();
    assert.deepEqual([ready, begun, stored], [[0, 1], [0], []]);
    store(0);
    await turns();
    assert.deepEqual([ready, begun, stored], [[0, 1, 2], [0, 1], [0]]);
    for (const n of [1, 2]) store(n);
    await all;
    assert.deepEqual(begun, [0, 1, 2]);
  });

  it('does not begin where that fails, and is no failure of its own', async () => {
    const { all, ready, begun, failing, store } = scene(3, 1);
    failing.add(0);
    const outcome = assert.rejects(all, /no room/);
    await turns();
    store(0);
    await outcome;
    assert.deepEqual([ready, begun], [[0, 1], [0]]);
  });

  it('is out beside no more that are not stored than calls may be, in whatever order they are stored', async () => {
    const { all, begun, store, most } = scene(40, 4);
    for (let n = 0; n < 40; n += 1) {
      store((n + 2) % 40);
      if (n % 7 === 0) await turns(3);
    }
    await all;
    assert.deepEqual([begun.length, most()], [40, 4]);
  });

  it('waits in turn with what was known without a call, of which no more is under way', async () => {
    const { all, ready, begun, stored, store } = scene(5, 1, (n) => n === 3);
    await turns();
    assert.deepEqual([ready, stored], [[0, 1], []]);
    for (const n of [0, 1, 2]) store(n);
    await turns();
    assert.deepEqual([ready, begun, stored], [[0, 1, 2, 3, 4], [3], [0, 1, 2]]);
    for (const n of [3, 4]) store(n);
    await all;
    assert.deepEqual(stored, [0, 1, 2, 3, 4]);
  });
});

describe('a call that is prepared beside one that is under way', () => {
  /** Calls that are answered, and then stored, when they are told to; `failsAt` is no item but a failure. */
  function scene({ count = 5, atOnce = 1, delayMs = 0, areIndependent = true, failsAt = Infinity }) {
    const [prepared, near, begun, stored]: [number[], number[], number[], number[]] = [[], [], [], []];
    const [answers, stores] = [Array.from({ length: count }, gate), Array.from({ length: count }, gate)];
    async function* items(): AsyncGenerator<number> {
      for (let n = 0; n < count; n += 1) {
        if (n === failsAt) throw new Error('no item');
        yield n;
      }
    }
    const call = async (n: number, flight: OverlappedCall) => {
      prepared.push(n);
      await flight.near();
      near.push(n);
      await flight.begin();
      begun.push(n);
      await answers[n]?.ended;
      flight.heard();
      return n;
    };
    const store = async (n: number) => {
      await stores[n]?.ended;
      stored.push(n);
    };
    const all = overlapCalls(items, { atOnce, delayMs, areIndependent, signal }, { call, store, finish: nothing });
    const reached = async (length: number, numbers: readonly number[]): Promise<void> => {
      while (numbers.length < length) await turn();
      await turns();
    };
    return {
      all,
      prepared,
      near,
      begun,
      stored,
      reached,
      answer: (n: number) => answers[n]?.end(),
      store: (n: number) => stores[n]?.end(),
    };
  }

  it('is near when that is answered, begins when that is stored, and is one alone', async () => {
    const { all, prepared, near, begun, reached, answer, store } = scene({});
    await reached(2, prepared);
    assert.deepEqual([prepared, near, begun], [[0, 1], [0], [0]]);
    answer(0);
    await reached(2, near);
    assert.deepEqual([prepared, near, begun], [[0, 1], [0, 1], [0]]);
    store(0);
    await reached(3, prepared);
    assert.deepEqual(
      [prepared, near, begun],
      [
        [0, 1, 2],
        [0, 1],
        [0, 1],
      ],
    );
    for (let n = 0; n < 5; n += 1) [answer(n), store(n)];
    await all;
    assert.deepEqual(begun, [0, 1, 2, 3, 4]);
  });

  for (const [why, rules] of [
    ['another gives', { areIndependent: false }],
    ['AI_BATCH_DELAY_MS is over', { delayMs: 5 }],
  ] as const)
    it(`is none where it has to wait for what ${why}`, async () => {
      const { all, prepared, near, reached, answer, store } = scene(rules);
      await new Promise((resolve) => setTimeout(resolve, 30));
      assert.deepEqual([prepared, near], [[0], [0]]);
      answer(0);
      await reached(2, near);
      assert.deepEqual(
        [prepared, near],
        [
          [0, 1],
          [0, 1],
        ],
      );
      for (let n = 0; n < 5; n += 1) [answer(n), store(n)];
      await all;
    });

  for (const atOnce of [1, 2])
    it(`goes out although what comes behind it fails: ${atOnce} at a time`, async () => {
      const { all, near, begun, stored, reached, answer, store } = scene({ atOnce, failsAt: atOnce + 1 });
      const outcome = assert.rejects(all, /no item/);
      await reached(atOnce, begun);
      for (let n = 0; n < atOnce; n += 1) answer(n);
      await reached(atOnce + 1, near);
      assert.equal(begun.length, atOnce);
      for (let n = 0; n <= atOnce; n += 1) [answer(n), store(n)];
      await outcome;
      assert.deepEqual(
        stored,
        Array.from({ length: atOnce + 1 }, (_, n) => n),
      );
    });

  it('does not begin where the one before it fails', async () => {
    const begun: number[] = [];
    const call = async (n: number, { near, begin }: OverlappedCall) => {
      await near();
      await begin();
      begun.push(n);
      await new Promise((resolve) => setTimeout(resolve, 20));
      throw new Error('refused');
    };
    await assert.rejects(
      overlapCalls(
        () => numbers(5),
        { atOnce: 1, delayMs: 0, areIndependent: true, signal },
        { call, store: nothing, finish: nothing },
      ),
      /refused/,
    );
    assert.deepEqual(begun, [0]);
  });

  const failing = async function* (): AsyncGenerator<number> {
    yield 0;
    throw new Error('no item');
  };
  for (const [what, items, wanted] of [
    ['does', () => numbers(3), [0, 0, 1, 1, 2, 2]],
    ['is none after all, and does', failing, [0, 0]],
  ] as const)
    it(`${what} not keep that from being sent once more`, async () => {
      const begun: number[] = [];
      const call = async (n: number, { near, begin, heard }: OverlappedCall) => {
        for (let tries = 0; tries < 2; tries += 1) {
          await near();
          await begin();
          begun.push(n);
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        heard();
      };
      const all = overlapCalls(
        items,
        { atOnce: 1, delayMs: 0, areIndependent: true, signal },
        { call, store: nothing, finish: nothing },
      );
      await (items === failing ? assert.rejects(all, /no item/) : all);
      assert.deepEqual(begun, wanted);
    });
});

describe('what a failed call makes useless', () => {
  /** Finds one item, and then looks in vain; counts how often. */
  function search() {
    let looks = 0;
    async function* items(own: AbortSignal): AsyncGenerator<number, void> {
      yield 0;
      for (; looks < 5000; looks += 1) {
        own.throwIfAborted();
        await turn();
      }
    }
    return { items, looks: () => looks };
  }

  for (const count of [1, 4])
    it(`is not looked for to its end: with ${count} calls under way at a time`, async () => {
      const { items, looks } = search();
      const call = async () => {
        await turns();
        throw new Error('refused');
      };
      const outcome = overlapCalls(
        (own) => prefetch(items(own), count),
        { atOnce: count, delayMs: 0, signal },
        { call, store: nothing, finish: nothing },
      );
      await assert.rejects(outcome, /refused/);
      assert.ok(looks() < 100, `looked ${looks()} times`);
    });

  it('is not looked for to its end either where what was answered cannot be finished', async () => {
    const { items, looks } = search();
    const finish = async () => {
      throw new Error('no room');
    };
    await assert.rejects(
      overlapCalls(
        (own) => prefetch(items(own), 2),
        { atOnce: 2, delayMs: 0, signal },
        { call: async (n) => n, store: nothing, finish },
      ),
      /no room/,
    );
    assert.ok(looks() < 100, `looked ${looks()} times`);
  });

  it('is not looked for when the work as a whole is broken off, of which no listener is left', async () => {
    const whole = new AbortController();
    const { items, looks } = search();
    const outcome = assert.rejects(
      overlapCalls(
        (own) => prefetch(items(own), 2),
        { atOnce: 2, delayMs: 0, signal: whole.signal },
        { call: async (n) => n, store: nothing, finish: nothing },
      ),
      /stop/,
    );
    await turns();
    whole.abort(new Error('stop'));
    await outcome;
    assert.ok(looks() < 100, `looked ${looks()} times`);
    assert.deepEqual(getEventListeners(whole.signal, 'abort'), []);
  });
});
