import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import { answeredCanteen, type Canteen, crosstabTable } from '../support/canteen-survey.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, newConsoleUser, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { type AskedQuestion, publishedSurvey } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('the crosstab of a survey', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  let canteen: Canteen;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));
  before(async () => {
    canteen = await answeredCanteen(admin, { secondDish: 'Salad <b>large</b>' });
  });

  it('shows every cell as the API replies it', async () => {
    const { path, ask, dish, again, fruits, food, weight } = canteen;
    const rowId = food.settings.rows?.[0]?.id ?? '';
    const reply = await ask({
      questionId1: dish.id,
      questionId2: again.id,
      banner: [fruits.id, { questionId: food.id, rowId }],
      weightQuestionId: weight.id,
      significance: 0.9,
      correction: 'fdr',
    });
    const page = await signedInPage(browser, service, {
      path: path({
        rows: dish.id,
        columns: [again.id, fruits.id, `${food.id}~${rowId}`],
        weight: weight.id,
        level: '0.9',
        correction: 'fdr',
        show: ['columnPercent', 'rowPercent', 'totalPercent', 'count', 'unweighted'],
      }),
    });
    await crosstabTable(page).waitFor();
    const shown = await cellsOf(page);
    const tables = [reply, ...reply.banner];
    const letters = tables
      .flatMap(({ columns }: any) => columns)
      .map((_: unknown, index: number) => String.fromCharCode(65 + index));
    let at = 0;
    const expected = tables.map(({ columns, cells }: any) => {
      const first = at;
      at += columns.length;
      return cells.map((line: any) =>
        line.map((cell: any) => ({
          columnPercent: percent(cell.columnPercent),
          rowPercent: percent(cell.rowPercent),
          totalPercent: percent(cell.totalPercent),
          count: decimal(cell.weightedCount),
          unweighted: String(cell.count),
          over: cell.significantOver
            .map((value: string) => letters[first + columns.findIndex((column: any) => column.value === value)])
            .join(' '),
        })),
      );
    });
    const rowCount = reply.rows.length;
    for (let row = 0; row < rowCount; row += 1)
      assert.deepEqual(
        shown.body[row]?.filter(({ isTotal }) => !isTotal).map(({ isTotal: _, ...cell }) => cell),
        expected.flatMap((cells: any) => cells[row]),
        `row ${row}`,
      );
    assert.equal(shown.body.length, rowCount);
    assert.ok(
      expected.flat(2).some(({ over }: any) => over !== ''),
      'no cell of the test is significant',
    );
    assert.deepEqual(
      shown.heads,
      tables.flatMap((one: any) => [
        `n ${one.total} eff. ${decimal(one.effectiveBase)}`,
        ...one.columns.map(({ total, effectiveBase }: any) => `n ${total} eff. ${decimal(effectiveBase)}`),
      ]),
    );
    await page
      .getByRole('row', { name: /Would you come again/ })
      .getByText(String(reply.unweightable), { exact: true })
      .waitFor();
    // A text of the survey is shown as it was written.
    await page.getByRole('rowheader', { name: 'Salad <b>large</b>' }).waitFor();
  });

  it('is made with the keyboard alone, and its address keeps it', async () => {
    const { path, again, fruits } = canteen;
    const page = await signedInPage(browser, service, { path: path() });
    await page.getByRole('heading', { name: 'Pick what to cross' }).waitFor();
    await assertAccessible(page);
    await page.getByRole('combobox', { name: 'Rows' }).focus();
    await page.keyboard.type('dish');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(/rows=/);
    const columns = page.getByRole('combobox', { name: 'Columns' });
    await tabTo(page, 'Columns');
    for (const [typed, ids] of [
      ['again', [again.id]],
      ['fruits', [again.id, fruits.id]],
    ] as const) {
      await page.keyboard.type(typed);
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.waitForURL((url) => url.searchParams.get('columns') === JSON.stringify(ids));
      await eventually(async () =>
        assert.equal(await columns.evaluate((field) => field === field.ownerDocument.activeElement), true),
      );
    }
    await crosstabTable(page).waitFor();
    // The second of the variables comes before the first.
    await page.getByRole('button', { name: 'Move 3. Which fruits? before' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.searchParams.get('columns') === JSON.stringify([fruits.id, again.id]));
    await page.getByRole('button', { name: 'Correction' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('option', { name: 'Bonferroni' }).waitFor();
    // The list is seen a moment before it has the focus.
    await page.locator('[role=option]:focus').waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(/correction=bonferroni/);
    await page.getByRole('checkbox', { name: 'Row %', exact: true }).focus();
    await page.keyboard.press('Space');
    await page.waitForURL(/rowPercent/);
    await eventually(async () =>
      assert.equal((await crosstabTable(page).locator('[data-measure=rowPercent]').count()) > 0, true),
    );
    const counted = page.locator('table:not([data-stale])').filter({ has: page.locator('[data-measure=rowPercent]') });
    await counted.waitFor();
    const before = await cellsOf(page);
    await page.reload();
    await counted.waitFor();
    assert.deepEqual(await cellsOf(page), before);
    await assertAccessible(page);
  });

  it('is arranged by dragging, with the pointer and with the keyboard', async () => {
    const { path, dish, again, fruits } = canteen;
    const page = await signedInPage(browser, service, {
      path: path({ rows: dish.id, columns: [again.id, fruits.id] }),
    });
    await crosstabTable(page).waitFor();
    const chips = page.getByRole('list', { name: 'Variables in columns' });
    const handle = (text: string) => chips.getByRole('button', { name: `Drag ${text}` });
    const arranged = async (rows: AskedQuestion, columns: readonly AskedQuestion[]) => {
      await page.waitForURL(
        ({ searchParams }) =>
          searchParams.get('rows') === rows.id &&
          searchParams.get('columns') === JSON.stringify(columns.map(({ id }) => id)),
      );
      // The address changes before what is seen.
      await eventually(async () => {
        const shown = await chips.getByRole('listitem').allTextContents();
        assert.deepEqual(
          shown.map((label) => label.replace(/^\d\. /, '')),
          columns.map(({ text }) => text),
        );
      });
    };
    const [inRows, zone] = [
      page.getByRole('combobox', { name: 'Rows' }),
      page.getByRole('combobox', { name: 'Columns' }),
    ];
    await drag(page, handle('2. Would you come again?'), handle('3. Which fruits?'), 'the place of 3. Which fruits?');
    await arranged(dish, [fruits, again]);
    // What was in the rows takes the place of what is dropped on them.
    await drag(page, handle('3. Which fruits?'), inRows, 'rows');
    await arranged(fruits, [dish, again]);
    await drag(
      page,
      page.getByRole('button', { name: 'Drag 3. Which fruits?' }),
      handle('2. Would you come again?'),
      'the place of 2. Would you come again?',
    );
    await arranged(again, [dish, fruits]);
    await page.getByRole('button', { name: 'Drag questions into rows and columns' }).click();
    const list = page.getByRole('list', { name: 'Questions' });
    // What is seen while a table is counted is faint on purpose.
    await crosstabTable(page).and(page.locator(':not([data-stale])')).waitFor();
    await assertAccessible(page);
    await drag(page, list.getByRole('button', { name: 'Drag 4. How was it? – Service' }), zone, 'columns');
    await page.waitForURL(({ searchParams }) => JSON.parse(searchParams.get('columns') ?? '[]').length === 3);
    await page.getByRole('button', { name: 'Remove 4. How was it? – Service' }).click();
    await arranged(again, [dish, fruits]);
    await crosstabTable(page).waitFor();

    await handle('3. Which fruits?').focus();
    await page.keyboard.press('Space');
    await page.getByText('3. Which fruits? is over the place of 3. Which fruits?.').waitFor({ state: 'attached' });
    await page.keyboard.press('ArrowLeft');
    await page.getByText('3. Which fruits? is over the place of 1. Which dish?.').waitFor({ state: 'attached' });
    await page.keyboard.press('Space');
    await arranged(again, [fruits, dish]);
    await page.getByRole('button', { name: 'Swap rows and columns' }).click();
    await arranged(fruits, [again, dish]);
  });

  it('says that a base is small, what cannot be counted, and what is refused', async () => {
    const { path, ask, dish, again } = canteen;
    const page = await signedInPage(browser, service, { path: path({ rows: again.id, columns: [dish.id] }) });
    await crosstabTable(page).waitFor();
    const { columns } = await ask({ questionId1: again.id, questionId2: dish.id });
    const small = columns.filter(({ effectiveBase }: any) => effectiveBase < 30);
    assert.ok(small.length > 0 && small.length < columns.length);
    assert.equal(await page.getByRole('img', { name: 'Small base' }).count(), small.length);
    await page.getByRole('button', { name: 'Weight' }).click();
    await page.getByRole('option', { name: 'A key of the metadata' }).click();
    await page.getByRole('textbox', { name: 'Key of the metadata' }).fill('nowhere');
    await page.keyboard.press('Enter');
    await page
      .getByText(/no response of this survey has the key "nowhere"/)
      .first()
      .waitFor();
    await assertAccessible(page);
    browser.forgive(/status of 400/);
  });

  it('shows sums of small weights with the digits that they have', async () => {
    const { id, questions } = await publishedSurvey(admin, { title: 'Small weights' }, [
      { type: 'YES_NO', text: 'Better?' },
      { type: 'YES_NO', text: 'Again?' },
    ]);
    const answers = questions.map((question) => ({ questionId: question.id, optionId: question.options[0]?.id }));
    for (let n = 0; n < 5; n += 1) await admin.submit(id, { answers, metadata: { weight: '0.001' } });
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 5));
    const search = new URLSearchParams({
      rows: questions[0]?.id ?? '',
      columns: JSON.stringify([questions[1]?.id]),
      weightKey: 'weight',
      show: '["count"]',
    });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/crosstab?${search}` });
    await crosstabTable(page).waitFor();
    const { body, heads } = await cellsOf(page);
    assert.deepEqual(
      body.map((cells) => cells.map(({ count }) => count)),
      [
        ['0.005', '0.005', '0.0'],
        ['0.0', '0.0', '0.0'],
      ],
    );
    assert.equal(heads[0], 'n 5 eff. 5.0');
  });

  it('is for readers of the survey too', async () => {
    const { path, again } = canteen;
    const viewer = await newConsoleUser(service, admin, 'VIEWER');
    await admin.put(`/surveys/${canteen.id}/members/${viewer.id}`, { role: 'VIEWER' });
    const page = await signedInPage(browser, service, {
      path: path({ rows: again.id, columns: ['outcome'] }),
      as: viewer,
    });
    await crosstabTable(page).waitFor();
    await page.getByRole('button', { name: 'Swap rows and columns' }).click();
    await page.waitForURL(/rows=outcome/);
    await page.getByRole('rowheader', { name: 'Completed' }).waitFor();
  });

  it('keeps heads and first column in sight in 20 × 30 cells', async () => {
    const many = await publishedSurvey(admin, { title: 'Large' }, [
      { type: 'DROPDOWN', text: 'Which of twenty?', options: numbered('Row', 20).map((text) => ({ text })) },
      {
        type: 'DROPDOWN',
        text: 'Which of thirty?',
        options: numbered('A column with a name', 30).map((text) => ({ text })),
      },
    ]);
    const [rows, columns] = many.questions as [AskedQuestion, AskedQuestion];
    await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        admin.submit(many.id, {
          answers: [
            { questionId: rows.id, optionId: rows.options[n % 20]?.id },
            { questionId: columns.id, optionId: columns.options[(n * 7) % 30]?.id },
          ],
        }),
      ),
    );
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${many.id}`)).totalResponses, 60));
    const page = await signedInPage(browser, service, {
      path: `/surveys/${many.id}/crosstab?rows=${rows.id}&columns=${encodeURIComponent(JSON.stringify([columns.id]))}`,
    });
    const area = page.getByRole('region', { name: 'Crosstab', exact: true });
    await area.waitFor();
    await area.evaluate((element) => element.scrollTo(element.scrollWidth, element.scrollHeight));
    const last = page.getByRole('columnheader', { name: /A column with a name 30/ });
    const isInside = async (inner: ReturnType<Page['locator']>) => {
      const [outerBox, box] = [await area.boundingBox(), await inner.boundingBox()];
      assert.ok(outerBox && box);
      assert.ok(box.x >= outerBox.x && box.x + box.width <= outerBox.x + outerBox.width + 1, JSON.stringify(box));
      assert.ok(box.y >= outerBox.y && box.y + box.height <= outerBox.y + outerBox.height + 1, JSON.stringify(box));
    };
    await isInside(last);
    await isInside(page.getByRole('rowheader', { name: 'Row 20' }));
    assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
    await assertAccessible(page);
  });
});

