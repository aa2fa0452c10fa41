import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ReportDocument } from '../../../../src/ai/tasks/report.ts';
import { Problem } from '../../../../src/errors.ts';
import { createReportDrawer } from '../../../../src/pipelines/ai/draw-report.ts';

describe('reports that are asked for at once', () => {
  it('are drawn one after the other; those beyond the queue are refused with Retry-After', async () => {
    let [atOnce, most] = [0, 0];
    const draw = createReportDrawer(async () => {
      most = Math.max(most, ++atOnce);
      await new Promise((resolve) => setImmediate(resolve));
      atOnce -= 1;
      return new Uint8Array([1]);
    });
    const drawn = await Promise.allSettled(Array.from({ length: 20 }, () => draw({} as ReportDocument)));
    const refused = drawn.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    assert.deepEqual([most, drawn.length - refused.length], [1, 9]);
    assert.ok(
      refused.every(
        (reason) =>
          reason instanceof Problem && reason.code === 'SERVICE_UNAVAILABLE' && reason.retryAfterSeconds === 5,
      ),
    );
  });
});
