import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { signedInPage } from '../support/console.ts';
import { holdCalls } from '../support/held-calls.ts';
import type { RunningService } from '../support/service.ts';
import { stopClock } from '../support/stopped-clock.ts';
import { useService } from '../support/use-service.ts';

describe('“Go to”', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  // The browser is closed before the service: pages would report that they cannot reconnect.
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  it('offers what the service finds, by a call a pause, and says nothing of what it does not know yet', async () => {
    const place = randomUUID();
    await admin.create('/surveys', { title: 'Lunch', description: `About the canteen in ${place}` });
    const page = await signedInPage(browser, service);
    const searches: string[] = [];
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url());
      const search = searchParams.get('search');
      if (pathname === '/api/v1/surveys' && search !== null) searches.push(search);
    });
    await page.keyboard.press('Control+k');
    const dialog = page.getByRole('dialog', { name: 'Go to' });
    await dialog.locator('input:focus').waitFor();
    const held = await holdCalls(page, /\/api\/v1\/surveys\?.*search=/);
    const pass = await stopClock(page);
    await page.keyboard.type(`canteen in ${place}`);
    await dialog.getByText('Searching …').waitFor();
    await page.clock.runFor(1000);
    held.release();
    await pass(1);
    await dialog.getByRole('menuitem', { name: 'Lunch' }).waitFor();
    assert.deepEqual(searches, [`canteen in ${place}`]);
    await page.keyboard.type(' Rome');
    await pass(2);
    await dialog.getByText('Nothing fits.').waitFor();
    await page.context().close();
  });

  it('says why it finds nothing where it could not search', async () => {
    const page = await signedInPage(browser, service);
    await page.keyboard.press('Control+k');
    const dialog = page.getByRole('dialog', { name: 'Go to' });
    await dialog.locator('input:focus').waitFor();
    await page.route(/\/api\/v1\/surveys\?.*search=/, (route) =>
      route.fulfill({ status: 403, json: { success: false, code: 'FORBIDDEN', message: 'not today' } }),
    );
    await page.keyboard.type('unheard of');
    await dialog.getByText('You do not have the right to do this. Not today.').waitFor();
    browser.forgive(/status of 403/);
    await page.context().close();
  });

  it('says that it waits, where there is no network or too much was asked', async () => {
    const page = await signedInPage(browser, service);
    await page.keyboard.press('Control+k');
    const dialog = page.getByRole('dialog', { name: 'Go to' });
    await dialog.locator('input:focus').waitFor();
    await page.route(/\/api\/v1\/surveys\?.*search=/, (route) =>
      route.fulfill({
        status: 429,
        headers: { 'retry-after': '60' },
        json: { success: false, code: 'RATE_LIMITED', message: 'Too many', requestId: 'r' },
      }),
    );
    await page.keyboard.type('unheard of');
    await dialog.getByText('That was too much in a short time.').waitFor();
    await page.context().setOffline(true);
    await page.keyboard.type(' anywhere');
    await dialog.getByText('The service cannot be reached.').waitFor();
    browser.forgive(/status of 429|ERR_INTERNET_DISCONNECTED/);
    await page.context().close();
  });

  it('offers a survey by its title before newer ones that have the word in their descriptions', async () => {
    const place = randomUUID();
    await admin.create('/surveys', { title: `Lunch in ${place}` });
    for (let n = 1; n <= 21; n += 1) await admin.create('/surveys', { title: `Newer ${n}`, description: place });
    const page = await signedInPage(browser, service);
    await page.keyboard.press('Control+k');
    const dialog = page.getByRole('dialog', { name: 'Go to' });
    await dialog.locator('input:focus').waitFor();
    await page.keyboard.type(place);
    await dialog.getByRole('menuitem', { name: `Lunch in ${place}` }).waitFor();
    await page.context().close();
  });
});
