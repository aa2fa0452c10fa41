import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { slowness } from './machine-speed.ts';

const barMs = 20;
const maxRounds = 4;
/**
 * Asserts that a run takes no more milliseconds of processor time than a machine at rest may. Other programs may be
 * busy in some runs: one must keep the bar.
 */
export async function assertQuick(run: () => number | Promise<number>): Promise<void> {
  const measured: string[] = [];
  for (let round = 0; round < maxRounds; round += 1) {
    const slownessBefore = slowness();
    const tookMs = Math.min(await run(), await run(), await run());
    const factor = Math.max(slownessBefore, slowness());
    if (tookMs <= barMs * factor) return;
    measured.push(`${tookMs} ms on a machine ${factor.toFixed(2)} times as slow as at rest`);
  }
  assert.fail(measured.join('; '));
}

export function processorMs(run: () => void): number {
  const startedAt = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(startedAt);
  return (user + system) / 1000;
}

/** Processor time of the longest turn of the event loop while the work is done. */
export async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  let [longestMs, isDone] = [0, false];
  let startedAt = process.cpuUsage();
  const done = work().finally(() => (isDone = true));
  while (!isDone) {
    await nextTurn();
    const { user, system } = process.cpuUsage(startedAt);
    longestMs = Math.max(longestMs, (user + system) / 1000);
    startedAt = process.cpuUsage();
  }
  await done;
  return longestMs;
}
