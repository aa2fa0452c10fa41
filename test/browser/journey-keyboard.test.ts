import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { adminEmail, adminPassword, type RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

/** The longest way to anything on a screen, in stops of the Tab key. */
const mostStops = 120;

/** The name of what has the focus, as a screen reader says it, with its kind before it. */
const focused = (page: Page): Promise<string> =>
  page.evaluate(`(() => {
    const one = document.activeElement;
    const texts = (one.getAttribute('aria-labelledby') ?? '').split(' ').flatMap((id) => document.getElementById(id)?.textContent ?? []);
    const name = one.getAttribute('aria-label') ?? (texts.join(' ') || one.labels?.[0]?.textContent || one.textContent);
    const kind = one.getAttribute('role') || { A: 'link', BUTTON: 'button' }[one.tagName] || one.type || one.tagName;
    return kind.toLowerCase() + ': ' + name.trim();
  })()`) as Promise<string>;

/** Presses Tab (or Shift and Tab) until what has the focus is called so. */
async function tabTo(page: Page, name: RegExp, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  const passed: string[] = [];
  while (passed.length < mostStops) {
    const here = await focused(page);
    if (name.test(here)) return;
    passed.push(here);
    await page.keyboard.press(key);
  }
  assert.fail(`${name} has no stop of the Tab key among ${passed.map((stop) => stop.slice(0, 60)).join(' | ')}`);
}

async function enter(page: Page, name: RegExp, key?: 'Tab' | 'Shift+Tab'): Promise<void> {
  await tabTo(page, name, key);
  await page.keyboard.press('Enter');
}

/** Fills the field that has the focus. */
async function type(page: Page, text: string): Promise<void> {
  await page.keyboard.press('Control+a');
  await page.keyboard.type(text);
}

describe('a survey from the sign-in to a tested table, by the keyboard alone', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  it('needs no other device', async () => {
    const context = await browser.context({ viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    await page.goto(service.origin);
    await page.getByLabel('E-mail').and(page.locator(':focus')).waitFor();
    await page.keyboard.type(adminEmail);
    await page.keyboard.press('Tab');
    await page.keyboard.type(adminPassword);
    await page.keyboard.press('Enter');
    // Other tests may have surveys in the list, without which the button stands there twice.
    await page.getByRole('button', { name: 'New survey' }).first().waitFor();

    await page.keyboard.press('n');
    await page.getByRole('dialog', { name: 'New survey' }).getByLabel('Title').waitFor();
    await tabTo(page, /Title$/);
    await page.keyboard.type('Lunch');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'No questions yet' }).waitFor();
    const surveyId = new URL(page.url()).pathname.split('/')[2] ?? '';
    const questions = async (): Promise<any[]> => (await admin.get(`/surveys/${surveyId}`)).questions;

    await page.keyboard.press('a');
    await eventually(async () => assert.match(await focused(page), /Multiple choice$/));
    await page.keyboard.press('Enter');
    await eventually(async () => assert.match(await focused(page), /^textarea: Text/));
    await type(page, 'Which dish?');
    await tabTo(page, /^text: Option 1$/);
    await type(page, 'Soup');
    await tabTo(page, /^text: Option 2$/);
    await type(page, 'Salad');
    await eventually(async () =>
      assert.deepEqual(
        (await questions()).map(({ text, options }) => [text, options.map((option: any) => option.text)]),
        [['Which dish?', ['Soup', 'Salad']]],
      ),
    );
    await enter(page, /: Add$/, 'Shift+Tab');
    await page.getByRole('menuitem', { name: 'Yes or no' }).waitFor();
    await page.locator('[role=menu]:focus-within').waitFor();
    // Between two letters a busy machine may let the time pass within which they are one word.
    await page.keyboard.type('Y');
    await eventually(async () => assert.match(await focused(page), /Yes or no$/));
    await page.keyboard.press('Enter');
    await eventually(async () => assert.match(await focused(page), /^textarea: Text/));
    await eventually(async () => assert.equal(await page.evaluate('document.activeElement.value'), 'New question'));
    await type(page, 'Would you come again?');
    await eventually(async () => assert.equal((await questions())[1]?.text, 'Would you come again?'));

    await enter(page, /^link: Publish$/, 'Shift+Tab');
    await page.getByText('Nothing is missing.').waitFor();
    await enter(page, /^button: Publish$/);
    await page.locator('[role=alertdialog]:focus-within').waitFor();
    await enter(page, /^button: Publish$/);
    await page.getByText('Published: it takes responses.').waitFor();

    const opening = context.waitForEvent('page');
    await enter(page, /^link: Open$/);
    const theirs = await opening;
    // With its script, before which Send does nothing.
    await theirs.waitForLoadState();
    await theirs.getByRole('radio', { name: 'Soup' }).waitFor();
    await theirs.bringToFront();
    await tabTo(theirs, /^radio: Soup$/);
    await theirs.keyboard.press('Space');
    await tabTo(theirs, /^radio: Yes$/);
    await theirs.keyboard.press('Space');
    await enter(theirs, /: Send$/);
    await theirs.getByRole('heading', { name: 'Thank you' }).waitFor();
    await theirs.close();

    // Others answer too, so that there is something to test.
    const [dish, again] = await questions();
    for (let n = 0; n < 39; n += 1) {
      const reply = await admin.submit(surveyId, {
        answers: [
          { questionId: dish.id, optionId: dish.options[n % 2].id },
          { questionId: again.id, optionId: again.options[n % 5 === 0 ? 1 - (n % 2) : n % 2].id },
        ],
      });
      assert.equal(reply.status, 201, JSON.stringify(reply.body));
    }
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${surveyId}`)).totalResponses, 40));

    await page.bringToFront();
    await enter(page, /^link: Results$/, 'Shift+Tab');
    const responses = page.locator('dl > div').filter({ hasText: 'Responses' }).first();
    await responses.getByText('40', { exact: true }).waitFor();
    await page.getByRole('heading', { name: /Would you come again\?/ }).waitFor();
    await enter(page, /^link: Crosstab$/, 'Shift+Tab');
    await page.getByRole('heading', { name: 'Pick what to cross' }).waitFor();
    for (const [field, question] of [
      [/^combobox: Rows/, 'Would you come again?'],
      [/^combobox: Columns/, 'Which dish?'],
    ] as const) {
      await tabTo(page, field);
      await page.keyboard.type(question);
      await page.getByRole('option', { name: question }).waitFor();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
    }
    await page.getByRole('table', { name: 'Crosstab' }).waitFor();
    const tests = page.getByRole('table', { name: 'Association of the rows with each variable in columns' });
    await tests.getByRole('row', { name: /Which dish\?.* 40 .*< 0\.001/ }).waitFor();
  });
});
