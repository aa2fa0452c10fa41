import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMetrics, readMetrics } from '../../../src/metrics.ts';
import { createProcessMetrics } from '../../../src/processes/process-metrics.ts';

describe('the metrics of several processes', () => {
  it('count on while a process is late, when one has ended, and under the same name again', async () => {
    const processMetrics = createProcessMetrics();
    const shown = async () => {
      const read = await readMetrics(await processMetrics.all());
      const sumOf = (name: string) => read(name).reduce((sum, { value }) => sum + value, 0);
      const durations = read('http_request_seconds').filter(({ labels }) => labels['le'] === '+Inf');
      return [
        sumOf('http_refusals_total'),
        durations.reduce((sum, { value }) => sum + value, 0),
        sumOf('process_resident_memory_bytes') > 0,
      ];
    };
    const report = async (name: string, refusals: number) => {
      const metrics = createMetrics(name);
      for (let n = 0; n < refusals; n += 1) metrics.refused('NOT_FOUND');
      metrics.requested('/surveys', 404, 0.002);
      processMetrics.reported(name, await metrics.collect());
    };
    await report('http-1', 3);
    await report('http-2', 4);
    assert.deepEqual(await shown(), [7, 2, true]);
    assert.deepEqual(await shown(), [7, 2, true], 'neither has reported again');
    processMetrics.ended('http-1');
    processMetrics.ended('http-1');
    assert.deepEqual(await shown(), [7, 2, true]);
    processMetrics.ended('http-2');
    assert.deepEqual(await shown(), [7, 2, false], 'memory is no count');
    await report('http-1', 2);
    assert.deepEqual(await shown(), [9, 3, true]);
  });
});
