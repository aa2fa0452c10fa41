import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { detect } from '../../../src/replay/detect.ts';
import type { Mapping } from '../../../src/replay/mapping.ts';
import { recogniseColumn } from '../../../src/replay/recognise.ts';
import { tableOf } from '../../../src/replay/table.ts';

const twice = (...values: string[]) => [...values, ...values];

describe('the type of a column', () => {
  const cases: [type: string, values: string[]][] = [
    ['YES_NO', ['Yes', 'no', 'YES', 'No']],
    ['NUMBER', ['31', '-4.5', '0', '12']],
    ['NUMBER', ['0.3333333333333333', '0.2857142857142857', '0.1234567890123456']],
    ['NUMBER', ['1.2345678901234567', '1.5', '0.95123456789012']],
    ['NUMBER', ['1e-13', '-2.5E-07', '0e+00', '9007199254740991']],
    ['SHORT_TEXT', ['3E1', '3E2', '4E1']],
    ['SHORT_TEXT', ['1e+400', '2', '3']],
    ['SHORT_TEXT', ['9007199254740993', '2', '3']],
    ['DATE', ['2024-01-02', '2024-02-29']],
    ['DATE', ['1/2/2024', '12/31/2024']],
    ['TIME', ['09:30', '23:59:59']],
    ['EMAIL', ['a@example.org', 'zoë@example.org']],
    ['MULTIPLE_CHOICE', twice('Male', 'Female')],
    ['MULTIPLE_CHOICE', twice('Some', 'A lot', 'Not much', 'Not at all')],
    ['DROPDOWN', twice(...'abcdefghijklm')],
    ['LIKERT_SCALE', ['Agree', 'strongly agree', 'Disagree', 'Neither agree nor disagree', 'Agree']],
    ['SHORT_TEXT', ['nice', 'not so nice', 'well']],
    ['SHORT_TEXT', []],
    ['LONG_TEXT', ['a', 'b', 'c\nd']],
    ['LONG_TEXT', ['a', 'b'.repeat(256), 'c']],
    ['SHORT_TEXT', ['01234', '98765', '00001']],
    ['SHORT_TEXT', ['12345678901234567890', '2', '3']],
    ['SHORT_TEXT', ['2024-02-30', '2024-01-01', '2024-01-05']],
    ['SHORT_TEXT', ['1/2/2024', '3/4/2024', '5/6/2024']],
    ['MULTIPLE_CHOICE', ['yes', 'no', 'maybe', 'yes', 'no', 'no']],
  ];
  for (const [type, values] of cases)
    it(`is ${type} for ${JSON.stringify(values.slice(0, 4)).slice(0, 60)}`, () =>
      assert.equal(recogniseColumn(values).type, type));

  it('determines the options: numbers by size, texts in order of appearance, agreement scales in order', () => {
    assert.deepEqual(recogniseColumn(twice('Male', 'Female', 'Other')).options, ['Male', 'Female', 'Other']);
    assert.deepEqual(recogniseColumn(['Agree', 'Strongly agree', 'DISAGREE']).options, [
      'Strongly disagree',
      'DISAGREE',
      'Neutral',
      'Agree',
      'Strongly agree',
    ]);
    assert.deepEqual(recogniseColumn(['Yes', 'No']).options, []);
  });
});

const head = [
  ['RespondentID', 'Seen any?', 'Which?', '', '', 'Rank them', '', 'How was it?', '', 'Town', 'Satisfied?', '', ''],
  [
    '',
    'Response',
    'Part  One',
    'Two',
    'Other (please specify)',
    'One',
    'Two',
    'Food',
    'Staff',
    'Response',
    'Shop',
    'Web',
    'Post',
  ],
];
const rows = [
  ['1', 'Yes', 'Part  One', '', '', '1', '2', 'Good', 'Bad', 'Rome', '5', '5', '4'],
  ['2', 'No', '', 'Two', 'a friend’s', '2', '1', 'Bad', 'Bad', 'Rome', '5', '4', '4'],
  ['3', 'yes', 'Part  One', 'Two', '', '', '', 'Good', '', 'Bern', '1', '1', '2'],
  ['4', '', '', '', 'the one on TV', '1', '1', '', '', 'Bern', '3', '3', '3'],
];

