import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { isLive, signedInPage, surveyWithReasons } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

/** Takes away what browsers have for https and their own machine only, as which this one counts. */
const plainHttp = `
  delete Navigator.prototype.clipboard;
  delete Crypto.prototype.randomUUID;`;
/** As a browser that lets no page copy. */
const noCopying = `
  Clipboard.prototype.writeText = async () => { throw new DOMException('Write permission denied.', 'NotAllowedError'); };
  document.execCommand = () => false;`;

describe('the console over plain http', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  /** A page of the console without what `script` takes away, and what it has copied. */
  const opened = async (path: string, script: string) => {
    const page = await signedInPage(browser, service, { path: '/account', permissions: ['clipboard-read'] });
    await page.addInitScript(script);
    await page.goto(`${service.origin}${path}`);
    const other = await page.context().newPage();
    await other.goto(`${service.origin}/account`);
    const copied = async () => {
      await other.bringToFront();
      const text = await other.evaluate<string>('navigator.clipboard.readText()');
      await page.bringToFront();
      return text;
    };
    return { page, copied };
  };
  const makeKey = async (page: Page) => {
    await page.getByRole('button', { name: 'New key' }).first().click();
    await page.getByRole('dialog').getByLabel('Name').fill('Plain');
    await page.getByRole('button', { name: 'Create the key' }).click();
    const dialog = page.getByRole('dialog', { name: 'The key “Plain”' });
    const key = await dialog.locator('code').first().textContent();
    return { dialog, key };
  };

  it('submits the rows of a file as responses', async () => {
    const { page } = await opened('/surveys', plainHttp);
    await page.getByRole('button', { name: 'New survey' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'New survey' });
    await dialog.getByText('From a file', { exact: true }).click();
    const choosing = page.waitForEvent('filechooser');
    await dialog.getByRole('button', { name: 'Choose a file' }).click();
    const rows = Buffer.from('Which dish?,Again?\r\nSoup,Yes\r\nPasta,No\r\nSoup,Yes\r\n');
    await (await choosing).setFiles({ name: 'lunch.csv', mimeType: 'text/csv', buffer: rows });
    await dialog.getByRole('checkbox', { name: /Submit the 3 rows as responses/ }).press('Space');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.waitForURL(/\/surveys\/[^/]+\/build/);
    const id = page.url().split('/')[4];
    const tray = page.getByRole('region', { name: 'Long work' });
    await eventually(async () => assert.match((await tray.textContent()) ?? '', /Done/));
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 3));
    await page.context().close();
  });

  it('copies a key, a link and a table', async () => {
    const keys = await opened('/keys', plainHttp);
    const { dialog, key } = await makeKey(keys.page);
    await dialog.getByRole('button', { name: 'Copy' }).first().click();
    await dialog.getByRole('button', { name: 'Copied' }).waitFor();
    assert.equal(await keys.copied(), key);
    await keys.page.context().close();

    const id = await surveyWithReasons(admin, 'Plain', 1);
    const survey = await opened(`/surveys/${id}/publish`, plainHttp);
    const { page, copied } = survey;
    const [collector] = await admin.get(`/surveys/${id}/collectors`);
    await page.getByRole('button', { name: `Actions of ${collector.name}` }).click();
    await page.getByRole('menuitem', { name: 'Copy the link' }).click();
    await page.getByText('The link is copied.').waitFor();
    assert.equal(await copied(), `${service.origin}/s/${collector.linkId}`);

    await page.getByRole('link', { name: 'Results' }).click();
    await isLive(page);
    await page.getByRole('button', { name: 'Copy the table of 1. Why?' }).click();
    await page.getByText('The table is copied.').waitFor();
    assert.match(await copied(), /\t/);
    await page.context().close();
  });

  it('says beside the button that the browser lets it copy nothing', async () => {
    const keys = await opened('/keys', noCopying);
    const { dialog } = await makeKey(keys.page);
    await dialog.getByRole('button', { name: 'Copy' }).first().click();
    await dialog.getByText('This browser lets the page copy nothing.').waitFor();
    assert.equal(await dialog.getByRole('button', { name: 'Copied' }).count(), 0);
    await keys.page.context().close();

    const id = await surveyWithReasons(admin, 'Refused', 1);
    const { page } = await opened(`/surveys/${id}/publish`, noCopying);
    const [collector] = await admin.get(`/surveys/${id}/collectors`);
    await page.getByRole('button', { name: `Actions of ${collector.name}` }).click();
    await page.getByRole('menuitem', { name: 'Copy the link' }).click();
    await page.getByRole('status', { name: 'Messages' }).getByText(`${service.origin}/s/${collector.linkId}`).waitFor();
    await page.context().close();
  });
});
