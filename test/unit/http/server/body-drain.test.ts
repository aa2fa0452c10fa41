import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createBodyDrain } from '../../../../src/http/server/body-drain.ts';

const limitBytes = 1000;
const drainOf = (declaredBytes = 2000) =>
  createBodyDrain({ limitBytes, declaredBytes, onAbort: (listener) => (abort = listener) });
let abort: () => void;

describe('waiting for the rest of a body that is refused', () => {
  it('lasts until its last chunk', async () => {
    const drain = drainOf();
    const outcome = settlingOf(drain.drained());
    for (let sent = 0; sent < 5; sent += 1) {
      await pause(20);
      drain.received(100, false);
      assert.equal(outcome.isSettled, false);
    }
    drain.received(100, true);
    await outcome.settled;
  });

  it('does not take a pause of the service for one of the sender', async () => {
    const drain = drainOf();
    const outcome = settlingOf(drain.drained());
    holdEventLoop(600);
    await pause(50);
    assert.equal(outcome.isSettled, false);
    drain.received(100, true);
    await outcome.settled;
  });

  it('ends when the sender pauses', async () => {
    // Set in the same turn, since timers count from its beginning: however late that is, this one comes first.
    const before = pause(450);
    const outcome = settlingOf(drainOf().drained());
    await before;
    assert.equal(outcome.isSettled, false);
    await outcome.settled;
  });

  it('ends when the client has gone, or the body is far too large, although more of it comes', async () => {
    const startedAt = performance.now();
    const drain = drainOf();
    const outcome = settlingOf(drain.drained());
    abort();
    const [declaredTooLarge, sentTooMuch] = [drainOf(10_000_000), drainOf()];
    sentTooMuch.received(10_000_000, false);
    const sender = setInterval(() => {
      for (const each of [drain, declaredTooLarge, sentTooMuch]) each.received(1, false);
    }, 5);
    await Promise.all([outcome.settled, declaredTooLarge.drained(), sentTooMuch.drained()]);
    clearInterval(sender);
    assert.ok(performance.now() - startedAt < 5000);
  });
});

function settlingOf(settled: Promise<void>) {
  const outcome = { settled, isSettled: false };
  void settled.then(() => (outcome.isSettled = true));
  return outcome;
}

function holdEventLoop(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}
