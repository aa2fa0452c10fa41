import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { cleanTable } from '../../../src/replay/clean.ts';
import { detect } from '../../../src/replay/detect.ts';
import { type ColumnOverride, emptyMapping, type Mapping } from '../../../src/replay/mapping.ts';
import { readTable } from '../../../src/replay/read-table.ts';
import { answersOf, metadataOf } from '../../../src/replay/row-answers.ts';
import { typeAdapters } from '../../../src/replay/types/adapters.ts';

describe('a file of responses', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'survey-cells-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const read = (content: string | Buffer, options: Parameters<typeof readTable>[1] = {}) => {
    const path = join(folder, 'file.csv');
    writeFileSync(path, content);
    return readTable(path, options);
  };
  const typed = async (content: string, mapping: Mapping = emptyMapping) => {
    const { table, separator } = await read(content);
    const clean = cleanTable(table, mapping, { separator });
    return { ...clean, types: detect(clean, mapping).questions.map(({ type }) => type) };
  };

  /** What the mapping says about the column “Seen”. */
  const mapped = (override: ColumnOverride): Mapping => ({ columns: { Seen: override } });
  /** What is submitted to the first question. */
  const firstAnswers = async (content: string, mapping: Mapping) => {
    const { table, separator } = await read(content);
    const clean = cleanTable(table, mapping, { separator });
    const [found] = detect(clean, mapping).questions;
    const questions = found ? [{ found, id: 'q', options: new Map(), rows: new Map() }] : [];
    const answers = clean.rows.flatMap((row) => answersOf(questions, row));
    return answers.map(({ numberValue, textValue }) => numberValue ?? textValue);
  };

  it('is separated by semicolons or tabs if its first lines say so', async () => {
    for (const [separator, text] of [
      [';', 'Dish, please;Age\n"Soup; hot";1,5\nPasta, cold;2,5\n'],
      ['\t', 'Dish\tAge\nSoup, hot\t1\nPasta\t2\n'],
      [',', 'Dish,Age\nSoup;hot,1\nPasta;cold,2\n'],
      [';', 'sep=;\nDish;Age\nSoup;1\n'],
    ] as const) {
      const { table, separator: found } = await read(text);
      assert.equal(found, separator, text);
      assert.equal(table.columns.length, 2, text);
    }
    assert.equal((await read('a;b\n1;2\n', { separator: ',' })).table.columns.length, 1);
  });

  it('may be UTF-16, with or without a byte-order mark', async () => {
    const little = Buffer.from('Dish\tAge\nSüppchen\t1\n', 'utf16le');
    const big = Buffer.from(little).swap16();
    for (const bytes of [
      little,
      big,
      Buffer.concat([Buffer.from([0xff, 0xfe]), little]),
      Buffer.concat([Buffer.from([0xfe, 0xff]), big]),
    ])
      assert.deepEqual((await read(bytes)).table.rows, [['Süppchen', '1']]);
  });

  it('is refused with the reason if it is no text', async () => {
    await assert.rejects(
      read(Buffer.from('$FL2@(#) SPSS DATA FILE')),
      /The SPSS file cannot be read: it ends too early/,
    );
    await assert.rejects(read(Buffer.from('PK\u0003\u0004\u0014\u0000')), /The Excel file cannot be read/);
    await assert.rejects(read(Buffer.from([1, 0, 0, 0, 7, 0, 0, 0])), /no text/);
  });

  it('has decimal commas if a whole column does', async () => {
    const { types, rows, remarks } = await typed('Age;Pay\n1,5;1.234,50\n2;99,9\n');
    assert.match(remarks.join(), /“Age”: numbers with decimal commas, as “1,5”/);
    assert.deepEqual(types, ['NUMBER', 'NUMBER']);
    assert.deepEqual(rows, [
      ['1.5', '1234.50'],
      ['2', '99.9'],
    ]);
  });

  it('has commas or apostrophes of thousands where a cell shows that they mark no decimals', async () => {
    for (const [text, numbers] of [
      ['Pay;B\n1,234,567.89;x\n2,345.10;y\n3.5;z\n', [1234567.89, 2345.1, 3.5]],
      ['Pay,B\n"1,234",x\n"2,345",y\n3.5,z\n', [1234, 2345, 3.5]],
      ["Pay;B\n1'234.50;x\n5'500;y\n7;z\n", [1234.5, 5500, 7]],
      ['Pay,B\n1’234’567,x\n5’500,y\n7,z\n', [1234567, 5500, 7]],
      ["Pay;B\n1'234,50;x\n5'500;y\n7;z\n", [1234.5, 5500, 7]],
    ] as const) {
      const { types, rows } = await typed(text);
      assert.equal(types[0], 'NUMBER', text);
      assert.deepEqual(
        rows.map(([pay]) => Number(pay)),
        numbers,
      );
    }
    const { remarks } = await typed('Pay;B\n3.5;x\n2,345.10;y\n');
    assert.deepEqual(remarks, ['“Pay”: numbers with marks of thousands, as “2,345.10”.']);
    assert.equal((await typed('Codes;B\n101,102,103;x\n104,105,106;y\n')).types[0], 'SHORT_TEXT');
  });

  it('keeps its commas where the mapping gives options or asks for text', async () => {
    for (const override of [{ options: ['1,5', '2'] }, { type: 'SHORT_TEXT' as const }])
      assert.deepEqual((await typed('Age;B\n1,5;x\n2;y\n', { columns: { Age: override } })).rows[0], ['1,5', 'x']);
  });

  it('leaves “1,234” of a comma-separated file alone until the mapping says what it is', async () => {
    const text = 'Pay,Sex\n"1,234",a\n"2,345",b\n"9,876",b\n';
    assert.match((await typed(text)).remarks.join(), /“Pay”.*"decimal"/);
    assert.deepEqual((await typed(text)).types[0], 'SHORT_TEXT');
    const rowsWith = async (decimal: ',' | '.') =>
      (await typed(text, { columns: { Pay: { decimal } } })).rows.map(([pay]) => pay);
    assert.deepEqual(await rowsWith(','), ['1.234', '2.345', '9.876']);
    assert.deepEqual(await rowsWith('.'), ['1234', '2345', '9876']);
  });

  it('leaves “1.234” of a file separated by semicolons alone too, and “1,234” of one separated by tabs', async () => {
    for (const [text, mark] of [
      ['Rent;Sex\n950;a\n1.200;b\n12.500;b\nNA;a\n', 'point'],
      ['Rent\tSex\n950\ta\n1,200\tb\n12,500\tb\nNA\ta\n', 'comma'],
    ] as const) {
      const { types, remarks } = await typed(text);
      assert.equal(types[0], 'SHORT_TEXT', text);
      assert.match(remarks.join('\n'), new RegExp(`“Rent”: the ${mark} may mark decimals or thousands; .*"decimal"`));
      const rowsWith = async (decimal: ',' | '.') =>
        (await typed(text, { columns: { Rent: { decimal } } })).rows.map(([rent]) => Number(rent));
      const [parts, thousands] = [
        await rowsWith(mark === 'point' ? '.' : ','),
        await rowsWith(mark === 'point' ? ',' : '.'),
      ];
      assert.deepEqual(
        [parts, thousands],
        [
          [950, 1.2, 12.5, 0],
          [950, 1200, 12_500, 0],
        ],
        text,
      );
    }
  });

  it('has decimal points in a file separated by semicolons where a cell of the column can have no other', async () => {
    for (const clear of ['0.125', '1.25', '1234.125'])
      assert.deepEqual((await typed(`Weight;Sex\n1.200;a\n${clear};b\n`)).types[0], 'NUMBER', clear);
    const { rows, remarks } = await typed('Rent;Sex\n950,50;a\n1.200;b\n');
    assert.deepEqual(rows, [
      ['950.50', 'a'],
      ['1200', 'b'],
    ]);
    assert.match(remarks.join(), /“Rent”: numbers with decimal commas/);
  });

  it('has numbers in a column beside one of the same question whose points may mark thousands', async () => {
    const { types, rows } = await typed('Rent [cold];Rent [warm]\n1.200;950,50\n900;1.400,75\n');
    assert.deepEqual(types, ['SHORT_TEXT', 'NUMBER']);
    assert.deepEqual(rows[0], ['1.200', '950.50']);
  });

  it('takes NA, N/A, unknown, - and . as missing where they would change the type', async () => {
    const { types, remarks, rows } = await typed(
      'Age,Come again?,Country\n31,Yes,NA\nNA,-,DE\n40,No,NA\n.,unknown,DE\n',
    );
    assert.deepEqual(types, ['NUMBER', 'YES_NO', 'MULTIPLE_CHOICE']);
    assert.deepEqual(rows[0], ['31', 'Yes', 'NA']);
    assert.deepEqual(rows[3], ['', '', 'DE']);
    assert.ok(remarks.includes('“Age”: taken as missing: “NA” (1), “.” (1).'), remarks.join('\n'));
  });

  it('shows the values that keep a column from being numbers', async () => {
    const { remarks } = await typed(`Age\n${'31\n42\n53\n64\n75\n86\n97\n'}ca. 40\n`);
    assert.match(remarks.join('\n'), /“Age” is not NUMBER because of “ca. 40” \(1\)/);
  });

  it('has numbers of all lengths, and says which have more digits than the service keeps', async () => {
    const { types, rows, remarks } = await typed(
      'Share;Exact;Comma\n0.12345678901234567890;0.33333333333333331;0,3333333333333333\n0.5;1.5000000000000000000;1.000,5\n1e-400;1e-13;2\n',
    );
    assert.deepEqual(types, ['NUMBER', 'NUMBER', 'NUMBER']);
    assert.deepEqual(
      rows.map((row) => row[2]),
      ['0.3333333333333333', '1000.5', '2'],
    );
    assert.deepEqual(remarks, [
      '“Share”: rounded to what the service keeps, at most 17 digits: “0.12345678901234567890” (1), “1e-400” (1).',
      '“Comma”: numbers with decimal commas, as “0,3333333333333333”.',
    ]);
  });

  it('shows the values beside decimal commas too, and leaves the cells as they are', async () => {
    const { types, rows, remarks } = await typed('N;B\n1,5;u\n2,5;v\n3,25;x\nviel;y\n1.234,5;z\n');
    assert.deepEqual([types[0], rows[0]?.[0]], ['SHORT_TEXT', '1,5']);
    assert.match(remarks.join(), /“N” is not NUMBER because of “viel” \(1\)/);
  });

  it('leaves out only the answers that do not fit the type of the mapping', async () => {
    for (const [type, cells, sent] of [
      ['NUMBER', ['1,5', '2,5', '3,25', 'viel', '1.234,5', 'NA'], [1.5, 2.5, 3.25, 1234.5]],
      ['NUMBER', ['1,234', '2,345.10', 'much', '7'], [1234, 2345.1, 7]],
      ['NUMBER', ['1.234', '2.5', '10,5'], [1.234, 2.5, 10.5]],
      ['NUMBER', ['1.234,5', '2.345,75', '1.500', '2.5'], [1234.5, 2345.75, 1500, 2.5]],
      ['YES_NO', ['ja', 'nein', 'Ja', 'vielleicht', '-'], ['yes', 'no', 'yes']],
      [
        'DATE',
        ['31.02.2024', '11.03.2024', '12.03.2024', '13.03.2024', 'N/A'],
        ['2024-03-11', '2024-03-12', '2024-03-13'],
      ],
      ['DATE', ['31/12/2024', '2/1/2024', '12/31/2024', '1/13/2024'], ['2024-02-01', '2024-12-31', '2024-01-13']],
      [
        'DATE',
        ['2024-01-02', '2024-01-03', '12/31/1990', '3/4/2024'],
        ['2024-01-02', '2024-01-03', '1990-12-31', '2024-03-04'],
      ],
      ['DATE', ['13/4/2024', '14/4/2024', '2024-05-01'], ['2024-04-13', '2024-04-14', '2024-05-01']],
    ] as const) {
      const text = `Seen;B\n${cells.map((cell) => `${cell};x\n`).join('')}`;
      assert.deepEqual(await firstAnswers(text, mapped({ type })), sent, cells.join());
    }
  });

  it('says where marks of thousands without decimals keep a column from being numbers', async () => {
    const { types, remarks } = await typed('People;B\n"1,234,567";x\n"950,000";y\n');
    assert.equal(types[0], 'SHORT_TEXT');
    assert.match(remarks.join(), /“People”: the comma may mark thousands; say so with "decimal" in the mapping/);
  });

  it('has days whose day and month may be either, until their order is given', async () => {
    const text = 'Seen;B\n3/4/2024;x\n5/4/2024;y\nNA;z\n';
    const unknown = await typed(text);
    assert.deepEqual([unknown.types[0], unknown.rows[2]?.[0]], ['SHORT_TEXT', 'NA']);
    const either = '“Seen”: day and month may be either; say so with "dayOrder" in the mapping.';
    for (const { remarks } of [unknown, await typed(text, mapped({ type: 'DATE' }))])
      assert.ok(remarks.includes(either), remarks.join());
    for (const [mapping, days] of [
      [{ dayOrder: 'DMY', columns: {} }, ['2024-04-03', '2024-04-05']],
      [mapped({ dayOrder: 'MDY' }), ['2024-03-04', '2024-05-04']],
      [mapped({ dayOrder: 'MDY', type: 'DATE' }), ['2024-03-04', '2024-05-04']],
      [mapped({ type: 'DATE' }), []],
    ] as const) {
      const { types, remarks } = await typed(text, mapping);
      assert.equal(types[0], 'DATE');
      assert.equal(remarks.includes(either), days.length === 0);
      assert.deepEqual(await firstAnswers(text, mapping), days);
    }
  });

  it('has days in the order that they show, whatever is the order of those that may be either', async () => {
    for (const [cells, days] of [
      [
        ['3.4.2024', '4.5.2024'],
        ['2024-04-03', '2024-05-04'],
      ],
      [
        ['14/4/2024', '3/4/2024'],
        ['2024-04-14', '2024-04-03'],
      ],
    ] as const)
      assert.deepEqual(
        await firstAnswers(`Seen;B\n${cells.map((cell) => `${cell};x\n`).join('')}`, { dayOrder: 'MDY', columns: {} }),
        days,
      );
    const excel = 'Seen;B\n2024-01-02;x\n2024-01-05;y\n3/4/2024;z\n';
    const asked = await firstAnswers(excel, mapped({ type: 'DATE', dayOrder: 'DMY' }));
    assert.deepEqual(asked, ['2024-01-02', '2024-01-05', '2024-04-03']);
  });

  it('has no days of another order than the given one', async () => {
    const text = 'Seen;B\n13/4/2024;x\n14/4/2024;y\n3/4/2024;z\n';
    assert.equal((await typed(text, mapped({ dayOrder: 'MDY' }))).types[0], 'SHORT_TEXT');
    assert.deepEqual(await firstAnswers(text, mapped({ dayOrder: 'MDY', type: 'DATE' })), ['2024-03-04']);
  });

  it('takes the missing values of the mapping instead', async () => {
    const { rows, types } = await typed('Age,Sex\n31,x\n-99,NA\n40,y\n', {
      missing: ['-99'],
      columns: { Sex: { missing: ['x'] } },
    });
    assert.deepEqual(types[0], 'NUMBER');
    assert.deepEqual(rows, [
      ['31', ''],
      ['', 'NA'],
      ['40', 'y'],
    ]);
  });

  it('takes ja/nein and other pairs as yes and no', async () => {
    const { types, remarks } = await typed('A,B,C\nja,oui,ja\nnein,non,oui\nJa,oui,nein\n');
    assert.deepEqual(types.slice(0, 2), ['YES_NO', 'YES_NO']);
    assert.notEqual(types[2], 'YES_NO');
    assert.match(remarks.join('\n'), /“A”: “ja” is Yes, “nein” is No/);
  });

  it('translates values as the mapping says', async () => {
    const { rows } = await typed('How?\n1\n2\n1\n', { columns: { '0': { values: { 1: 'Very good', 2: 'Good' } } } });
    assert.deepEqual(rows, [['Very good'], ['Good'], ['Very good']]);
  });

  it('has checkboxes where several choices in one cell recur, or the mapping splits them', async () => {
    const text = 'Kanal,Why\nApp;Web,well; so\nWeb,because; of\nApp,"a, b"\nWeb;App,c\n';
    const { table } = await read(text);
    const questionsOf = (mapping: Mapping = emptyMapping) => detect(table, mapping).questions;
    const [kanal, why] = questionsOf();
    assert.deepEqual([kanal?.type, kanal?.options, kanal?.split], ['CHECKBOXES', ['App', 'Web'], ';']);
    assert.equal(why?.type, 'SHORT_TEXT');
    assert.deepEqual(questionsOf({ columns: { Why: { split: ',' } } })[1]?.options, [
      'well; so',
      'because; of',
      'a',
      'b',
      'c',
    ]);
    assert.ok(kanal);
    const { isFilled, problem, answers } = typeAdapters.CHECKBOXES;
    const ids = new Map(['App', 'Web'].map((value) => [value, { id: `#${value}`, value }]));
    const answersIn = (cell: string) => answers({ found: kanal, id: 'q', options: ids, rows: new Map() }, [cell]);
    assert.deepEqual(answersIn('Web; App;Web'), [{ optionId: '#Web' }, { optionId: '#App' }]);
    assert.equal(isFilled(kanal, [';']), false);
    assert.match(problem(kanal, ['App;Fax']) ?? '', /none of the options/);
  });

  it('keeps the time of the answer as metadata', async () => {
    const { table } = await read('Timestamp,Age\n2024/01/02 3:04:05 PM,31\n2024/01/03 9:00:00 AM,40\n');
    const { questions, idColumn, timeColumn } = detect(table);
    assert.deepEqual(
      questions.map(({ text }) => text),
      ['Age'],
    );
    assert.deepEqual(metadataOf({ idColumn, timeColumn }, table.rows[0] ?? []), {
      metadata: { answeredAt: '2024/01/02 3:04:05 PM' },
    });
    assert.equal(detect((await read('Timestamp,Age\nsoon,31\n')).table).timeColumn, undefined);
  });

  it('cuts ids as metadata between characters', async () => {
    const { table } = await read(`Response ID,Age\n${'x'.repeat(999)}🙂,31\n`);
    const { idColumn, timeColumn } = detect(table);
    assert.deepEqual(metadataOf({ idColumn, timeColumn }, table.rows[0] ?? []), {
      metadata: { 'Response ID': 'x'.repeat(999) },
    });
  });
});
