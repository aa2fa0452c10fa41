import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { detect } from '../../../src/replay/detect.ts';
import { readTable } from '../../../src/replay/read-table.ts';
import { readSpssFile } from '../../../src/replay/spss/file.ts';
import { debianProgram } from '../../support/debian-program.ts';

const program = debianProgram('pspp');
const skip = 'missing' in program ? program.missing : false;

const longText = `${'abcdefghij'.repeat(60)}ü end`;

/**
 * Data with what a survey's file has: long names, labels, missing values of all kinds, sets, days, times, long texts.
 */
const syntax = `
SET DECIMAL=DOT.
DATA LIST LIST NOTABLE /id (F8.0) SatisfactionWithTheWholeService (F1.0) age (F3.0) income (F8.2) born (ADATE10)
  answered (DATETIME20) wake (TIME8) town (A12) q5a q5b q5c (F1.0) fav1 fav2 (F1.0) grid1 grid2 (F1.0) why (A700).
BEGIN DATA.
1 5 31 1234.5 02/29/2000 "24-NOV-2026 10:11:12" 07:30:00 "Zürich" 1 0 1 1 3 1 2 "${longText}"
2 1 . 0.1 12/31/1999 "25-NOV-2026 00:00:00" 23:59:59 "NA" 0 1 0 2 . 2 2 "short"
3 9 999 . . . . "" 0 0 0 . . . . ""
4 5 250 -7.25 01/01/1970 "26-NOV-2026 12:00:00" 00:00:01 "refused" 1 1 0 3 1 1 1 "a b"
END DATA.
VARIABLE LABELS SatisfactionWithTheWholeService 'How satisfied are you?' /age 'Age' /born 'Born on' /town 'Town'
  /q5a 'Which channels? [App]' /q5b 'Which channels? [Web & phone]' /q5c 'Which channels? [Fax]'
  /grid1 'How was it? [Food]' /grid2 'How was it? [Staff]'.
VALUE LABELS SatisfactionWithTheWholeService 1 'very bad' 2 'bad' 3 'so so' 4 'good' 5 'very good' 9 'no answer'
  /age 999 'refused' /fav1 fav2 1 'Red' 2 'Green' 3 'Blue' /q5a q5b q5c 0 'No' 1 'Yes'
  /grid1 grid2 1 'Good' 2 'Bad' /town 'Zürich' 'Zürich (ZH)'.
MISSING VALUES SatisfactionWithTheWholeService (9) /age (200 THRU HI) /town ('refused').
MRSETS /MDGROUP NAME=$channels LABEL='Which channels?' VARIABLES=q5a q5b q5c VALUE=1
  /MCGROUP NAME=$colours LABEL='Favourite colours' VARIABLES=fav1 fav2.
`;

