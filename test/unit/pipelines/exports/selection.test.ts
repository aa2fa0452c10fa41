import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseFilter } from '../../../../src/domain/analytics/filter.ts';
import type { ParsedFilter } from '../../../../src/domain/questions/contract.ts';
import { layoutOf } from '../../../../src/pipelines/exports/columns.ts';
import { fileSelection, selectionTexts } from '../../../../src/pipelines/exports/selection.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

const nps = withQuestion(blankSurvey(), { type: 'NPS', text: 'Recommend?' });
const meals = withQuestion(nps.survey, {
  type: 'MATRIX',
  text: 'How were the meals?',
  options: [{ text: 'Good' }, { text: 'Bad' }],
  settings: { rows: [{ text: 'Breakfast' }, { text: 'Dinner' }] },
});
const long = withQuestion(meals.survey, { type: 'YES_NO', text: 'x'.repeat(300) });
const { survey } = long;

/** What a file says about its selection. */
function textsOf(options: Partial<Parameters<typeof fileSelection>[2]>): string[] | undefined {
  const filters = options.filters ?? [];
  const conditions = filters.map((text) => parseFilter(survey, text, {}) as ParsedFilter);
  const layout = layoutOf(survey, { labels: 'text', columns: options.columns });
  const selection = fileSelection(survey, layout, { ...options, filters }, conditions);
  return selection && selectionTexts(selection, { questions: 'Questions', ofOutcome: (outcome) => outcome });
}

describe('the selection that a file names', () => {
  it('is none for all responses and questions', () => {
    assert.equal(textsOf({}), undefined);
    assert.equal(textsOf({ columns: ['id', ...survey.questions.map(({ id }) => id)] }), undefined);
  });

  it('has the days, of which the last one is included', () => {
    const [startDate, endDate] = ['2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z'];
    assert.deepEqual(textsOf({ startDate, endDate }), ['2026-01-01 00:00 – 2026-01-31 23:59 UTC']);
    assert.deepEqual(textsOf({ startDate }), ['2026-01-01 00:00 – … UTC']);
    assert.deepEqual(textsOf({ endDate }), ['… – 2026-01-31 23:59 UTC']);
  });

  it('has the outcomes that all conditions leave', () => {
    assert.deepEqual(textsOf({ isComplete: false }), ['PARTIAL']);
    assert.deepEqual(textsOf({ isComplete: true }), ['COMPLETED, SCREENED_OUT, OVER_QUOTA']);
    assert.deepEqual(textsOf({ isComplete: true, outcomes: ['PARTIAL', 'COMPLETED'] }), ['COMPLETED']);
    assert.deepEqual(textsOf({ filters: ['outcome:SCREENED_OUT'] }), ['SCREENED_OUT']);
    assert.deepEqual(textsOf({ isComplete: false, filters: ['outcome:SCREENED_OUT'] }), ['–']);
  });

  it('has filters in the wording of the survey, and how many questions were chosen', () => {
    assert.deepEqual(
      textsOf({
        filters: [
          `${nps.question.id}:9..10`,
          `${nps.question.id}:7`,
          `${meals.question.id}:dinner:bad`,
          `${long.question.id}:yes`,
          'metadata:region:North:East',
          `metadata:note:${'y'.repeat(300)}`,
          'language:de',
        ],
        columns: [meals.question.id],
      }),
      [
        '1. Recommend?: 9–10',
        '1. Recommend?: 7',
        '2. How were the meals? – Dinner: Bad',
        `3. ${'x'.repeat(100)}…: Yes`,
        'metadata.region: North:East',
        `metadata.note: ${'y'.repeat(100)}…`,
        'language: German',
        'Questions: 1 / 3',
      ],
    );
  });
});
