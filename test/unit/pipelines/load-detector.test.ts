import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLoadDetector } from '../../../src/pipelines/load-detector.ts';

describe('the load detector', () => {
  const watch = (intake: string[][], processors: { user?: number; nice?: number; idle?: number }[]) => {
    let [turn, sum] = [-1, { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 }];
    const isRush = createLoadDetector({
      newest: async () => intake[turn] ?? [],
      cpus: () => {
        const { user = 0, nice = 0, idle = 0 } = processors[turn] ?? {};
        sum = { ...sum, user: sum.user + user, nice: sum.nice + nice, idle: sum.idle + idle };
        return [{ model: '', speed: 0, times: sum }];
      },
    });
    return async (): Promise<boolean> => {
      turn += 1;
      return isRush();
    };
  };

  it('detects load while responses come in and other work takes the processors', async () => {
    const look = watch(
      [
        ['1-0', '1-0'],
        ['1-0', '2-0'],
        ['1-0', '2-0'],
        ['3-0', '2-0'],
        ['4-0', '2-0'],
      ],
      [
        { user: 90, idle: 10 },
        { user: 90, idle: 10 },
        { user: 90, idle: 10 },
        { user: 10, nice: 80, idle: 10 },
        { user: 80, nice: 20 },
      ],
    );
    const seen: boolean[] = [];
    for (let turn = 0; turn < 5; turn += 1) seen.push(await look());
    // At first nothing can be said; then a rush; then nobody answers; then only work below normal priority is heavy;
    // then a rush again.
    assert.deepEqual(seen, [false, true, false, false, true]);
  });
});
