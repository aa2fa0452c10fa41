import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeText } from '../../../src/replay/decode.ts';
import { dayOrderOf, isoDay } from '../../../src/replay/recognise.ts';
import { tableOf } from '../../../src/replay/table.ts';
import { textTable } from '../../../src/replay/text-table.ts';

describe('the text of a file', () => {
  it('is decoded as UTF-8 without the byte-order mark if valid', () => {
    assert.equal(decodeText(Buffer.from('\ufeffZoë – “5 €”')), 'Zoë – “5 €”');
  });

  it('is otherwise decoded as Windows-1252, with quotes and euro sign', () => {
    assert.equal(
      decodeText(Buffer.from([0x5a, 0x6f, 0xeb, 0x20, 0x93, 0x80, 0x94, 0x96, 0x8c, 0x9f, 0xff])),
      'Zoë “€”–ŒŸÿ',
    );
  });
});

describe('the header of a file', () => {
  const headOf = (...lines: string[][]) =>
    tableOf(lines).columns.map(({ run, question, part }) => [run, question, part]);

  it('is one row if every column has a name', () => {
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

  it('is two rows if the second says “Response”', () => {
    assert.deepEqual(headOf(['Colour', 'Town'], ['Response', 'Open-Ended Response'], ['red', 'Rome']), [
      [0, 'Colour', ''],
      [1, 'Town', ''],
    ]);
  });

  it('is two rows if the second names the columns that the first leaves unnamed', () => {
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

  it('is the second of the three rows of Qualtrics', () => {
    const { columns, rows } = tableOf([
      ['StartDate', 'Q1'],
      ['Start Date', 'How old are you?'],
      ['{"ImportId":"startDate","timeZone":"Z"}', '{"ImportId":"QID1_TEXT"}'],
      ['2024-01-02 10:00:00', '31'],
    ]);
    assert.deepEqual(
      columns.map(({ question }) => question),
      ['Start Date', 'How old are you?'],
    );
    assert.deepEqual(rows, [['2024-01-02 10:00:00', '31']]);
  });

  it('is one row if an unnamed column has answers from the first row on', () => {
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

  it('is remarked upon if a second row names columns, as a first response beside a column without a name may do', () => {
    const years = tableOf([
      ['How often?', ''],
      ['2024', '2025'],
      ['5', '7'],
    ]);
    assert.deepEqual(years.rows, [['5', '7']]);
    assert.deepEqual(years.remarks, ['The second line is read as names of columns, such as “2024”.']);
  });

  it('keeps questions of the same wording separate, and removes line breaks', () => {
    assert.deepEqual(headOf(['Why?', 'Why?', 'And\n now? '], ['a', 'b', 'c']), [
      [0, 'Why?', ''],
      [1, 'Why?', ''],
      [2, 'And now?', ''],
    ]);
  });

  it('sets the number of cells; surplus cells are reported, missing ones are empty', () => {
    const { rows, remarks } = tableOf([['A', 'B'], ['1'], ['1', '2', '3'], ['1', '2', '']]);
    assert.deepEqual(rows, [
      ['1', ''],
      ['1', '2'],
      ['1', '2'],
    ]);
    assert.deepEqual(remarks, ['1 rows have more cells than the header; their surplus cells are left out.']);
    assert.throws(() => tableOf([]), /empty/);
  });

  it('does not name the columns that have neither a name nor an answer', () => {
    assert.deepEqual(
      tableOf([
        ['Dish', '', 'Price', '', ''],
        ['Soup', '', '5', ' ', ''],
        ['Pasta', '', '', '', ''],
      ]).columns,
      [
        { index: 0, run: 0, question: 'Dish', part: '' },
        { index: 2, run: 2, question: 'Price', part: '' },
      ],
    );
  });

  it('is two rows beside columns that are empty', () => {
    assert.deepEqual(headOf(['Which?', '', '', 'Town', ''], ['One', 'Two', '', '', ''], ['One', '', '', 'Rome', '']), [
      [0, 'Which?', 'One'],
      [0, 'Which?', 'Two'],
      [1, 'Town', ''],
    ]);
  });
});

describe('the rows of a file', () => {
  it('are left out, with a remark, where no cell is filled, as spreadsheets write formatted rows', () => {
    const { columns, rows, remarks } = textTable(Buffer.from(';;\nDish;Price;\nSoup;5;\n; ;\nPasta;;\n;;\n')).table;
    assert.deepEqual(
      columns.slice(0, 2).map(({ question }) => question),
      ['Dish', 'Price'],
    );
    assert.deepEqual(
      rows.map(([dish, price]) => [dish, price]),
      [
        ['Soup', '5'],
        ['Pasta', ''],
      ],
    );
    assert.deepEqual(remarks, ['3 rows have no filled cell; they are left out.']);
  });
});

describe('dates in files', () => {
  it('are recognised if only one order of day and month fits all', () => {
    assert.equal(dayOrderOf(['2024-01-02', '2024/12/31']), 'year');
    assert.equal(dayOrderOf(['1/2/2024', '12/31/2024']), 'month');
    assert.equal(dayOrderOf(['1/2/2024', '31/12/2024']), 'day');
    assert.equal(dayOrderOf(['1.2.2024', '3.4.2024']), 'day');
  });

  it('are not recognised if day and month are ambiguous or a text is no date', () => {
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

  it('are converted to YYYY-MM-DD', () => {
    assert.equal(isoDay('2/29/2024', 'month'), '2024-02-29');
    assert.equal(isoDay('1.2.2024', 'day'), '2024-02-01');
    assert.equal(isoDay('2/29/2023', 'month'), undefined);
  });
});
