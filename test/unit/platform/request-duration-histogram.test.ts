import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Histogram } from 'prom-client';
import { createMetrics, formatMetrics } from '../../../src/metrics.ts';
import { createRequestDurationHistogram } from '../../../src/platform/request-duration-histogram.ts';

const named = { name: 'call_seconds', help: 'Time of a call', buckets: [0.001, 0.01, 0.1, 1] };

describe('the histogram of request durations', () => {
  it('equals that of prom-client', async () => {
    const times = createRequestDurationHistogram(named);
    const twin = new Histogram({ ...named, labelNames: ['route', 'status'], registers: [] });
    for (const seconds of [0, 0.001, 0.0011, 0.01, 0.05, 0.1, 0.75, 1, 1.5, 60])
      for (const [route, status] of [
        ['/a', 200],
        ['/a', 404],
        ['/b', 200],
      ] as const)
        for (let n = status; n > 199; n -= 100) {
          times.observe(route, status, seconds);
          twin.observe({ route, status }, seconds);
        }
    // What a figure becomes in a message between processes, which leaves out what is undefined.
    const sent = (figure: object): unknown =>
      JSON.parse(JSON.stringify(figure, (key, value) => (key === 'exemplar' ? undefined : value)));
    assert.deepEqual(sent(await times.get()), sent(await twin.get()));
  });

  it('has its name and help before the first request', async () => {
    const text = await formatMetrics([await createMetrics().collect()]);
    assert.match(
      text,
      /^# HELP http_request_seconds Time from request to reply\n# TYPE http_request_seconds histogram$/m,
    );
  });
});
