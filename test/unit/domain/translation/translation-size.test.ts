import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { definitionTextsOf, maxDefinitionBytes } from '../../../../src/domain/questions/definition-size.ts';
import { sourceStrings, type Translation } from '../../../../src/domain/translation/translation.ts';
import {
  maxTranslationBytes,
  refuseTooLargeTranslation,
  type TranslationTexts,
} from '../../../../src/domain/translation/translation-size.ts';
import { runAtOnce } from '../../../../src/platform/slices.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

const source = 'x'.repeat(16);
/** So many texts of 5,000 letters, which take two bytes each. */
const texts = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`${n}.description`, { text: 'я'.repeat(5000), source }]));

const check = (before: Translation['strings'], given: TranslationTexts): void =>
  runAtOnce(refuseTooLargeTranslation('ru', before, given));

describe('the size of a translation', () => {
  it('is enough for all texts of a survey of 2 MiB, translated into a longer language of another script', () => {
    let survey = blankSurvey();
    for (let n = 0; n < 64; n += 1)
      survey = withQuestion(survey, {
        type: 'CHECKBOXES',
        text: 'Which of these have you bought in the last twelve months?',
        options: Array.from({ length: 200 }, (_, i) => ({
          text: `Option ${i} of a long list of brands`,
          value: `v${i}`,
        })),
      }).survey;
    assert.ok(Buffer.byteLength(definitionTextsOf(survey).questions) > 0.8 * maxDefinitionBytes);
    const strings = Object.fromEntries(
      sourceStrings(survey).map(({ key, text }) => [key, { text: 'я'.repeat(text.length * 1.3), source }]),
    );
    check({}, { strings });
  });

  it('is limited in bytes, with the texts that are stored already', () => {
    assert.ok(JSON.stringify(texts(420)).length < maxTranslationBytes);
    const more = { title: { text: 'ж', source } };
    check(texts(400), { strings: more });
    for (const [before, strings] of [
      [{}, texts(420)],
      [texts(400), texts(420)],
      [texts(420), more],
    ] as const)
      assert.throws(
        () => check(before, { strings }),
        ({ code, details }: any) =>
          code === 'VALIDATION_ERROR' &&
          /^the texts in ru, .* would take \d+ bytes as JSON, and may take 4194304: /.test(details[0].message),
      );
  });

  it('may become smaller where it is beyond the limit from before', () => {
    check(texts(430), { strings: {}, removedKeys: ['1.description'] });
    check(texts(430), { strings: { '1.description': { text: 'short', source } } });
    check(texts(430), { strings: texts(1) });
  });
});
