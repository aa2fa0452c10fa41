import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { signedInPage } from '../support/console.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('keys of the console', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  // The browser is closed before the service: pages would report that they cannot reconnect.
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const choose = async (page: Page, item: string) => {
    await page.getByRole('button', { name: '@' }).click();
    await page.getByRole('menuitem', { name: item }).click();
  };

  it('of one character can be switched off, which this browser keeps, and on again', async () => {
    const page = await signedInPage(browser, service);
    const dialog = page.getByRole('dialog', { name: 'New survey' });
    await page.getByRole('button', { name: 'New survey' }).first().waitFor();
    await choose(page, 'Keys of one character: on');
    await page.reload();
    await page.getByRole('button', { name: 'New survey' }).first().waitFor();
    for (const key of ['n', '?', '/']) await page.keyboard.press(key);
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Go to' }).waitFor();
    assert.equal(await page.getByRole('dialog').count(), 1);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await choose(page, 'List the keys');
    const list = page.getByRole('dialog', { name: 'Keys' });
    await list.getByText('Go anywhere').waitFor();
    assert.equal(await list.getByText('Search in this view').count(), 0);
    await page.keyboard.press('Escape');
    await list.waitFor({ state: 'detached' });
    await choose(page, 'Keys of one character: off');
    await page.keyboard.press('n');
    await dialog.waitFor();
    await page.context().close();
  });

  it('with Ctrl are found by their place where the layout types no Latin letters', async () => {
    const page = await signedInPage(browser, service);
    await page.getByRole('button', { name: 'New survey' }).first().waitFor();
    await page.evaluate(`dispatchEvent(new KeyboardEvent('keydown', { key: 'л', code: 'KeyK', ctrlKey: true }))`);
    await page.getByRole('dialog', { name: 'Go to' }).waitFor();

    const { id } = await admin.create('/surveys', { title: 'Layouts' });
    await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Likely?' });
    await page.goto(`${service.origin}/surveys/${id}/build`);
    await page.getByRole('heading', { name: 'Question 1', exact: true }).waitFor();
    await page
      .getByRole('list', { name: 'Outline' })
      .getByRole('button', { name: /Likely\?$/ })
      .dispatchEvent('keydown', { key: 'в', code: 'KeyD', ctrlKey: true });
    await page.getByRole('heading', { name: 'Question 2', exact: true }).waitFor();
    await page.context().close();
  });

  it('leave Ctrl K to the text fields of a Mac, whose command is ⌘ K', async () => {
    const userAgent = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Chrome/140.0.0.0';
    const page = await signedInPage(browser, service, { userAgent });
    await page.getByRole('button', { name: 'New survey' }).first().waitFor();
    const isTaken = (modifier: string) =>
      page.evaluate<boolean>(
        `!dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ${modifier}: true, cancelable: true }))`,
      );
    assert.equal(await isTaken('ctrlKey'), false);
    assert.equal(await isTaken('metaKey'), true);
    await page.getByRole('dialog', { name: 'Go to' }).waitFor();
    await page.context().close();
  });
});
