import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import excel from 'exceljs';
import { cellText } from '../../../src/platform/sheet-text.ts';
import { readTable } from '../../../src/replay/read-table.ts';
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
});
