import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { publishedSurvey, storedResponses, thanked } from '../support/page-fixture.ts';
import { png } from '../support/pictures.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('a page of an earlier build', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  /** Lets the service say of a page that it is of an earlier build than the one that answers. */
  const ofEarlierBuild = (page: Page, address: string) =>
    page.route(address, async (route) => {
      if (route.request().method() !== 'GET') return route.continue();
      const reply = await route.fetch();
      const body = (await reply.text()).replace(/"build":"[^"]+"/, '"build":"/assets/main-earlier.js"');
      return route.fulfill({ response: reply, body });
    });

  it('loads itself anew, and keeps what was typed', async () => {
    const survey = await publishedSurvey(admin, { title: 'Upgraded' }, [
      { type: 'SHORT_TEXT', text: 'Your name?' },
      { type: 'LONG_TEXT', text: 'Your story?' },
    ]);
    const address = `${service.origin}/s/${survey.id}`;
    const build = (await fetch(address, { method: 'HEAD' })).headers.get('x-page-build');
    assert.match(build ?? '', /^\/assets\/.+\.js$/);
    const page = await browser.open();
    await ofEarlierBuild(page, address);
    let isAway = true;
    await page.route('**/submit', (route) => (isAway ? route.abort('connectionrefused') : route.continue()));
    await page.goto(address);
    await page.getByLabel('Your name?').fill('Ada');
    await page.locator('.status[data-status=offline]').waitFor({ state: 'attached' });
    await page.getByLabel('Your story?').fill('It was long.');
    await page.evaluate('window.isOfEarlierBuild = true');
    await page.unroute(address);
    isAway = false;
    await page.evaluate("dispatchEvent(new Event('online'))");
    await eventually(async () => {
      assert.equal(await page.evaluate('window.isOfEarlierBuild'), undefined);
      assert.equal(await page.getByLabel('Your story?').inputValue(), 'It was long.');
    });
    assert.equal(await page.getByLabel('Your name?').inputValue(), 'Ada');
    await page.getByRole('button', { name: 'Send' }).click();
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.deepEqual(
      stored?.answers.map(({ textValue }) => textValue),
      ['Ada', 'It was long.'],
    );
    browser.forgive(/ERR_CONNECTION_REFUSED/);
    await page.context().close();
  });

  it('loads itself anew once its answers are refused, also while a file is uploaded', async () => {
    const survey = await publishedSurvey(admin, { title: 'Upgraded' }, [
      { type: 'SHORT_TEXT', text: 'Your name?' },
      { type: 'FILE_UPLOAD', text: 'Your picture?' },
    ]);
    const address = `${service.origin}/s/${survey.id}`;
    const page = await browser.open();
    await ofEarlierBuild(page, address);
    await page.route('**/uploads/**', () => undefined);
    let refused = 0;
    await page.route('**/submit', (route) => {
      refused += 1;
      const json = { success: false, code: 'VALIDATION_ERROR', message: 'Unknown field', details: [] };
      return refused === 1 ? route.fulfill({ status: 400, json }) : route.continue();
    });
    // The browser asks, because of the file.
    page.on('dialog', (dialog) => void dialog.accept());
    await page.goto(address);
    await page.evaluate('window.isOfEarlierBuild = true');
    await page.unroute(address);
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: Buffer.from(png) });
    await page.getByRole('button', { name: 'Cancel' }).waitFor();
    await page.getByLabel('Your name?').fill('Ada');
    await eventually(async () => {
      assert.equal(await page.evaluate('window.isOfEarlierBuild'), undefined);
      assert.equal(await page.getByLabel('Your name?').inputValue({ timeout: 2000 }), 'Ada');
    });
    await page.getByRole('button', { name: 'Send' }).click();
    await thanked(page);
    assert.equal((await storedResponses(admin, survey.id, 1))[0]?.answers.length, 1);
    browser.forgive(/status of 400/);
    await page.context().close();
  });
});
