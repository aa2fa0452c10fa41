import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { responsesOverTime } from '../../../../src/pipelines/exports/pdf/responses-over-time.ts';
import { wordsOf } from '../../../../src/pipelines/exports/pdf/words.ts';

const shown = (byDay: { date: string; count: number }[]) => responsesOverTime(byDay, wordsOf('en'));

describe('the responses over time in a PDF', () => {
  it('are by day up to sixty days, those without responses included, and name the year', () => {
    assert.deepEqual(
      shown([
        { date: '2025-12-30', count: 3 },
        { date: '2026-01-02', count: 4 },
      ]),
      {
        heading: 'Responses by day (UTC)',
        columns: [
          { label: '2025-12-30', count: 3 },
          { label: '2025-12-31', count: 0 },
          { label: '2026-01-01', count: 0 },
          { label: '2026-01-02', count: 4 },
        ],
      },
    );
    assert.equal(
      shown([
        { date: '2026-01-01', count: 1 },
        { date: '2026-03-01', count: 1 },
      ]).columns.length,
      60,
    );
  });

  it('are by month or year where the survey ran for longer, and are all there', () => {
    const byMonth = shown([
      { date: '2025-11-30', count: 1 },
      { date: '2026-01-02', count: 4 },
      { date: '2026-01-31', count: 5 },
      { date: '2026-02-01', count: 2 },
    ]);
    assert.equal(byMonth.heading, 'Responses by month (UTC)');
    assert.deepEqual(
      byMonth.columns.map(({ label, count }) => `${label}: ${count}`),
      ['2025-11: 1', '2025-12: 0', '2026-01: 9', '2026-02: 2'],
    );
    const byYear = shown([
      { date: '2019-06-01', count: 7 },
      { date: '2026-02-01', count: 2 },
    ]);
    assert.equal(byYear.heading, 'Responses by year (UTC)');
    assert.deepEqual(
      byYear.columns.map(({ count }) => count),
      [7, 0, 0, 0, 0, 0, 0, 2],
    );
  });
});
