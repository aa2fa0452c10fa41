import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { createInterruptibleSleep } from '../../../../src/pipelines/ingest/interruptible-sleep.ts';

/**
 * Says how many of 500 pauses are still held when they are over. On a thread, whose memory is looked through at once:
 * that of all tests takes long.
 */
const counting = new URL(
  `data:text/javascript,${encodeURIComponent(`
  import { setFlagsFromString } from 'node:v8';
  import { runInNewContext } from 'node:vm';
  import { parentPort } from 'node:worker_threads';
  import { createInterruptibleSleep } from ${JSON.stringify(new URL('../../../../src/pipelines/ingest/interruptible-sleep.js', import.meta.url).href)};
  setFlagsFromString('--expose-gc');
  const { sleep: pause } = createInterruptibleSleep();
  const pauses = await (async () => {
    const all = Array.from({ length: 500 }, () => pause(0));
    await Promise.all(all);
    return all.map((one) => new WeakRef(one));
  })();
  await pause(1);
  runInNewContext('gc')();
  parentPort.postMessage(pauses.filter((one) => one.deref()).length);`)}`,
);

describe('interruptible sleep', () => {
  it('leaves nothing in memory when it is over', async () => {
    const [held] = await once(new Worker(counting), 'message');
    assert.ok(held < 100, `${held} promises of 500 pauses are still held`);
  });

  it('ends for all sleepers at once, and soon from then on', async () => {
    const { sleep, wakeAll } = createInterruptibleSleep();
    const long = [sleep(60_000), sleep(120_000)];
    const startedAt = performance.now();
    wakeAll();
    await Promise.all([...long, sleep(60_000)]);
    assert.ok(performance.now() - startedAt < 10_000);
  });

  it('lets a loop of attempts that fail at once give way after the end', async () => {
    const { sleep, wakeAll } = createInterruptibleSleep();
    wakeAll();
    let isOver = false;
    setTimeout(() => (isOver = true), 100);
    let attempts = 0;
    while (!isOver && attempts < 10_000) {
      attempts += 1;
      await sleep(60_000);
    }
    assert.ok(attempts < 20, `${attempts} attempts in a tenth of a second`);
  });
});
