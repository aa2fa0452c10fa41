import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import excel from 'exceljs';
import { notAskedText, responseFieldNames } from '../../../src/domain/export-formats.ts';
import { csvText } from '../../../src/platform/csv-text.ts';
import { cellText } from '../../../src/platform/sheet-text.ts';
import { cleanTable } from '../../../src/replay/clean.ts';
import { detect } from '../../../src/replay/detect.ts';
import { emptyMapping, type Mapping } from '../../../src/replay/mapping.ts';
import { type ReadOptions, readTable } from '../../../src/replay/read-table.ts';

describe('the export of', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'survey-tools-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const recognise = async (
    content: string | Buffer,
    { mapping = emptyMapping, ...options }: ReadOptions & { mapping?: Mapping } = {},
  ) => {
    const path = join(folder, 'export');
    writeFileSync(path, content);
    const { table: given, separator } = await readTable(path, options);
    const table = cleanTable(given, mapping, { separator });
    const { questions, idColumn, timeColumn } = detect(table, mapping);
    return {
      remarks: table.remarks.join('\n'),
      rows: table.rows,
      id: idColumn?.question,
      time: timeColumn?.question,
      questions: questions.map(({ type, text, items }) => [
        type,
        text,
        ...(items.length > 1 ? [items.map((item) => item.text)] : []),
      ]),
    };
  };
  const csv = (...lines: readonly (readonly string[])[]): string =>
    lines.map((line) => line.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')).join('\r\n');

  it('SurveyMonkey has a head of two lines, and columns about the respondent that are left out', async () => {
    const about = [
      'Collector ID',
      'Start Date',
      'End Date',
      'IP Address',
      'Email Address',
      'First Name',
      'Custom Data 1',
    ];
    const person = ['77', '01/02/2024 09:00:00 AM', '01/02/2024 09:05:00 AM', '192.0.2.1', 'a@example.org', 'Ann', 'x'];
    const found = await recognise(
      csv(
        ['Respondent ID', ...about, 'How was it?', 'Which?', '', '', 'Anything else?'],
        ['', ...about.map(() => ''), 'Response', 'App', 'Web', 'Other (please specify)', 'Open-Ended Response'],
        ['1001', ...person, 'Good', 'App', 'Web', '', 'nothing'],
        ['1002', ...person, 'Good', 'App', '', 'by post', 'no idea'],
        ['1003', ...person, 'Bad', '', 'Web', '', ''],
        ['1004', ...person, 'Bad', 'App', '', '', 'more'],
      ),
    );
    assert.deepEqual([found.id, found.time], ['Respondent ID', 'End Date']);
    assert.deepEqual(found.questions, [
      ['MULTIPLE_CHOICE', 'How was it?'],
      ['CHECKBOXES', 'Which?', ['App', 'Web']],
      ['SHORT_TEXT', 'Which? – Other (please specify)'],
      ['SHORT_TEXT', 'Anything else?'],
    ]);
    assert.match(
      found.remarks,
      /^Recognised as an export of SurveyMonkey; left out: Collector ID, Start Date, IP Address, Email Address, First/,
    );
  });

  const ownHead = ['id', 'surveyVersion', 'submittedAt'];
  const ownRow = (n: number): string[] => [`r${n}`, '3', `2024-01-0${n}T10:00:00.000Z`];

  it('this service has the texts without the apostrophes that guard them from spreadsheets', async () => {
    const texts = [
      '-5 degrees here',
      '=sum of all things',
      "'@home again",
      '+1 for this',
      'one;-2',
      'fine ;-)',
      "it's",
      "'quoted'",
    ];
    const lines = texts.map((text, n) => [...ownRow(n + 1), ['=West()', 'East'][n % 2] ?? '', String(n - 4), text]);
    const head = [...ownHead, '@home? =East()', 'How warm?', 'Anything\n- else?'];
    const file = [head, ...lines].map((cells) => cells.map(csvText).join(',')).join('\r\n');
    const { questions, rows } = await recognise(file);
    assert.deepEqual(questions, [
      ['MULTIPLE_CHOICE', '@home? =East()'],
      ['NUMBER', 'How warm?'],
      ['SHORT_TEXT', 'Anything - else?'],
    ]);
    assert.deepEqual(rows, lines);
    const other = await recognise(file.replace('surveyVersion', 'version'));
    assert.equal(other.rows[0]?.at(-1), "'-5 degrees here", 'another file keeps its apostrophes');
  });

  it('this service has only answers as questions', async () => {
    const head = [...responseFieldNames, 'metadata.source', 'How warm?'];
    const { questions } = await recognise(
      [head, head.map((_, n) => String(n))].map((row) => row.join(',')).join('\r\n'),
    );
    assert.deepEqual(questions, [['NUMBER', 'How warm?']]);
  });

  it('this service with labelled missing answers has no answer where a question was not asked', async () => {
    const head = [
      ...ownHead,
      'Again?',
      'Which? [App]',
      'Which? [Web]',
      'How good?',
      'How was it? [Food]',
      'How was it? [Staff]',
      'Why?',
    ];
    const none = notAskedText;
    const lines = [
      [...ownRow(1), 'Yes', '1', '0', '4', 'Good', 'Bad', 'so'],
      [...ownRow(2), 'No', '0', '1', '5', 'Bad', 'Good', '(not asked) at all'],
      [...ownRow(3), '', none, none, none, none, none, none],
      [...ownRow(4), none, '', '', '3', 'Bad', '', 'because'],
    ];
    const sheet = new excel.Workbook();
    for (const cells of [head, ...lines]) (sheet.worksheets[0] ?? sheet.addWorksheet('Responses')).addRow(cells);
    for (const file of [csv(head, ...lines), Buffer.from(await sheet.xlsx.writeBuffer())]) {
      const { questions, rows, remarks } = await recognise(file);
      assert.deepEqual(questions, [
        ['YES_NO', 'Again?'],
        ['CHECKBOXES', 'Which?', ['App', 'Web']],
        ['NUMBER', 'How good?'],
        ['MATRIX', 'How was it?', ['Food', 'Staff']],
        ['SHORT_TEXT', 'Why?'],
      ]);
      assert.deepEqual(rows[2]?.slice(3), ['', '', '', '', '', '', '']);
      assert.match(remarks, /^Taken as missing: “\(not asked\)” \(7\)\.$/m);
    }
    const other = await recognise(csv(['A', 'B'], [none, '1'], [none, '2'], ['x', '3'], ['x', '4']));
    assert.deepEqual(other.questions[0], ['MULTIPLE_CHOICE', 'A'], 'an answer like others in another file');
    assert.equal(other.rows[0]?.[0], none);
  });

  it('this service with labels as values has the columns of a question together', async () => {
    const { questions } = await recognise(
      csv(
        [...ownHead, 'Q1', 'Q2:app', 'Q2:web', 'Q3:bus', 'Q3:tram', 'Q4:food', 'Q4:staff', 'Q5:__other__'],
        [...ownRow(1), '4', '1', '0', '1', '2', 'good', 'bad', 'so'],
        [...ownRow(2), '5', '0', '1', '2', '1', 'bad', 'good', 'this'],
      ),
    );
    assert.deepEqual(questions, [
      ['NUMBER', 'Q1'],
      ['CHECKBOXES', 'Q2', ['app', 'web']],
      ['RANKING', 'Q3', ['bus', 'tram']],
      ['MATRIX', 'Q4', ['food', 'staff']],
      ['SHORT_TEXT', 'Q5:__other__'],
    ]);
  });

  const limeCells = [
    ['1', '2024-01-02 10:00:00', '3', 'en', '42', 'Good', 'Yes', 'No', 'often', 'never'],
    ['2', '2024-01-03 11:00:00', '3', 'en', '43', 'Bad', 'Yes', 'Yes', 'never', 'often'],
    ['3', '', '1', 'de', '44', 'Good', 'No', 'Yes', 'often', 'often'],
    ['4', '2024-01-03 11:00:00', '3', 'en', '45', 'Bad', 'N/A', 'N/A', '', ''],
  ];
  const limeHeads: Record<string, string[]> = {
    codes: [
      'id',
      'submitdate',
      'lastpage',
      'startlanguage',
      'seed',
      'G01Q01',
      'G01Q02[SQ1]',
      'G01Q02[SQ2]',
      'G02Q1[a]',
      'G02Q1[b]',
    ],
    'full texts': [
      'Response ID',
      'Date submitted',
      'Last page',
      'Start language',
      'Seed',
      'How was it?',
      'Which? [App]',
      'Which? [Web]',
      'How often? [Bus]',
      'How often? [Tram]',
    ],
    'codes and full texts': [
      'id. Response ID',
      'submitdate. Date submitted',
      'lastpage. Last page',
      'startlanguage. Start language',
      'seed. Seed',
      'G01Q01. How was it?',
      'G01Q02[SQ1]. Which? [App]',
      'G01Q02[SQ2]. Which? [Web]',
      'G02Q1[a]. How often? [Bus]',
      'G02Q1[b]. How often? [Tram]',
    ],
  };
  for (const [kind, head] of Object.entries(limeHeads))
    it(`LimeSurvey with ${kind} has the rows and options of a question in brackets`, async () => {
      const found = await recognise(csv(head, ...limeCells));
      const isCoded = kind === 'codes';
      assert.deepEqual(found.questions, [
        ['MULTIPLE_CHOICE', isCoded ? 'G01Q01' : 'How was it?'],
        ['CHECKBOXES', isCoded ? 'G01Q02' : 'Which?', isCoded ? ['SQ1', 'SQ2'] : ['App', 'Web']],
        ['MATRIX', isCoded ? 'G02Q1' : 'How often?', isCoded ? ['a', 'b'] : ['Bus', 'Tram']],
      ]);
      assert.match(found.remarks, /^Recognised as an export of LimeSurvey; left out: /);
      assert.match(found.id ?? '', /^(?:id|Response ID)$/);
      assert.match(found.time ?? '', /^(?:submitdate|Date submitted)$/);
      assert.deepEqual(found.rows[3]?.slice(6, 8), ['', ''], 'a question that was not shown has no answer');
    });

  it('Typeform has a column for each choice, named as the choice', async () => {
    const found = await recognise(
      csv(
        [
          '#',
          'How was it?',
          'App',
          'Web',
          'Your age',
          'Response Type',
          'Start Date (UTC)',
          'Submit Date (UTC)',
          'Network ID',
          'Tags',
        ],
        ['k1', '5', 'App', 'Web', '31', 'completed', '2024-01-02 10:00:00', '2024-01-02 10:01:00', 'n1', ''],
        ['k2', '3', 'App', '', '42', 'completed', '2024-01-02 10:00:00', '2024-01-02 10:02:00', 'n2', ''],
        ['k3', '4', '', 'Web', '53', 'completed', '2024-01-02 10:00:00', '2024-01-02 10:03:00', 'n3', ''],
      ),
    );
    assert.deepEqual([found.id, found.time], ['#', 'Submit Date (UTC)']);
    assert.deepEqual(found.questions, [
      ['NUMBER', 'How was it?'],
      ['CHECKBOXES', 'App / Web', ['App', 'Web']],
      ['NUMBER', 'Your age'],
    ]);
    assert.match(found.remarks, /export of Typeform; left out: Response Type, Start Date \(UTC\), Network ID, Tags\./);
  });

  it('Qualtrics has three lines, and the columns of a question share an import id', async () => {
    const ids = [
      'startDate',
      'endDate',
      'status',
      'ipAddress',
      '_recordId',
      'QID1',
      'QID2_1',
      'QID2_2',
      'QID3_TEXT',
      'group',
    ];
    const found = await recognise(
      csv(
        ['StartDate', 'EndDate', 'Status', 'IPAddress', 'ResponseId', 'Q1', 'Q2_1', 'Q2_2', 'Q3', 'group'],
        [
          'Start Date',
          'End Date',
          'Response Type',
          'IP Address',
          'Response ID',
          'How was it - really? - Selected Choice',
          'How often? - By bus',
          'How often? - By tram',
          'Anything else?',
          'group',
        ],
        ids.map((id) => JSON.stringify({ ImportId: id })),
        [
          '2024-01-02 10:00:00',
          '2024-01-02 10:05:00',
          'IP Address',
          '192.0.2.1',
          'R_1',
          'Good',
          'often',
          'never',
          'x',
          'A',
        ],
        [
          '2024-01-02 10:00:00',
          '2024-01-02 10:06:00',
          'IP Address',
          '192.0.2.2',
          'R_2',
          'Bad',
          'never',
          'often',
          '',
          'B',
        ],
        [
          '2024-01-02 10:00:00',
          '2024-01-02 10:07:00',
          'IP Address',
          '192.0.2.3',
          'R_3',
          'Good',
          'often',
          'often',
          '',
          'A',
        ],
        [
          '2024-01-02 10:00:00',
          '2024-01-02 10:07:00',
          'IP Address',
          '192.0.2.3',
          'R_4',
          'Bad',
          'often',
          'never',
          'y',
          'B',
        ],
      ),
    );
    assert.deepEqual([found.id, found.time], ['Response ID', 'End Date']);
    assert.deepEqual(found.questions, [
      ['MULTIPLE_CHOICE', 'How was it - really?'],
      ['MATRIX', 'How often?', ['By bus', 'By tram']],
      ['SHORT_TEXT', 'Anything else?'],
      ['MULTIPLE_CHOICE', 'group'],
    ]);
    assert.match(found.remarks, /export of Qualtrics; left out: Start Date, Response Type, IP Address\./);
  });

  it('no tool leaves all columns questions; the mapping brings back a column that a tool leaves out', async () => {
    const plain = await recognise(csv(['id', 'seed', 'IP Address'], ['1', '5', 'x'], ['2', '6', 'y']));
    assert.deepEqual(plain.questions, [
      ['NUMBER', 'seed'],
      ['SHORT_TEXT', 'IP Address'],
    ]);
    const head = limeHeads['codes'] ?? [];
    const found = await recognise(csv(head, ...limeCells), {
      mapping: { columns: { startlanguage: { type: 'DROPDOWN' }, submitdate: { type: 'DATE' } } },
    });
    assert.deepEqual(found.questions.slice(0, 2), [
      ['DATE', 'submitdate'],
      ['DROPDOWN', 'startlanguage'],
    ]);
    assert.equal(found.time, undefined);
    assert.deepEqual(found.rows[0]?.[1], '2024-01-02', 'a day without its time');
  });

  it('a spreadsheet has the texts, numbers, days and times of its cells; merged heads name one column', async () => {
    const book = new excel.Workbook();
    book.addWorksheet('Empty');
    const sheet = book.addWorksheet('Answers');
    sheet.addRow([
      'Respondent ID',
      'Collector ID',
      'Which?',
      null,
      'Born',
      'Woken',
      'End Date',
      'Pay',
      'Again?',
      'Why?',
    ]);
    sheet.addRow(['', '', 'App', 'Web', 'Response', 'Response', '', 'Response', 'Response', 'Open-Ended Response']);
    sheet.mergeCells('C1:D1');
    for (const [place, pay] of [0.1 + 0.2, 1234.5, 7].entries()) {
      const row = sheet.addRow([
        place + 1,
        5,
        'App',
        place === 0 ? null : 'Web',
        new Date('2000-02-29T00:00:00Z'),
        0.5,
        new Date(Date.UTC(2024, 0, 2 + place, 10)),
        pay,
        place === 1,
        { richText: [{ text: 'rich ' }, { text: `text ${place}` }] },
      ]);
      row.getCell(5).numFmt = 'yyyy-mm-dd';
      row.getCell(6).numFmt = 'hh:mm';
      row.getCell(7).numFmt = 'dd/mm/yyyy hh:mm';
    }
    book.addWorksheet('Other').addRow(['Nothing']);
    const bytes = Buffer.from(await book.xlsx.writeBuffer());
    const found = await recognise(bytes);
    assert.deepEqual(found.rows[0], [
      '1',
      '5',
      'App',
      '',
      '2000-02-29',
      '12:00:00',
      '2024-01-02 10:00:00',
      '0.3',
      'No',
      'rich text 0',
    ]);
    assert.deepEqual(found.questions, [
      ['CHECKBOXES', 'Which?', ['App', 'Web']],
      ['DATE', 'Born'],
      ['TIME', 'Woken'],
      ['NUMBER', 'Pay'],
      ['YES_NO', 'Again?'],
      ['SHORT_TEXT', 'Why?'],
    ]);
    assert.deepEqual([found.id, found.time], ['Respondent ID', 'End Date']);
    assert.match(found.remarks, /Read from the sheet “Answers” of 3; --sheet takes another/);
    assert.deepEqual((await recognise(bytes, { sheet: 'Other' })).rows, []);
    await assert.rejects(
      recognise(bytes, { sheet: 'Nowhere' }),
      /no sheet “Nowhere” with cells; it has Empty, Answers, Other/,
    );
  });

  it('a spreadsheet has the texts that its cells show, in the sheet and shared', async () => {
    const few = ['AT&amp;T is &lt;good&gt; &#65; today', '_x000D_ and _x005F_', 'a <b> & "c"; d\n&'];
    // Several pieces of XML, whose ends lie within characters and entities.
    const many = Array.from({ length: 3000 }, (_, n) => `Zoë &&&& Ünal ${n}`);
    for (const useSharedStrings of [true, false]) {
      const texts = useSharedStrings ? few : [...few, ...many];
      const filename = join(folder, 'texts.xlsx');
      const book = new excel.stream.xlsx.WorkbookWriter({ filename, useSharedStrings });
      const sheet = book.addWorksheet('Answers');
      for (const text of ['Q&amp;A _x0041_?', ...texts]) sheet.addRow([cellText(text)]).commit();
      await book.commit();
      const { table } = await readTable(filename);
      assert.equal(table.columns[0]?.question, 'Q&amp;A _x0041_?');
      assert.deepEqual(
        table.rows,
        texts.map((text) => [text]),
      );
    }
  });
});
