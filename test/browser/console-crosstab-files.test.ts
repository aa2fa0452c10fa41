import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import exceljs from 'exceljs';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import { answeredCanteen, type Canteen, crosstabTable } from '../support/canteen-survey.ts';
import type { Client } from '../support/client.ts';
import { addFilter, assertAccessible, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { formulasOf, openedInOffice, withoutOffice } from '../support/office.ts';
import { publishedSurvey } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

/** Texts that a spreadsheet would run, or that need quotation marks. */
const hostile = '=1+1, "quoted" & <b>';
const title = '=Canteen';

describe('files and filters of a crosstab', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  let canteen: Canteen;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));
  before(async () => {
    canteen = await answeredCanteen(admin, { title, secondDish: hostile });
  });

  it('hold every number that is seen, unrounded, as CSV and as Excel', async () => {
    const { path, ask, dish, again, fruits, weight } = canteen;
    for (const isWeighted of [false, true]) {
      const filters = isWeighted ? [] : [`${again.id}:yes`, 'outcome:COMPLETED'];
      const [rows, columns] = isWeighted ? [dish, [again, fruits]] : [fruits, [dish]];
      const reply = await ask({
        questionId1: rows.id,
        questionId2: columns[0]?.id,
        ...(isWeighted ? { banner: [fruits.id], weightQuestionId: weight.id } : { filters }),
        significance: 0.9,
        correction: 'fdr',
      });
      const page = await signedInPage(browser, service, {
        path: path({
          rows: rows.id,
          columns: columns.map(({ id }) => id),
          ...(isWeighted ? { weight: weight.id } : { filter: filters, from: '2020-01-01' }),
          level: '0.9',
          correction: 'fdr',
          show: ['columnPercent', 'rowPercent', 'totalPercent', 'count', 'unweighted'],
        }),
      });
      await crosstabTable(page).waitFor();
      const expected = gridOf(reply, isWeighted);
      const csv = await saved(page, 'Save as CSV');
      assert.equal(csv.name, `${title} – crosstab.csv`);
      const text = csv.bytes.toString('utf8');
      assert.equal(text[0], '\ufeff');
      const lines: string[][] = parse(text, { bom: true });
      const isHostile = (cell: string) => /^[=+\-@]/.test(cell);
      assert.deepEqual(lines.flat().filter(isHostile), []);
      assert.ok(text.includes(`"'=1+1, ""quoted"" & <b>"`), text);
      const excel = await saved(page, 'Save as Excel');
      assert.equal(excel.name, `${title} – crosstab.xlsx`);
      const sheet = await sheetOf(excel.bytes);
      assert.equal(sheet.lines[0]?.[0], title);
      for (const [kind, grid] of [
        [
          'CSV',
          lines.map((line) => line.map((cell) => (cell === '' || Number.isNaN(Number(cell)) ? cell : Number(cell)))),
        ],
        ['Excel', sheet.lines],
      ] as const) {
        const note = (place: number) => String(grid[place]?.[0]);
        assert.match(note(1), /by /, kind);
        assert.match(
          note(2),
          isWeighted
            ? /^Responses: all$/
            : /^Responses: from 2020-01-01 \(UTC\); 2\. Would.*: Yes; Outcome: Completed$/,
          kind,
        );
        assert.match(
          note(3),
          /^Weight: (none|5\. How many live there\?) · Confidence: 90 % · Correction: Benjamini–Hochberg · .*Counted: 2/,
          kind,
        );
        const body = grid.slice(4).map((line) => line.slice(1));
        assertHolds(body, expected, kind);
      }
      // What is seen is what is held.
      const first = reply.cells[0][0];
      await crosstabTable(page).getByText(percent(first.columnPercent)).first().waitFor();
      assert.equal(sheet.formats.get('Column %'), '0.0"%"');
      assert.equal(sheet.formats.get('n'), '#,##0');
      // Excel shows a sum of small weights with its own digits, not as 0.
      if (isWeighted) assert.equal(sheet.formats.get('Effective base'), '[=0]0.0;[<1]General;#,##0.0');
      await page.close();
    }
  });

  it('hold the same where LibreOffice opens them', { skip: withoutOffice }, async () => {
    const { path, dish, again, fruits, weight } = canteen;
    const page = await signedInPage(browser, service, {
      path: path({ rows: dish.id, columns: [again.id, fruits.id], weight: weight.id }),
    });
    await crosstabTable(page).waitFor();
    const [csv, excel] = [await saved(page, 'Save as CSV'), await saved(page, 'Save as Excel')];
    const { lines } = await sheetOf(excel.bytes);
    assert.ok(lines.flat().filter((cell) => typeof cell === 'number').length > 50);
    for (const [name, bytes] of [
      ['crosstab.csv', csv.bytes],
      ['crosstab.xlsx', excel.bytes],
    ] as const) {
      const opened = await openedInOffice(name, bytes);
      assert.deepEqual(formulasOf(opened), [], name);
      const cells = linesOf(opened).map((line) =>
        line.map((cell) => (typeof cell === 'string' ? unmarked(cell) : cell)),
      );
      for (const [row, line] of lines.entries())
        for (const [column, cell] of line.entries()) {
          const found = cells[row]?.[column] ?? '';
          if (typeof cell === 'number')
            assert.ok(Math.abs(Number(found) - cell) < 1e-9, `${name}: ${found} for ${cell}`);
          else assert.equal(found, unmarked(cell), name);
        }
    }
  });

  it('say, as the screen does, that columns were too many to be compared', async () => {
    const { id, questions } = await publishedSurvey(admin, { title: 'Sliding' }, [
      { type: 'YES_NO', text: 'Again?' },
      { type: 'SLIDER', text: 'How much?', settings: { min: 0, max: 205, step: 1 } },
    ]);
    const [again, much] = questions;
    for (let numberValue = 0; numberValue <= 205; numberValue += 1) {
      const answers = [
        { questionId: again?.id, optionId: again?.options[numberValue % 2]?.id },
        { questionId: much?.id, numberValue },
      ];
      assert.equal((await admin.submit(id, { answers })).status, 201);
    }
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 206));
    const page = await signedInPage(browser, service, {
      path: `/surveys/${id}/crosstab?rows=${again?.id}&columns=${much?.id}`,
    });
    await crosstabTable(page).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as CSV' }).click(),
    ]);
    const file = await readFile(await download.path(), 'utf8');
    assert.match(file, /Significance: not tested, too many columns/);
    assert.doesNotMatch(file, /Confidence|Correction/);
    await page.getByText(/^Columns are not compared: there are too many for tests of significance\./).waitFor();
    assert.equal(await page.getByText(/exceeds significantly/).count(), 0);
    await page.context().close();
  });

  it('select responses, which the address keeps, and are taken away one by one', async () => {
    const { path, ask, dish, again, fruits } = canteen;
    const page = await signedInPage(browser, service, { path: path({ rows: again.id, columns: [fruits.id] }) });
    await crosstabTable(page).waitFor();
    const total = () => crosstabTable(page).locator('[data-base]').first().textContent();
    const all = await ask({ questionId1: again.id, questionId2: fruits.id });
    assert.equal(await total(), `n ${all.total}`);
    await addFilter(page, { search: 'dish', variable: /dish/, value: 'Soup' });
    await page.waitForURL(/filter=/);
    const soup = await ask({
      questionId1: again.id,
      questionId2: fruits.id,
      filters: [`${dish.id}:${dish.options[0]?.value}`],
    });
    assert.ok(soup.total < all.total);
    await eventually(async () => assert.equal(await total(), `n ${soup.total}`));
    await page.reload();
    await crosstabTable(page).waitFor();
    assert.equal(await total(), `n ${soup.total}`);
    await assertAccessible(page);
    await page.getByLabel('From (UTC)', { exact: true }).fill('2100-01-01');
    await page.getByRole('heading', { name: 'No response fits' }).waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).first().click();
    await eventually(async () => assert.equal(await total(), `n ${all.total}`));
    assert.ok(!/filter=|from=/.test(page.url()), page.url());
  });

  it('show a theme that the address names, also where no analysis has found it', async () => {
    const { path, dish, again } = canteen;
    const page = await signedInPage(browser, service, {
      path: path({ rows: again.id, columns: [dish.id], filter: ['theme:waiting: times'] }),
    });
    await page
      .getByText(/analysis/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Remove the filter Theme: waiting: times' }).click();
    await crosstabTable(page).waitFor();
    browser.forgive(/status of 400/);
  });
});

