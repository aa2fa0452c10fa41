import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Locator, Page, Route } from 'playwright-core';
import { blockedStorage } from '../support/blocked-storage.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import {
  holdUploads,
  keptOn,
  openSurvey,
  publishedSurvey,
  questionAt,
  storedResponses,
  thanked,
} from '../support/page-fixture.ts';
import { png } from '../support/pictures.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

const options = (...texts: string[]) => texts.map((text) => ({ text }));

describe('ways through the respondent’s page', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));
  const open = (link: string): Promise<Page> => openSurvey(browser, service, { link });

  it('one question a page: each is asked alone, in order, and back and forth loses nothing', async () => {
    const survey = await publishedSurvey(admin, { title: 'One by one', appearance: { pageMode: 'QUESTION' } }, [
      { type: 'SHORT_TEXT', text: 'Your name?', isRequired: true },
      { type: 'YES_NO', text: 'Hungry?' },
      { type: 'NUMBER', text: 'Your age?' },
    ]);
    const page = await open(survey.id);
    const asked = page.locator('.question');
    assert.equal(await asked.count(), 1);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('Please answer this question.').waitFor();
    await page.getByLabel('Your name?').fill('Ada');
    await page.keyboard.press('Enter');
    await questionAt(page, 'Hungry?').waitFor();
    assert.equal(await asked.count(), 1);
    await page.getByRole('radio', { name: 'Yes' }).check();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByLabel('Your age?').fill('36');
    await page.goBack();
    assert.ok(await page.getByRole('radio', { name: 'Yes' }).isChecked());
    await page.getByRole('button', { name: 'Back' }).click();
    assert.equal(await page.getByLabel('Your name?').inputValue(), 'Ada');
    // A reload keeps the page that the database has.
    const isBack = new RegExp(`"page":"${survey.questions[0]?.id}"`);
    await eventually(async () => assert.match(JSON.stringify(await keptOn(page)), isBack));
    await page.reload();
    await eventually(async () => assert.equal(await page.getByLabel('Your name?').inputValue(), 'Ada'));
    for (const name of ['Next', 'Next', 'Send']) await page.getByRole('button', { name }).click();
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.equal(stored?.answers.length, 3);
    await page.context().close();
  });

  it('after a reload, the browser’s back and forward go to the pages before and after', async () => {
    const survey = await publishedSurvey(admin, { title: 'Reloaded', appearance: { pageMode: 'QUESTION' } }, [
      { type: 'SHORT_TEXT', text: 'First?' },
      { type: 'SHORT_TEXT', text: 'Second?' },
      { type: 'SHORT_TEXT', text: 'Third?' },
    ]);
    const page = await open(survey.id);
    const isKept = (text: RegExp) => eventually(async () => assert.match(JSON.stringify(await keptOn(page)), text));
    for (const text of ['First?', 'Second?']) {
      await page.getByLabel(text).fill(`To ${text}`);
      await page.getByRole('button', { name: 'Next' }).click();
    }
    await isKept(new RegExp(`"page":"${survey.questions[2]?.id}"`));
    await page.reload();
    await questionAt(page, 'Third?').waitFor();
    await page.goBack();
    await questionAt(page, 'Second?').waitFor();
    await page.goBack();
    await questionAt(page, 'First?').waitFor();
    await page.goForward();
    await page.goForward();
    await questionAt(page, 'Third?').waitFor();
    await page.context().close();
  });

  it('the browser’s back to a page that has left the path shows the one before it', async () => {
    const { id } = await admin.create('/surveys', { title: 'Turned', appearance: { pageMode: 'QUESTION' } });
    const ask = (body: object) => admin.create(`/surveys/${id}/questions`, body);
    for (const text of ['First?', 'Second?']) await ask({ type: 'SHORT_TEXT', text });
    const third = await ask({ type: 'YES_NO', text: 'Third?' });
    const visibleIf = { questionId: third.id, operator: 'isAnyOf', optionIds: [third.options[0].id] };
    await ask({ type: 'SHORT_TEXT', text: 'Fourth?', visibleIf });
    await ask({ type: 'SHORT_TEXT', text: 'Fifth?' });
    await admin.post(`/surveys/${id}/publish`);
    const page = await open(id);
    const next = async (text: string) => {
      await page.getByRole('button', { name: 'Next' }).click();
      await questionAt(page, text).waitFor();
    };
    await questionAt(page, 'First?').waitFor();
    await next('Second?');
    await next('Third?');
    await page.getByRole('radio', { name: 'Yes' }).check();
    await next('Fourth?');
    await page.getByRole('button', { name: 'Back' }).click();
    await page.getByRole('radio', { name: 'No' }).check();
    await next('Fifth?');
    for (const text of ['Third?', 'Third?', 'Third?', 'Second?', 'First?']) {
      await page.goBack();
      await questionAt(page, text).waitFor();
    }
    await page.goForward();
    await questionAt(page, 'Second?').waitFor();
    await next('Third?');
    await page.context().close();
  });

  it('after a reload that finds nothing kept, back goes to the page that the respondent saw', async () => {
    const survey = await publishedSurvey(admin, { title: 'Forgotten', appearance: { pageMode: 'QUESTION' } }, [
      { type: 'SHORT_TEXT', text: 'First?' },
      { type: 'SHORT_TEXT', text: 'Second?' },
      { type: 'SHORT_TEXT', text: 'Third?' },
    ]);
    // A browser that keeps nothing.
    const page = await openSurvey(browser, service, { link: survey.id, script: blockedStorage });
    for (const text of ['First?', 'Second?']) {
      await questionAt(page, text).waitFor();
      await page.getByRole('button', { name: 'Next' }).click();
    }
    await questionAt(page, 'Third?').waitFor();
    await page.reload();
    await questionAt(page, 'First?').waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await questionAt(page, 'Second?').waitFor();
    await page.goBack();
    await questionAt(page, 'First?').waitFor();
    await page.context().close();
  });

  it('a file goes on being sent while its respondent looks at the page before', async () => {
    const survey = await publishedSurvey(admin, { title: 'Slow file', appearance: { pageMode: 'QUESTION' } }, [
      { type: 'SHORT_TEXT', text: 'Your name?' },
      { type: 'FILE_UPLOAD', text: 'Your picture?' },
    ]);
    const page = await open(survey.id);
    const held = await holdUploads(page);
    await page.getByRole('button', { name: 'Next' }).click();
    const choose = () => page.locator('input[type=file]');
    await choose().setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: Buffer.from(png) });
    await page.getByRole('button', { name: 'Cancel' }).waitFor();
    await page.goBack();
    await questionAt(page, 'Your name?').waitFor();
    await page.goForward();
    await page.getByRole('button', { name: 'Cancel' }).waitFor({ timeout: 10_000 });
    await page.getByRole('button', { name: 'Back' }).click();
    held.release();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('button', { name: 'Remove' }).waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    await thanked(page);
    assert.equal((await storedResponses(admin, survey.id, 1))[0]?.answers.length, 1);
    await page.context().close();
  });

  it('a shuffled order stays the same for a respondent, and is that of the service', async () => {
    const dishes = Array.from({ length: 12 }, (_, index) => `Dish ${index}`);
    const survey = await publishedSurvey(admin, { title: 'Shuffled' }, [
      {
        type: 'MULTIPLE_CHOICE',
        text: 'Which dish?',
        options: [...options(...dishes), { text: 'None', isAnchored: true }],
        settings: { shuffleOptions: true },
      },
    ]);
    const orders = new Set<string>();
    for (let respondent = 0; respondent < 3; respondent += 1) {
      const page = await open(survey.id);
      const order = () => page.locator('.question label').allTextContents();
      const first = await order();
      assert.deepEqual([...first].sort(), [...dishes, 'None'].sort());
      assert.equal(first.at(-1), 'None');
      const saving = page.waitForRequest((request) => request.url().endsWith('/submit'));
      await page.getByRole('radio', { name: 'Dish 3', exact: true }).check();
      await page.locator('.status[data-status=saved]').waitFor();
      const { responseId } = (await saving).postDataJSON() as { responseId: string };
      await page.reload();
      await eventually(async () => {
        assert.ok(await page.getByRole('radio', { name: 'Dish 3', exact: true }).isChecked());
        assert.deepEqual(await order(), first);
      });
      const path = await admin.post(`/public/surveys/${survey.id}/path`, { responseId, answers: [] });
      assert.deepEqual(
        path.sections[0].questions[0].options.map(({ text }: { text: string }) => text),
        first,
      );
      orders.add(first.join());
      await page.context().close();
    }
    assert.ok(orders.size > 1, 'all respondents saw one order');
  });

  it('the keyboard alone answers every kind of control', async () => {
    const survey = await publishedSurvey(admin, { title: 'By keyboard' }, [
      { type: 'SHORT_TEXT', text: 'Your name?' },
      { type: 'YES_NO', text: 'Hungry?' },
      { type: 'CHECKBOXES', text: 'Which dishes?', options: options('Soup', 'Pasta', 'Cake') },
      { type: 'DROPDOWN', text: 'Which drink?', options: options('Water', 'Wine') },
      { type: 'NPS', text: 'Would you come again?' },
      { type: 'RANKING', text: 'Your order?', options: options('First', 'Second') },
      { type: 'SLIDER', text: 'How warm?', settings: { min: 0, max: 10, step: 1 } },
      {
        type: 'MATRIX',
        text: 'How were these?',
        options: options('Good', 'Bad'),
        settings: { rows: options('Bed', 'Bath') },
      },
      { type: 'LONG_TEXT', text: 'Anything else?' },
    ]);
    const page = await open(survey.id);
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    /** Tabs on until the focus is in the question. */
    const tabTo = async (text: string) => {
      for (let steps = 0; steps < 12; steps += 1) {
        await press('Tab');
        if ((await questionAt(page, text).locator(':focus').count()) > 0) return;
      }
      assert.fail(`the focus does not come to ${text}`);
    };
    await tabTo('Your name?');
    await page.keyboard.type('Ada');
    await tabTo('Hungry?');
    await press('Space');
    await tabTo('Which dishes?');
    await press('Space', 'Tab', 'Tab', 'Space');
    await tabTo('Which drink?');
    await press('ArrowDown', 'ArrowDown');
    await tabTo('Would you come again?');
    await press('Space', 'ArrowRight', 'ArrowRight');
    await tabTo('Your order?');
    await press('Enter');
    await questionAt(page, 'Your order?').getByRole('button', { name: '1. Move: First' }).waitFor();
    await questionAt(page, 'Your order?').locator('.unranked-item').waitFor();
    for (let steps = 0; steps < 8; steps += 1) {
      if ((await questionAt(page, 'Your order?').locator('.unranked-item:focus').count()) > 0) break;
      await press('Tab');
    }
    await press('Enter');
    await questionAt(page, 'Your order?').getByRole('button', { name: '2. Move: Second' }).waitFor();
    await tabTo('How warm?');
    await press('End');
    await tabTo('How were these?');
    await press('Space', 'Tab', 'Space', 'ArrowRight');
    await tabTo('Anything else?');
    await page.keyboard.type('No.');
    for (let steps = 0; steps < 4; steps += 1) {
      await press('Tab');
      if ((await page.locator('button[type=submit]:focus').count()) > 0) break;
    }
    await press('Enter');
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    const answered = new Set(stored?.answers.map(({ questionId }) => questionId));
    assert.deepEqual(
      survey.questions.filter(({ id }) => !answered.has(id)).map(({ text }) => text),
      [],
    );
    const answerTo = (index: number) =>
      stored?.answers.find((each) => each['questionId'] === survey.questions[index]?.id);
    assert.equal(answerTo(4)?.['numberValue'], 2);
    assert.equal(answerTo(6)?.['numberValue'], 10);
    await page.context().close();
  });

  it('the focus stays at a file that is uploaded or removed, and the upload is read out', async () => {
    const survey = await publishedSurvey(admin, { title: 'Focus' }, [
      { type: 'SHORT_TEXT', text: 'Your name?' },
      { type: 'FILE_UPLOAD', text: 'Show it to us' },
    ]);
    const page = await open(survey.id);
    const held: Route[] = [];
    await page.route('**/uploads/**', (route) => void held.push(route));
    const question = questionAt(page, 'Show it to us');
    const choose = question.locator('input[type=file]');
    const isFocused = (control: Locator) => control.and(page.locator(':focus')).waitFor({ timeout: 10_000 });
    const send = () => choose.setInputFiles({ name: 'photo.png', mimeType: 'image/png', buffer: Buffer.from(png) });
    await choose.focus();
    await send();
    await isFocused(question.getByRole('button', { name: 'Cancel' }));
    await eventually(() => assert.equal(held.length, 1));
    await held.pop()?.continue();
    await isFocused(question.getByRole('button', { name: 'Remove: photo.png' }));
    await question.locator('[aria-live=polite]', { hasText: 'photo.png is uploaded.' }).waitFor({ state: 'attached' });
    await page.keyboard.press('Enter');
    await isFocused(choose);
    assert.equal(await question.locator('[aria-live=polite]').textContent(), '');
    // Somebody who has gone on is left alone.
    await send();
    await isFocused(question.getByRole('button', { name: 'Cancel' }));
    await page.getByLabel('Your name?').focus();
    await eventually(() => assert.equal(held.length, 1));
    await held.pop()?.continue();
    await question.getByRole('button', { name: 'Remove: photo.png' }).waitFor();
    await isFocused(page.getByLabel('Your name?'));
    await page.context().close();
  });

  it('the focus stays in a ranking whose items are ranked, moved and removed, and at an answer that is cleared', async () => {
    const survey = await publishedSurvey(admin, { title: 'Focus' }, [
      { type: 'RANKING', text: 'Your order?', options: options('Soup', 'Pasta', 'Cake') },
      { type: 'YES_NO', text: 'Hungry?' },
    ]);
    const page = await open(survey.id);
    const isFocused = (name: string, role: 'button' | 'radio' = 'button') =>
      page.getByRole(role, { name, exact: true }).and(page.locator(':focus')).waitFor({ timeout: 10_000 });
    for (const [place, name] of ['Soup', 'Pasta'].entries()) {
      await page.getByRole('button', { name, exact: true }).press('Enter');
      await isFocused(`${place + 1}. Move: ${name}`);
    }
    await page.getByRole('button', { name: 'Move up: Pasta' }).press('Enter');
    await isFocused('Move up: Pasta');
    await page.getByRole('button', { name: 'Move down: Pasta' }).press('Enter');
    await isFocused('Move down: Pasta');
    await page.getByRole('button', { name: 'Remove: Soup' }).press('Enter');
    await isFocused('1. Move: Pasta');
    await page.getByRole('button', { name: 'Remove: Pasta' }).press('Enter');
    await isFocused('Soup');
    await page.getByRole('radio', { name: 'No' }).check();
    await page.getByRole('button', { name: 'Clear answer' }).press('Enter');
    await isFocused('Yes', 'radio');
    await page.context().close();
  });

  it('a file whose sending is cancelled or fails can be sent again, and is waited for', async () => {
    const survey = await publishedSurvey(admin, { title: 'Photos' }, [
      { type: 'FILE_UPLOAD', text: 'Show it to us', isRequired: true },
    ]);
    const page = await open(survey.id);
    const held: Route[] = [];
    let isHeld = true;
    await page.route('**/uploads/**', (route) => (isHeld ? void held.push(route) : route.continue()));
    const question = questionAt(page, 'Show it to us');
    const choose = () =>
      question
        .locator('input[type=file]')
        .setInputFiles({ name: 'photo.png', mimeType: 'image/png', buffer: Buffer.from(png) });
    await choose();
    await question.getByText('Uploading photo.png').waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    await question.getByText('Please wait until the file is uploaded.').waitFor();
    await question.getByRole('button', { name: 'Cancel' }).click();
    await question.getByText('Choose a file').waitFor();
    await choose();
    await eventually(() => assert.equal(held.length, 2));
    await held[1]?.abort('connectionreset');
    await question.getByText('photo.png could not be uploaded.').waitFor();
    isHeld = false;
    await question.getByRole('button', { name: 'Try again' }).click();
    await question.getByRole('button', { name: 'Remove: photo.png' }).click();
    await choose();
    await question.getByRole('button', { name: 'Remove: photo.png' }).waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.equal(stored?.answers.length, 1);
    browser.forgive(/ERR_CONNECTION_RESET|ERR_FAILED/);
    await page.context().close();
  });

  /** Lets the service say of a page that it is of an earlier build than the one that answers. */
  const ofEarlierBuild = (page: Page, address: string) =>
    page.route(address, async (route) => {
      if (route.request().method() !== 'GET') return route.continue();
      const reply = await route.fetch();
      const body = (await reply.text()).replace(/"build":"[^"]+"/, '"build":"/assets/main-earlier.js"');
      return route.fulfill({ response: reply, body });
    });

  it('a page of an earlier build loads itself anew, and keeps what was typed', async () => {
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

  it('a page of an earlier build whose answers are refused loads itself anew, also while a file is uploaded', async () => {
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

  it('what was kept on the device is shown even where the browser draws late', async () => {
    const survey = await publishedSurvey(admin, { title: 'Drawn late' }, [
      { type: 'SHORT_TEXT', text: 'Your name?' },
      { type: 'LONG_TEXT', text: 'Your story?' },
    ]);
    const page = await open(survey.id);
    await page.getByLabel('Your story?').fill('It was long.');
    await page.locator('.status[data-status=saved]').waitFor({ state: 'attached' });
    // No frame comes, and timers are late, as in a tab in the background of a busy machine.
    await page.addInitScript(`
      requestAnimationFrame = () => 0;
      const inTime = setTimeout;
      setTimeout = (work, delayMs, ...given) => inTime(work, (delayMs ?? 0) + 1500, ...given);
    `);
    await page.reload();
    await eventually(async () => {
      assert.equal(await page.getByLabel('Your story?').inputValue(), 'It was long.');
    });
    await page.context().close();
  });
});
