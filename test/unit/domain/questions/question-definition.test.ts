import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  defineQuestion,
  describeQuestion,
  newQuestionBody,
  questionChangeBody,
} from '../../../../src/domain/questions/question-definition.ts';
import { define, nextId, questionPlace } from '../../../support/questions.ts';

/** Any but half a surrogate pair. The library's own takes most of a second to set up. */
const codePoint = fc
  .integer({ min: 0, max: 0x10ffff - 0x800 })
  .map((n) => String.fromCodePoint(n < 0xd800 ? n : n + 0x800));

function findings(input: Parameters<typeof defineQuestion>[0]): string[] {
  const defined = defineQuestion(input, questionPlace());
  return 'issues' in defined ? defined.issues.map(({ path }) => path) : [];
}

describe('defining a question', () => {
  it('derives distinct values from wordings in every script', () => {
    const { options } = define({
      type: 'MULTIPLE_CHOICE',
      text: 'q',
      options: [{ text: 'Très bien !' }, { text: '很好' }, { text: 'جيد جدا' }, { text: 'très BIEN' }, { text: '???' }],
    });
    assert.deepEqual(
      options.map(({ value }) => value),
      ['très-bien', '很好', 'جيد-جدا', 'très-bien-2', 'option'],
    );
    assert.deepEqual(
      options.map(({ code }) => code),
      [1, 2, 3, 4, 5],
    );
  });

  it('gives agreement scales and yes/no questions their default options', () => {
    assert.deepEqual(
      define({ type: 'LIKERT_SCALE', text: 'q' }).options.map(({ text }) => text),
      ['Strongly disagree', 'Disagree', 'Neutral', 'Agree', 'Strongly agree'],
    );
    assert.deepEqual(
      define({ type: 'YES_NO', text: 'q' }).options.map(({ value }) => value),
      ['yes', 'no'],
    );
    assert.deepEqual(
      define({
        type: 'YES_NO',
        text: 'q',
        options: [
          { text: 'Oui', value: 'yes' },
          { text: 'Non', value: 'no' },
        ],
      }).options.map(({ text, value }) => [text, value]),
      [
        ['Oui', 'yes'],
        ['Non', 'no'],
      ],
    );
  });

  it('reports missing, invalid and unknown fields', () => {
    assert.deepEqual(findings({ type: 'CHECKBOXES', text: 'q' }), ['options']);
    assert.deepEqual(findings({ type: 'NPS', text: 'q', options: [{ text: 'x' }] }), ['options']);
    assert.deepEqual(findings({ type: 'YES_NO', text: 'q', options: [{ text: 'Perhaps' }] }), ['options']);
    assert.deepEqual(findings({ type: 'MATRIX', text: 'q', options: [{ text: 'x' }] }), ['settings.rows']);
    assert.deepEqual(findings({ type: 'RATING_SCALE', text: 'q', settings: { min: 5, max: 1 } }), [
      'settings.max',
      'settings.step',
    ]);
    assert.deepEqual(findings({ type: 'NUMBER', text: 'q', settings: { colour: 1 } }), ['settings.colour']);
    for (const type of ['application/msword', 'application/vnd.ms-excel', 'application/vnd.ms-powerpoint', 'a picture'])
      assert.deepEqual(
        findings({ type: 'FILE_UPLOAD', text: 'q', settings: { mimeTypes: ['application/x-cfb', type] } }),
        ['settings.mimeTypes.1'],
      );
    assert.deepEqual(
      findings({
        type: 'DROPDOWN',
        text: 'q',
        options: [
          { text: 'a', value: 'x' },
          { text: 'b', value: 'x' },
        ],
      }),
      ['options.1.value'],
    );
    assert.deepEqual(findings({ type: 'DROPDOWN', text: 'q', options: [{ id: nextId(), text: 'a' }] }), [
      'options.0.id',
    ]);
    assert.deepEqual(
      findings({ type: 'CHECKBOXES', text: 'q', options: [{ text: 'a' }], settings: { minSelections: 2 } }),
      ['settings.minSelections'],
    );
    assert.deepEqual(
      findings({
        type: 'YES_NO',
        text: 'q',
        options: [
          { text: 'Oui', value: 'yes' },
          { text: 'Si', value: 'yes' },
        ],
      }),
      ['options'],
    );
  });

  it('derives well-formed and distinct values from any wording', () => {
    const text = fc.oneof(
      fc.string({ unit: codePoint, minLength: 1, maxLength: 12 }),
      fc.constantFrom(
        'A',
        'a',
        'a-2',
        'option',
        '😀',
        '__proto__',
        '__other__',
        '𝒜'.repeat(200),
        `${'a'.repeat(189)}𝒜b`,
      ),
    );
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 8 }), (texts) => {
        const { options } = define({ type: 'CHECKBOXES', text: 'q', options: texts.map((one) => ({ text: one })) });
        assert.equal(new Set(options.map(({ value }) => value)).size, texts.length);
        for (const { value } of options)
          assert.ok(
            value.isWellFormed() &&
              value.length <= 200 &&
              /^[\p{L}\p{M}\p{N}-]+$/u.test(value) &&
              value === value.toLowerCase(),
            value,
          );
      }),
      { numRuns: 40 },
    );
  });

  it('accepts bodies of the documented shape only', () => {
    assert.ok(newQuestionBody.safeParse({ type: 'NPS', text: ' q ' }).success);
    const nul = '\0';
    for (const body of [
      { type: 'NPS' },
      { text: 'q' },
      { type: 'NPS', text: '  ' },
      { type: 'nps', text: 'q' },
      { type: 'NPS', text: 'q', colour: 1 },
      { type: 'NPS', text: `q${nul}` },
      { type: 'NPS', text: 'q', description: '\ud800' },
      { type: 'NPS', text: 'x'.repeat(2001) },
      { type: 'NPS', text: 'q', order: -1 },
      { type: 'DROPDOWN', text: 'q', options: [{ text: `a${nul}` }] },
      { type: 'DROPDOWN', text: 'q', options: [{ text: 'a', colour: 1 }] },
      { type: 'DROPDOWN', text: 'q', options: Array.from({ length: 201 }, () => ({ text: 'a' })) },
    ])
      assert.ok(!newQuestionBody.safeParse(body).success, JSON.stringify(body).slice(0, 100));
    assert.ok(!questionChangeBody.safeParse({}).success);
  });

  it('presents a question without internal fields', () => {
    const shown = describeQuestion(
      define({ type: 'MATRIX', text: 'q', options: [{ text: 'Good' }], settings: { rows: [{ text: 'Food' }] } }),
    );
    assert.deepEqual(Object.keys(shown.options[0] ?? {}), ['id', 'text', 'value']);
    assert.deepEqual(shown.settings, {
      multiple: false,
      rows: [{ id: shown.settings.rows?.[0]?.id, text: 'Food', value: 'food' }],
    });
    assert.ok(!('slots' in shown));
  });
});
