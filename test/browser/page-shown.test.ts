import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { publishedSurvey, questionAt, storedResponses, thanked } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

const numbered = (count: number, name = ''): { text: string }[] =>
  Array.from({ length: count }, (_, index) => ({ text: `${name}${index}` }));
const rows = [{ text: 'The first row' }, { text: 'The second row' }];

describe('the respondent’s page', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  it('shows every column of a MATRIX without scrolling: as a table where all fit, else as a card for each row', async () => {
    const grids = [
      { columns: numbered(5, 'Column '), isTable: true },
      { columns: numbered(11), isTable: true },
      { columns: numbered(12, 'Column '), isTable: false },
      { columns: numbered(6).map(({ text }) => ({ text: `Disagreement ${text}` })), isTable: false },
    ];
    const survey = await publishedSurvey(
      admin,
      { title: 'Wide grids' },
      grids.map(({ columns }, index) => ({
        type: 'MATRIX',
        text: `Grid ${index}`,
        options: columns,
        settings: { rows },
      })),
    );
    const page = await browser.open();
    await page.goto(`${service.origin}/s/${survey.id}`);
    for (const width of [1280, 704, 360]) {
      await page.setViewportSize({ width, height: 900 });
      const shown = await page.locator('.matrix').evaluateAll((elements: any[]) =>
        elements.map((grid) => {
          const { left, right } = grid.getBoundingClientRect();
          const isWithin = (element: any) => {
            const box = element.getBoundingClientRect();
            return box.width > 1 && box.left >= left - 1 && box.right <= right + 1;
          };
          const head = grid.querySelector('.matrix-head');
          return {
            marks: [...grid.querySelectorAll('.choice-mark')].filter(isWithin).length,
            isTable: head.getBoundingClientRect().width > 0,
            cut: [...head.children].filter(({ scrollWidth, clientWidth }: any) => scrollWidth > clientWidth).length,
          };
        }),
      );
      const wanted = grids.map(({ columns, isTable }) => ({
        marks: 2 * columns.length,
        isTable: isTable && width > 700,
        cut: 0,
      }));
      assert.deepEqual(shown, wanted, `at ${width} px`);
    }
    await page.context().close();
  });

  it('shows what is chosen where the system forces its colours', async () => {
    const survey = await publishedSurvey(admin, { title: 'Forced colours' }, [
      { type: 'MULTIPLE_CHOICE', text: 'One', options: numbered(2) },
      { type: 'CHECKBOXES', text: 'Several', options: numbered(2) },
      { type: 'MATRIX', text: 'Grid', options: numbered(2), settings: { rows } },
      { type: 'NPS', text: 'Likely' },
    ]);
    const page = await browser.open({ forcedColors: 'active' });
    await page.goto(`${service.origin}/s/${survey.id}`);
    for (const [name, mark] of [
      ['One', '.choice-mark'],
      ['Several', '.choice-mark'],
      ['Grid', '.choice-mark'],
      ['Likely', '.point'],
    ] as const) {
      const question = questionAt(page, name);
      await question.locator('input').first().check();
      await page.locator('h1').click();
      const colours = await question
        .locator(mark)
        .evaluateAll((marks: any[]) =>
          marks.slice(0, 2).map((element) => (globalThis as any).getComputedStyle(element).backgroundColor),
        );
      assert.notEqual(colours[0], colours[1], name);
    }
    await page.context().close();
  });

  it('names the points at the ends of an NPS, wherever they stand', async () => {
    const survey = await publishedSurvey(admin, { title: 'Ends' }, [{ type: 'NPS', text: 'Likely' }]);
    const page = await browser.open({ viewport: { width: 320, height: 640 } });
    await page.goto(`${service.origin}/s/${survey.id}`);
    const points = questionAt(page, 'Likely').getByRole('radio');
    const described = async (index: number) => {
      const ids = (await points.nth(index).getAttribute('aria-describedby')) ?? '';
      return ids === '' ? '' : page.locator(`[id="${ids}"]`).textContent();
    };
    assert.deepEqual(
      [await described(0), await described(5), await described(10)],
      ['0 – Not at all likely', '', '10 – Extremely likely'],
    );
    await page.context().close();
  });

  it('leads to the row of a MATRIX that has no answer, and marks no other', async () => {
    const survey = await publishedSurvey(admin, { title: 'A row' }, [
      { type: 'MATRIX', text: 'Grid', isRequired: true, options: numbered(3), settings: { rows } },
    ]);
    const page = await browser.open();
    await page.goto(`${service.origin}/s/${survey.id}`);
    const groups = page.getByRole('radiogroup');
    await groups.nth(0).getByRole('radio').nth(1).check();
    await page.locator('button[type=submit]').click();
    await page.locator('.error').waitFor();
    assert.equal(await groups.nth(1).locator('input:focus').count(), 1);
    assert.deepEqual(
      [await groups.nth(0).locator('[aria-invalid]').count(), await groups.nth(1).locator('[aria-invalid]').count()],
      [0, 3],
    );
    await page.context().close();
  });

  it('tells a screen reader which field is wrong, though the focus has gone on', async () => {
    const survey = await publishedSurvey(admin, { title: 'Told' }, [
      { type: 'EMAIL', text: 'Address' },
      { type: 'SHORT_TEXT', text: 'Name' },
    ]);
    const page = await browser.open();
    await page.goto(`${service.origin}/s/${survey.id}`);
    const told = page.locator('form > [role=status]');
    assert.equal(await told.textContent(), '');
    await page.getByLabel('Address').fill('nobody');
    await page.getByLabel('Name').focus();
    await questionAt(page, 'Address').locator('.error').waitFor();
    assert.match((await told.textContent()) ?? '', /^AddressPlease enter an e-mail address/);
    assert.equal(await page.getByLabel('Name').and(page.locator(':focus')).count(), 1);
    await page.getByLabel('Address').fill('a@example.org');
    await questionAt(page, 'Address').locator('.error').waitFor({ state: 'detached' });
    assert.equal(await told.textContent(), '');
    await page.context().close();
  });

  it('stores the domain of an address as it was typed', async () => {
    const survey = await publishedSurvey(admin, { title: 'Addresses' }, [{ type: 'EMAIL', text: 'Address' }]);
    const page = await browser.open();
    await page.goto(`${service.origin}/s/${survey.id}`);
    await page.getByLabel('Address').pressSequentially('a@bücher.example');
    await page.locator('button[type=submit]').click();
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.equal(stored?.answers[0]?.['textValue'], 'a@bücher.example');
    await page.context().close();
  });

  it('lets no browser correct an address, drawn by the service or by the page', async () => {
    const survey = await publishedSurvey(admin, { title: 'Addresses', appearance: { pageMode: 'QUESTION' } }, [
      { type: 'EMAIL', text: 'Address' },
      { type: 'EMAIL', text: 'Another' },
    ]);
    const page = await browser.open();
    await page.goto(`${service.origin}/s/${survey.id}`);
    for (const text of ['Address', 'Another']) {
      const field = page.getByLabel(text);
      const names = ['autocapitalize', 'autocorrect', 'spellcheck'];
      const said = await Promise.all(names.map((name) => field.getAttribute(name)));
      assert.deepEqual(said, ['none', 'off', 'false']);
      if (text === 'Address') await page.getByRole('button', { name: 'Next' }).click();
    }
    await page.context().close();
  });

  it('opens a keypad for numbers only where none can be negative, since some have no minus sign', async () => {
    const ask = (settings: object) => ({ type: 'NUMBER', text: JSON.stringify(settings), settings });
    const asked = [ask({}), ask({ min: -5 }), ask({ min: 0 }), ask({ min: 0, integer: true }), ask({ integer: true })];
    const survey = await publishedSurvey(admin, { title: 'Keypads' }, asked);
    const page = await browser.open();
    await page.goto(`${service.origin}/s/${survey.id}`);
    const modes = await page
      .locator('.question input')
      .evaluateAll((fields) => fields.map((field) => field.getAttribute('inputmode')));
    assert.deepEqual(modes, ['text', 'text', 'decimal', 'numeric', 'text']);
    await page.context().close();
  });

  it('asks for an exact number where the least and the most are one', async () => {
    const survey = await publishedSurvey(admin, { title: 'Exactly' }, [
      {
        type: 'CHECKBOXES',
        text: 'Two',
        options: numbered(4),
        settings: { minSelections: 2, maxSelections: 2 },
      },
    ]);
    const page = await browser.open();
    await page.goto(`${service.origin}/s/${survey.id}`);
    assert.equal(await questionAt(page, 'Two').locator('.hint').textContent(), 'Choose exactly 2.');
    await page.context().close();
  });
});
