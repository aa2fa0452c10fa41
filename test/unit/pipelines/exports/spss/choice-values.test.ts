import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { layoutOf } from '../../../../../src/pipelines/exports/columns.ts';
import { variablesOf } from '../../../../../src/pipelines/exports/spss/variables.ts';
import { blankSurvey, withQuestion } from '../../../../support/questions.ts';

type Body = Parameters<typeof withQuestion>[1];

/** The labelled values of the first variable of a question, as `1 Text`. */
function valuesOf(body: Body): string[] {
  const { survey, question } = withQuestion(blankSurvey(), body);
  const [variable] = variablesOf(layoutOf(survey, { labels: 'text', columns: [question.id] }));
  return (variable?.values ?? []).map(({ value, label }) => `${value} ${label}`);
}

const likert = (...options: { text: string; value?: string }[]) =>
  valuesOf({ type: 'LIKERT_SCALE', text: 'Better?', options });
const named = (...texts: string[]) => texts.map((text) => ({ text }));

describe('the values of options in an SPSS file', () => {
  it('are the points of a scale of negative numbers, whose own values have lost the sign', () => {
    assert.deepEqual(likert(...named('-2', '-1', '0')), ['1 -2', '2 -1', '3 0']);
    assert.deepEqual(likert(...named('−2', '– 1', '0')), ['1 −2', '2 – 1', '3 0']);
    assert.deepEqual(likert(...named('-€ 5', '-€ 3', '€ 0')), ['1 -€ 5', '2 -€ 3', '3 € 0']);
    assert.deepEqual(likert(...named('.5', '.6', '7')), ['1 .5', '2 .6', '3 7']);
    assert.deepEqual(
      valuesOf({
        type: 'MATRIX',
        text: 'How warm?',
        options: named('-10', '-5', '0'),
        settings: { rows: named('Here', 'There') },
      }),
      ['1 -10', '2 -5', '3 0'],
    );
  });

  it('are fixed numbers of choices whose texts are negative', () => {
    assert.deepEqual(valuesOf({ type: 'DROPDOWN', text: 'By how much?', options: named('-10 %', '-5 %', '0 %') }), [
      '1 -10 %',
      '2 -5 %',
      '3 0 %',
    ]);
  });

  it('are the numbers that the author set, or that all texts begin with', () => {
    const set = [
      { text: '-2', value: '-2' },
      { text: '-1 (a little worse)', value: '1' },
      { text: '0', value: '0' },
    ];
    assert.deepEqual(likert(...set), ['-2 -2', '0 0', '1 -1 (a little worse)']);
    assert.deepEqual(likert(...named('5', '10 %', '+20')), ['5 5', '10 10 %', '20 +20']);
  });
});