const decimal = (value: number) => value.toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const percent = (value: number) => `${decimal(value)}%`;

async function saved(page: Page, button: string): Promise<{ name: string; bytes: Buffer }> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: button, exact: true }).click(),
  ]);
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
}

type Value = string | number;

/** The cells of a workbook, '' for empty ones, and the formats of numbers by the measure beside them. */
async function sheetOf(bytes: Buffer): Promise<{ lines: Value[][]; formats: Map<string, string> }> {
  const workbook = new exceljs.Workbook();
  await workbook.xlsx.load(bytes as never);
  const [sheet] = workbook.worksheets;
  assert.ok(sheet);
  assert.equal(sheet.views[0]?.state, 'frozen');
  const formats = new Map<string, string>();
  sheet.eachRow((row) =>
    row.eachCell((cell) => {
      if (typeof cell.value === 'number') formats.set(String(row.getCell(2).value), cell.numFmt);
    }),
  );
  return { lines: linesOf(sheet), formats };
}

/** The cells of a sheet, '' for empty ones. */
const linesOf = (sheet: exceljs.Worksheet): Value[][] =>
  Array.from({ length: sheet.rowCount }, (_, row) =>
    Array.from({ length: sheet.columnCount }, (__, column): Value => {
      const cell = sheet.getCell(row + 1, column + 1);
      if (cell.isMerged && cell.master !== cell) return '';
      assert.ok(cell.value === null || ['string', 'number'].includes(typeof cell.value), JSON.stringify(cell.value));
      return cell.value === null ? '' : (cell.value as Value);
    }),
  );

