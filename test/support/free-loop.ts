import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { slowness } from './machine-speed.ts';
import type { createProcessProbe, ProcessState } from './process-probe.ts';

/** Milliseconds of processor time that the event loop may be held; Infinity where nothing is said. */
export interface LoopBars {
  p99Ms?: number;
  maxMs?: number;
}

/** The bar of the event loop. */
export const loopBarMs = 20;
/** Other programs may be busy in some rounds: one must keep the bars. */
const maxRounds = 4;

/**
 * Runs a round of calls until one holds the event loop of the process no longer than the bars say, which are longer on
 * a slower machine; fails with what was measured where none does.
 */
export async function assertLoopStaysFree(
  probe: ReturnType<typeof createProcessProbe>,
  pid: number,
  bars: LoopBars,
  round: () => Promise<unknown>,
): Promise<void> {
  const measured: string[] = [];
  for (let n = 0; n < maxRounds; n += 1) {
    const slownessBefore = slowness();
    await noticeClosedConnections();
    probe.begin(pid);
    await round();
    const state = await probe.read(pid);
    const factor = Math.max(slownessBefore, slowness());
    measured.push(`${shown(state)} on a machine ${factor.toFixed(2)} times as slow as at rest`);
    if (isWithin(state, bars, factor)) {
      console.log(`event loop held: ${measured.join('; ')}`);
      return;
    }
  }
  assert.fail(measured.join('; '));
}

/**
 * On a busy machine, measuring its speed takes so many seconds that the service has closed idle connections meanwhile;
 * a call over one of them would fail. Events of connections come between two turns, so the first may be before them.
 */
async function noticeClosedConnections(): Promise<void> {
  await nextTurn();
  await nextTurn();
}

const shown = ({ p99Ms, maxMs }: ProcessState): string => `p99 ${p99Ms.toFixed(1)} ms, longest ${maxMs.toFixed(1)} ms`;

const isWithin = ({ p99Ms, maxMs }: ProcessState, bars: LoopBars, factor: number): boolean =>
  p99Ms <= (bars.p99Ms ?? Number.POSITIVE_INFINITY) * factor &&
  maxMs <= (bars.maxMs ?? Number.POSITIVE_INFINITY) * factor;