describe('SPSS files that PSPP has written', { skip }, () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'survey-sav-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const write = (name: string, how: string, data = syntax): string => {
    const path = join(folder, name);
    const { status, stdout } = spawnSync('pspp', ['-O', 'format=txt'], {
      input: `${data}\nSAVE OUTFILE='${path}' ${how}.\n`,
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C.UTF-8' },
    });
    assert.equal(status, 0, stdout);
    return path;
  };

  it('have the same table uncompressed, compressed by bytecodes and by zlib', async () => {
    const tables = await Promise.all(
      ['/UNCOMPRESSED', '/COMPRESSED', '/ZCOMPRESSED'].map(async (how, place) => {
        const { table, separator } = await readTable(write(`${place}.sav`, how));
        assert.equal(separator, undefined);
        return table;
      }),
    );
    const [table] = tables;
    assert.ok(table);
    assert.deepEqual(table, tables[1]);
    assert.deepEqual(table, tables[2]);
    assert.deepEqual(table.rows[0]?.slice(0, 11), [
      '1',
      'very good',
      '31',
      '1234.5',
      '2000-02-29',
      '2026-11-24 10:11:12',
      '07:30:00',
      'Zürich',
      'App',
      '',
      'Fax',
    ]);
    assert.deepEqual(table.rows[1]?.slice(2, 8), ['', '0.1', '1999-12-31', '2026-11-25 00:00:00', '23:59:59', 'NA']);
    assert.deepEqual(
      table.rows[2]?.slice(1),
      Array.from({ length: 15 }, () => ''),
      'missing values are empty',
    );
    assert.deepEqual(table.rows[3]?.slice(2, 8), ['', '-7.25', '1970-01-01', '2026-11-26 12:00:00', '00:00:01', '']);
    assert.deepEqual(
      table.rows.map((row) => row[15]),
      [longText, 'short', '', 'a b'],
    );
  });

  it('are recognised by their labels: options chosen or not, sets, rows of a grid, numbers', async () => {
    const { table } = await readTable(write('labels.sav', '/COMPRESSED'));
    const { questions, idColumn, timeColumn } = detect(table);
    assert.deepEqual([idColumn?.question, timeColumn?.question], ['id', 'answered']);
    const shapes = questions.map(({ type, text, options, items }) => [
      type,
      text,
      options.length > 0 ? options : items.map((item) => item.text),
    ]);
    assert.deepEqual(shapes, [
      ['MULTIPLE_CHOICE', 'How satisfied are you?', ['very bad', 'bad', 'so so', 'good', 'very good']],
      ['NUMBER', 'Age', ['Age']],
      ['NUMBER', 'income', ['income']],
      ['DATE', 'Born on', ['Born on']],
      ['TIME', 'wake', ['wake']],
      ['SHORT_TEXT', 'Town', ['Town']],
      ['CHECKBOXES', 'Which channels?', ['App', 'Web & phone', 'Fax']],
      ['CHECKBOXES', 'Favourite colours', ['Red', 'Green', 'Blue']],
      ['MATRIX', 'How was it?', ['Good', 'Bad']],
      ['LONG_TEXT', 'why', ['why']],
    ]);
    const remarks = table.remarks.join('\n');
    assert.match(remarks, /“How satisfied are you\?”: missing, as the file says: “no answer” \(1\)/);
    assert.match(remarks, /“Age”: missing, as the file says: “refused” \(1\), “250” \(1\)/);
  });

  it('keep their numbers numbers, very small ones and all digits included', async () => {
    const data = `
DATA LIST LIST NOTABLE /share tiny huge (F8.2).
BEGIN DATA.
1 1e-13 1e20
2 1e-13 7
7 2.5e-7 7
END DATA.
COMPUTE share = share / 3.
`;
    const { table } = await readTable(write('numbers.sav', '', data));
    assert.deepEqual(table.rows, [
      ['0.3333333333333333', '1e-13', ''],
      ['0.6666666666666666', '1e-13', '7'],
      ['2.3333333333333335', '2.5e-7', '7'],
    ]);
    assert.deepEqual(
      detect(table).questions.map(({ type }) => type),
      ['NUMBER', 'NUMBER', 'NUMBER'],
    );
    assert.deepEqual(table.remarks, [
      '“huge”: left out, as the service takes whole numbers up to 9007199254740991: “100000000000000000000” (1).',
    ]);
  });

  it('have durations as a workbook has them, negative ones and those of days included', async () => {
    const data = `
DATA LIST LIST NOTABLE /gap (TIME10) stay (DTIME12).
BEGIN DATA.
-01:30:00 "1 12:00:05"
00:00:59 "0 02:00:00"
END DATA.
`;
    const { table } = await readTable(write('durations.sav', '', data));
    assert.deepEqual(table.rows, [
      ['-01:30:00', '36:00:05'],
      ['00:00:59', '02:00:00'],
    ]);
  });

  it('may have labels and missing values of texts over eight bytes', () => {
    const data = `
DATA LIST LIST NOTABLE /word (A20) x (F3.0).
BEGIN DATA.
"long answer one" 1
"long answer two" 2
"refused" 3
END DATA.
VALUE LABELS word 'long answer one' 'One' 'long answer two' 'Two'.
MISSING VALUES word ('refused').
`;
    const file = readSpssFile(readFileSync(write('long.sav', '', data)));
    const [word] = file.variables;
    assert.deepEqual(
      [...(word?.labels ?? [])],
      [
        ['long answer one', 'One'],
        ['long answer two', 'Two'],
      ],
    );
    assert.equal(word?.isUserMissing('refused'), true);
    assert.equal(word?.isUserMissing('long answer one'), false);
  });

  it('may have labels and missing values of texts under eight bytes', async () => {
    const data = `
DATA LIST LIST NOTABLE /region (A2) x (F3.0).
BEGIN DATA.
"NW" 1
"BY" 2
"KA" 3
"NW" 4
END DATA.
VALUE LABELS region 'NW' 'Nordrhein' 'BY' 'Bayern' 'KA' 'keine Angabe'.
MISSING VALUES region ('KA').
`;
    const { table } = await readTable(write('short.sav', '', data));
    assert.deepEqual(
      table.rows.map(([region]) => region),
      ['Nordrhein', 'Bayern', '', 'Nordrhein'],
    );
    assert.deepEqual(table.remarks, ['“region”: missing, as the file says: “keine Angabe” (1).']);
    const [region] = detect(table).questions;
    assert.deepEqual([region?.type, region?.options], ['MULTIPLE_CHOICE', ['Bayern', 'Nordrhein']]);
  });

  it('have names, sets and long texts by variables outside ASCII', async () => {
    const data = `
DATA LIST LIST NOTABLE /größe (F1.0) à1 à2 (F1.0) begründung (A700) länge_über_alles (F2.0).
BEGIN DATA.
1 1 0 "${longText}" 3
END DATA.
MRSETS /MDGROUP NAME=$wünsche LABEL='Wünsche' VARIABLES=à1 à2 VALUE=1.
`;
    const { table } = await readTable(write('names.sav', '', data));
    assert.deepEqual(
      table.columns.map(({ question, part }) => [question, part]),
      [
        ['größe', ''],
        ['Wünsche', 'à1'],
        ['Wünsche', 'à2'],
        ['begründung', ''],
        ['länge_über_alles', ''],
      ],
    );
    assert.deepEqual(table.rows, [['1', 'à1', '', longText, '3']]);
  });

  it('keep the labels of each variable of a set of categories where they differ', async () => {
    const data = `
DATA LIST LIST NOTABLE /c1 c2 (F1.0).
BEGIN DATA.
1 2
2 1
END DATA.
VALUE LABELS c1 1 'Apple' 2 'Pear' /c2 1 'Banana' 2 'Pear'.
MRSETS /MCGROUP NAME=$fruit LABEL='Fruit' VARIABLES=c1 c2.
`;
    const { table } = await readTable(write('different-labels.sav', '', data));
    const [fruit] = detect(table).questions;
    assert.deepEqual(
      table.rows.map((row) => row[fruit?.items[0]?.index ?? 0]?.split('\u001f')),
      [
        ['Apple', 'Pear'],
        ['Pear', 'Banana'],
      ],
    );
  });

  it('have the labels of any variable of a set of categories for all, and values without one as options', async () => {
    const data = `
DATA LIST LIST NOTABLE /c1 c2 d1 d2 (F1.0).
BEGIN DATA.
1 2 1 2
2 9 3 .
3 1 . 1
END DATA.
VALUE LABELS c1 c2 1 'Apple' 2 'Pear' 3 'Fig' /d1 1 'Ash' 2 'Oak' 3 'Elm'.
MRSETS /MCGROUP NAME=$fruit LABEL='Fruit' VARIABLES=c1 c2 /MCGROUP NAME=$trees LABEL='Trees' VARIABLES=d1 d2.
`;
    const { table } = await readTable(write('categories.sav', '', data));
    const { questions } = detect(table);
    assert.deepEqual(
      questions.map(({ type, text, options }) => [type, text, options]),
      [
        ['CHECKBOXES', 'Fruit', ['Apple', 'Pear', 'Fig', '9']],
        ['CHECKBOXES', 'Trees', ['Ash', 'Oak', 'Elm']],
      ],
    );
    assert.deepEqual(
      table.rows.map((row) => questions.map(({ items }) => row[items[0]?.index ?? 0]?.split('\u001f'))),
      [
        [
          ['Apple', 'Pear'],
          ['Ash', 'Oak'],
        ],
        [['Pear', '9'], ['Elm']],
        [['Fig', 'Apple'], ['Ash']],
      ],
    );
  });

  it('have the labels of the counted value as options where a set says so, else those of its variables', async () => {
    const data = `
DATA LIST LIST NOTABLE /p1 p2 p3 (F1.0).
BEGIN DATA.
1 0 1
0 1 0
END DATA.
VARIABLE LABELS p1 'Which papers?' p2 'Which papers?' p3 'Other papers'.
VALUE LABELS p1 1 'Times' 0 'no' /p2 1 'Sun' 0 'no'.
MRSETS /MDGROUP NAME=$papers LABEL='Papers' CATEGORYLABELS=COUNTEDVALUES VARIABLES=p1 p2 p3 VALUE=1.
`;
    const { table } = await readTable(write('counted.sav', '', data));
    assert.deepEqual(
      detect(table).questions.map(({ type, text, items }) => [type, text, items.map((item) => item.text)]),
      [['CHECKBOXES', 'Papers', ['Times', 'Sun', 'Other papers']]],
    );
    assert.deepEqual(table.rows, [
      ['Times', '', 'Other papers'],
      ['', 'Sun', ''],
    ]);
  });

  it('have the labels that occur where there are too many for options, or texts where too many occur', async () => {
    const labels = Array.from({ length: 250 }, (_, n) => `${n + 1} 'Country ${n + 1}'`).join('\n');
    const rows = Array.from({ length: 250 }, (_, n) => `${n % 2 === 0 ? 240 : 2} ${n + 1}`).join('\n');
    const data = `
DATA LIST LIST NOTABLE /home visited (F3.0).
BEGIN DATA.
${rows}
END DATA.
VALUE LABELS home visited ${labels}.
`;
    const { table } = await readTable(write('countries.sav', '', data));
    assert.deepEqual(
      detect(table).questions.map(({ type, text, options }) => [type, text, options]),
      [
        ['MULTIPLE_CHOICE', 'home', ['Country 2', 'Country 240']],
        ['SHORT_TEXT', 'visited', []],
      ],
    );
    assert.deepEqual(table.rows[0], ['Country 240', 'Country 1']);
    assert.deepEqual(table.remarks, [
      '“home”: more than 200 values have labels, so that those that nobody chose are left out.',
      '“visited”: more than 200 values have labels, so that they are taken as texts.',
    ]);
  });

  it('have a set that shares variables with an earlier one left out, with a remark', async () => {
    const data = `
DATA LIST LIST NOTABLE /c1 c2 c3 d1 d2 d3 (F1.0).
BEGIN DATA.
1 2 3 1 0 1
3 1 2 0 1 1
END DATA.
VALUE LABELS c1 c2 c3 1 'Apple' 2 'Pear' 3 'Fig'.
MRSETS /MCGROUP NAME=$top LABEL='Top two' VARIABLES=c1 c2 /MCGROUP NAME=$all LABEL='All three' VARIABLES=c1 c2 c3
  /MDGROUP NAME=$some LABEL='Some' VARIABLES=d1 d2 VALUE=1 /MDGROUP NAME=$more LABEL='More' VARIABLES=d2 d3 VALUE=1.
`;
    const { table } = await readTable(write('overlapping.sav', '', data));
    assert.deepEqual(
      table.columns.map(({ question, part }) => [question, part]),
      [
        ['Top two', ''],
        ['c3', ''],
        ['Some', 'd1'],
        ['Some', 'd2'],
        ['d3', ''],
      ],
    );
    assert.deepEqual(table.rows[0]?.[0]?.split('\u001f'), ['Apple', 'Pear']);
    assert.deepEqual(table.remarks, [
      'The set “All three” is left out: another one has some of its variables.',
      'The set “More” is left out: another one has some of its variables.',
    ]);
  });

  it('are said to be weighted, as their counts are not', async () => {
    const data = `
DATA LIST LIST NOTABLE /why (A20) wt (F4.2).
BEGIN DATA.
"a" 0.5
"b" 1.5
END DATA.
WEIGHT BY wt.
`;
    const { table } = await readTable(write('weighted.sav', '', data));
    assert.deepEqual(table.remarks, ['The file is weighted by “wt”; the counts are not.']);
  });

  it('are refused with a sentence, or read in part, when they are cut off or damaged anywhere', () => {
    const texts = ['/UNCOMPRESSED', '/COMPRESSED', '/ZCOMPRESSED'].map((how) => readFileSync(write('cut.sav', how)));
    for (const bytes of texts) {
      const attempt = (damaged: Buffer): void => {
        try {
          assert.ok(readSpssFile(damaged).cases.length <= 4000);
        } catch (error) {
          assert.ok(error instanceof Error && error.message.length > 10);
        }
      };
      for (let end = 0; end < bytes.length; end += 7) attempt(bytes.subarray(0, end));
      for (let at = 0; at < bytes.length; at += 5) {
        const damaged = Buffer.from(bytes);
        damaged[at] = (damaged[at] ?? 0) ^ 0x7f;
        attempt(damaged);
      }
    }
  });
});
