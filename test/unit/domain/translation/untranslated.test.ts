import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { translateTask } from '../../../../src/ai/tasks/translate.ts';
import { sourceStrings } from '../../../../src/domain/translation/translation.ts';
import { inBatches, untranslated } from '../../../../src/domain/translation/untranslated.ts';
import { fullSurvey } from '../../../support/questions.ts';

const { survey } = fullSurvey();
const hashOf = (text: string) => `#${text}`;
const whole = Object.fromEntries(
  sourceStrings(survey).map(({ key, text }) => [key, { text: `de ${text}`, source: hashOf(text) }]),
);
const translation = (strings: typeof whole) => ({ language: 'de', strings, updatedAt: new Date(0) });

describe('untranslated strings', () => {
  it('are all at first, none at last, and otherwise those reworded or added since', () => {
    assert.deepEqual(
      untranslated(survey, undefined, hashOf).map(({ key }) => key),
      sourceStrings(survey).map(({ key }) => key),
    );
    assert.deepEqual(untranslated(survey, translation(whole), hashOf), []);
    const { title: _, ...rest } = whole;
    assert.deepEqual(untranslated({ ...survey, description: 'New' }, translation(rest), hashOf), [
      { key: 'title', text: survey.title, maxLength: 300 },
      { key: 'description', text: 'New', maxLength: 5000 },
    ]);
  });

  it('are split into batches that hold every string once, few and short enough', () => {
    const strings = Array.from({ length: 100 }, (_, index) => ({ text: 'x'.repeat(index === 50 ? 5000 : 200) }));
    const batches = inBatches(strings);
    assert.deepEqual(batches.flat(), strings);
    assert.ok(
      batches.every((batch) => batch.length <= 40 && batch.reduce((sum, { text }) => sum + text.length, 0) <= 6000),
    );
    assert.deepEqual(inBatches([]), []);
    assert.equal(inBatches([{ text: 'x'.repeat(7000) }, { text: 'y' }]).length, 2);
  });
});

describe('the reply to a batch', () => {
  const strings = [
    { key: 'title', text: 'Hello {{name}}', maxLength: 300 },
    { key: 'o', text: 'Yes', maxLength: 500 },
  ];
  const read = (entries: unknown[]) =>
    translateTask(strings, { title: 'T', from: 'en', to: 'de' }).read({ strings: entries });

  it('is accepted in any order', () => {
    assert.deepEqual(
      read([
        { n: 2, text: 'Ja' },
        { n: 1, text: 'Hallo {{name}}' },
      ]),
      { value: ['Hallo {{name}}', 'Ja'] },
    );
  });

  it('is asked for again with what is missing, too long, or without its placeholders', () => {
    assert.deepEqual(read([{ n: 1, text: 'Hallo {{Name}}' }]), {
      wrong: [
        'n 1: the placeholder {{name}} must stand there as often as in the source',
        'n 1: the placeholder {{Name}} must stand there as often as in the source',
        'n 2: is missing',
      ],
    });
    assert.deepEqual(
      read([
        { n: 1, text: `{{name}}${'x'.repeat(300)}` },
        { n: 2, text: 'Ja' },
      ]),
      { wrong: ['n 1: is longer than 300 characters'] },
    );
    assert.ok('wrong' in read([{ n: 1, text: ' ' }]));
  });
});
