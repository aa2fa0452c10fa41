import assert from 'node:assert/strict';
import { it } from 'node:test';
import { layoutOf } from '../../../../src/pipelines/exports/columns.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

it('a column of a status is named after that of its answer, also where wordings are equal', () => {
  let survey = blankSurvey();
  for (const text of ['Why?', 'Why?', 'Why? (2)', 'Why? (status)'])
    survey = withQuestion(survey, { type: 'SHORT_TEXT', text }).survey;
  const headings = (missing?: 'columns') =>
    layoutOf(survey, { columns: survey.questions.map(({ id }) => id), labels: 'text', missing }).columns.map(
      ({ heading }) => heading,
    );
  const answers = ['Why?', 'Why? (2)', 'Why? (2) (2)', 'Why? (status)'];
  assert.deepEqual(headings(), answers);
  assert.deepEqual(
    headings('columns'),
    answers.flatMap((heading) => [heading, heading === 'Why?' ? 'Why? (status) (2)' : `${heading} (status)`]),
    'a question keeps the heading that it has without statuses',
  );
});
