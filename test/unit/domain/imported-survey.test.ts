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
});
