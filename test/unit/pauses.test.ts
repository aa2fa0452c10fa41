import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { queryObjects } from 'node:v8';
import { createPauses } from '../../src/pipelines/pauses.ts';

describe('pauses', () => {
  it('leave nothing behind when they are over', async () => {
    const { pause } = createPauses();
    const held = (): number => queryObjects(Promise, { format: 'count' });
    await pause(0);
    const before = held();
    await Promise.all(Array.from({ length: 500 }, () => pause(0)));
    assert.ok(held() - before < 100, `${held() - before} promises of 500 pauses are still held`);
  });

  it('end together, and at once from then on', async () => {
    const { pause, end } = createPauses();
    const long = [pause(60_000), pause(120_000)];
    const startedAt = performance.now();
    end();
    await Promise.all([...long, pause(60_000)]);
    assert.ok(performance.now() - startedAt < 10_000);
  });
});