describe('the questions of a file', () => {
  const table = tableOf([...head, ...rows]);
  const { questions, idColumn } = detect(table);

  it('are found with their types, in the order of the file', () => {
    assert.deepEqual(
      questions.map(({ text, type }) => [text, type]),
      [
        ['Seen any?', 'YES_NO'],
        ['Which?', 'CHECKBOXES'],
        ['Which? – Other (please specify)', 'SHORT_TEXT'],
        ['Rank them', 'RANKING'],
        ['How was it?', 'MATRIX'],
        ['Town', 'MULTIPLE_CHOICE'],
        ['Satisfied?', 'MATRIX'],
      ],
    );
  });

  it('take items and options from headers and cells', () => {
    const of = (text: string) => questions.find((question) => question.text === text);
    assert.deepEqual(of('Which?')?.items, [
      { index: 2, text: 'Part One' },
      { index: 3, text: 'Two' },
    ]);
    assert.deepEqual(
      of('Rank them')?.items.map(({ text }) => text),
      ['One', 'Two'],
    );
    assert.deepEqual(of('How was it?')?.options, ['Good', 'Bad']);
    assert.deepEqual(
      of('Satisfied?')?.options,
      ['1', '2', '3', '4', '5'],
      'marks that repeat within a row are no ranks',
    );
    assert.deepEqual(of('Town')?.options, ['Rome', 'Bern']);
  });

  it('do not include the respondents’ id', () => {
    assert.equal(idColumn?.index, 0);
    const idOf = (name: string, values: string[]) =>
      detect(tableOf([[name], ...values.map((value) => [value])])).idColumn?.question;
    for (const name of ['ID', 'respondent_id', 'Response ID', 'userId', 'uuid'])
      assert.equal(idOf(name, ['a', 'b']), name);
    for (const name of ['Madrid', 'What did you pay?', 'paid', 'Valid'])
      assert.equal(idOf(name, ['a', 'b']), undefined, name);
    assert.equal(idOf('ID', ['a', 'a']), undefined);
    assert.equal(idOf('ID', ['a', '', 'b']), undefined);
  });

  it('are separate if columns under one header have nothing in common', () => {
    const mixed = tableOf([
      ['About you', ''],
      ['Age', 'Town'],
      ['31', 'Rome'],
      ['44', 'Bern'],
      ['57', 'Graz'],
    ]);
    assert.deepEqual(
      detect(mixed).questions.map(({ text, type }) => [text, type]),
      [
        ['About you – Age', 'NUMBER'],
        ['About you – Town', 'SHORT_TEXT'],
      ],
    );
  });

  it('are options to tick where the cells of several columns are 0 and 1, or true and false', () => {
    for (const [yes, no] of [
      ['1', '0'],
      ['true', 'false'],
      ['x', ''],
    ] as const)
      assert.equal(
        detect(
          tableOf([
            ['Which?', ''],
            ['App', 'Web'],
            [yes, no],
            [no, yes],
          ]),
        ).questions[0]?.type,
        'CHECKBOXES',
      );
    assert.equal(
      detect(
        tableOf([
          ['Which?', ''],
          ['App', 'Web'],
          ['1', '2'],
          ['2', '1'],
        ]),
      ).questions[0]?.type,
      'RANKING',
    );
  });

  it('number columns of equal names', () => {
    const same = tableOf([
      ['Which?', '', ''],
      ['None', 'None', 'Some'],
      ['None', '', 'Some'],
      ['', 'None', ''],
    ]);
    assert.deepEqual(
      detect(same).questions.map(({ type, items }) => [type, items.map(({ text }) => text)]),
      [['CHECKBOXES', ['None', 'None (2)', 'Some']]],
    );
  });
});

