import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { eventually } from './eventually.ts';

/** Counts the calls of a page whose replies are not read yet; a reply counts until the task after it was read. */
const countCalls = `{
  const call = globalThis.fetch;
  const nextTask = () => new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = resolve;
    port2.postMessage(0);
  });
  globalThis.callsUnderWay = 0;
  globalThis.fetch = (...request) => {
    globalThis.callsUnderWay += 1;
    const reply = call(...request);
    const end = () => nextTask().then(() => (globalThis.callsUnderWay -= 1));
    reply.then((response) => response.clone().arrayBuffer()).then(end, end);
    return reply;
  };
}`;

/**
 * Stops the clock of a page, also after a reload. Time passes by the function that is given alone, a second at a time,
 * and only while no call is under way: a slow machine makes no other calls than a fast one.
 */
export async function stopClock(page: Page): Promise<(seconds: number) => Promise<void>> {
  await page.addInitScript(countCalls);
  await page.evaluate(countCalls);
  await page.clock.install();
  await page.clock.pauseAt(Date.now() + 60_000);
  const noCalls = () =>
    eventually(async () => assert.equal(await page.evaluate('globalThis.callsUnderWay'), 0, 'calls under way'));
  return async (seconds) => {
    for (let second = 0; second < seconds; second += 1) {
      await noCalls();
      await page.clock.runFor(1000);
    }
    await noCalls();
  };
}
