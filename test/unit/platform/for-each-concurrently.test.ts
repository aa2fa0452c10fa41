import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { forEachConcurrently } from '../../../src/platform/for-each-concurrently.ts';

const { signal } = new AbortController();

async function* numbers(count: number): AsyncGenerator<number> {
  for (let n = 0; n < count; n += 1) yield n;
}

async function turns(count = 20): Promise<void> {
  for (let turned = 0; turned < count; turned += 1) await turn();
}

/** Work on numbers, each of which ends on command; 7 fails at once. */
function scene(atOnce: number, own = signal) {
  const [begun, ended]: [number[], number[]] = [[], []];
  const ends = new Map<number, () => void>();
  const done = forEachConcurrently(
    () => numbers(20),
    { atOnce, delayMs: 0, signal: own },
    async (n) => {
      begun.push(n);
      if (n === 7) throw new Error('refused');
      await new Promise<void>((resolve) => ends.set(n, resolve));
      ended.push(n);
    },
  );
  return { begun, ended, done, end: (n: number) => ends.get(n)?.() };
}

describe('work for each item, some at a time', () => {
  it('begins an item as soon as another has ended, in the order of the items', async () => {
    const { begun, done, end } = scene(3);
    done.catch(() => undefined);
    await turns();
    assert.deepEqual(begun, [0, 1, 2]);
    end(1);
    await turns();
    assert.deepEqual(begun, [0, 1, 2, 3]);
  });

  it('begins nothing after a failure, and fails when what had begun has ended', async () => {
    const { begun, ended, done, end } = scene(8);
    let isOver = false;
    const outcome = assert.rejects(done, /refused/).finally(() => (isOver = true));
    await turns();
    assert.deepEqual([begun, isOver], [[0, 1, 2, 3, 4, 5, 6, 7], false]);
    for (let n = 0; n < 7; n += 1) end(n);
    await outcome;
    assert.deepEqual([begun.length, ended], [8, [0, 1, 2, 3, 4, 5, 6]]);
  });

  it('begins nothing once its signal is aborted, on which it leaves no listener', async () => {
    const whole = new AbortController();
    const { begun, done, end } = scene(2, whole.signal);
    const outcome = assert.rejects(done, /stop/);
    await turns();
    whole.abort(new Error('stop'));
    for (const n of begun) end(n);
    await outcome;
    assert.deepEqual([begun, getEventListeners(whole.signal, 'abort')], [[0, 1], []]);
  });

  it('waits between two items, but not before the first', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const begun: number[] = [];
    const done = forEachConcurrently(
      () => numbers(2),
      { atOnce: 1, delayMs: 1000, signal },
      async (n) => void begun.push(n),
    );
    await turns();
    assert.deepEqual(begun, [0]);
    t.mock.timers.tick(1000);
    await done;
    assert.deepEqual(begun, [0, 1]);
  });

  it('finishes what had begun when no further item can be read', async () => {
    const ended: number[] = [];
    async function* broken(): AsyncGenerator<number> {
      yield 0;
      throw new Error('no item');
    }
    await assert.rejects(
      forEachConcurrently(broken, { atOnce: 2, delayMs: 0, signal }, async (n) => {
        await turns();
        ended.push(n);
      }),
      /no item/,
    );
    assert.deepEqual(ended, [0]);
  });

  it('stops reading items after a failure, however long the next one takes to be found', async () => {
    let reads = 0;
    async function* search(own: AbortSignal): AsyncGenerator<number> {
      yield 0;
      for (; reads < 5000; reads += 1) {
        own.throwIfAborted();
        await turn();
      }
    }
    await assert.rejects(
      forEachConcurrently(search, { atOnce: 2, delayMs: 0, signal }, async () => {
        await turns();
        throw new Error('refused');
      }),
      /refused/,
    );
    assert.ok(reads < 100, `read ${reads} times`);
  });
});
