import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Locator, Route } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, keepMessages, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
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

  it('adds, edits, moves, duplicates and deletes questions with the keyboard alone', async () => {
    const { id } = await admin.create('/surveys', { title: 'By keyboard' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build` });
    await keepMessages(page);
    await page.getByRole('heading', { name: 'No questions yet' }).waitFor();
    await page.keyboard.press('a');
    // The menu is seen a moment before it has the focus.
    await page.getByRole('menuitem', { name: 'Multiple choice' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    const text = page.getByRole('textbox', { name: 'Text', exact: true });
    await text.waitFor();
    await eventually(async () => assert.equal(await page.evaluate('document.activeElement.value'), 'New question'));
    await page.keyboard.type('Which dish?');
    await eventually(async () => assert.equal((await questionsOf(id))[0]?.text, 'Which dish?'));

    await page.getByRole('textbox', { name: 'Option 1' }).focus();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('Soup');
    await page.keyboard.press('Enter');
    await page.keyboard.type('Pasta');
    await eventually(async () =>
      assert.deepEqual(
        (await questionsOf(id))[0]?.options.map((option: any) => option.text),
        ['Soup', 'Pasta', 'Option 2'],
      ),
    );
    await page.keyboard.type(' with cheese');
    await eventually(async () => {
      const [question] = await questionsOf(id);
      assert.deepEqual(
        question.options.map((option: any) => option.text),
        ['Soup', 'Pasta with cheese', 'Option 2'],
        'an option that is still typed in is one option',
      );
    });

    const outline = page.getByRole('list', { name: 'Outline' });
    await outline.getByRole('button', { name: /Which dish/ }).focus();
    await page.keyboard.press('Control+d');
    await eventually(async () => assert.equal((await questionsOf(id)).length, 2));
    await eventually(async () =>
      assert.equal(await page.evaluate('document.activeElement.value'), 'Which dish?', 'the copy is edited'),
    );
    await page.keyboard.press('Control+a');
    await page.keyboard.type('Which drink?');
    await eventually(async () => assert.equal((await questionsOf(id))[1]?.text, 'Which drink?'));
    await outline.getByRole('button', { name: /Which drink/ }).focus();
    await page.keyboard.press('Alt+ArrowUp');
    await eventually(async () => assert.equal((await questionsOf(id))[0]?.text, 'Which drink?'));
    await eventually(async () =>
      assert.match(String(await page.evaluate('document.activeElement.textContent')), /Which drink/),
    );
    await page.keyboard.press('Delete');
    await outline.getByRole('button', { name: /Which drink/ }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await outline.getByRole('button', { name: /Which drink/ }).waitFor();
    await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor();
    assert.equal((await questionsOf(id)).length, 2);
  });

  it('moves the focus to what was opened or copied and to nothing else, on a slow device too', async () => {
    const { id } = await admin.create('/surveys', { title: 'By keys' });
    for (const text of ['A', 'B', 'C']) await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text });
    const page = await signedInPage(browser, service);
    // What need not be drawn at once waits for a message that React sends to itself.
    await page.addInitScript(`{
      const onMessage = Object.getOwnPropertyDescriptor(MessagePort.prototype, 'onmessage');
      const set = function (run) {
        onMessage.set.call(this, (event) => setTimeout(() => run.call(this, event), 50));
      };
      Object.defineProperty(MessagePort.prototype, 'onmessage', { ...onMessage, set });
    }`);
    await page.goto(`${service.origin}/surveys/${id}/build`);
    const outline = page.getByRole('list', { name: 'Outline' });
    const row = (text: string) => outline.getByRole('button', { name: new RegExp(`${text}$`) });
    const heading = (number: number) => page.getByRole('heading', { name: `Question ${number}`, exact: true });
    const text = page.getByRole('textbox', { name: 'Text', exact: true });
    const hasFocus = (of: Locator) => of.and(page.locator(':focus')).waitFor();
    await row('A').focus();
    await page.keyboard.press('Enter');
    await hasFocus(text);
    await page.evaluate(`{
      globalThis.edited = [];
      const titleOf = () => document.querySelector('section[aria-label=Editor] h2').textContent;
      addEventListener('focusin', ({ target }) => target.matches('textarea') && edited.push(titleOf()));
    }`);
    await row('A').focus();
    for (const [next, number] of [
      ['B', 2],
      ['C', 3],
    ] as const) {
      await page.keyboard.press('ArrowDown');
      await heading(number).waitFor();
      await hasFocus(row(next));
    }
    await page.keyboard.press('Control+d');
    await heading(4).waitFor();
    await hasFocus(text);
    assert.deepEqual(await page.evaluate('edited'), ['Question 4']);
    await page.context().close();
  });

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

  it('moves a question by as many places as keys are pressed, whatever is read meanwhile', async () => {
    const { id } = await admin.create('/surveys', { title: 'Far' });
    for (const text of ['Q1', 'Q2', 'Q3', 'Q4', 'Q5'])
      await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build` });
    const outline = page.getByRole('list', { name: 'Outline' });
    const isAt = (place: number) => outline.getByRole('listitem').nth(place).getByText('Q1').waitFor();
    await outline.getByRole('button', { name: /Q1$/ }).focus();
    let reads = 0;
    const heldReads = await holdCalls(page, `**/api/v1/surveys/${id}`, {
      answer: async (route, isReleased) => {
        // The survey as it is after the first move.
        const response = await route.fetch();
        reads += 1;
        await isReleased;
        await route.fulfill({ response });
      },
    });
    await page.keyboard.press('Alt+ArrowDown');
    await eventually(() => assert.ok(reads > 0));
    const heldMoves = await holdCalls(page, '**/surveys/questions/*');
    await page.keyboard.press('Alt+ArrowDown');
    await isAt(3);
    heldReads.release();
    // Somebody else changes something, and it is read while the second move is under way.
    await admin.put(`/surveys/${id}`, { title: 'Farther' });
    await page.getByRole('heading', { name: 'Farther', level: 1 }).waitFor();
    await page.keyboard.press('Alt+ArrowDown');
    heldMoves.release();
    await eventually(async () =>
      assert.deepEqual(
        (await questionsOf(id)).map(({ text }) => text),
        ['Q2', 'Q3', 'Q4', 'Q1', 'Q5'],
      ),
    );
    await isAt(4);
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

  it('names a new option in a condition that is made before the service has given it an id', async () => {
    const { id } = await admin.create('/surveys', { title: 'Early condition' });
    const options = [{ text: 'Soup' }, { text: 'Pasta' }];
    const dish = await admin.create(`/surveys/${id}/questions`, { type: 'MULTIPLE_CHOICE', text: 'Dish?', options });
    const why = await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'Why?' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${dish.id}` });
    const held = await holdCalls(page, `**/surveys/questions/${dish.id}*`);
    const refused = page.waitForResponse((reply) => reply.url().includes(why.id) && reply.status() === 400);
    await page.getByRole('button', { name: 'Add option' }).click();
    await page
      .getByRole('list', { name: 'Outline' })
      .getByRole('button', { name: /Why\?$/ })
      .click();
    await page.getByRole('region', { name: 'Logic' }).getByRole('button', { name: 'Add condition' }).click();
    const dialog = page.getByRole('dialog', { name: 'Show if' });
    await dialog.getByRole('checkbox', { name: 'Option 3', exact: true }).check({ force: true });
    await dialog.getByRole('button', { name: 'Use it' }).click();
    await refused;
    held.release();
    await eventually(async () => {
      const [{ options: saved }, { visibleIf }] = await questionsOf(id);
      assert.equal(saved.length, 3);
      assert.deepEqual(visibleIf?.optionIds, [saved[2].id]);
    });
    browser.forgive(/status of 400/);
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
    await text.and(page.locator(':focus')).waitFor({ timeout: 10_000 });
  });

  it('says conditions in sentences, and edits them', async () => {
    const { id, questions } = await hotelSurvey(admin);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${questions.dishes.id}` });
    const logic = page.getByRole('region', { name: 'Logic' });
    await logic.getByText('Show if Did you have breakfast? is Yes.').waitFor();
    await assertAccessible(page);
    await logic.getByRole('button', { name: 'Edit condition' }).click();
    const dialog = page.getByRole('dialog', { name: 'Show if' });
    await dialog.getByRole('checkbox', { name: 'No', exact: true }).check({ force: true });
    await dialog.getByText('Did you have breakfast? is Yes or No').waitFor();
    await dialog.getByRole('button', { name: 'Add condition' }).click();
    await dialog.getByText('The condition is not complete yet.').waitFor();
    await assertAccessible(page);
    await dialog.getByRole('button', { name: 'Remove condition 2' }).click();
    await dialog.getByRole('button', { name: 'Use it' }).click();
    await eventually(async () => {
      const dishes = (await questionsOf(id)).find((question) => question.id === questions.dishes.id);
      assert.equal(dishes.visibleIf.optionIds.length, 2);
    });
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

  it('copies a question without the skips that its own answers decide', async () => {
    const { id } = await admin.create('/surveys', { title: 'Skips' });
    const options = [{ text: 'Soup' }, { text: 'Pasta' }, { text: 'Cake' }];
    const dish = await admin.create(`/surveys/${id}/questions`, { type: 'MULTIPLE_CHOICE', text: 'Dish?', options });
    const { id: later } = await admin.create(`/surveys/${id}/sections`, { title: 'Later' });
    const skips = dish.options.map((option: { id: string }) => ({
      if: { questionId: dish.id, operator: 'isAnyOf', optionIds: [option.id] },
      to: later,
    }));
    await admin.put(`/surveys/questions/${dish.id}`, { skips });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${dish.id}` });
    await page.getByRole('button', { name: 'Duplicate the question' }).click();
    await eventually(async () => assert.equal((await questionsOf(id)).length, 2));
    const [original, copy] = await questionsOf(id);
    assert.deepEqual([original.skips.length, copy.skips], [3, []]);
    await page.context().close();
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

  it('gives a new option its condition, though the option is saved while the condition is made', async () => {
    const { id } = await admin.create('/surveys', { title: 'New option' });
    await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'Hungry?' });
    const options = [{ text: 'Soup' }, { text: 'Pasta' }];
    const dish = await admin.create(`/surveys/${id}/questions`, { type: 'MULTIPLE_CHOICE', text: 'Dish?', options });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${dish.id}` });
    await page.getByRole('button', { name: 'Add option' }).click();
    await page.getByRole('button', { name: 'Condition of Option 3' }).click();
    const dialog = page.getByRole('dialog', { name: 'Show “Option 3” if' });
    await dialog.getByRole('checkbox', { name: 'Yes', exact: true }).check({ force: true });
    await eventually(async () => assert.equal((await questionsOf(id))[1]?.options.length, 3));
    await page.getByText('Saved', { exact: true }).waitFor();
    await dialog.getByRole('button', { name: 'Use it' }).click();
    await eventually(async () => {
      const [hungry, { options: saved }] = await questionsOf(id);
      assert.deepEqual(saved[2].visibleIf?.optionIds, [hungry.options[0].id]);
    });
    await page.context().close();
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
    const calls = '**/api/v1/surveys/questions/*';
    const saving = new Promise<Route>((resolve) => void page.route(calls, resolve, { times: 1 }));
    const text = page.getByRole('textbox', { name: 'Text', exact: true });
    await text.fill('How likely?');
    const route = await saving;
    await text.fill('');
    await route.continue();
    await page.getByRole('status').filter({ hasText: 'Not saved yet' }).waitFor();
    await page.getByText('A question needs a text.').waitFor();
    assert.equal((await questionsOf(id))[0]?.text, 'How likely?');
    await page.context().close();
  });

  it('takes the Enter that ends a Japanese or Chinese word for no new option', async () => {
    const { id } = await admin.create('/surveys', { title: 'By input method' });
    const options = [{ text: 'Soup' }, { text: 'Pasta' }];
    const dish = await admin.create(`/surveys/${id}/questions`, { type: 'MULTIPLE_CHOICE', text: 'Dish?', options });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${dish.id}` });
    const inputMethod = await page.context().newCDPSession(page);
    const option = page.getByRole('textbox', { name: 'Option 2', exact: true });
    await option.fill('');
    await inputMethod.send('Input.imeSetComposition', { text: 'うどん', selectionStart: 3, selectionEnd: 3 });
    await page.keyboard.press('Enter');
    await inputMethod.send('Input.insertText', { text: 'うどん' });
    await eventually(async () =>
      assert.deepEqual(
        (await questionsOf(id))[0]?.options.map((one: any) => one.text),
        ['Soup', 'うどん'],
      ),
    );
    assert.equal(await page.getByRole('textbox', { name: /^Option \d$/ }).count(), 2);
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

  it('says that somebody else has changed a condition that is being edited', async () => {
    const { id } = await admin.create('/surveys', { title: 'Conditions' });
    const hungry = await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'Hungry?' });
    const { id: what } = await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'What?' });
    const showIf = (place: number) =>
      admin.put(`/surveys/questions/${what}`, {
        visibleIf: { questionId: hungry.id, operator: 'isAnyOf', optionIds: [hungry.options[place].id] },
      });
    await showIf(0);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${what}` });
    await page.getByRole('button', { name: 'Edit condition' }).click();
    const dialog = page.getByRole('dialog', { name: 'Show if' });
    await dialog.getByRole('checkbox', { name: 'No', exact: true }).check({ force: true });
    assert.equal(await dialog.getByText('Somebody else').count(), 0);
    await showIf(1);
    await dialog.getByText('Somebody else has changed this condition meanwhile.').waitFor({ timeout: 20_000 });
    await dialog.getByText('Hungry? is No', { exact: false }).first().waitFor();
    await assertAccessible(page);
    await page.context().close();
  });

  /** A page with the dialog that edits the condition of the second of two questions. */
  const conditional = async (visibleIf: object | ((hungry: any) => object)) => {
    const { id } = await admin.create('/surveys', { title: 'Conditions' });
    const hungry = await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'Hungry?' });
    const condition = typeof visibleIf === 'function' ? visibleIf(hungry) : visibleIf;
    const dish = await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Dish?', visibleIf: condition });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${dish.id}` });
    await page.getByRole('region', { name: 'Logic' }).getByRole('button', { name: 'Edit condition' }).click();
    return { id, page, hungry, dialog: page.getByRole('dialog', { name: 'Show if' }) };
  };

  it('shows the languages of the condition that is left when the one before it is removed', async () => {
    const { id, page, dialog } = await conditional({ any: [{ language: ['de'] }, { language: ['fr'] }] });
    await dialog.getByRole('button', { name: 'Remove condition 1' }).click();
    const tags = dialog.getByRole('textbox', { name: 'Language tags' });
    await eventually(async () => assert.equal(await tags.inputValue(), 'fr'));
    await tags.focus();
    await page.keyboard.press('End');
    await page.keyboard.type(', it');
    assert.equal(await tags.inputValue(), 'fr, it');
    await dialog.getByRole('button', { name: 'Use it' }).click();
    await eventually(async () => assert.deepEqual((await questionsOf(id))[1].visibleIf, { language: ['fr', 'it'] }));
    await page.context().close();
  });

  it('edits a single condition that is negated as any other', async () => {
    const { id, page, hungry, dialog } = await conditional((asked) => ({
      not: { questionId: asked.id, operator: 'isAnyOf', optionIds: [asked.options[0].id] },
    }));
    const negated = dialog.getByRole('checkbox', { name: 'not', exact: true });
    await negated.waitFor({ state: 'attached' });
    assert.equal(await negated.isChecked(), true);
    await dialog.getByRole('button', { name: 'Add condition' }).waitFor();
    await negated.uncheck({ force: true });
    await dialog.getByRole('button', { name: 'Use it' }).click();
    await eventually(async () => assert.equal((await questionsOf(id))[1].visibleIf.questionId, hungry.id));
    await page.context().close();
  });

  it('keeps the focus in the field of a single condition that is typed in', async () => {
    const { id, page, dialog } = await conditional({ language: ['de'] });
    await dialog.getByRole('textbox', { name: 'Language tags' }).focus();
    await page.keyboard.press('End');
    await page.keyboard.type(', fr');
    assert.equal(await dialog.getByRole('textbox', { name: 'Language tags' }).inputValue(), 'de, fr');
    await dialog.getByRole('button', { name: 'Use it' }).click();
    await eventually(async () => assert.deepEqual((await questionsOf(id))[1].visibleIf, { language: ['de', 'fr'] }));
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
