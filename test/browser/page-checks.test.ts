import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { questionAt, storedResponses, thanked } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

const labelled = (...values: string[]) => values.map((value) => ({ text: value, value }));
const dishes = labelled('Soup', 'Pasta', 'Cake');

describe('what counts of that which was entered', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));
  const open = async (link: string): Promise<Page> => {
    const page = await browser.open();
    await page.goto(`${service.origin}/s/${link}`);
    return page;
  };
  const press = (page: Page, name: string) => page.getByRole('button', { name }).click();

  it('an answer that is not offered any more is left out, and counts again when it is offered again', async () => {
    const { id } = await admin.create('/surveys', { title: 'Dishes' });
    const ask = (body: object) => admin.create(`/surveys/${id}/questions`, body);
    const had = await ask({ type: 'CHECKBOXES', text: 'What did you have?', options: dishes });
    const { id: sectionId } = await admin.create(`/surveys/${id}/sections`, { title: 'Afterwards' });
    const optionsFrom = { questionId: had.id, which: 'selected' };
    const follow = (type: string, fields: object = { options: dishes }) =>
      ask({ type, text: type, sectionId, optionsFrom, ...fields });
    const best = await follow('MULTIPLE_CHOICE');
    const worst = await follow('DROPDOWN');
    const again = await follow('CHECKBOXES', { options: dishes, settings: { maxSelections: 2 } });
    const order = await follow('RANKING');
    const rated = await follow('MATRIX', { options: labelled('Good', 'Bad'), settings: { rows: dishes } });
    await admin.post(`/surveys/${id}/publish`);
    const page = await open(id);
    const dish = (name: string) => page.getByRole('checkbox', { name });
    const group = (type: string) => questionAt(page, type);
    for (const name of ['Soup', 'Pasta', 'Cake']) await dish(name).check();
    await press(page, 'Next');
    await group('MULTIPLE_CHOICE').getByRole('radio', { name: 'Pasta' }).check();
    await group('DROPDOWN').getByRole('combobox').selectOption('Soup');
    for (const name of ['Soup', 'Pasta']) await group('CHECKBOXES').getByRole('checkbox', { name }).check();
    for (let count = 0; count < 3; count += 1) await group('RANKING').locator('.unranked-item').first().click();
    for (const row of [0, 1, 2]) await group('MATRIX').getByRole('radio', { name: 'Good' }).nth(row).check();
    await page.locator('.status[data-status=saved]').waitFor({ state: 'attached' });
    await press(page, 'Back');
    for (const name of ['Soup', 'Pasta']) await dish(name).uncheck();
    await dish('Pasta').check();
    await press(page, 'Next');
    assert.ok(await group('MULTIPLE_CHOICE').getByRole('radio', { name: 'Pasta' }).isChecked());
    await press(page, 'Send');
    await thanked(page);
    const [stored] = await storedResponses(admin, id, 1);
    const answersTo = (question: { id: string }) =>
      stored?.answers.flatMap(({ questionId, ...answer }) => (questionId === question.id ? [answer] : []));
    const idIn = (items: { id: string; value: string }[], value: string) =>
      items.find((item) => item.value === value)?.id;
    assert.deepEqual(answersTo(best), [{ optionId: idIn(best.options, 'Pasta') }]);
    assert.deepEqual(answersTo(worst), []);
    assert.deepEqual(answersTo(again), [{ optionId: idIn(again.options, 'Pasta') }]);
    assert.deepEqual(answersTo(order), [
      { optionId: idIn(order.options, 'Pasta'), rank: 1 },
      { optionId: idIn(order.options, 'Cake'), rank: 2 },
    ]);
    const good = idIn(rated.options, 'Good');
    assert.deepEqual(
      answersTo(rated),
      ['Pasta', 'Cake'].map((value) => ({ rowId: idIn(rated.settings.rows, value), optionId: good })),
    );
    await page.context().close();
  });
});
