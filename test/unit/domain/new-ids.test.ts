import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  conditionWithNewIds,
  questionWithNewIds,
  sectionWithNewIds,
  textWithNewIds,
} from '../../../src/domain/new-ids.ts';
import type { AnswerTest, Condition } from '../../../src/domain/path/definition.ts';
import type { Question } from '../../../src/domain/survey.ts';

/** Every id that begins with "old" gets its name. */
const names = {
  ids: new Map(
    ['question', 'asked', 'row', 'option', 'other option', 'section'].map((name) => [`old ${name}`, `new ${name}`]),
  ),
  points: new Map([['old asked', [1, 2, 4, 5]]]),
};

const condition = (age: string): Condition => ({
  all: [
    { any: [{ questionId: `${age} question`, operator: 'isAnyOf', optionIds: [`${age} option`, 'other'] }] },
    { not: { questionId: `${age} question`, rowId: `${age} row`, operator: 'answered' } },
    { questionId: `${age} question`, operator: 'rankedAtMost', optionId: `${age} other option`, rank: 2 },
    // A text that looks like an id is no id.
    { questionId: `${age} question`, operator: 'equalsText', value: 'old option' },
    { metadata: 'old option', operator: 'answered' },
    { language: ['en'] },
  ],
});
const text = (age: string) =>
  `Why {{question:${age} question}}, {{ question : ${age} option |x}} and {{question:${age} question:row:${age} row|old row}}, {{metadata:old row}}?`;

const question = (age: string): Question => ({
  id: `${age} asked`,
  surveyId: 'survey',
  type: 'MATRIX',
  text: text(age),
  description: text(age),
  isRequired: false,
  order: 0,
  options: [{ id: `${age} option`, text: text(age), value: 'old option', code: 1, isHidden: false }],
  rows: [
    {
      id: `${age} row`,
      text: 'old row',
      value: 'row',
      code: 1,
      isHidden: false,
      visibleIf: condition(age),
      isAnchored: true,
    },
  ],
  settings: { multiple: false },
  slots: { codes: { r1: 0 }, numbers: {}, texts: {} },
  isHidden: false,
  sectionId: `${age} section`,
  visibleIf: condition(age),
  skips: [
    { if: condition(age), to: `${age} section` },
    { if: condition(age), to: 'SCREEN_OUT' },
  ],
  optionsFrom: { questionId: `${age} question`, which: 'notSelected' },
});

describe('the ids of a copied survey', () => {
  it('are new wherever a question names one', () => {
    const marked = { ...question('old'), notAsked: { '': 16, 'old row': 17 } };
    assert.deepEqual(questionWithNewIds(marked, names), question('new'), 'and it has no bits of the original');
  });

  it('are new wherever a section names one', () => {
    const section = (age: string) => ({
      id: `${age} section`,
      title: text(age),
      description: null,
      order: 0,
      isShuffled: true,
      visibleIf: condition(age),
    });
    assert.deepEqual(sectionWithNewIds(section('old'), names), section('new'));
    assert.deepEqual(sectionWithNewIds({ ...section('old'), visibleIf: null }, names), {
      ...section('new'),
      visibleIf: null,
    });
  });

  it('stand beside the places that the points of a scale with gaps have in the copy', () => {
    const tests: [AnswerTest, AnswerTest][] = [
      [
        { operator: 'equals', value: 4 },
        { operator: 'equals', value: 3 },
      ],
      [
        { operator: 'notEquals', value: 5 },
        { operator: 'notEquals', value: 4 },
      ],
      [
        { operator: 'between', min: 2, max: 4 },
        { operator: 'between', min: 2, max: 3 },
      ],
      [
        { operator: 'between', min: 3 },
        { operator: 'between', min: 3 },
      ],
      [
        { operator: 'between', max: 3 },
        { operator: 'between', max: 2 },
      ],
      [
        { operator: 'equals', value: 3 },
        { operator: 'equals', value: 0 },
      ],
      [
        { operator: 'isAnyOf', optionIds: ['old option'] },
        { operator: 'isAnyOf', optionIds: ['new option'] },
      ],
    ];
    for (const [before, after] of tests) {
      assert.deepEqual(conditionWithNewIds({ questionId: 'old asked', ...before }, names), {
        questionId: 'new asked',
        ...after,
      });
      if (after.operator !== 'isAnyOf')
        assert.deepEqual(conditionWithNewIds({ questionId: 'old question', ...before }, names), {
          questionId: 'new question',
          ...before,
        });
    }
  });

  it('stand where the old ids did, however short those were', () => {
    const short = new Map([
      ['q', 'new question'],
      ['n', 'another'],
      ['e', 'new row'],
    ]);
    for (const [before, after] of [
      ['{{question:q|you}}', '{{question:new question|you}}'],
      ['{{ question : n }}', '{{ question : another }}'],
      ['{{question:q:row:e|q}}', '{{question:new question:row:new row|q}}'],
      ['{{question:n: row : e }}', '{{question:another: row : new row }}'],
      ['{{question:e:row:e}}', '{{question:new row:row:new row}}'],
    ] as const)
      assert.equal(textWithNewIds(before, short), after);
  });

  it('leave other braces of a text as they are', () => {
    for (const same of ['{{question:unknown}}', '{old question}', '{{x:old question}}', 'question:old question'])
      assert.equal(textWithNewIds(same, names.ids), same);
  });
});
