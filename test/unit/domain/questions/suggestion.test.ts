import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { optimiseQuestionTask } from '../../../../src/ai/tasks/optimise-question.ts';
import { changeQuestion } from '../../../../src/domain/questions/question-definition.ts';
import {
  changeFromSuggestion,
  changeToWording,
  isSameWording,
  questionWording,
  removesOptions,
} from '../../../../src/domain/questions/suggestion.ts';
import { placeholderDifferences } from '../../../../src/domain/translation/placeholders.ts';
import { blankSurvey, nextId, withQuestion } from '../../../support/questions.ts';

const { survey, question: choice } = withQuestion(blankSurvey(), {
  type: 'MULTIPLE_CHOICE',
  text: 'Is {{shop}} great?',
  options: [
    { text: 'Great', value: 'g' },
    { text: 'Fine', value: 'f' },
  ],
});
const { question: text } = withQuestion(blankSurvey(), { type: 'LONG_TEXT', text: 'Why?' });
const { question: yesNo } = withQuestion(blankSurvey(), { type: 'YES_NO', text: 'Well?' });
const read = (question: typeof choice, suggestions: unknown) =>
  optimiseQuestionTask(question, survey).read({ suggestions });
const entry = (fields: object) => ({
  aspect: 'bias',
  problem: 'It leads',
  text: 'How is {{shop}}?',
  options: [],
  ...fields,
});

describe('the placeholders of a text', () => {
  it('are the parts that a program interprets, as often as each occurs', () => {
    assert.deepEqual(
      placeholderDifferences(
        'Hi {{name}}, {0} %s <b>x</b> https://a.example/x.',
        'Hallo {{name}}: {0} %s <b>y</b> https://a.example/x!',
      ),
      [],
    );
    assert.deepEqual(placeholderDifferences('{{a}} and {{a}}', '{{a}}'), ['{{a}}']);
    assert.deepEqual(placeholderDifferences('100 % sure', '100 % sicher'), []);
    assert.deepEqual(placeholderDifferences('plain', 'with {{more}}'), ['{{more}}']);
    assert.deepEqual(placeholderDifferences(['$', '{price}'].join(''), '$ {price}'), [
      ['$', '{price}'].join(''),
      '{price}',
    ]);
  });
});

describe('a suggestion', () => {
  it('keeps the values of reworded options, adds new ones, and can be undone', () => {
    const found = read(choice, [
      entry({
        options: [
          { value: 'g', text: 'Very good' },
          { value: 'f', text: 'Fine' },
          { value: null, text: 'Poor' },
        ],
      }),
    ]);
    assert.ok('value' in found);
    const [suggestion] = found.value;
    assert.ok(suggestion && !removesOptions(choice, suggestion));
    const changed = changeQuestion(choice, changeFromSuggestion(choice, suggestion), {
      hasAnswers: true,
      newId: nextId,
    });
    assert.ok('question' in changed);
    assert.deepEqual(
      changed.question.options.map(({ value, code, text: wording }) => [value, code, wording]),
      [
        ['g', 1, 'Very good'],
        ['f', 2, 'Fine'],
        ['poor', 3, 'Poor'],
      ],
    );
    const back = changeQuestion(changed.question, changeToWording(questionWording(choice)), {
      hasAnswers: true,
      newId: nextId,
    });
    assert.ok('question' in back && isSameWording(questionWording(back.question), questionWording(choice)));
  });

  it('is recognised as removing options, also if the model invents their values', () => {
    const found = read(choice, [
      entry({
        options: [
          { value: 'great', text: 'Great' },
          { value: 'f', text: 'Fine' },
        ],
      }),
    ]);
    assert.ok('value' in found && found.value[0] && removesOptions(choice, found.value[0]));
  });

  it('has no options if the type has none, and is left out if it changes nothing', () => {
    const open = read(text, [
      entry({ text: 'Why so?', options: [{ value: null, text: 'Because' }] }),
      entry({ text: 'Why?' }),
    ]);
    assert.deepEqual(open, { value: [{ aspect: 'bias', problem: 'It leads', text: 'Why so?' }] });
    const same = read(choice, [
      entry({
        text: choice.text,
        options: [
          { value: 'g', text: 'Great' },
          { value: 'f', text: 'Fine' },
        ],
      }),
    ]);
    assert.deepEqual(same, { value: [] });
  });

  it('is asked for again if it loses a placeholder or cannot be applied', () => {
    assert.deepEqual(read(choice, [entry({ text: 'How is it?' })]), {
      wrong: ['suggestions.0.text: the placeholder {{shop}} must stand there as often as before'],
    });
    assert.ok('wrong' in read(yesNo, [entry({ text: 'So?', options: [{ value: null, text: 'Perhaps' }] })]));
    assert.ok('wrong' in read(choice, [entry({ aspect: 'spelling' })]));
    assert.ok('wrong' in optimiseQuestionTask(choice, survey).read('no'));
  });
});
