import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Condition } from '../../../../src/domain/path/definition.ts';
import type { Question, SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import {
  idsOf,
  labels,
  no,
  option,
  pathIn,
  questionIdsOf,
  saysYes,
  surveyOf,
  withFields,
  yes,
  yesNo,
} from '../../../support/path-surveys.ts';

const optionsShown = (survey: SurveyWithQuestions, answers: readonly unknown[], { id, options, rows }: Question) => {
  const step = pathIn(survey, answers)
    .sections.flatMap(({ questions }) => questions)
    .find((shown) => shown.id === id);
  const storedValue = (itemId: string) => [...options, ...rows].find((item) => item.id === itemId)?.value;
  return step && { options: step.optionIds.map(storedValue), rows: step.rowIds.map(storedValue) };
};

describe('hidden options and rows', () => {
  const { survey, questions } = surveyOf([
    yesNo,
    { type: 'CHECKBOXES', options: labels },
    ([, boxes]) => ({ ...yesNo, visibleIf: includes(boxes as Question, 'bee') }),
  ]);
  function includes({ id, options }: Question, value: string): Condition {
    const optionIds = options.filter((item) => item.value === value).map((item) => item.id);
    return { questionId: id, operator: 'includesAny', optionIds };
  }
  const [first, boxes, last] = questions as [Question, Question, Question];
  const hiding = (...values: string[]) =>
    withFields(survey, boxes.id, {
      options: boxes.options.map((item) => ({
        ...item,
        ...(values.includes(item.value) && { visibleIf: saysYes(first) }),
      })),
    });

  it('are not offered, and an answer that names them does not exist', () => {
    const hidden = hiding('bee');
    assert.deepEqual(optionsShown(hidden, [], boxes)?.options, ['ant', 'cat']);
    assert.deepEqual(optionsShown(hidden, [yes(first)], boxes)?.options, ['ant', 'bee', 'cat']);
    assert.deepEqual(questionIdsOf(pathIn(hidden, [option(boxes, 'bee')])), idsOf([first, boxes]));
    assert.deepEqual(questionIdsOf(pathIn(hidden, [yes(first), option(boxes, 'bee')])), idsOf([first, boxes, last]));
    const required = withFields(hidden, boxes.id, { isRequired: true });
    assert.equal(pathIn(required, [no(first), option(boxes, 'bee')]).outcome, 'OPEN');
    assert.equal(pathIn(required, [no(first), option(boxes, 'ant')]).outcome, 'COMPLETE');
  });

  it('take the question off the path if none is left', () => {
    const path = pathIn(hiding('ant', 'bee', 'cat'), [no(first)]);
    assert.deepEqual(questionIdsOf(path), [first.id]);
  });

  it('of a MATRIX are not offered, and none of its questions is left without rows or columns', () => {
    const { survey: grids, questions: both } = surveyOf([
      yesNo,
      { type: 'MATRIX', options: labels, settings: { rows: labels } },
    ]);
    const [key, grid] = both as [Question, Question];
    const hide = (part: 'options' | 'rows', ...values: string[]) =>
      withFields(grids, grid.id, {
        [part]: grid[part].map((item) => ({
          ...item,
          ...(values.includes(item.value) && { visibleIf: saysYes(key) }),
        })),
      });
    assert.deepEqual(optionsShown(hide('rows', 'ant'), [], grid)?.rows, ['bee', 'cat']);
    assert.deepEqual(optionsShown(hide('options', 'ant'), [], grid)?.options, ['bee', 'cat']);
    assert.equal(optionsShown(hide('rows', 'ant', 'bee', 'cat'), [], grid), undefined);
    assert.equal(optionsShown(hide('options', 'ant', 'bee', 'cat'), [], grid), undefined);
  });

  it('keep the free "other" answer', () => {
    const { survey: choices, questions: both } = surveyOf([
      { type: 'MULTIPLE_CHOICE', options: labels, settings: { allowOther: true }, isRequired: true },
    ]);
    const [choice] = both as [Question];
    const hidden = withFields(choices, choice.id, {
      options: choice.options.map((item, index) => ({
        ...item,
        ...(index === 0 && { visibleIf: { metadata: 'key', operator: 'answered' } as const }),
      })),
    });
    assert.equal(pathIn(hidden, [{ questionId: choice.id, textValue: 'Else' }]).outcome, 'COMPLETE');
    assert.equal(pathIn(hidden, [option(choice, 'ant')]).outcome, 'OPEN');
  });
});

describe('optionsFrom', () => {
  const own = [...labels.map(({ text, value }) => ({ text: `My ${text}`, value })), { text: 'None', value: 'none' }];
  const build = (type: 'CHECKBOXES' | 'RANKING' | 'DROPDOWN', which: 'selected' | 'notSelected', isAnchored = true) => {
    const built = surveyOf([
      { type: 'CHECKBOXES', options: [...labels, { text: 'dog' }] },
      ([source]) => ({ type, options: own, optionsFrom: { questionId: source?.id ?? '', which } }),
    ]);
    const [source, target] = built.questions as [Question, Question];
    const survey = withFields(built.survey, target.id, {
      options: target.options.map((item) => ({ ...item, ...(isAnchored && item.value === 'none' && { isAnchored }) })),
    });
    return { survey, source, target };
  };

  for (const type of ['CHECKBOXES', 'RANKING', 'DROPDOWN'] as const)
    it(`offers of a ${type} what was selected, and anchored options without a counterpart`, () => {
      const { survey, source, target } = build(type, 'selected');
      const answers = [option(source, 'ant'), option(source, 'cat'), option(source, 'dog')];
      assert.deepEqual(optionsShown(survey, answers, target)?.options, ['ant', 'cat', 'none']);
      assert.deepEqual(optionsShown(survey, [], target)?.options, ['none']);
    });

  it('offers what was shown and not selected', () => {
    const { survey, source, target } = build('CHECKBOXES', 'notSelected', false);
    assert.deepEqual(optionsShown(survey, [option(source, 'ant')], target)?.options, ['bee', 'cat']);
    const hidden = withFields(survey, source.id, {
      options: source.options.map((item) => ({
        ...item,
        ...(item.value === 'bee' && { visibleIf: { metadata: 'key', operator: 'answered' } as const }),
      })),
    });
    assert.deepEqual(optionsShown(hidden, [option(source, 'ant')], target)?.options, ['cat']);
  });

  it('takes the question off the path if nothing is left', () => {
    const { survey, target } = build('CHECKBOXES', 'selected', false);
    assert.equal(optionsShown(survey, [], target), undefined);
  });

  it('counts a source off the path as nothing shown', () => {
    for (const which of ['selected', 'notSelected'] as const) {
      const { survey, source, target } = build('CHECKBOXES', which);
      const hidden = withFields(survey, source.id, { visibleIf: { metadata: 'key', operator: 'answered' } });
      assert.deepEqual(optionsShown(hidden, [option(source, 'ant')], target)?.options, ['none'], which);
    }
  });

  it('chooses the rows of a MATRIX, and items ranked in a RANKING count as selected', () => {
    const { survey, questions } = surveyOf([
      { type: 'RANKING', options: labels },
      ([source]) => ({
        type: 'MATRIX',
        options: [{ text: 'good' }],
        settings: { rows: labels },
        optionsFrom: { questionId: source?.id ?? '', which: 'selected' },
      }),
    ]);
    const [source, grid] = questions as [Question, Question];
    const answers = [
      { ...option(source, 'cat'), rank: 1 },
      { ...option(source, 'ant'), rank: 2 },
    ];
    assert.deepEqual(optionsShown(survey, answers, grid), { options: ['good'], rows: ['ant', 'cat'] });
  });

  it('holds along a chain', () => {
    const { survey, questions } = surveyOf([
      { type: 'CHECKBOXES', options: labels },
      ([first]) => ({
        type: 'CHECKBOXES',
        options: labels,
        optionsFrom: { questionId: first?.id ?? '', which: 'selected' },
      }),
      ([, second]) => ({
        type: 'DROPDOWN',
        options: labels,
        optionsFrom: { questionId: second?.id ?? '', which: 'notSelected' },
      }),
    ]);
    const [first, second, third] = questions as [Question, Question, Question];
    const answers = [option(first, 'ant'), option(first, 'bee'), option(second, 'bee'), option(second, 'cat')];
    assert.deepEqual(optionsShown(survey, answers, third)?.options, ['ant']);
  });
});
