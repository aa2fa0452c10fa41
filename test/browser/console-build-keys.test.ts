import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Locator } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { goTo, keepMessages, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('building a survey by keys', { skip: withoutBrowser }, () => {
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

  it('moves a question by as many places while something typed is being saved, and shows it at once', async () => {
    const { id } = await admin.create('/surveys', { title: 'Typed before' });
    for (const text of ['Q1', 'Q2', 'Q3', 'Q4']) await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build` });
    const outline = page.getByRole('list', { name: 'Outline' });
    const isAt = (place: number) => outline.getByRole('listitem').nth(place).getByText('Q1').waitFor();
    const held = await holdCalls(page, '**/surveys/questions/*');
    let givenUp = 0;
    page.on('requestfailed', () => (givenUp += 1));
    await page.getByRole('textbox', { name: 'Description', exact: true }).fill('Typed');
    await eventually(() => assert.equal(held.count(), 1));
    await outline.getByRole('button', { name: /Q1$/ }).focus();
    await page.keyboard.press('Alt+ArrowDown');
    await isAt(2);
    await page.keyboard.press('Alt+ArrowDown');
    await isAt(3);
    assert.equal(givenUp, 0, 'the save is still under way');
    held.release();
    await eventually(async () =>
      assert.deepEqual(
        (await questionsOf(id)).map(({ text, description }) => [text, description]),
        [
          ['Q2', null],
          ['Q3', null],
          ['Q1', 'Typed'],
          ['Q4', null],
        ],
      ),
    );
    await isAt(3);
    await page.context().close();
  });

  it('lists the keys of the outline and of options', async () => {
    const { id } = await admin.create('/surveys', { title: 'Which keys?' });
    const options = [{ text: 'Soup' }, { text: 'Pasta' }];
    await admin.create(`/surveys/${id}/questions`, { type: 'MULTIPLE_CHOICE', text: 'Dish?', options });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build` });
    const row = page.getByRole('list', { name: 'Outline' }).getByRole('button', { name: /Dish/ });
    assert.equal(await row.getAttribute('aria-keyshortcuts'), 'Alt+ArrowUp Alt+ArrowDown');
    await row.press('?');
    const keys = page.getByRole('dialog', { name: 'Keys' });
    await keys.getByText('List the keys').waitFor();
    assert.deepEqual(
      (await keys.locator('dt, dd').allTextContents()).join('|').match(/Alt.*?\|[^|]+|Enter\|[^|]+|Delete\|[^|]+/g),
      [
        'Enter|Open the question or section of the outline',
        'Alt ↑ ↓|Move the question or section of the outline',
        'Delete|Delete the question or section of the outline',
        'Enter|Add another option below',
        'Alt ↑ ↓|Move the option',
      ],
    );
    await page.context().close();
  });

  it('moves questions and sections with a finger, by buttons that keep the focus', async () => {
    const { id } = await admin.create('/surveys', { title: 'By touch' });
    const { id: end } = await admin.create(`/surveys/${id}/sections`, { title: 'End' });
    const { id: start } = await admin.create(`/surveys/${id}/sections`, { title: 'Start' });
    const [moved] = [
      await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Q1' }),
      await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Q2' }),
    ];
    const path = `/surveys/${id}/build?item=${moved.id}`;
    const page = await signedInPage(browser, service, {
      path,
      hasTouch: true,
      isMobile: true,
      viewport: { width: 390, height: 844 },
    });
    const placesAre = (wanted: unknown) =>
      eventually(async () =>
        assert.deepEqual(
          (await questionsOf(id)).map(({ text, sectionId }) => [text, sectionId]),
          wanted,
        ),
      );
    const down = page.getByRole('button', { name: 'Move the question down' });
    const up = page.getByRole('button', { name: 'Move the question up' });
    assert.equal(await up.getAttribute('aria-disabled'), 'true', 'the first question cannot move up');
    const editor = page.getByRole('region', { name: 'Editor' });
    await editor.getByText('before all sections', { exact: true }).waitFor();
    await down.tap();
    await page.getByRole('heading', { name: 'Question 2', exact: true }).waitFor();
    await down.tap();
    await editor.getByText('in section 1, “End”', { exact: true }).waitFor();
    await placesAre([
      ['Q2', null],
      ['Q1', end],
    ]);
    await down.tap();
    await editor.getByText('in section 2, “Start”', { exact: true }).waitFor();
    await placesAre([
      ['Q2', null],
      ['Q1', start],
    ]);
    await down.and(page.locator('[aria-disabled=true]:focus')).waitFor();
    await up.tap();
    await placesAre([
      ['Q2', null],
      ['Q1', end],
    ]);

    await goTo(page, `/surveys/${id}/build?item=${start}`);
    await page.getByRole('button', { name: 'Move the section up' }).tap();
    await page.getByRole('heading', { name: 'Section 1', exact: true }).waitFor();
    await eventually(async () =>
      assert.deepEqual(
        (await admin.get(`/surveys/${id}`)).sections.map(({ title }: any) => title),
        ['Start', 'End'],
      ),
    );
    await page.context().close();
  });

  it('keeps a question in the editor that was shown unasked, while it is moved', async () => {
    const questions = ['Q1', 'Q2', 'Q3'].map((text) => ({ type: 'NPS', text }));
    const { id } = await admin.create('/surveys/import', { title: 'Shown unasked', questions });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build` });
    const down = page.getByRole('button', { name: 'Move the question down' });
    for (const place of [2, 3]) {
      await down.click();
      await page.getByRole('heading', { name: `Question ${place}`, exact: true }).waitFor();
    }
    await down.and(page.locator(':focus')).waitFor();
    await eventually(async () =>
      assert.deepEqual(
        (await questionsOf(id)).map(({ text }) => text),
        ['Q2', 'Q3', 'Q1'],
      ),
    );
    await page.context().close();
  });

  it('leaves the focus where it is after a section was moved, whatever is added', async () => {
    const { id } = await admin.create('/surveys', { title: 'Sections' });
    const { id: first } = await admin.create(`/surveys/${id}/sections`, { title: 'First' });
    const { id: second } = await admin.create(`/surveys/${id}/sections`, { title: 'Second' });
    const addTo = (sectionId: string, text: string) =>
      admin.create(`/surveys/${id}/questions`, { type: 'NPS', text, sectionId });
    for (const text of ['A', 'B', 'C']) await addTo(first, text);
    const edited = await addTo(second, 'D');
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${first}` });
    const outline = page.getByRole('list', { name: 'Outline' });
    const row = outline.getByRole('button', { name: 'First', exact: true });
    await row.press('Alt+ArrowDown');
    await outline.getByRole('listitem').nth(3).getByText('First').waitFor();
    await row.and(page.locator(':focus')).waitFor();
    await outline.getByRole('button', { name: /D$/ }).press('Enter');
    const text = page.getByRole('textbox', { name: 'Text', exact: true }).and(page.locator(':focus'));
    await text.waitFor();
    await page.evaluate(`{
      globalThis.focused = [];
      addEventListener('focusin', ({ target }) => focused.push(target.textContent));
    }`);
    for (const added of ['E', 'F']) {
      await addTo(second, added);
      await outline.getByText(added, { exact: true }).waitFor();
    }
    await page.keyboard.type('Dessert?');
    await eventually(async () => {
      const { questions } = await admin.get(`/surveys/${id}`);
      assert.equal(questions.find((one: any) => one.id === edited.id).text, 'Dessert?');
    });
    assert.deepEqual(await page.evaluate('focused'), []);
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
});
