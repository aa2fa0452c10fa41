import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { failuresOf, runPostgresChaos } from '../support/postgres-chaos.ts';
import { assertWithin } from '../support/time-bars.ts';

/** The long version, at 1,000 submissions a second for minutes: npm run chaos:postgres */
describe('connections to PostgreSQL that are silently dead', () => {
  it('delay no submission and no storing, are reported by readiness, and lose nothing', async () => {
    const lines: string[] = [];
    const report = await runPostgresChaos({
      fault: 'frozen',
      perSecond: 300,
      seconds: 20,
      say: (line) => lines.push(line),
    });
    assert.deepEqual(failuresOf(report), [], `${JSON.stringify(report)}\n${lines.join('\n')}`);
    assert.ok(report.acknowledged > 3000, 'the load was there');
    const { statuses, slowestMs } = report.analytics;
    assert.deepEqual(
      Object.keys(statuses).filter((status) => status !== '200' && status !== '503'),
      [],
      'analytics answer, or refuse in time',
    );
    assertWithin(15_000, slowestMs, 'an analytics call');
    assertWithin(20_000, report.recoveredSeconds * 1000, 'the recovery');
  });
});
