import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { eachInFlight } from '../../src/pipelines/ai/analysis/flights.ts';

async function* numbers(count: number): AsyncGenerator<number> {
  for (let n = 0; n < count; n += 1) yield n;
}

describe('calls that are under way together', () => {
  it('are let end and are stored when one of them is refused, and none begins after it', async () => {
    const [begun, stored]: [number[], number[]] = [[], []];
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const { signal } = new AbortController();
    const all = eachInFlight(numbers(20), { atOnce: 8, delayMs: 0, signal }, async (n, own) => {
      begun.push(n);
      if (n === 7) throw new Error('refused');
      await answered;
      own.throwIfAborted();
      stored.push(n);
    });
    const outcome = assert.rejects(all, /refused/);
    while (begun.length < 8) await turn();
    for (let turns = 0; turns < 20; turns += 1) await turn();
    answer();
    await outcome;
    assert.deepEqual([begun, stored], [[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6]]);
  });

  it('are broken off when the work as a whole is', async () => {
    const whole = new AbortController();
    let broken = 0;
    const all = eachInFlight(numbers(4), { atOnce: 2, delayMs: 0, signal: whole.signal }, (_, own) =>
      new Promise((_resolve, reject) => own.addEventListener('abort', () => { broken += 1; reject(new Error('broken off')); })));
    const outcome = assert.rejects(all);
    await turn();
    await turn();
    whole.abort();
    await outcome;
    assert.ok(broken > 0);
  });
});