describe('a mapping', () => {
  const table = tableOf([...head, ...rows]);
  const detected = (columns: Mapping['columns']) =>
    detect(table, { columns }).questions.map(({ text, type, options, items }) => ({
      text,
      type,
      options,
      columns: items.map(({ index }) => index),
    }));

  it('changes type, wording and order of options', () => {
    const found = detected({
      Town: { type: 'DROPDOWN', question: 'Where?', options: ['Bern', 'Rome', 'Graz'] },
      'How was it?': { options: ['Bad', 'Good'] },
    });
    assert.deepEqual(found[5], { text: 'Where?', type: 'DROPDOWN', options: ['Bern', 'Rome', 'Graz'], columns: [9] });
    assert.deepEqual(found[4], { text: 'How was it?', type: 'MATRIX', options: ['Bad', 'Good'], columns: [7, 8] });
  });

  it('takes options from cells if it names a choice without options', () => {
    assert.deepEqual(detected({ 4: { type: 'MULTIPLE_CHOICE' } })[2]?.options, ['a friend’s', 'the one on TV']);
  });

  it('leaves out columns by header or index, and can make an id column a question', () => {
    assert.deepEqual(
      detected({ 'How was it?': { ignore: true }, 2: { ignore: true } })
        .map(({ text }) => text)
        .includes('How was it?'),
      false,
    );
    assert.deepEqual(detected({ RespondentID: { type: 'SHORT_TEXT' } })[0], {
      text: 'RespondentID',
      type: 'SHORT_TEXT',
      options: [],
      columns: [0],
    });
  });

  it('takes an indexed column out of its group, and splits a group into single questions', () => {
    assert.deepEqual(detected({ 12: { type: 'RATING_SCALE' } }).slice(6), [
      { text: 'Satisfied?', type: 'MATRIX', options: ['1', '3', '4', '5'], columns: [10, 11] },
      { text: 'Satisfied? – Post', type: 'RATING_SCALE', options: [], columns: [12] },
    ]);
    assert.deepEqual(
      detected({ 'Satisfied?': { type: 'NUMBER' } })
        .slice(6)
        .map(({ text, type }) => [text, type]),
      [
        ['Satisfied? – Shop', 'NUMBER'],
        ['Satisfied? – Web', 'NUMBER'],
        ['Satisfied? – Post', 'NUMBER'],
      ],
    );
  });

  it('extends a scale to include all numbers', () => {
    assert.deepEqual(
      detect(tableOf([['Mark'], ['0'], ['7']]), { columns: { Mark: { type: 'RATING_SCALE' } } }).questions[0]?.scale,
      { min: 0, max: 7 },
    );
  });

  it('may ignore a column that has neither a name nor a cell', () => {
    const table = tableOf([
      ['Dish', '', ''],
      ['Soup', '', ''],
    ]);
    for (const name of ['Column 2', '2'])
      assert.equal(detect(table, { columns: { [name]: { ignore: true } } }).questions.length, 1);
  });

  it('is refused if it does not fit the file', () => {
    assert.throws(() => detected({ Twon: { ignore: true } }), /names “Twon”/);
    assert.throws(() => detected({ 99: { ignore: true } }), /names “99”/);
    assert.throws(() => detected({ Town: { type: 'MATRIX' } }), /MATRIX, which takes a header with several columns/);
    assert.throws(() => detected({ 7: { type: 'RANKING' } }), /RANKING, which takes a header with several columns/);
    assert.throws(() => detected({ Town: { type: 'NUMBER', options: ['Rome'] } }), /type NUMBER, which has none/);
    assert.throws(() => detected({ 'Which?': { options: ['One'] } }), /CHECKBOXES, which takes them from its columns/);
  });
});
