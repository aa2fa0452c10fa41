import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Locator, Page, Route } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { openSurvey, publishedSurvey, questionAt, storedResponses, thanked } from '../support/page-fixture.ts';
import { png } from '../support/pictures.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

const options = (...texts: string[]) => texts.map((text) => ({ text }));

describe('keyboard and focus on the respondent’s page', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));
  const open = (link: string): Promise<Page> => openSurvey(browser, service, { link });

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
    const isFocused = (control: Locator) => control.and(page.locator(':focus')).waitFor();
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
      page.getByRole(role, { name, exact: true }).and(page.locator(':focus')).waitFor();
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

  it('Next and Back focus what is new on a page: the title of a section, or else the question', async () => {
    const survey = await admin.create('/surveys', { title: 'Club', appearance: { pageMode: 'QUESTION' } });
    const more = await admin.create(`/surveys/${survey.id}/sections`, { title: 'More' });
    const ask = (text: string, fields = {}) =>
      admin.create(`/surveys/${survey.id}/questions`, { type: 'SHORT_TEXT', text, ...fields });
    for (const text of ['Your name?', 'Your town?']) await ask(text);
    for (const text of ['How often?', 'How long?']) await ask(text, { sectionId: more.id });
    await admin.post(`/surveys/${survey.id}/publish`);
    const page = await open(survey.id);
    for (const [button, text] of [
      ['Next', 'Your town?'],
      ['Next', 'More'],
      ['Next', 'How long?'],
      ['Back', 'More'],
      ['Back', 'Your town?'],
      ['Back', 'Club'],
    ] as const) {
      await page.getByRole('button', { name: button, exact: true }).press('Enter');
      await page.locator(':focus', { hasText: text }).waitFor();
    }
    await page.context().close();
  });
});
