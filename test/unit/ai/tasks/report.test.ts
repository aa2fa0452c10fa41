import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type QuestionAnalytics, reportTask } from '../../../../src/ai/tasks/report.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

/** The part of the prompt on one question of a type, with these statistics. */
function told(type: 'NUMBER' | 'RATING_SCALE', figures: Partial<QuestionAnalytics>): Record<string, unknown> {
  const { survey, question } = withQuestion(blankSurvey(), { type, text: 'How many?' });
  const base = {
    questionId: question.id,
    responseCount: 20,
    skippedCount: 0,
    averageValue: 4.2,
    medianValue: 4,
    standardDeviation: 1,
    minValue: 1,
    maxValue: 5,
    distribution: { 4: 20 },
    ...figures,
  };
  const head = { totalResponses: 20, completeResponses: 20, completionRate: 1, averageDuration: 30 };
  const { data } = reportTask(
    { survey, head, figures: [base], themes: [], themesBase: 0, summary: undefined },
    { hasRecommendations: false, language: 'en' },
  );
  const [first] = (data as { questions: Record<string, unknown>[] }).questions;
  assert.ok(first);
  return first;
}

describe('the material of a report', () => {
  it('contains average and median of many numbers, and never the numbers', () => {
    const { average, median, counts } = told('NUMBER', { averageValue: 31.5, medianValue: 30 });
    assert.deepEqual([average, median, counts], [31.5, 30, undefined]);
  });

  it('contains neither of few numbers, since the median is somebody’s answer', () => {
    const { answered, average, median } = told('NUMBER', { responseCount: 4, averageValue: 31.5, medianValue: 30 });
    assert.deepEqual([answered, average, median], [4, undefined, undefined]);
  });

  it('contains neither of numbers as long as telephone numbers', () => {
    for (const figures of [
      { averageValue: 491_711_234_567, medianValue: 5 },
      { averageValue: 5, medianValue: 1_234_567 },
      { averageValue: -5_555_555, medianValue: 5 },
    ]) {
      const { average, median } = told('NUMBER', figures);
      assert.deepEqual([average, median], [undefined, undefined]);
    }
  });

  it('contains the base of themes, which is not that of the counts of questions', () => {
    const head = { totalResponses: 1300, completeResponses: 1000, completionRate: 76.9, averageDuration: 30 };
    const themes = [{ name: 'Price', count: 1200, sentiment: 'negative' as const }];
    const { data, system } = reportTask(
      { survey: blankSurvey(), head, figures: [], themes, themesBase: 1290, summary: undefined },
      { hasRecommendations: false, language: 'en' },
    );
    const sent = data as { themes: unknown; themesBase: unknown };
    assert.deepEqual([sent.themes, sent.themesBase], [themes, 1290]);
    assert.match(system, /"themesBase": responses of every outcome/);
  });

  it('contains both of scales, however few answered', () => {
    const { average, median, counts } = told('RATING_SCALE', { responseCount: 1 });
    assert.deepEqual([average, median, counts], [4.2, 4, [{ answer: '4', count: 20 }]]);
  });
});
