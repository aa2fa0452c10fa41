import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { importedParts, importSurvey } from '../../../src/domain/imported-survey.ts';
import { blankSurvey, nextId } from '../../support/questions.ts';

const file = z.strictObject(importedParts);
const imported = (questions: z.input<typeof file>['questions']) =>
  importSurvey(blankSurvey(), file.parse({ questions }), nextId).questions;

describe('an imported survey', () => {
  it('finds the fixed options of a question as they are read there, whatever their order', () => {
    const isNo = { questionId: 'again', operator: 'isAnyOf' as const, optionIds: ['n'] };
    const yes = { id: 'y', text: 'Yes' };
    const no = { id: 'n', text: 'No' };
    for (const options of [[no, yes], [no], [yes, no], [{ ...no, text: 'Nein', value: 'no' }, yes]]) {
      const [question, why] = imported([
        { id: 'again', type: 'YES_NO', text: 'Again?', options },
        { type: 'SHORT_TEXT', text: 'Why not?', visibleIf: isNo },
      ]);
      const id = question?.options.find(({ value }) => value === 'no')?.id;
      assert.deepEqual(why?.visibleIf, { ...isNo, questionId: question?.id, optionIds: [id] });
    }
  });

  it('finds other options by their places, whatever their texts', () => {
    const [question, why] = imported([
      {
        id: 'dish',
        type: 'DROPDOWN',
        text: 'Which dish?',
        options: [
          { id: 'first', text: 'Soup', value: 'salad' },
          { id: 'second', text: 'Salad' },
        ],
      },
      {
        type: 'SHORT_TEXT',
        text: 'Why?',
        visibleIf: { questionId: 'dish', operator: 'isAnyOf', optionIds: ['second'] },
      },
    ]);
    assert.deepEqual(why?.visibleIf, {
      questionId: question?.id,
      operator: 'isAnyOf',
      optionIds: [question?.options[1]?.id],
    });
  });

  it('takes points as places where the file names none, and refuses those that do not ascend', () => {
    const scale = (points: readonly (number | undefined)[]) => [
      {
        id: 'scale',
        type: 'LIKERT_SCALE' as const,
        text: 'q',
        options: points.map((point, index) => ({ text: `${index}`, ...(point !== undefined && { point }) })),
      },
      {
        type: 'SHORT_TEXT' as const,
        text: 'Why?',
        visibleIf: { questionId: 'scale', operator: 'equals' as const, value: 4 },
      },
    ];
    const namedBy = (points: readonly (number | undefined)[]) => Object(imported(scale(points))[1]?.visibleIf).value;
    assert.deepEqual(
      [[], [1, 2, 4, 5], [undefined, 2, 4], [undefined, undefined, undefined, undefined]].map(namedBy),
      [4, 3, 3, 4],
    );
    const refusalOf = (points: readonly (number | undefined)[]) => {
      try {
        return namedBy(points);
      } catch (error) {
        return Object(error).details;
      }
    };
    assert.deepEqual(refusalOf([4, 4]), [
      { path: 'questions.0.options.1.point', message: 'must be above the point of the option before' },
    ]);
    assert.deepEqual(refusalOf([1, 2, 3, 5]), [
      { path: 'questions.1.visibleIf.value', message: 'is not a point of the scale of that question' },
    ]);
  });
});
