import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { wordsOf } from '../../../../src/pipelines/exports/pdf/words.ts';
import { leftOutOf, summarise } from '../../../../src/pipelines/exports/summary.ts';
import type { SurveyCounts } from '../../../../src/stores/clickhouse/counts/totals.ts';
import { blankSurvey } from '../../../support/questions.ts';

const outcomes = { PARTIAL: 80, COMPLETED: 430, SCREENED_OUT: 20, OVER_QUOTA: 31 };

const languages = ['es', 'fr', 'de', 'it', 'pt', 'nl', 'pl', 'ru', 'zh-Hans', 'zh-Hant', 'ja', 'ko', 'ar', 'he'];

describe('the summary of an export', () => {
  const summaryOf = async (counted: number) => {
    const counts: Partial<SurveyCounts> = { total: 561, counted, outcomes, byDay: [], durationAverageMs: null };
    return summarise(
      { countSurvey: async () => ({ durationMedianSeconds: null, ...counts }) as SurveyCounts },
      { survey: blankSurvey(), questions: [], filters: [] },
    );
  };

  it('is counted in minutes if need be, as nobody waits for it', async () => {
    const limits: unknown[] = [];
    await summarise(
      {
        countSurvey: async ({ timeoutMs }) => {
          limits.push(timeoutMs);
          return { outcomes, byDay: [] } as unknown as SurveyCounts;
        },
      },
      { survey: blankSurvey(), questions: [], filters: [] },
    );
    assert.deepEqual(limits, [300_000]);
  });

  it('names the outcomes that the counts of questions leave out', async () => {
    const summary = await summaryOf(510);
    assert.equal(summary.countedResponses, 510);
    assert.deepEqual(leftOutOf(summary), [
      { outcome: 'SCREENED_OUT', count: 20 },
      { outcome: 'OVER_QUOTA', count: 31 },
    ]);
  });

  it('names none if outcomes are asked for, or if there are none to leave out', async () => {
    assert.deepEqual(leftOutOf(await summaryOf(561)), []);
    const ordinary = { PARTIAL: 2, COMPLETED: 4, SCREENED_OUT: 0, OVER_QUOTA: 0 };
    assert.deepEqual(leftOutOf({ totalResponses: 6, countedResponses: 6, outcomes: ordinary }), []);
  });

  it('has words for outcomes and for those not asked in every language', () => {
    const english = wordsOf('en');
    for (const language of languages)
      for (const word of ['partial', 'screenedOut', 'overQuota', 'leftOut', 'notAsked', 'analysed'] as const)
        assert.notEqual(wordsOf(language)[word], english[word], `${language}: ${word}`);
  });
});
