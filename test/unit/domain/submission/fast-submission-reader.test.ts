import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compileSurvey } from '../../../../src/domain/submission/answers.ts';
import { createFastSubmissionReader } from '../../../../src/domain/submission/fast-submission-reader.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';
import { asPythonWrites, compareReadings } from './compare-fast-reader.ts';

describe('the fast reader of submissions', () => {
  // Thousands of them: test/fuzz/submissions.
  it('gives the same row as the general path, or leaves the body to it', () => {
    const { read, left, canonical } = compareReadings(150);
    assert.ok(
      read > 20 && left > 20 && canonical > 5,
      `${read} were read, ${left} left, of ${canonical} the canonical form was at hand`,
    );
  });

  const options = ['a', 'b', 'c'].map((text) => ({ text }));
  const choice = withQuestion(blankSurvey(), { type: 'MULTIPLE_CHOICE', text: 'One', isRequired: true, options });
  const several = withQuestion(choice.survey, { type: 'CHECKBOXES', text: 'Some', options });
  const word = withQuestion(several.survey, { type: 'SHORT_TEXT', text: 'A word' });
  const score = withQuestion(word.survey, { type: 'NPS', text: 'Score' });
  const read = createFastSubmissionReader(compileSurvey(score.survey));
  const first = { questionId: choice.question.id, optionId: choice.question.options[1]?.id };
  const chosen = [0, 2].map((index) => ({
    questionId: several.question.id,
    optionId: several.question.options[index]?.id,
  }));
  const said = (textValue: string) => ({ questionId: word.question.id, textValue });
  const scored = { questionId: score.question.id, numberValue: 10 };
  const ofText = (text: string) => read(Buffer.from(text))?.row;
  const of = (...answers: object[]) => ofText(JSON.stringify({ answers }));

  it('reads bodies that list their answers in the order of the survey, all of them or some', () => {
    assert.deepEqual(
      of(first, ...chosen, said('grün } "so"'), scored),
      undefined,
      'a brace in a text is left to the general way',
    );
    assert.deepEqual(of(first, ...chosen, said('grün'), scored), {
      codes: [2, 5, 1, 11],
      numbers: [],
      texts: ['grün'],
    });
    assert.deepEqual(of(first, said('say "so"')), { codes: [2, 0, 1, 0], numbers: [], texts: ['say "so"'] });
    assert.deepEqual(of(first), { codes: [2, 0, 0, 0], numbers: [], texts: [''] });
  });

  it('reads other fields before or after the answers, and spaces as Python writes them', () => {
    const row = { codes: [2, 0, 0, 11], numbers: [], texts: [''] };
    const beside = {
      startedAt: '2026-01-02T03:04:05Z',
      respondent: 'é',
      metadata: { answers: '],"answers":[' },
      isComplete: true,
    };
    const expected = { startedAtMs: Date.UTC(2026, 0, 2, 3, 4, 5), respondent: 'é', metadata: beside.metadata };
    const { metadata, ...others } = beside;
    const answers = [first, scored];
    for (const body of [
      { answers, ...beside },
      { ...beside, answers },
      { metadata, answers, ...others },
    ])
      for (const text of [JSON.stringify(body), asPythonWrites(body)]) {
        const found = read(Buffer.from(text));
        const { startedAtMs, respondent, metadata: given } = found?.submission ?? {};
        assert.deepEqual([{ startedAtMs, respondent, metadata: given }, found?.row], [expected, row], text);
      }
    assert.deepEqual(ofText(asPythonWrites({ answers })), row);
    assert.deepEqual(ofText(asPythonWrites({ answers: [first, said('a word')] })), {
      codes: [2, 0, 1, 0],
      numbers: [],
      texts: ['a word'],
    });
  });

  it('leaves bodies with invalid fields, with `cleared`, or of a partial or continued response, to the general path', () => {
    const answers = [first, scored];
    const wrong = [
      { isComplete: false },
      { responseId: '0190b2f4-7c1e-7000-8000-000000000000' },
      { resumeToken: 'x' },
      { cleared: [score.question.id] },
      { cleared: ['x'] },
      { startedAt: 'today' },
      { metadata: [] },
      { colour: 'red' },
      { respondent: ' ' },
      { respondent: '\0' },
    ];
    for (const beside of wrong)
      for (const body of [
        { ...beside, answers },
        { answers, ...beside },
      ])
        assert.equal(ofText(JSON.stringify(body)), undefined, JSON.stringify(body));
    const list = JSON.stringify(answers);
    const [inMetadata, twice, twiceBehind, unclosed] = [
      `{"metadata":{"a":"b","answers":${list}}}`,
      `{"answers":[],"answers":${list}}`,
      `{"answers":${list},"answers":[]}`,
      `{"answers":${list},"language":"de"`,
    ];
    for (const text of [
      inMetadata,
      twice,
      twiceBehind,
      unclosed,
      `{"answers":${list},}`,
      `{"answers":${list}, }`,
      `{,"answers":${list}}`,
      list,
      `{"language":"de","answers":${list}]}`,
    ])
      assert.equal(ofText(text), undefined, text);
  });

  it('reads a body that takes no answers back', () => {
    assert.ok(ofText(JSON.stringify({ answers: [first, scored], cleared: [] })));
  });

  it('leaves bodies with other spellings or invalid answers to the general path', () => {
    const good = JSON.stringify({ answers: [first, scored] });
    assert.ok(ofText(good));
    for (const other of [
      '',
      '{}',
      '{"answers":[]}',
      ` ${good}`,
      `${good} `,
      good.replace(':', ': '),
      good.replace('},{', '} ,{'),
      good.replace('},{', '}{'),
      good.replace(']}', ',]}'),
      good.replace(']}', '],"isComplete":false}'),
      good.slice(0, -1),
      `${good}]}`,
      `${good}${good}`,
    ])
      assert.equal(ofText(other), undefined, other);
    for (const answers of [
      [scored],
      [scored, first],
      [first, first],
      [first, ...chosen, ...chosen],
      [first, { ...scored, numberValue: 11 }],
      [first, { ...scored, numberValue: 1.5 }],
      [first, said('\0')],
      [first, said('two\nlines')],
      [first, { ...scored, rank: 1 }],
    ])
      assert.equal(of(...answers), undefined, JSON.stringify(answers));
  });

  it('leaves long bodies, and texts that are not UTF-8, to the general path', () => {
    const bytes = Buffer.from(JSON.stringify({ answers: [first, said('word')] }));
    assert.ok(read(bytes));
    bytes[bytes.indexOf('word')] = 0xff;
    assert.equal(read(bytes), undefined);
    assert.equal(of(first, said('x'.repeat(100_000))), undefined);
  });
});
