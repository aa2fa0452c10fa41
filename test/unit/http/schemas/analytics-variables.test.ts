import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { conditionsOf, filterField } from '../../../../src/http/schemas/analytics-variables.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

describe('the filters of a request', () => {
  it('let others run between those that name no point of the longest scales', async () => {
    let survey = blankSurvey();
    for (let n = 0; n < 10; n += 1)
      ({ survey } = withQuestion(survey, {
        type: 'SLIDER',
        text: `${n}`,
        settings: { min: n, max: n + 99.99, step: 0.01 },
      }));
    let [turns, isDone] = [0, false];
    const turn = () => {
      turns += 1;
      if (!isDone) setImmediate(turn);
    };
    setImmediate(turn);
    await assert.rejects(
      async () =>
        conditionsOf(
          { survey, known: {} },
          survey.questions.map(({ id }) => `${id}:x`),
          'filter',
        ),
      ({ details }: { details: { path: string }[] }) => {
        assert.deepEqual(
          details.map(({ path }) => path),
          survey.questions.map((_, index) => `filter.${index}`),
        );
        return true;
      },
    );
    isDone = true;
    assert.ok(turns > 3, `${turns} turns of the event loop`);
  });

  it('may name the longest key and text of the metadata', () => {
    const longest = `invitation:"${'""'.repeat(100)}":${'x'.repeat(1000)}`;
    assert.equal(filterField.parse(longest), longest);
    assert.throws(() => filterField.parse(`${longest}${'x'.repeat(100)}`));
  });
});