const numbered = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name} ${n + 1}`);
const decimal = (value: number) => value.toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const percent = (value: number) => `${decimal(value)}%`;

interface ShownCell {
  isTotal: boolean;
  over: string;
  [measure: string]: string | boolean;
}

/** Every cell and base of the table that is on the page. */
function cellsOf(page: Page): Promise<{ body: ShownCell[][]; heads: string[] }> {
  return page.getByRole('table', { name: 'Crosstab' }).evaluate((table) => {
    const body = [...table.querySelectorAll('tbody tr')].map((row) =>
      [...row.querySelectorAll('td')].map((cell) => ({
        isTotal: cell.hasAttribute('data-total'),
        ...Object.fromEntries(
          [...cell.querySelectorAll('[data-measure]')].map((line) => [
            line.getAttribute('data-measure') ?? '',
            line.querySelector('[data-value]')?.textContent ?? '',
          ]),
        ),
        over: cell.querySelector('abbr')?.textContent ?? '',
      })),
    );
    const heads = [...table.querySelectorAll('[data-base]')].map((base) => base.textContent ?? '');
    return { body, heads };
  });
}

/**
 * Drags one element onto the middle of another, as a hand does: in steps, and let go once the page says that it is over
 * `place`.
 */
async function drag(page: Page, what: Locator, onto: Locator, place: string): Promise<void> {
  // Waits until it moves no more after what was dragged before.
  await what.hover();
  const [from, to] = [await what.boundingBox(), await onto.boundingBox()];
  assert.ok(from && to);
  await page.mouse.move(from.x + from.width / 2, from.y + from.height / 2);
  await page.mouse.down();
  await page.mouse.move(from.x + from.width / 2 + 10, from.y + from.height / 2 + 2, { steps: 3 });
  await page.mouse.move(to.x + to.width / 2, to.y + to.height / 2, { steps: 8 });
  await page.getByText(`is over ${place}.`).waitFor({ state: 'attached' });
  await page.mouse.up();
}

/** Presses Tab until the field of this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const field = page.getByRole('combobox', { name });
  for (let presses = 0; presses < 20; presses += 1) {
    if (await field.evaluate((element) => element === element.ownerDocument.activeElement)) return;
    await page.keyboard.press('Tab');
  }
  assert.fail(`${name} cannot be reached by Tab`);
}
