import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Question } from '../../../../src/domain/survey.ts';
import type { ResponseRecord } from '../../../../src/stores/clickhouse/responses.ts';
import { type Body, pspp, record, skip, surveyOf } from '../../../support/spss-files.ts';

describe('missing answers in an SPSS file', () => {
  const bodies: Body[] = [
    {
      type: 'MULTIPLE_CHOICE',
      text: 'Which?',
      options: [
        { text: 'A', value: '1' },
        { text: 'B', value: '2' },
      ],
      settings: { allowOther: true },
    },
    { type: 'NUMBER', text: 'How many?' },
    { type: 'CHECKBOXES', text: 'All that fit', options: [{ text: 'One' }, { text: 'Two' }] },
    { type: 'SHORT_TEXT', text: 'A long text' },
    { type: 'EMAIL', text: 'Short' },
    { type: 'DATE', text: 'When?' },
  ];
  const notAskedAll = 0b111111;
  const withBits = (questions: readonly Question[]) =>
    questions.map((question, place) => ({ ...question, notAsked: { '': 39 * 16 + place } }));
  const bits = (response: ResponseRecord, word: number): ResponseRecord => {
    response.row.codes[39] = word;
    return response;
  };

  it('are told from questions that were not asked, as PSPP counts them', { skip }, async () => {
    const questions = withBits(surveyOf(...bodies).questions);
    const [option] = questions[0]?.options ?? [];
    const records = [
      record(questions, [
        [{ optionId: option?.id }],
        [{ numberValue: -500 }],
        [{ optionId: questions[2]?.options[0]?.id }],
        [{ textValue: 'a text of more than eight bytes' }],
        [{ textValue: 'a@b.ch' }],
        [{ textValue: '1999-12-31' }],
      ]),
      record(questions, []),
      bits(record(questions, []), notAskedAll),
      bits(record(questions, []), notAskedAll),
    ];
    const printed = await pspp(
      questions,
      records,
      'DISPLAY DICTIONARY.\nFREQUENCIES /VARIABLES=Q1 Q2 Q3_1 Q4 Q5 Q6.\nDESCRIPTIVES /VARIABLES=Q2.',
      { missing: 'labelled' },
    );
    // Four variables are numbers; texts have one missing value, and are empty where they were skipped.
    assert.equal(printed.match(/Skipped *\| *1\|/g)?.length, 4, printed);
    assert.equal(printed.match(/Not asked *\| *2\|/g)?.length, 6, printed);
    assert.match(printed, /-999[\s\S]*-998/, 'an answer of -500 leaves -99 to no other meaning');
  });

  it('have no values of their own unless they are asked for', { skip }, async () => {
    const questions = withBits(surveyOf(...bodies).questions);
    const printed = await pspp(questions, [record(questions, [])], 'DISPLAY DICTIONARY.');
    assert.doesNotMatch(printed, /Not asked/);
  });

  it('are none of those that were given, whatever blanks an answer ends with', { skip }, async () => {
    const questions = withBits(surveyOf({ type: 'SHORT_TEXT', text: 'Say something' }).questions);
    const printed = await pspp(
      questions,
      [
        ...['-98 ', '-998', 'x'].map((textValue) => record(questions, [[{ textValue }]])),
        bits(record(questions, []), notAskedAll),
      ],
      'FREQUENCIES /VARIABLES=Q1.',
      { missing: 'labelled' },
    );
    assert.match(printed, /-98 *\| *1\|[\s\S]*Missing Not asked *\| *1\|/, printed);
    assert.equal(printed.match(/Not asked/g)?.length, 1, printed);
  });
});
