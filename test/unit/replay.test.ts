import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isSubmittable } from '../../src/replay/answers.ts';
import { detect } from '../../src/replay/detect.ts';
import { decodeCsv, tableOf } from '../../src/replay/table.ts';
import { compare } from '../../src/replay/verify.ts';

const lines = [
  ['RespondentID', 'Seen any?', 'Which?', '', '', 'Rank', '', 'How was it?', '', 'Age', 'When', 'Mail', 'Story', 'Town'],
  ['', 'Response', 'One', 'Two', 'Three', 'One', 'Two', 'Food', 'Staff', 'Response', 'Response', 'Response', 'Response', 'Response'],
  ['1', 'Yes', 'One', '', 'Three', '1', '2', 'Good', 'Bad', '31', '2024-01-02', 'a@b.org', 'x'.repeat(300), 'Rome'],
  ['2', 'No', '', 'Two', '', '2', '1', 'Bad', 'Bad', '47', '2024-01-03', 'c@d.org', 'short', 'Rome'],
  ['3', 'yes', 'One', 'Two', '', '', '', 'Good', '', '52', '2024-01-03', '', 'other', 'Bern'],
  ['4', '', '', '', '', '1', '1', '', '', '', '', '', 'another', 'Bern'],
  ['5', 'No', '', '', '', '', '', '', '', '', '', '', 'and so on', 'Rome'],
  ['6', 'No', '', '', '', '', '', '', '', '', '', '', 'and on', 'Rome'],
];

describe('recognising a file of responses', () => {
  const table = tableOf(lines);
  const { questions, idColumn } = detect(table);

  it('finds the type of every question and the respondents’ column', () => {
    assert.equal(idColumn, 0);
    assert.deepEqual(questions.map(({ text, type }) => [text, type]), [
      ['Seen any?', 'YES_NO'], ['Which?', 'CHECKBOXES'], ['Rank', 'RANKING'], ['How was it?', 'MATRIX'], ['Age', 'NUMBER'], ['When', 'DATE'], ['Mail', 'EMAIL'], ['Story', 'LONG_TEXT'], ['Town', 'MULTIPLE_CHOICE'],
    ]);
    assert.deepEqual(questions.map(({ options }) => options.length), [0, 3, 2, 2, 0, 0, 0, 0, 2]);
  });

  it('takes a file with a single header row as it is', () => {
    const single = tableOf([['Colour', 'Size'], ['red', 'L'], ['red', 'M'], ['blue', 'L'], ['red', 'L'], ['blue', 'M'], ['red', 'M']]);
    assert.equal(single.rows.length, 6);
    assert.deepEqual(detect(single).questions.map(({ type }) => type), ['MULTIPLE_CHOICE', 'MULTIPLE_CHOICE']);
  });

  it('lets a mapping overrule it', () => {
    const mapped = detect(table, { columns: { Age: { type: 'SHORT_TEXT', question: 'How old?' }, 13: { ignore: true } } });
    assert.ok(mapped.questions.some(({ type, text }) => type === 'SHORT_TEXT' && text === 'How old?'));
    assert.ok(!mapped.questions.some(({ text }) => text === 'Town'));
  });

  it('leaves out rankings that are none', () => {
    const ranking = questions.find(({ type }) => type === 'RANKING');
    assert.ok(ranking);
    assert.deepEqual(table.rows.map((row) => isSubmittable(ranking, row)), [true, true, true, false, true, true]);
  });

  it('reads UTF-8, and Windows-1252 where it is not that', () => {
    assert.equal(decodeCsv(Buffer.from('Zoë')), 'Zoë');
    assert.equal(decodeCsv(Buffer.from([0x5a, 0x6f, 0xeb])), 'Zoë');
  });

  it('tells every cell in which two distributions differ', () => {
    assert.deepEqual(compare('q', { a: 1, b: { c: 2 } }, { a: 1, b: { c: 3 }, d: 0 }), { cells: 3, differences: [{ question: 'q', cell: 'b › c', inFile: 2, inService: 3 }] });
  });
});
