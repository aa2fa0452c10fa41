import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import excel from 'exceljs';
import { createZip, readZip } from '../../../src/pipelines/exports/excel/zip.ts';
import { cellText } from '../../../src/platform/sheet-text.ts';
import { readTable } from '../../../src/replay/read-table.ts';
import { readSheet } from '../../../src/replay/spreadsheet.ts';
import { useRecognition } from '../../support/recognised-files.ts';

describe('a spreadsheet', () => {
  const { pathOf, recognise } = useRecognition();

  it('has the texts, numbers, days and times of its cells; merged heads name one column', async () => {
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

  it('has the texts that its cells show, in the sheet and shared', async () => {
    const few = ['AT&amp;T is &lt;good&gt; &#65; today', '_x000D_ and _x005F_', 'a <b> & "c"; d\n&'];
    // Several pieces of XML, whose ends lie within characters and entities.
    const many = Array.from({ length: 3000 }, (_, n) => `Zoë &&&& Ünal ${n}`);
    for (const useSharedStrings of [true, false]) {
      const texts = useSharedStrings ? few : [...few, ...many];
      const filename = pathOf('texts.xlsx');
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

  it('has the words of a Japanese Excel without their readings, shared and in the sheet, and all runs of a text', async () => {
    const town = '<t>東京</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh><phoneticPr fontId="1"/>';
    const runs = '<r><rPr><b/></rPr><t xml:space="preserve">one </t></r><r><t>&amp;amp; two</t></r>';
    // Several pieces of XML, whose ends lie within characters and elements.
    const bridges = Array.from({ length: 3000 }, (_, n) => `橋${n}`);
    const texts = [town, runs, ...bridges.map((bridge) => `<t>${bridge}</t><rPh sb="0" eb="1"><t>ハシ</t></rPh>`)];
    const expected = [['東京'], ['one &amp; two'], ...bridges.map((bridge) => [bridge])];
    const shared = await workbookOf({
      'xl/sharedStrings.xml': `<sst>${texts.map((text) => `<si>${text}</si>`).join('')}</sst>`,
      'xl/worksheets/sheet1.xml': sheetOf(texts.map((_, n) => `<c r="A${n + 1}" t="s"><v>${n}</v></c>`)),
    });
    assert.deepEqual((await readSheet(shared, undefined)).lines, expected);
    const inline = await workbookOf({
      'xl/worksheets/sheet1.xml': sheetOf(
        texts.map((text, n) => `<c r="A${n + 1}" t="inlineStr"><is>${text}</is></c>`),
      ),
    });
    assert.deepEqual((await readSheet(inline, undefined)).lines, expected);
  });

  it('has the days and times that are written as in ISO 8601, and is refused where cells have no places', async () => {
    const parts = {
      'xl/worksheets/sheet1.xml': sheetOf([
        '<c r="A1" s="1" t="d"><v>2024-02-29T00:00:00</v></c><c r="B1" s="2" t="d"><v>10:30:00</v></c>',
        '<c r="A2" s="1" t="d"><v>2024-02-29T12:00:00.000Z</v></c><c r="B2" s="2"/>',
      ]),
    };
    const lines = [['2024-02-29', '10:30:00'], ['2024-02-29 12:00:00']];
    for (const date1904 of ['', 'date1904="1"', 'date1904="true"'])
      assert.deepEqual((await readSheet(await workbookOf(parts, date1904), undefined)).lines, lines, date1904);
    for (const [cell, reason] of [
      ['<c r="A1" s="1" t="d"><v>PT36H</v></c>', /cannot be read: “PT36H” is no date or time/],
      ['<c r="A1" s="1" t="d"><v>2024-13-01</v></c>', /cannot be read: “2024-13-01” is no date or time/],
      ['<c><v>1</v></c>', /cannot be read: it does not say where its cells stand/],
    ] as const)
      await assert.rejects(
        async () => readSheet(await workbookOf({ 'xl/worksheets/sheet1.xml': sheetOf([cell]) }), undefined),
        reason,
      );
  });

  it('has the same cells where elements have a prefix and parts are named from the root on, as ClosedXML does', async () => {
    const bridges = Array.from({ length: 3000 }, (_, n) => `橋${n}`);
    const parts = {
      'xl/sharedStrings.xml': `<sst>${bridges.map((bridge) => `<si><t>${bridge}</t></si>`).join('')}</sst>`,
      'xl/worksheets/sheet1.xml': sheetOf([
        '<c r="A1" s="1"><v>43889</v></c><c r="B1" s="2" t="d"><v>10:30:00</v></c>',
        ...bridges.map(
          (_, n) =>
            `<c r="A${n + 2}" t="s"><v>${n}</v></c><c r="B${n + 2}" t="inlineStr"><is><t>a &amp; b</t></is></c>`,
        ),
      ]),
    };
    const bytes = await workbookOf(parts, 'date1904="true"', (text) =>
      text.replace(/<(\/?)(?=\w+[\s/>])/g, '<$1x:').replace(/Target="(?=worksheets)/g, 'Target="/xl/'),
    );
    const { lines } = await readSheet(bytes, 'Answers');
    assert.deepEqual(lines, [['2024-02-29', '10:30:00'], ...bridges.map((bridge) => [bridge, 'a & b'])]);
  });

  it('has the results of formulas as it has other cells: zeros, days, truth values, texts; errors are empty', async () => {
    const sheet = sheetOf([
      '<c r="A1"><f>B2*2</f><v>0</v></c><c r="B1" s="1"><f>DATE(2024,2,29)</f><v>45351</v></c>' +
        '<c r="C1" t="b"><f t="shared" ref="C1:C2" si="0">A1&gt;1</f><v>0</v></c>' +
        '<c r="D1" t="str"><f>"a"&amp;"b"</f><v>a &amp;amp; b</v></c><c r="E1" t="str"><f>"end"</f><v>end</v></c>',
      '<c r="A2"><f>1/3</f><v>0.3333333333333333</v></c><c r="B2" s="2"><f>1/2</f><v>0.5</v></c>' +
        '<c r="C2" t="b"><f t="shared" si="0"/><v>1</v></c><c r="D2" t="e"><f>NA()</f><v>#N/A</v></c>' +
        '<c r="E2" t="str"><f>"end"</f><v>end</v></c>',
      // As programs that do not calculate write them.
      '<c r="A3"><f>A2*2</f><v/></c><c r="B3"><f>A2*2</f><v></v></c><c r="C3" t="b"><f>A2&gt;1</f><v/></c>' +
        '<c r="E3" t="str"><f>"end"</f><v>end</v></c>',
    ]);
    const { lines } = await readSheet(await workbookOf({ 'xl/worksheets/sheet1.xml': sheet }), undefined);
    assert.deepEqual(lines, [
      ['0', '2024-02-29', 'No', 'a &amp; b', 'end'],
      ['0.333333333333333', '12:00:00', 'Yes', '', 'end'],
      ['', '', '', '', 'end'],
    ]);
  });

  it('leaves out rows whose formulas have no result, with a remark, and a sheet of nothing else', async () => {
    const book = new excel.Workbook();
    const empty = [{ formula: 'IF(A9="","",A9*2)', result: '' }, ' ', { formula: 'NA()', result: { error: '#N/A' } }];
    book.addWorksheet('Prepared').addRow(empty);
    const sheet = book.addWorksheet('Answers');
    for (const cells of [['Dish', 'Stars'], ['Soup', 5], empty, ['Pasta', 4], empty]) sheet.addRow(cells);
    const { rows, remarks } = await recognise(Buffer.from(await book.xlsx.writeBuffer()));
    assert.deepEqual(rows, [
      ['Soup', '5'],
      ['Pasta', '4'],
    ]);
    assert.match(remarks, /the sheet “Answers” of 2.*\n2 rows have no filled cell; they are left out\./);
  });

  it('has times of day, and durations of more than a day in hours, by either way to count days', async () => {
    // The styles of `workbookOf`: 1 shows a day, 2 a time of day, 3 hours that go on after 24, 4 a moment.
    const sheet = sheetOf([
      '<c r="A1" s="2"><v>0.5</v></c><c r="B1" s="3"><v>1.5</v></c><c r="C1" s="2"><v>1.5</v></c>' +
        '<c r="D1" s="3"><v>0.25</v></c><c r="E1" s="3"><v>400</v></c>',
      '<c r="A2" s="4"><v>43889.5</v></c><c r="B2" s="2"><v>43889.5</v></c><c r="C2" s="1"><v>43889</v></c>',
    ]);
    const times = ['12:00:00', '36:00:00', '36:00:00', '06:00:00', '9600:00:00'];
    for (const [date1904, day] of [
      ['', '2020-02-28'],
      ['date1904="1"', '2024-02-29'],
    ]) {
      const { lines } = await readSheet(await workbookOf({ 'xl/worksheets/sheet1.xml': sheet }, date1904), undefined);
      assert.deepEqual(lines, [times, [`${day} 12:00:00`, `${day} 12:00:00`, day]]);
    }
  });
});

const sheetOf = (rows: readonly string[]): string =>
  `<worksheet><sheetData>${rows.map((cells, n) => `<row r="${n + 1}">${cells}</row>`).join('')}</sheetData></worksheet>`;

/**
 * A workbook of exceljs in which some parts are others, with styles of days and times from 1 on. `rewrite` changes
 * all parts.
 */
async function workbookOf(
  parts: Readonly<Record<string, string>>,
  properties = '',
  rewrite = (text: string) => text,
): Promise<Buffer> {
  const book = new excel.Workbook();
  const sheet = book.addWorksheet('Answers');
  sheet.addRow(['a', 1, 1, 1, 1]);
  for (const [place, format] of ['yyyy-mm-dd', 'h:mm', '[h]:mm', 'dd/mm/yyyy hh:mm'].entries())
    sheet.getRow(1).getCell(place + 2).numFmt = format;
  const pieces: Uint8Array[] = [];
  const zip = createZip({ write: async (bytes) => void pieces.push(Buffer.from(bytes)) }, new Date('2026-01-02'));
  for (const { name, bytes } of readZip(Buffer.from(await book.xlsx.writeBuffer()))) {
    const text = parts[name] ?? bytes.toString('utf8').replace('<workbookPr', `<workbookPr ${properties}`);
    await zip.add(name, [Buffer.from(rewrite(text))]);
  }
  await zip.end();
  return Buffer.concat(pieces);
}
