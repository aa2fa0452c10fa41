import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { keyTitles, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('undoing by key', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  // The browser is closed before the service: pages would report that they cannot reconnect.
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  it('takes back the last deletion, from anywhere but a text, within twenty seconds', async () => {
    const title = randomUUID();
    const { id } = await admin.create('/surveys', { title });
    const page = await signedInPage(browser, service);
    const row = page.getByRole('link', { name: title });
    await page.getByRole('button', { name: `Actions of ${title}` }).click();
    await page.clock.install();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    const message = page.getByText(`“${title}” is deleted.`);
    await message.waitFor();
    assert.ok((await keyTitles(page)).includes('Undo what the newest message tells of'));
    // From here on time passes when the test says so, however slow the machine is.
    await page.clock.pauseAt((await page.evaluate<number>('Date.now()')) + 9000);
    const button = page.getByRole('button', { name: 'New survey' }).first();
    await button.focus();
    await page.keyboard.press('Control+Shift+z');
    assert.equal(await message.count(), 1, 'redoing takes nothing back');
    await page.getByRole('searchbox').fill('nothing like it');
    await page.keyboard.press('Control+z');
    assert.equal(await message.count(), 1);
    await page.getByRole('searchbox').fill('');
    await page.clock.runFor(1000);
    await button.focus();
    await page.keyboard.press('Control+z');
    await eventually(async () => {
      await page.clock.runFor(100);
      assert.equal(await row.count(), 1);
    });
    assert.equal(await message.count(), 0);
    await page.clock.runFor(30_000);
    assert.equal((await admin.get(`/surveys/${id}`)).title, title);
    await page.context().close();
  });
});
