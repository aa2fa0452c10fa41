import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { splitLabels } from '../../../src/replay/spss/set-labels.ts';

describe('the labels of a set whose own label is cut', () => {
  const question = 'Which of these [please say] do you use in the end?';
  const split = (options: readonly string[], wording = question) =>
    splitLabels(
      'Which of these…',
      options.map((option) => `${wording} [${option}]`),
    );

  it('have options that begin alike, with brackets of their own', () => {
    for (const options of [
      ['App [new]', 'App [old]'],
      ['App [new]', 'App [new [beta]]'],
      ['App [new]'],
      ['App', 'Web & phone'],
      ['Other [please say]', 'Other'],
      // Nothing but the last bracket is left where no brackets close each other.
      ['a [', 'b ]'],
    ])
      assert.deepEqual(split(options), { question, options });
    const cut = { question: 'Which of these do you…', options: ['App [new]', 'App [old]'] };
    assert.deepEqual(split(cut.options, cut.question), cut);
  });

  it('are options as they stand where no question is common to them', () => {
    for (const labels of [
      ['Which of these do you use [App]', 'Which of these does she use [Web]'],
      ['Which of these[App]', 'Which of these[Web]'],
    ])
      assert.deepEqual(splitLabels('Which of these…', labels), { question: 'Which of these…', options: labels });
  });
});
