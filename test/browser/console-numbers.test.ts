import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('numbers that are typed into the console', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  // The browser is closed before the service: pages would report that they cannot reconnect.
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));
  const questionsOf = async (id: string): Promise<any[]> => (await admin.get(`/surveys/${id}`)).questions;
  const fieldOf = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true });
  /** Replaces what a field holds, key by key. */
  const type = async (page: Page, name: string, keys: string) => {
    await fieldOf(page, name).focus();
    await page.keyboard.press('Control+a');
    await page.keyboard.type(keys);
  };

  it('are stored with every digit, and left alone where their field is only passed', async () => {
    const { id } = await admin.create('/surveys', { title: 'Digits' });
    const ask = (body: object) => admin.create(`/surveys/${id}/questions`, body);
    const { id: number } = await ask({ type: 'NUMBER', text: 'How much?', settings: { min: 0.00025, max: 1 } });
    const { id: slider } = await ask({ type: 'SLIDER', text: 'How warm?', settings: { min: 0, max: 1, step: 0.1 } });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${number}` });
    const field = (name: string) => page.getByRole('textbox', { name, exact: true });
    await field('Smallest').focus();
    await page.keyboard.press('Tab');
    await field('Largest').fill('12345.67891');
    await page.keyboard.press('Tab');
    const settingsOf = async (index: number) => (await questionsOf(id))[index]?.settings;
    await eventually(async () => {
      const { min, max } = await settingsOf(0);
      assert.deepEqual([min, max], [0.00025, 12345.67891]);
    });
    await page.getByRole('list', { name: 'Outline' }).getByText('How warm?').click();
    await field('Step').fill('0.0625');
    await page.keyboard.press('Tab');
    await eventually(async () => assert.equal((await settingsOf(1)).step, 0.0625));
    assert.equal((await questionsOf(id))[1]?.id, slider);
    await page.context().close();
  });

  for (const locale of ['de-DE', 'fr-FR'])
    it(`are read and shown as English ones, in a browser of the locale ${locale} too`, async () => {
      const { id } = await admin.create('/surveys', { title: `Numbers in ${locale}` });
      const question = await admin.create(`/surveys/${id}/questions`, { type: 'SLIDER', text: 'How warm?' });
      const path = `/surveys/${id}/build?item=${question.id}`;
      const page = await signedInPage(browser, service, { path, locale });
      await type(page, 'Step', '2.5');
      await page.keyboard.press('Tab');
      await eventually(async () => assert.equal((await questionsOf(id))[0]?.settings.step, 2.5));
      assert.equal(await fieldOf(page, 'Step').inputValue(), '2.5');
      await type(page, 'Step', '3,5');
      assert.equal(await fieldOf(page, 'Step').inputValue(), '3.5');
      await page.keyboard.press('Tab');
      await eventually(async () => assert.equal((await questionsOf(id))[0]?.settings.step, 3.5));
      await page.context().close();
    });

  it('are no conflict with one that is being saved, in whatever order the service gives the settings', async () => {
    const { id } = await admin.create('/surveys', { title: 'In order' });
    const settings = { min: 1, max: 10 };
    const { id: number } = await admin.create(`/surveys/${id}/questions`, { type: 'NUMBER', text: 'Age?', settings });
    const page = await signedInPage(browser, service);
    // A survey that is read from the store has them in another order than the reply to a change.
    await page.route(`**/api/v1/surveys/${id}`, async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      for (const question of json.data.questions)
        question.settings = Object.fromEntries(Object.entries(question.settings).reverse());
      await route.fulfill({ response, json });
    });
    const held = await holdCalls(page, '**/api/v1/surveys/questions/*', {
      times: 1,
      answer: async (route, isReleased) => {
        const response = await route.fetch();
        await isReleased;
        await route.fulfill({ response });
      },
    });
    await page.goto(`${service.origin}/surveys/${id}/build?item=${number}`);
    const largest = async () => (await questionsOf(id))[0]?.settings.max;
    await type(page, 'Largest', '20');
    await page.keyboard.press('Tab');
    await eventually(async () => assert.equal(await largest(), 20));
    await type(page, 'Largest', '201');
    await page.keyboard.press('Tab');
    held.release();
    await eventually(async () => assert.equal(await largest(), 201));
    await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor();
    await page.context().close();
  });

  it('are saved while they are typed, and asked about before they are lost', async () => {
    const { id } = await admin.create('/surveys', { title: 'While typing' });
    const question = await admin.create(`/surveys/${id}/questions`, { type: 'NUMBER', text: 'Age?' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${question.id}` });
    const smallest = async () => (await questionsOf(id))[0]?.settings.min;
    await type(page, 'Smallest', '18');
    await eventually(async () => assert.equal(await smallest(), 18));
    await page.keyboard.press('Backspace');
    await eventually(async () => assert.equal(await smallest(), 1));
    await page.keyboard.press('Backspace');
    await eventually(async () => assert.equal(await smallest(), undefined));
    await fieldOf(page, 'Smallest').and(page.locator(':focus')).waitFor();

    await page.route('**/surveys/questions/*', (route) => route.fulfill({ status: 503, body: '{}' }));
    await page.keyboard.type('21');
    const asked = page.waitForEvent('dialog');
    const reloaded = page.reload();
    await (await asked).accept();
    await reloaded;
    browser.forgive(/status of 503/);
    await page.context().close();
  });

  it('are saved at last where they are set to 0, or a 0 is taken away, and the first save gets lost', async () => {
    const { id } = await admin.create('/surveys', { title: 'From 0' });
    const settings = { max: 10 };
    const { id: number } = await admin.create(`/surveys/${id}/questions`, {
      type: 'NUMBER',
      text: 'How many?',
      settings,
    });
    const { id: other } = await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Likely?' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${number}` });
    const outline = page.getByRole('list', { name: 'Outline' });
    for (const [keys, smallest] of [
      ['0', 0],
      ['', undefined],
    ] as const) {
      let lost = 0;
      await page.route('**/surveys/questions/*', (route) => {
        lost += 1;
        return route.abort('connectionreset');
      });
      await fieldOf(page, 'Smallest').fill(keys);
      await page.keyboard.press('Tab');
      await eventually(() => assert.ok(lost > 0));
      // Somebody else changes another question: what is typed is compared with what is stored.
      const text = `Likely, after ${keys || 'nothing'}?`;
      await admin.put(`/surveys/questions/${other}`, { text });
      await outline.getByText(text).waitFor();
      await page.unroute('**/surveys/questions/*');
      await eventually(async () => {
        const { min, max } = (await questionsOf(id))[0]?.settings ?? {};
        assert.deepEqual([min, max], [smallest, 10]);
      });
      await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor();
    }
    browser.forgive(/ERR_CONNECTION_RESET|409/);
    await page.context().close();
  });

  it('are no conflict where -0 is stored as 0 and the reply is lost', async () => {
    const { id } = await admin.create('/surveys', { title: 'Minus nothing' });
    const settings = { max: 10 };
    const { id: number } = await admin.create(`/surveys/${id}/questions`, {
      type: 'NUMBER',
      text: 'How warm?',
      settings,
    });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${number}` });
    const lose = async (route: Route) => {
      await route.fetch();
      await route.abort('connectionreset');
    };
    await page.route('**/surveys/questions/*', lose, { times: 1 });
    await type(page, 'Smallest', '-0');
    await page.keyboard.press('Tab');
    await eventually(async () => assert.equal((await questionsOf(id))[0]?.settings.min, 0));
    await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor();
    assert.equal(await page.getByRole('alert', { name: 'Conflict' }).count(), 0);
    browser.forgive(/ERR_CONNECTION_RESET|409/);
    await page.context().close();
  });

  it('stand as they are typed until the field is left', async () => {
    const { id } = await admin.create('/surveys', { title: 'Half typed' });
    const settings = { max: 10 };
    const { id: number } = await admin.create(`/surveys/${id}/questions`, { type: 'NUMBER', text: 'Age?', settings });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${number}` });
    const largest = async () => (await questionsOf(id))[0]?.settings.max;
    const field = fieldOf(page, 'Largest');
    await type(page, 'Largest', '10.0');
    assert.equal(await field.inputValue(), '10.0');
    await page.keyboard.type('5');
    await eventually(async () => assert.equal(await largest(), 10.05));
    await page.keyboard.press('Backspace');
    await eventually(async () => assert.equal(await largest(), 10));
    assert.equal(await field.inputValue(), '10.0');
    await type(page, 'Largest', '9');
    await eventually(async () => assert.equal(await largest(), 9));
    await page.keyboard.press('ArrowUp');
    await eventually(async () => assert.equal(await largest(), 10, 'a step back to what it was'));
    await type(page, 'Largest', '1234');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.type('5');
    assert.equal(await field.inputValue(), '12354');
    await eventually(async () => assert.equal(await largest(), 12354));
    await page.keyboard.press('ArrowRight');
    await page.keyboard.type('.0');
    await page.keyboard.press('Tab');
    await eventually(async () => assert.equal(await field.inputValue(), '12354'));
    await page.context().close();
  });

  it('give way to what somebody else stores while their field is not left', async () => {
    const { id } = await admin.create('/surveys', { title: 'Together' });
    const { id: number } = await admin.create(`/surveys/${id}/questions`, { type: 'NUMBER', text: 'Age?' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${number}` });
    const largest = async () => (await questionsOf(id))[0]?.settings.max;
    await type(page, 'Largest', '20');
    await eventually(async () => assert.equal(await largest(), 20));
    await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor();
    await admin.put(`/surveys/questions/${number}`, { settings: { max: 30 } });
    await eventually(async () => assert.equal(await fieldOf(page, 'Largest').inputValue(), '30'));
    await page.keyboard.press('Tab');
    assert.equal(await fieldOf(page, 'Largest').inputValue(), '30');
    assert.equal(await largest(), 30);
    await page.context().close();
  });

  it('count when the field is left where they lie outside of its limits', async () => {
    const { id } = await admin.create('/surveys', { title: 'Limits' });
    const boxes = { type: 'CHECKBOXES', text: 'Which?', options: ['a', 'b', 'c'].map((text) => ({ text })) };
    const { id: question } = await admin.create(`/surveys/${id}/questions`, boxes);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${question}` });
    const fewest = async () => (await questionsOf(id))[0]?.settings.minSelections;
    await type(page, 'Fewest selections', '2');
    await eventually(async () => assert.equal(await fewest(), 2));
    await type(page, 'Fewest selections', '0');
    await eventually(async () => assert.equal(await fewest(), undefined));
    await page.keyboard.press('Tab');
    await eventually(async () => assert.equal(await fewest(), 1));
    await page.context().close();
  });

  it('are shown as they are set, for the largest file too', async () => {
    const { id } = await admin.create('/surveys', { title: 'Files' });
    const settings = { maxBytes: 50_000 };
    const file = await admin.create(`/surveys/${id}/questions`, { type: 'FILE_UPLOAD', text: 'Which file?', settings });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${file.id}` });
    const largest = page.getByRole('textbox', { name: /Largest file/ });
    await eventually(async () => assert.equal(await largest.inputValue(), '0.0476837'));
    await largest.fill('0.3');
    await page.keyboard.press('Tab');
    await eventually(async () => {
      const [question] = (await admin.get(`/surveys/${id}`)).questions;
      assert.equal(question.settings.maxBytes, 314_573);
    });
    await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor();
    assert.equal(await largest.inputValue(), '0.3');
    await page.context().close();
  });
});