/** The lines that a file must hold for a reply of the API, from the measure on. */
function gridOf(reply: any, isWeighted: boolean): Value[][] {
  const tables = [reply, ...(reply.banner ?? [])];
  const line = (name: string, ofTotal: (one: any) => Value, ofColumn: (column: any, at: number) => Value): Value[] => {
    let at = 0;
    return [
      name,
      ...tables.flatMap((one) => [ofTotal(one), ...one.columns.map((column: any) => ofColumn(column, at++))]),
    ];
  };
  const letter = (at: number) => String.fromCharCode(65 + at);
  const share = (part: number, whole: number) => (whole > 0 ? (part / whole) * 100 : 0);
  const heads = [
    line(
      '',
      () => 'Total',
      ({ text }) => text,
    ),
    line(
      'Letter',
      () => '',
      (_, at) => letter(at),
    ),
    line(
      'n',
      ({ total }) => total,
      ({ total }) => total,
    ),
    ...(isWeighted
      ? [
          line(
            'Effective base',
            ({ effectiveBase }) => effectiveBase,
            ({ effectiveBase }) => effectiveBase,
          ),
        ]
      : []),
    line(
      'Small base',
      () => '',
      ({ effectiveBase }) => (effectiveBase < 30 ? 'below 30' : ''),
    ),
  ];
  const body = reply.rows.flatMap((_: unknown, row: number) => {
    const measure = (name: string, ofTotal: (head: any, one: any) => number, ofCell: (cell: any) => number) => [
      name,
      ...tables.flatMap((one) => [ofTotal(one.rows[row], one), ...one.cells[row].map(ofCell)]),
    ];
    const whole = (head: any, one: any) => share(head.weightedTotal, one.weightedTotal);
    let first = 0;
    const letters = tables.flatMap((one) => {
      const from = first;
      first += one.columns.length;
      const place = (value: string) => from + one.columns.findIndex((column: any) => column.value === value);
      return ['', ...one.cells[row].map((cell: any) => cell.significantOver.map(place).map(letter).join(' '))];
    });
    return [
      measure('Column %', whole, ({ columnPercent }) => columnPercent),
      measure(
        'Row %',
        ({ weightedTotal }) => (weightedTotal > 0 ? 100 : 0),
        ({ rowPercent }) => rowPercent,
      ),
      measure('Total %', whole, ({ totalPercent }) => totalPercent),
      measure(
        'Count',
        ({ weightedTotal }) => weightedTotal,
        ({ weightedCount }) => weightedCount,
      ),
      ...(isWeighted
        ? [
            measure(
              'Unweighted count',
              ({ total }) => total,
              ({ count }) => count,
            ),
          ]
        : []),
      ...(letters.some((text) => text !== '') ? [['Significantly more than', ...letters]] : []),
    ];
  });
  const tests = tables.map(({ total, weightedTotal, effectiveBase, unweightable, chiSquare, cramersV }) => [
    total,
    ...(isWeighted ? [weightedTotal, effectiveBase, unweightable] : []),
    chiSquare.statistic,
    chiSquare.degreesOfFreedom,
    chiSquare.pValue,
    cramersV,
  ]);
  return [...heads, ...body, ...tests];
}

/** Without the mark that keeps a text from being a formula. */
const unmarked = (text: string): string => text.replace(/^'/, '');

/** Asserts that the lines stand in the grid, in order, whatever stands between them and beyond their ends. */
function assertHolds(grid: readonly (readonly Value[])[], expected: readonly (readonly Value[])[], kind: string): void {
  const plain = (line: readonly Value[]) =>
    JSON.stringify(line.map((cell) => (typeof cell === 'string' ? unmarked(cell) : cell))).replace(/(,"")*\]$/, ']');
  const lines = grid.map(plain);
  let from = 0;
  for (const line of expected) {
    const found = lines.indexOf(plain(line), from);
    assert.ok(found >= 0, `${kind} lacks ${plain(line)} after line ${from}:\n${lines.slice(from).join('\n')}`);
    from = found + 1;
  }
  assert.ok(
    expected.some(([name]) => name === 'Significantly more than'),
    'nothing is significant in this test',
  );
}
