import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('placeholders in the console', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  // The browser is closed before the service: pages would report that they cannot reconnect.
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  it('of a title are read by what stands in for a value, wherever the survey is named', async () => {
    const group = randomUUID();
    const title = `How is team ${group}?`;
    await admin.create('/surveys', { title: `How is {{metadata:team|team ${group}}}?` });
    const page = await signedInPage(browser, service);
    await page.getByRole('link', { name: title }).waitFor();
    await page.getByRole('button', { name: `Actions of ${title}` }).waitFor();
    await page.keyboard.press('Control+k');
    const dialog = page.getByRole('dialog', { name: 'Go to' });
    await dialog.locator('input:focus').waitFor();
    await page.keyboard.type(group);
    await dialog.getByRole('menuitem', { name: title }).click();
    await page.getByRole('heading', { name: title }).waitFor();
    await eventually(async () => assert.ok((await page.title()).startsWith(title)));
    await page.context().close();
  });

  it('are inserted into the closing text by a menu, as into other texts', async () => {
    const { id } = await admin.create('/surveys', { title: 'Thanks' });
    const question = await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'Your name?' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings` });
    const field = page.getByRole('textbox', { name: 'Closing text' });
    assert.equal(await field.getAttribute('dir'), 'auto');
    await field.fill('Thank you, ');
    await page.getByRole('button', { name: 'Insert into Closing text' }).click();
    await page.getByRole('menuitem', { name: 'Answer to “Your name?”' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The settings are saved.').waitFor();
    const { appearance } = await admin.get(`/surveys/${id}`);
    assert.equal(appearance.closingText, `Thank you, {{question:${question.id}|…}}`);
    await assertAccessible(page);
    await page.context().close();
  });
});
