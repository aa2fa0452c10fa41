import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, goTo, signedInPage } from '../support/console.ts';
import { answeredSurvey } from '../support/dishes-survey.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('columns and filters of Responses', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  // The browser is closed before the service: pages would report that they cannot reconnect.
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  it('filters by outcome and chooses columns', async () => {
    const id = await answeredSurvey(admin, [['anna', 'Soup']]);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/responses` });
    const table = page.getByRole('table', { name: 'Responses' });
    await table.getByText('Soup').waitFor();
    await page.getByRole('button', { name: 'Columns' }).click();
    const dialog = page.getByRole('dialog', { name: 'Columns' });
    await dialog.getByText('Respondent').click();
    await dialog.getByText('Which dish?').click();
    await assertAccessible(page);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await table.getByText('anna').waitFor();
    assert.equal(await table.getByText('Soup').count(), 0);
    await page.getByRole('button', { name: /Outcome/ }).click();
    await page.getByRole('option', { name: 'Partial' }).click();
    await page.waitForURL(/outcome=PARTIAL/);
    await page.getByRole('heading', { name: 'No response fits' }).waitFor();
  });

  it('names the columns in the address, so that a reload, Back and a shared address show them', async () => {
    const id = await answeredSurvey(admin, [['anna', 'Soup']]);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/responses` });
    const titles = () => page.getByRole('columnheader').allInnerTexts();
    const show = (shown: string[]) => eventually(async () => assert.deepEqual(await titles(), shown));
    const choose = async (...columns: readonly string[]) => {
      await page.getByRole('button', { name: 'Columns' }).click();
      const dialog = page.getByRole('dialog', { name: 'Columns' });
      for (const column of columns) await dialog.getByText(column, { exact: true }).click();
      await dialog.getByRole('button', { name: 'Done' }).click();
    };
    const first = ['Submitted', 'Outcome', 'Which dish?'];
    await show(first);
    await choose('Respondent', 'Outcome');
    await show(['Submitted', 'Which dish?', 'Respondent']);
    await page.reload();
    await show(['Submitted', 'Which dish?', 'Respondent']);
    await page.goBack();
    await show(first);
    await page.goForward();
    await show(['Submitted', 'Which dish?', 'Respondent']);
    // None is no table: those of the beginning are shown again.
    await choose('Submitted', 'Which dish?', 'Respondent');
    await show(first);
    // Of an address that names what is no column any more, the others count.
    const columns = JSON.stringify(['removed', 'outcome']);
    await page.goto(`${service.origin}/surveys/${id}/responses?columns=${encodeURIComponent(columns)}`);
    await show(['Outcome']);
  });

  it('leaves the address when columns are looked at and not chosen', async () => {
    const id = await answeredSurvey(admin, [['anna', 'Soup']]);
    const page = await signedInPage(browser, service);
    const held = await holdCalls(page, '**/collectors?*');
    const columns = encodeURIComponent(JSON.stringify(['collector', 'removed']));
    await goTo(page, `/surveys/${id}/responses?columns=${columns}`);
    await page.getByRole('button', { name: 'Columns' }).click();
    const dialog = page.getByRole('dialog', { name: 'Columns' });
    await dialog.getByRole('checkbox', { name: 'Collector' }).waitFor({ state: 'attached' });
    const address = page.url();
    // The screen is rendered again while the dialog is open.
    held.release();
    await page.getByText('Default', { exact: true }).waitFor();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.equal(page.url(), address);
  });

  it('says that the days of its filters are those of UTC, as results and exports do', async () => {
    const id = await answeredSurvey(admin, [['anna', 'Soup']]);
    for (const screen of ['responses', 'results', 'exports']) {
      const page = await signedInPage(browser, service, {
        path: `/surveys/${id}/${screen}`,
        timezoneId: 'Pacific/Kiritimati',
      });
      await page.getByLabel('From (UTC)', { exact: true }).waitFor();
      await page.getByLabel('To (UTC)', { exact: true }).waitFor();
      await page.context().close();
    }
  });
});
