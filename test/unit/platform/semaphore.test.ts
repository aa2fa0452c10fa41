import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Problem } from '../../../src/errors.ts';
import { createSemaphore } from '../../../src/platform/semaphore.ts';

describe('semaphore', () => {
  it('runs and queues as many tasks as it is told, in order, and refuses the rest', async () => {
    const semaphore = createSemaphore({
      concurrency: 2,
      maxQueued: 3,
      retryAfterSeconds: 7,
      queueFullMessage: 'Too many at this moment',
    });
    const [started, finish]: [number[], (() => void)[]] = [[], []];
    const work = Array.from({ length: 5 }, (_, n) =>
      semaphore.run(
        () =>
          new Promise<number>((resolve) => {
            started.push(n);
            finish.push(() => resolve(n));
          }),
      ),
    );
    await assert.rejects(
      semaphore.run(async () => 0),
      (error) => error instanceof Problem && error.code === 'SERVICE_UNAVAILABLE' && error.retryAfterSeconds === 7,
    );
    assert.throws(semaphore.assertCapacity, /at this moment/);
    for (let n = 0; n < 5; n += 1) {
      assert.deepEqual(started, [0, 1, 2, 3, 4].slice(0, n + 2));
      finish[n]?.();
      assert.equal(await work[n], n);
      await new Promise(setImmediate);
    }
    semaphore.assertCapacity();
    assert.equal(await semaphore.run(async () => 9), 9);
  });

  it('frees the slot of work that fails', async () => {
    const semaphore = createSemaphore({
      concurrency: 1,
      maxQueued: 0,
      retryAfterSeconds: 1,
      queueFullMessage: 'Too many at this moment',
    });
    for (let n = 0; n < 3; n += 1)
      await assert.rejects(
        semaphore.run(() => Promise.reject(new Error('broken'))),
        /broken/,
      );
    assert.equal(await semaphore.run(async () => 1), 1);
  });

  it('admits no task whose caller has gone away while it waited', async () => {
    const semaphore = createSemaphore({ concurrency: 1 });
    const leaving = new AbortController();
    let finish = () => {};
    const first = semaphore.run(
      () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    );
    const second = semaphore.run(async () => assert.fail('it was admitted'), leaving.signal);
    const third = semaphore.run(async () => 'served', new AbortController().signal);
    leaving.abort(new Error('gone away'));
    await assert.rejects(second, /gone away/);
    await assert.rejects(
      semaphore.run(async () => assert.fail('it was admitted'), leaving.signal),
      /gone away/,
    );
    finish();
    await first;
    assert.equal(await third, 'served');
  });
});
