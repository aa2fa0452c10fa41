import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Locator } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls, holdNextCall } from '../support/held-calls.ts';
import { hotelSurvey } from '../support/hotel-survey.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('building a survey', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  // The browser is closed before the service: pages would report that they cannot reconnect.
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));
  const questionsOf = async (id: string): Promise<any[]> => (await admin.get(`/surveys/${id}`)).questions;

  it('leads nobody back who left while a question was being added', async () => {
    const { id } = await admin.create('/surveys', { title: 'Left' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build` });
    const held = await holdCalls(page, '**/surveys/*/questions');
    const asked = page.waitForRequest('**/surveys/*/questions');
    await page.getByRole('button', { name: 'Add the first question' }).click();
    await page.getByRole('menuitem', { name: 'Multiple choice' }).click();
    await asked;
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('heading', { name: 'Look and end' }).waitFor();
    await page.evaluate(`{
      globalThis.addresses = [];
      for (const name of ['pushState', 'replaceState']) {
        const { [name]: change } = history;
        history[name] = (...state) => (addresses.push(String(state[2])), change.apply(history, state));
      }
    }`);
    const read = page.waitForResponse((response) => response.url().endsWith(`/api/v1/surveys/${id}`));
    held.release();
    await read;
    // Whatever follows the reply has happened once another view is there.
    await page.getByRole('link', { name: 'Quotas' }).click();
    await page.getByRole('heading', { name: 'No quotas' }).waitFor();
    assert.deepEqual(await page.evaluate('addresses'), [`/surveys/${id}/quotas`]);
    await page.context().close();
  });

  it('does not say that something is unsaved where only the survey could not be read after the save', async () => {
    const { id } = await admin.create('/surveys', { title: 'Unread' });
    await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Likely?' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build` });
    const bodies: (string | null)[] = [];
    await page.route('**/surveys/questions/*', (route) => {
      bodies.push(route.request().postData());
      return route.continue();
    });
    const text = page.getByRole('textbox', { name: 'Text', exact: true });
    await text.waitFor();
    let reads = 0;
    await page.route(`**/api/v1/surveys/${id}`, (route) => {
      reads += 1;
      return route.fulfill({ status: 503, headers: { 'retry-after': '0' }, json: { code: 'SERVICE_UNAVAILABLE' } });
    });
    await text.fill('How likely?');
    await eventually(() => assert.deepEqual([bodies.length, reads >= 4], [1, true]));
    await page.getByText('Saved', { exact: true }).waitFor();
    assert.equal(await page.getByText('Not saved').count(), 0);
    await page.unroute(`**/api/v1/surveys/${id}`);
    await text.fill('How likely is it?');
    await eventually(async () => assert.equal((await questionsOf(id))[0].text, 'How likely is it?'));
    await page.getByText('Saved', { exact: true }).waitFor();
    assert.ok(!bodies.includes('{}'));
    browser.forgive(/status of (409|503)/);
  });

  it('writes texts in their own direction, and goes on in a text into which something was inserted', async () => {
    const { id } = await admin.create('/surveys', { title: 'Directions' });
    const options = [{ text: 'حساء' }, { text: 'Pasta' }];
    await admin.create(`/surveys/${id}/questions`, { type: 'MULTIPLE_CHOICE', text: 'أي طبق؟', options });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build` });
    const text = page.getByRole('textbox', { name: 'Text', exact: true });
    await text.waitFor();
    const directions = await page.evaluate(`
      [...document.querySelectorAll('[aria-label="Editor"] :is(textarea, input[type="text"])')]
        .filter((field) => /[a-zا-ي]/i.test(field.value))
        .map((field) => [field.value, getComputedStyle(field).direction])`);
    assert.deepEqual(
      (directions as string[][]).filter(([value]) => ['أي طبق؟', 'حساء', 'Pasta'].includes(value ?? '')),
      [
        ['أي طبق؟', 'rtl'],
        ['حساء', 'rtl'],
        ['Pasta', 'ltr'],
      ],
    );
    await page.getByRole('button', { name: 'Insert into Text' }).click();
    await page.getByRole('menuitem', { name: 'A value of the link' }).click();
    await text.and(page.locator(':focus')).waitFor();
  });

  it('names an earlier question that can be inserted by its wording as it is read', async () => {
    const { id, questions } = await hotelSurvey(admin);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${questions.again.id}` });
    await page.getByRole('button', { name: 'Insert into Text' }).click();
    await page.getByRole('menuitem', { name: 'Answer to “What did you have, dear guest?”' }).waitFor();
  });

  it('shows the path and the versions', async () => {
    const { id, questions } = await hotelSurvey(admin);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${questions.name.id}` });
    await page.getByRole('tab', { name: 'Path' }).click();
    await page
      .getByRole('list', { name: 'Path' })
      .getByText(/only if Did you have breakfast/)
      .first()
      .waitFor();
    await page.getByRole('textbox', { name: 'Text', exact: true }).fill('What is your name?');
    await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor();
    await page.getByRole('tab', { name: 'Versions' }).click();
    const differences = page.getByRole('region', { name: 'Differences' });
    await differences.getByText('What is your name?').first().waitFor();
    await differences.getByText('Your name?').first().waitFor();
    await assertAccessible(page);
  });

  it('copies a question once by a double-click, whether its copy is there before the second click or not', async () => {
    for (const isSlow of [true, false]) {
      const { id } = await admin.create('/surveys', { title: 'Clicked twice' });
      await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Likely?' });
      const page = await signedInPage(browser, service, { path: `/surveys/${id}/build` });
      const button = page.getByRole('button', { name: 'Duplicate the question' });
      const held = await holdCalls(page, '**/surveys/*/questions');
      if (!isSlow) held.release();
      const copy = page.getByRole('heading', { name: 'Question 2', exact: true });
      await button.hover();
      for (const clickCount of [1, 2]) {
        for (const action of ['down', 'up'] as const) await page.mouse[action]({ clickCount });
        await eventually(() => assert.ok(held.count() > 0));
        if (!isSlow) await copy.waitFor();
      }
      held.release();
      await copy.waitFor();
      // A second copy would be under way by now, and the service stores what comes later after it.
      await page.getByRole('textbox', { name: 'Text', exact: true }).fill('And how likely is it now?');
      await eventually(async () => assert.equal((await questionsOf(id))[1]?.text, 'And how likely is it now?'));
      assert.deepEqual([held.count(), (await questionsOf(id)).length], [1, 2]);
      await page.context().close();
    }
  });

  it('gives a new option a text that no other option has', async () => {
    const { id } = await admin.create('/surveys', { title: 'Named anew' });
    const options = ['Option 1', 'Option 2', 'Option 3'].map((text) => ({ text }));
    await admin.create(`/surveys/${id}/questions`, { type: 'RANKING', text: 'Which first?', options });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build` });
    await page.getByRole('button', { name: 'Remove Option 1' }).click();
    await page.getByRole('button', { name: 'Add option' }).click();
    await eventually(async () =>
      assert.deepEqual(
        (await questionsOf(id))[0]?.options.map((option: any) => option.text),
        ['Option 2', 'Option 3', 'Option 4'],
      ),
    );
  });

  it('sends no question without a text, though its text is taken away while it is being saved', async () => {
    const { id } = await admin.create('/surveys', { title: 'Without a text' });
    const { id: question } = await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Likely?' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${question}` });
    const saving = await holdNextCall(page, '**/api/v1/surveys/questions/*');
    const text = page.getByRole('textbox', { name: 'Text', exact: true });
    await text.fill('How likely?');
    const route = await saving.made();
    await text.fill('');
    await route.continue();
    await page.getByRole('status').filter({ hasText: 'Not saved yet' }).waitFor();
    await page.getByText('A question needs a text.').waitFor();
    assert.equal((await questionsOf(id))[0]?.text, 'How likely?');
    await page.context().close();
  });

  it('leads back from the editor to the outline on a narrow window', async () => {
    const { id } = await admin.create('/surveys', { title: 'On a telephone' });
    await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Likely?' });
    const page = await signedInPage(browser, service, {
      path: `/surveys/${id}/settings`,
      viewport: { width: 360, height: 640 },
    });
    await page.getByRole('navigation', { name: 'Survey' }).getByRole('link', { name: 'Build' }).click();
    const outline = page.getByRole('list', { name: 'Outline' });
    const text = page.getByRole('textbox', { name: 'Text', exact: true });
    const waysBack = [() => page.goBack(), () => page.getByRole('button', { name: 'Back to the outline' }).click()];
    for (const goBack of waysBack) {
      await outline.getByRole('button', { name: /Likely/ }).click();
      await text.waitFor();
      await goBack();
      await outline.waitFor();
      await page.waitForURL((url) => url.pathname.endsWith('/build') && !url.searchParams.has('item'));
    }
    // The way that led here is as long as it was: neither way back has added to it.
    await page.goBack();
    await page.waitForURL(/\/settings$/);
    await page.context().close();
  });

  it('has menus that fit into a window of 320 pixels, as results have', async () => {
    const { id } = await admin.create('/surveys', { title: 'Enlarged', status: 'ACTIVE' });
    const { id: place, options } = await admin.create(`/surveys/${id}/questions`, {
      type: 'YES_NO',
      text: `Is this ${'a_place_to_come_again'.repeat(3)}?`,
    });
    await admin.submit(id, { answers: [{ questionId: place, optionId: options[0].id }] });
    const viewport = { width: 320, height: 640 };
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build`, viewport });
    /** Asserts that what holds a list is inside of the window, and that nothing in it is to be scrolled sideways. */
    const assertFits = async (list: Locator) => {
      await list.waitFor();
      const { left, right, hidden } = await list.evaluate((element) => {
        const popover = element.parentElement ?? element;
        const { left, right } = popover.getBoundingClientRect();
        return { left, right, hidden: popover.scrollWidth - popover.clientWidth };
      });
      assert.ok(left >= 0 && right <= viewport.width && hidden <= 0, JSON.stringify({ left, right, hidden }));
    };
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await assertFits(page.getByRole('menu', { name: 'Add' }));
    await page.goto(`${service.origin}/surveys/${id}/results`);
    await page.getByRole('button', { name: /Compare by/ }).click();
    await assertFits(page.getByRole('listbox'));
    await page.context().close();
  });

  it('copies what is typed, and says so where that is not saved', async () => {
    const title = `Typed ${randomUUID()}`;
    const { id } = await admin.create('/surveys', { title });
    const question = await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'One' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${question.id}` });
    const text = page.getByRole('textbox', { name: 'Text', exact: true });
    const duplicate = async () => {
      await page.getByRole('link', { name: 'Surveys' }).first().click();
      await page.getByRole('button', { name: `Actions of ${title}`, exact: true }).click();
      await page.getByRole('menuitem', { name: 'Duplicate' }).click();
    };
    const calls = '**/api/v1/surveys/questions/*';
    await page.route(calls, (route) => route.fulfill({ status: 503, json: { code: 'SERVICE_UNAVAILABLE' } }));
    await text.fill('One two');
    await page.getByText('Not saved:').waitFor();
    await duplicate();
    await page
      .getByText(/not saved yet/)
      .first()
      .waitFor();
    await page.unroute(calls);
    const held = await holdCalls(page, calls);
    await duplicate();
    held.release();
    const copy = await eventually(async () => {
      const found = await admin.get(`/surveys?search=${encodeURIComponent(`${title} (copy)`)}`);
      assert.equal(found.length, 1);
      return found[0];
    });
    assert.equal((await questionsOf(copy.id))[0].text, 'One two');
    browser.forgive(/status of 503/);
    await page.context().close();
  });
});
