import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { signedInPage } from '../support/console.ts';
import { holdCalls } from '../support/held-calls.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('a dialog with a form', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  // The browser is closed before the service: pages would report that they cannot reconnect.
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  /** Presses the grey ground beside a dialog. */
  const pressOutside = (page: Page) => page.mouse.click(5, 5);

  it('asks before it throws away what was typed into it, and does so at once where nothing was', async () => {
    const { id } = await admin.create('/surveys', { title: 'Quotas to type' });
    await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'Region' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/quotas` });
    const dialog = page.getByRole('dialog', { name: 'New quotas' });
    const question = page.getByRole('alertdialog', { name: 'Discard what you have entered?' });
    const open = () => page.getByRole('button', { name: 'New quotas' }).click();
    await open();
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });

    await open();
    const cell = dialog.getByRole('textbox', { name: 'Yes' });
    await cell.fill('7');
    await cell.blur();
    for (const leave of [() => pressOutside(page), () => page.keyboard.press('Escape')]) {
      await leave();
      await question.getByRole('button', { name: 'Cancel' }).click();
      await question.waitFor({ state: 'detached' });
      assert.equal(await cell.inputValue(), '7');
    }
    const asked = page.waitForEvent('dialog');
    void page.reload().catch(() => undefined);
    await (await asked).dismiss();
    await page.keyboard.press('Escape');
    await question.getByRole('button', { name: 'Discard' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.context().close();
  });

  it('closes after its changes are saved, and asks nothing when the page is left', async () => {
    const { id } = await admin.create('/surveys', { title: 'Collectors to type' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/publish` });
    await page.getByRole('button', { name: 'New collector' }).click();
    const dialog = page.getByRole('dialog', { name: 'New collector' });
    await dialog.getByLabel('Name').fill('Poster');
    await pressOutside(page);
    await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel' }).click();
    await dialog.getByRole('button', { name: 'Create the collector' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('Poster').first().waitFor();
    await page.reload();
    await page.getByText('Poster').first().waitFor();
    await page.context().close();
  });

  it('asks before the browser’s Back, or a way out by Ctrl K, which is taken after Discard', async () => {
    const { id } = await admin.create('/surveys', { title: 'Ways out' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/publish` });
    const dialog = page.getByRole('dialog', { name: 'New collector' });
    const question = page.getByRole('alertdialog', { name: 'Discard what you have entered?' });
    const name = dialog.getByLabel('Name');
    for (const place of ['Quotas', 'Publish']) {
      await page.getByRole('link', { name: place, exact: true }).click();
      await page.waitForURL(new RegExp(`${place.toLowerCase()}$`));
    }
    await page.getByRole('button', { name: 'New collector' }).click();
    await name.fill('Poster');
    await page.goBack();
    await question.getByRole('button', { name: 'Cancel' }).click();
    await question.waitFor({ state: 'detached' });
    assert.equal(await name.inputValue(), 'Poster');
    await page.waitForURL(/publish$/);

    await page.keyboard.press('Control+k');
    await page.getByRole('menuitem', { name: 'Audit' }).click();
    await question.getByRole('button', { name: 'Discard' }).click();
    await page.waitForURL(/audit/);
    await page.goBack();
    await page.waitForURL(/publish$/);
    await page.getByRole('button', { name: 'New collector' }).click();
    await name.fill('Poster');
    await page.goBack();
    await question.getByRole('button', { name: 'Discard' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.waitForURL(/publish$/);
    await page.context().close();
  });

  it('does not call unsaved what is being saved', async () => {
    const { id } = await admin.create('/surveys', { title: 'A slow save' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/publish` });
    await page.getByRole('button', { name: 'New collector' }).click();
    const dialog = page.getByRole('dialog', { name: 'New collector' });
    await dialog.getByLabel('Name').fill('Poster');
    const held = await holdCalls(page, '**/collectors', { times: 1 });
    await dialog.getByRole('button', { name: 'Create the collector' }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('alertdialog').getByText('It is being saved').waitFor();
    held.release();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('Poster').first().waitFor();
    await page.context().close();
  });
});
