import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { signedInPage } from '../support/console.ts';
import { holdCalls } from '../support/held-calls.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('a form of settings', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const read = (id: string) => admin.get(`/surveys/${id}`);

  /** A page of settings with a closing text. */
  const opened = async () => {
    const { id } = await admin.create('/surveys', { title: 'Lost', appearance: { closingText: 'First' } });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings` });
    const [text, save] = [
      page.getByRole('textbox', { name: 'Closing text' }),
      page.getByRole('button', { name: 'Save', exact: true }),
    ];
    const address = new RegExp(`/api/v1/surveys/${id}(\\?|$)`);
    return { id: id as string, page, text, save, address, discard: page.getByRole('button', { name: 'Discard' }) };
  };

  /** The same after its text was stored, and the reply of the save is lost. */
  const withLostReply = async () => {
    const form = await opened();
    const { id, page, text, save, address } = form;
    let isLost = false;
    await page.route(address, async (route) => {
      if (isLost || route.request().method() !== 'PUT') return route.continue();
      isLost = true;
      await route.fetch();
      await route.abort('connectionreset');
    });
    await text.fill('Second');
    await save.click();
    await page.getByText(/cannot be reached/).waitFor();
    assert.equal((await read(id)).appearance.closingText, 'Second');
    return form;
  };

  it('shows what a save without a reply has stored, once it is discarded, and keeps it while that is not known', async () => {
    const { page, address, text, save, discard } = await withLostReply();
    await page.route(address, (route) => route.fulfill({ status: 404, body: 'no survey' }));
    await discard.click();
    await page.getByText('This is not there any more').first().waitFor();
    assert.equal(await text.inputValue(), 'Second');
    await page.getByText('Not saved yet').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    await discard.click();
    await save.waitFor({ state: 'detached' });
    assert.equal(await text.inputValue(), 'Second');
    browser.forgive(/ERR_CONNECTION_RESET|status of 404/);
    await page.context().close();
  });

  it('saves what is typed back to what was stored before a save without a reply', async () => {
    const { id, page, text, save } = await withLostReply();
    await text.fill('First');
    await save.click();
    await page.getByText('The settings are saved.').waitFor();
    await save.waitFor({ state: 'detached' });
    assert.equal((await read(id)).appearance.closingText, 'First');
    browser.forgive(/ERR_CONNECTION_RESET/);
    await page.context().close();
  });

  it('keeps what is typed back after a save without a reply where the service refuses the next one', async () => {
    const { id, page, address, text, save } = await withLostReply();
    await page.route(address, (route) => {
      if (route.request().method() !== 'PUT') return route.fallback();
      const json = { success: false, code: 'RATE_LIMITED', message: 'Too many', requestId: 'r' };
      return route.fulfill({ status: 429, json });
    });
    await text.fill('First');
    await save.click();
    await page.getByText(/too much in a short time/).waitFor();
    assert.equal(await text.inputValue(), 'First');
    await page.unrouteAll({ behavior: 'wait' });
    await save.click();
    await page.getByText('The settings are saved.').waitFor();
    assert.equal((await read(id)).appearance.closingText, 'First');
    browser.forgive(/ERR_CONNECTION_RESET|status of 429/);
    await page.context().close();
  });

  it('keeps what was sent without a reply where it is discarded without a network', async () => {
    const { page, text, save, discard } = await withLostReply();
    await page.context().setOffline(true);
    await discard.click();
    await page
      .getByText(/cannot be reached/)
      .nth(1)
      .waitFor();
    assert.equal(await text.inputValue(), 'Second');
    await page.getByText('Not saved yet').waitFor();
    await page.context().setOffline(false);
    await discard.click();
    await save.waitFor({ state: 'detached' });
    assert.equal(await text.inputValue(), 'Second');
    browser.forgive(/ERR_CONNECTION_RESET|ERR_INTERNET_DISCONNECTED|WebSocket/);
    await page.context().close();
  });

  it('can be discarded no sooner than it is known what its save has stored', async () => {
    const { page, address, text, save, discard } = await opened();
    const held = await holdCalls(page, address, {
      answer: async (route, isReleased) => {
        if (route.request().method() !== 'PUT') return route.continue();
        await route.fetch();
        await isReleased;
        await route.abort('connectionreset');
      },
    });
    await text.fill('Second');
    const saving = page.waitForRequest((request) => request.method() === 'PUT');
    await save.click();
    await saving;
    assert.equal(await discard.isDisabled(), true);
    held.release();
    await page.getByText(/cannot be reached/).waitFor();
    assert.equal(await text.inputValue(), 'Second');
    await discard.click();
    await save.waitFor({ state: 'detached' });
    assert.equal(await text.inputValue(), 'Second');
    browser.forgive(/ERR_CONNECTION_RESET/);
    await page.context().close();
  });
});
