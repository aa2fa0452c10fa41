import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { interpretQuestion } from '../../../../src/domain/analytics/statistics.ts';
import type { Outcome } from '../../../../src/domain/outcome.ts';
import { translationLanguages } from '../../../../src/domain/translation/languages.ts';
import { createReportDrawer } from '../../../../src/pipelines/ai/draw-report.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

const skip = spawnSync('pdftotext', ['-v']).error ? 'pdftotext is not installed' : false;

describe('a report as PDF', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'survey-report-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const drawReport = createReportDrawer();

  const draw = async (
    language: string,
    {
      text = 'Most of them chose soup.',
      hasRecommendations = true,
      outcomes,
      isDeleted = false,
    }: { text?: string; hasRecommendations?: boolean; outcomes?: Record<Outcome, number>; isDeleted?: boolean } = {},
  ): Promise<string> => {
    const { survey, question } = withQuestion(
      { ...blankSurvey(), title: 'Lunch', language },
      { type: 'CHECKBOXES', text: 'Which dish?', options: [{ text: 'Soup' }, { text: 'Salad' }], settings: {} },
    );
    const counted = { base: 41, partBases: [] };
    const figure = interpretQuestion(question, [{ kind: 'bits', counts: [37, 11] }], counted, 41);
    const bytes = await drawReport({
      survey: isDeleted ? { ...survey, questions: [{ ...question, isHidden: true }] } : survey,
      createdAt: new Date('2026-03-01T10:00:00Z'),
      head: { totalResponses: 41, completeResponses: 40, completionRate: 97.6, averageDuration: 61 },
      outcomes,
      figures: isDeleted ? [{ ...figure, questionId: 'gone' }, figure] : [figure],
      report: {
        title: 'What they eat',
        sections: [
          { heading: 'Dishes', text, questionIds: [question.id] },
          { heading: 'Again', text: 'Soup.', questionIds: [question.id] },
        ],
        ...(hasRecommendations && { recommendations: ['Cook soup.'] }),
      },
    });
    const path = join(folder, 'report.pdf');
    writeFileSync(path, bytes);
    const run = spawnSync('pdftotext', ['-layout', path, '-'], { encoding: 'utf8' });
    assert.equal(run.status, 0, run.stderr);
    return run.stdout;
  };

  it('has its sections, the chart of a question in the first section that refers to it, and the recommendations', async () => {
    const found = await draw('en');
    for (const wanted of [
      'What they eat',
      'Lunch',
      'Responses: 41',
      '97.6 %',
      '2026-03-01',
      'Dishes',
      'Most of them chose soup.',
      'Soup',
      '37',
      '90.2',
      'Again',
      'Recommendations',
      '1. Cook soup.',
    ])
      assert.ok(found.includes(wanted), wanted);
    assert.match(found, /\b1 ?\/ ?1\b/);
    assert.equal(found.split('Which dish?').length, 2);
    assert.ok(!(await draw('en', { hasRecommendations: false })).includes('Recommendations'));
  });

  it('has the charts of questions that were deleted since, with the numbers of that time', async () => {
    const found = await draw('en', { isDeleted: true });
    for (const wanted of ['2. Which dish?', 'Soup', '90.2']) assert.ok(found.includes(wanted), wanted);
  });

  it('says how many responses the figures of questions leave out, and why', async () => {
    const outcomes = { PARTIAL: 1, COMPLETED: 30, SCREENED_OUT: 7, OVER_QUOTA: 3 };
    assert.match(
      await draw('en', { outcomes }),
      /Not in the figures of questions: Screened out \(7\), Over quota \(3\)/,
    );
    const none = { PARTIAL: 1, COMPLETED: 40, SCREENED_OUT: 0, OVER_QUOTA: 0 };
    for (const found of [await draw('en', { outcomes: none }), await draw('en')])
      assert.ok(!found.includes('Not in the figures'));
  });

  it('has as many pages as its text takes', async () => {
    const found = await draw('en', { text: Array.from({ length: 1500 }, (_, index) => `word${index}`).join(' ') });
    assert.ok(found.includes('word0') && found.includes('word1499'));
    assert.match(found, /\b2 ?\/ ?[3-9]\b/);
  });

  it('is drawn in every language', async () => {
    const drawn: string[] = [];
    for (const language of translationLanguages) drawn.push(await draw(language));
    assert.equal(
      drawn.filter((text) => text.includes('37') && /Cook soup/.test(text)).length,
      translationLanguages.length,
    );
    const headings: Record<string, string> = {
      de: 'Empfehlungen',
      ru: 'Рекомендации',
      ja: '提言',
      'zh-Hant': '建議',
      'zh-Hans': '建议',
    };
    for (const [language, heading] of Object.entries(headings))
      assert.ok(
        drawn[translationLanguages.indexOf(language as (typeof translationLanguages)[number])]?.includes(heading),
        language,
      );
  });
});
