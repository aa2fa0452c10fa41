import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { importedParts, importSurvey } from '../../../src/domain/imported-survey.ts';
import { toJsonSchema } from '../../../src/http/reference/schema-components.ts';
import { blankSurvey, nextId } from '../../support/questions.ts';

const file = z.strictObject(importedParts);
const imported = async (questions: z.input<typeof file>['questions']) => {
  const survey = await importSurvey(blankSurvey(), file.parse({ questions }), { newId: nextId, pause: nextTurn });
  return survey.questions;
};

describe('an imported survey', () => {
  it('finds the fixed options of a question as they are read there, whatever their order', async () => {
    const isNo = { questionId: 'again', operator: 'isAnyOf' as const, optionIds: ['n'] };
    const yes = { id: 'y', text: 'Yes' };
    const no = { id: 'n', text: 'No' };
    for (const options of [[no, yes], [no], [yes, no], [{ ...no, text: 'Nein', value: 'no' }, yes]]) {
      const [question, why] = await imported([
        { id: 'again', type: 'YES_NO', text: 'Again?', options },
        { type: 'SHORT_TEXT', text: 'Why not?', visibleIf: isNo },
      ]);
      const id = question?.options.find(({ value }) => value === 'no')?.id;
      assert.deepEqual(why?.visibleIf, { ...isNo, questionId: question?.id, optionIds: [id] });
    }
  });

  it('finds other options by their places, whatever their texts', async () => {
    const [question, why] = await imported([
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

  it('may have more removed options and questions than a survey may show', async () => {
    const items = (count: number, isHidden?: true) =>
      Array.from({ length: count }, (_, n) => ({
        text: `${n}${isHidden ? ' removed' : ''}`,
        ...(isHidden && { isHidden }),
      }));
    const parse = ({ shown, removed }: { shown: number; removed: number }) =>
      file.safeParse({
        questions: [
          { type: 'DROPDOWN', text: 'Which?', options: [...items(shown), ...items(removed, true)] },
          ...items(removed * 2, true).map((item) => ({ ...item, type: 'NPS' })),
        ],
      });
    const read = parse({ shown: 200, removed: 300 });
    assert.ok(read.success);
    const [question, ...others] = await imported(read.data.questions);
    assert.deepEqual([question?.options.length, others.length], [200, 0]);
    const tooMany = parse({ shown: 201, removed: 0 });
    assert.deepEqual(
      tooMany.error?.issues.map(({ path, message }) => [path.join('.'), message]),
      [['questions.0.options', 'must have at most 200 items that were not removed']],
    );
    assert.ok(!file.safeParse({ questions: items(501).map((item) => ({ ...item, type: 'NPS' })) }).success);
  });

  it('is described with the limits of what was not removed', () => {
    const { properties } = toJsonSchema(file, 'input').root;
    const { questions } = Object(properties);
    assert.match(questions.description, /at most 500 that were not removed/);
    assert.match(questions.items.properties.options.description, /at most 200 that were not removed/);
  });

  it('takes points as places where the file names none, and refuses those that do not ascend', async () => {
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
    const namedBy = async (points: readonly (number | undefined)[]) => {
      const [, why] = await imported(scale(points));
      return Object(why?.visibleIf).value;
    };
    const scales = [[], [1, 2, 4, 5], [undefined, 2, 4], [undefined, undefined, undefined, undefined]];
    assert.deepEqual(await Promise.all(scales.map(namedBy)), [4, 3, 3, 4]);
    const refusalOf = async (points: readonly (number | undefined)[]) => {
      try {
        return await namedBy(points);
      } catch (error) {
        return Object(error).details;
      }
    };
    assert.deepEqual(await refusalOf([4, 4]), [
      { path: 'questions.0.options.1.point', message: 'must be above the point of the option before' },
    ]);
    assert.deepEqual(await refusalOf([1, 2, 3, 5]), [
      { path: 'questions.1.visibleIf.value', message: 'is not a point of the scale of that question' },
    ]);
  });
});
