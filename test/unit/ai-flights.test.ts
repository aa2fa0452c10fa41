import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ahead } from '../../src/pipelines/ai/analysis/ahead.ts';
import { eachInFlight } from '../../src/pipelines/ai/analysis/flights.ts';

async function* numbers(count: number): AsyncGenerator<number> {
  for (let n = 0; n < count; n += 1) yield n;
}

async function turns(count = 20): Promise<void> {
  for (let turned = 0; turned < count; turned += 1) await turn();
}

/** Something that lasts until it is told to end. */
function gate(): { ended: Promise<void>; end(): void } {
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  return { ended, end };
}

const { signal } = new AbortController();
const nothing = async (): Promise<void> => undefined;

describe('calls that are under way together', () => {
  it('are let end and are stored when one of them is refused, and none begins after it', async () => {
    const [begun, stored]: [number[], number[]] = [[], []];
    const answer = gate();
    const call = async (n: number, own: AbortSignal) => {
      begun.push(n);
      if (n === 7) throw new Error('refused');
      await answer.ended;
      own.throwIfAborted();
      return n;
    };
    const all = eachInFlight(() => numbers(20), { atOnce: 8, delayMs: 0, signal }, { call, finish: async (n) => void stored.push(n) });
    const outcome = assert.rejects(all, /refused/);
    while (begun.length < 8) await turn();
    await turns();
    answer.end();
    await outcome;
    assert.deepEqual([begun, stored], [[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6]]);
  });

  it('are broken off when the work as a whole is', async () => {
    const whole = new AbortController();
    let broken = 0;
    const call = (_: number, own: AbortSignal): Promise<never> => new Promise((_resolve, reject) => own.addEventListener('abort', () => { broken += 1; reject(new Error('broken off')); }));
    const all = eachInFlight(() => numbers(4), { atOnce: 2, delayMs: 0, signal: whole.signal }, { call, finish: nothing });
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
    const call = async (n: number) => (begun.push(n), n);
    const all = eachInFlight(() => numbers(4), { atOnce: 1, delayMs: 0, signal }, { call, finish: (n) => stores[n]?.ended ?? nothing() }).then(() => (isOver = true));
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
      if (n === 0) await store.ended.then(() => { throw new Error('no room'); });
      stored.push(n);
    };
    const outcome = assert.rejects(eachInFlight(() => numbers(9), { atOnce: 1, delayMs: 0, signal }, { call, finish }), /no room/);
    while (begun.length < 2) await turn();
    store.end();
    await turns();
    answer.end();
    await outcome;
    assert.deepEqual([begun, stored], [[0, 1], [1]]);
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
      const outcome = eachInFlight((own) => ahead(items(own), count), { atOnce: count, delayMs: 0, signal }, { call, finish: nothing });
      await assert.rejects(outcome, /refused/);
      assert.ok(looks() < 100, `looked ${looks()} times`);
    });

  it('is not looked for to its end either where what was answered cannot be finished', async () => {
    const { items, looks } = search();
    const finish = async () => {
      throw new Error('no room');
    };
    await assert.rejects(eachInFlight((own) => ahead(items(own), 2), { atOnce: 2, delayMs: 0, signal }, { call: async (n) => n, finish }), /no room/);
    assert.ok(looks() < 100, `looked ${looks()} times`);
  });

  it('is not looked for when the work as a whole is broken off, of which no listener is left', async () => {
    const whole = new AbortController();
    const { items, looks } = search();
    const outcome = assert.rejects(eachInFlight((own) => ahead(items(own), 2), { atOnce: 2, delayMs: 0, signal: whole.signal }, { call: async (n) => n, finish: nothing }), /stop/);
    await turns();
    whole.abort(new Error('stop'));
    await outcome;
    assert.ok(looks() < 100, `looked ${looks()} times`);
    assert.deepEqual(getEventListeners(whole.signal, 'abort'), []);
  });
});

describe('items that are made ahead', () => {
  it('are so many more than are taken, and in their order', async () => {
    let made = 0;
    async function* items(): AsyncGenerator<number, void> {
      for (; made < 9; ) yield made++;
    }
    const taken: number[] = [];
    for await (const item of ahead(items(), 2)) {
      await turns();
      taken.push(item);
      assert.equal(made, Math.min(9, item + 3));
    }
    assert.deepEqual(taken, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('are all taken before the failure that came after them', async () => {
    async function* items(): AsyncGenerator<number, void> {
      yield* [0, 1];
      throw new Error('broken');
    }
    const taken: number[] = [];
    await assert.rejects(async () => {
      for await (const item of ahead(items(), 5)) {
        await turns();
        taken.push(item);
      }
    }, /broken/);
    assert.deepEqual(taken, [0, 1]);
  });

  it('end, with what they are made from, when nobody takes more', async () => {
    let isClosed = false;
    async function* items(): AsyncGenerator<number, void> {
      try {
        for (let n = 0; ; n += 1) yield n;
      } finally {
        isClosed = true;
      }
    }
    for await (const item of ahead(items(), 3)) if (item === 2) break;
    assert.ok(isClosed);
  });
});
