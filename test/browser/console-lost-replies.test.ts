import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { goTo, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { startFreezingProxy } from '../support/freezing-proxy.ts';
import { holdCalls } from '../support/held-calls.ts';
import { publishedSurvey } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('calls of the console without a reply', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  it('a save whose reply is lost is no conflict with oneself, whatever is typed next', async () => {
    const { id } = await admin.create('/surveys', { title: 'Lost replies' });
    const { id: question } = await admin.create(`/surveys/${id}/questions`, {
      type: 'MULTIPLE_CHOICE',
      text: 'Dish?',
      options: [{ text: 'Soup' }, { text: 'Pasta' }],
    });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${question}` });
    const [text, salad] = ['Text', 'Option 3'].map((name) => page.getByRole('textbox', { name, exact: true }));
    let isLost = false;
    // The first save is stored, but its reply and the save after it get lost.
    let lost = 0;
    await page.route('**/api/v1/surveys/questions/*', async (route) => {
      if (!isLost || lost === 2) return route.continue();
      lost += 1;
      if (lost === 1) await route.fetch();
      await route.abort('connectionreset');
    });
    await page.getByRole('button', { name: 'Add option' }).click();
    isLost = true;
    await salad?.fill('Salad');
    await text?.fill('Which dish?');
    // A busy machine may lose the second one by now.
    await eventually(() => assert.ok(lost >= 1));
    await salad?.fill('Salad bowl');
    await eventually(() => assert.equal(lost, 2));
    await text?.fill('Which one?');
    await eventually(async () => {
      const [stored] = (await admin.get(`/surveys/${id}`)).questions;
      const options = stored.options.map((option: { text: string }) => option.text);
      assert.deepEqual([stored.text, ...options], ['Which one?', 'Soup', 'Pasta', 'Salad bowl']);
    });
    await page
      .getByRole('status')
      .filter({ hasText: /^Saved$/ })
      .waitFor();
    assert.equal(await page.getByRole('alert', { name: 'Conflict' }).count(), 0);
    browser.forgive(/ERR_CONNECTION_RESET|409/);
    await page.context().close();
  });

  it('a save over a connection that fell silent is given up and made again', async (t) => {
    const { id } = await admin.create('/surveys', { title: 'Silent' });
    const { id: question } = await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Likely?' });
    const proxy = await startFreezingProxy(service.origin);
    t.after(() => proxy.stop());
    const { origin } = new URL(proxy.url);
    const page = await signedInPage(browser, { origin }, { path: `/surveys/${id}/build?item=${question}` });
    const text = page.getByRole('textbox', { name: 'Text', exact: true });
    await text.waitFor();
    // The clock of a frame that is still being loaded would be set, but not installed.
    await page.frameLocator('iframe[title=Preview]').getByText('Likely?').waitFor();
    await page.clock.install();
    const sent = page.waitForRequest((request) => request.method() === 'PUT');
    proxy.freezeOpen();
    await text.fill('How likely?');
    await page.clock.runFor(1000);
    await sent;
    await eventually(async () => {
      await page.clock.runFor(10_000);
      assert.equal((await admin.get(`/surveys/${id}`)).questions[0].text, 'How likely?');
    });
    browser.forgive(/ERR_|WebSocket|409/);
    await page.context().close();
  });

  it('a crosstab over a connection that fell silent is asked for again', async () => {
    const { id, questions } = await publishedSurvey(admin, { title: 'Silent' }, [{ type: 'YES_NO', text: 'Again?' }]);
    const answers = [{ questionId: questions[0]?.id, optionId: questions[0]?.options[0]?.id }];
    assert.equal((await admin.submit(id, { answers })).status, 201);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/results` });
    await page.getByRole('row', { name: 'Yes 100.0 % 1' }).waitFor();
    let asked = 0;
    await page.route('**/crosstab', (route) => {
      asked += 1;
      return asked === 1 ? undefined : route.continue();
    });
    await page.clock.install();
    const columns = encodeURIComponent(JSON.stringify([questions[0]?.id]));
    await goTo(page, `/surveys/${id}/crosstab?rows=${questions[0]?.id}&columns=${columns}`);
    await eventually(() => assert.equal(asked, 1));
    // No further, or the next one would run out of time as well.
    await eventually(async () => {
      await page.clock.runFor(10_000);
      assert.equal(asked, 2);
    });
    await page.getByRole('table').first().waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.context().close();
  });

  describe('a form of settings', () => {
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
});
