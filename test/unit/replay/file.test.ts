import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dayOrderOf, isoDay } from '../../../src/replay/recognise.ts';
import { decodeText, tableOf } from '../../../src/replay/table.ts';

describe('the text of a file', () => {
  it('is UTF-8 where the bytes are that, without the byte-order mark', () => {
    assert.equal(decodeText(Buffer.from('\ufeffZoë – “5 €”')), 'Zoë – “5 €”');
  });

  it('is Windows-1252 where they are not, the quotes and the euro sign too', () => {
    assert.equal(
      decodeText(Buffer.from([0x5a, 0x6f, 0xeb, 0x20, 0x93, 0x80, 0x94, 0x96, 0x8c, 0x9f, 0xff])),
      'Zoë “€”–ŒŸÿ',
    );
  });
});

describe('the header of a file', () => {
  const headOf = (...lines: string[][]) =>
    tableOf(lines).columns.map(({ run, question, part }) => [run, question, part]);

  it('is one row where every column has a name', () => {
    const table = tableOf([
      ['Colour', 'Size'],
      ['red', 'L'],
      ['blue', ''],
    ]);
    assert.deepEqual(table.columns, [
      { index: 0, run: 0, question: 'Colour', part: '' },
      { index: 1, run: 1, question: 'Size', part: '' },
    ]);
    assert.deepEqual(table.rows, [
      ['red', 'L'],
      ['blue', ''],
    ]);
  });

  it('is two rows where the second says “Response”', () => {
    assert.deepEqual(headOf(['Colour', 'Town'], ['Response', 'Open-Ended Response'], ['red', 'Rome']), [
      [0, 'Colour', ''],
      [1, 'Town', ''],
    ]);
  });

  it('is two rows where the second names the columns that the first leaves open', () => {
    assert.deepEqual(
      headOf(
        ['id', 'Which?', '', 'How was it?', ''],
        ['', 'One', 'Two', 'Food', 'Staff'],
        ['1', 'One', '', 'Good', 'Bad'],
        ['2', 'One', 'Two', 'Bad', 'Bad'],
      ),
      [
        [0, 'id', ''],
        [1, 'Which?', 'One'],
        [1, 'Which?', 'Two'],
        [2, 'How was it?', 'Food'],
        [2, 'How was it?', 'Staff'],
      ],
    );
  });

  it('is one row where a column without a name holds answers from the first row on', () => {
    const table = tableOf([
      ['Colour', ''],
      ['red', 'yes'],
      ['blue', 'no'],
      ['red', 'yes'],
      ['red', 'no'],
    ]);
    assert.deepEqual(
      table.columns.map(({ question }) => question),
      ['Colour', 'Column 2'],
    );
    assert.equal(table.rows.length, 4);
  });

  it('says two questions of the same wording apart, and one with line breaks on one line', () => {
    assert.deepEqual(headOf(['Why?', 'Why?', 'And\n now? '], ['a', 'b', 'c']), [
      [0, 'Why?', ''],
      [1, 'Why?', ''],
      [2, 'And now?', ''],
    ]);
  });

  it('decides how wide a row is; cells beyond it are told of, missing ones are empty', () => {
    const { rows, remarks } = tableOf([['A', 'B'], ['1'], ['1', '2', '3'], ['1', '2', '']]);
    assert.deepEqual(rows, [
      ['1', ''],
      ['1', '2'],
      ['1', '2'],
    ]);
    assert.deepEqual(remarks, ['1 rows have more cells than the header; their surplus cells are left out.']);
    assert.throws(() => tableOf([]), /empty/);
  });
});

describe('days as files write them', () => {
  it('are understood where only one order makes days of all of them', () => {
    assert.equal(dayOrderOf(['2024-01-02', '2024/12/31']), 'year');
    assert.equal(dayOrderOf(['1/2/2024', '12/31/2024']), 'month');
    assert.equal(dayOrderOf(['1/2/2024', '31/12/2024']), 'day');
    assert.equal(dayOrderOf(['1.2.2024', '3.4.2024']), 'day');
  });

  it('are left alone where month and day cannot be told apart, or are none', () => {
    for (const texts of [
      ['1/2/2024', '3/4/2024'],
      ['2024-02-30'],
      ['12/31/2024', '31/12/2024'],
      ['2024-1/2'],
      ['soon'],
      [],
    ])
      assert.equal(dayOrderOf(texts), undefined, texts.join());
  });

  it('become YYYY-MM-DD', () => {
    assert.equal(isoDay('2/29/2024', 'month'), '2024-02-29');
    assert.equal(isoDay('1.2.2024', 'day'), '2024-02-01');
    assert.equal(isoDay('2/29/2023', 'month'), undefined);
  });
});
