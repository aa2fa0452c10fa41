import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, signedInPage } from '../support/console.ts';
import { surveyOfFourTexts, translationOf } from '../support/four-texts.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('the languages of a survey that others change meanwhile', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const survey = (title: string) => surveyOfFourTexts(admin, title);
  const translation = (id: string, language: string) => translationOf(admin, id, language);

  it('are overwritten by nobody who did not see the other text, and other texts are merged', async () => {
    const { id } = await survey('Two translators');
    await admin.put(`/surveys/${id}/translations/de`, { title: 'Zwei' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/languages?language=de` });
    const title = page.getByLabel('Survey, Title, in German');
    await title.fill('Meine');
    await page.getByLabel('Question 1, Text, in German').fill('Welches Gericht?');
    await admin.put(`/surveys/${id}/translations/de`, { title: 'Ihre' });
    const save = page.getByRole('button', { name: 'Save' });
    await save.click();
    const conflict = page.getByRole('alert', { name: 'Conflict' });
    await conflict.getByText('Ihre').waitFor();
    await assertAccessible(page);
    assert.equal((await translation(id, 'de')).title, 'Ihre');
    await conflict.getByRole('button', { name: 'Take theirs' }).click();
    await conflict.waitFor({ state: 'detached' });
    assert.equal(await title.inputValue(), 'Ihre');
    await title.fill('Meine doch');
    await admin.put(`/surveys/${id}/translations/de`, { title: 'Wieder ihre' });
    await save.click();
    await conflict.getByText('Wieder ihre').waitFor();
    await conflict.getByRole('button', { name: 'Keep mine' }).click();
    await save.click();
    await page.getByText('German is saved.').waitFor();
    const stored = await translation(id, 'de');
    assert.deepEqual([stored.title, stored.questions[0].text], ['Meine doch', 'Welches Gericht?']);
  });

  it('are overwritten by nobody even where the other text is stored while they are being sent', async () => {
    const { id, question } = await survey('Two translators at once');
    await admin.put(`/surveys/${id}/translations/de`, { title: 'Zwei' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/languages?language=de` });
    const theirs = ['Ihre Frage', 'Ihre'];
    await page.route('**/translations/de*', async (route) => {
      const text = route.request().method() === 'PUT' ? theirs.shift() : undefined;
      // First in another text, which does no harm, and then in the same one.
      if (text === 'Ihre') await admin.put(`/surveys/${id}/translations/de`, { title: text });
      else if (text) await admin.put(`/surveys/${id}/translations/de`, { questions: [{ id: question.id, text }] });
      await route.continue();
    });
    await page.getByLabel('Survey, Title, in German').fill('Meine');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert', { name: 'Conflict' }).getByText('Ihre', { exact: true }).waitFor();
    assert.equal((await translation(id, 'de')).title, 'Ihre');
    assert.deepEqual(theirs, []);
    browser.forgive(/status of 409/);
  });

  it('do not count as up to date where the original was reworded while they were typed', async () => {
    const { id, question } = await survey('Reworded');
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/languages?language=de` });
    const text = page.getByLabel('Question 1, Text, in German');
    await text.fill('Welches Gericht?');
    await admin.put(`/surveys/questions/${question.id}`, { text: 'Which dish not?' });
    const conflict = page.getByRole('alert', { name: 'Conflict' });
    await page.getByRole('button', { name: 'Save' }).click();
    await conflict.getByText('Welches Gericht? (for “Which dish?”)').waitFor();
    await conflict.getByText('nothing (for “Which dish not?”)').waitFor();
    assert.equal((await admin.call('GET', `/surveys/${id}/translations/de`)).status, 404);
    await conflict.getByRole('button', { name: 'Keep mine' }).click();
    await conflict.waitFor({ state: 'detached' });
    await text.fill('Welches Gericht nicht?');

    // Once more, while it is being sent.
    let isReworded = false;
    await page.route('**/translations/de*', async (route) => {
      if (route.request().method() === 'PUT' && !isReworded) {
        isReworded = true;
        await admin.put(`/surveys/questions/${question.id}`, { text: 'Which dish never?' });
      }
      await route.continue();
    });
    await page.getByRole('button', { name: 'Save' }).click();
    await conflict.getByText('Welches Gericht nicht? (for “Which dish not?”)').waitFor();
    assert.equal((await admin.call('GET', `/surveys/${id}/translations/de`)).status, 404);
    await conflict.getByRole('button', { name: 'Keep mine' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('German is saved.').waitFor();
    assert.deepEqual((await translation(id, 'de')).stale, []);
    browser.forgive(/status of 409/);
  });

  it('leave nothing unsaved where another translator has typed the same for the reworded original', async () => {
    const { id, question } = await survey('The same text');
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/languages?language=de` });
    const text = page.getByLabel('Question 1, Text, in German');
    await text.fill('Welches Gericht?');
    await admin.put(`/surveys/questions/${question.id}`, { text: 'Which of the dishes?' });
    const questions = [{ id: question.id, text: 'Welches Gericht?' }];
    await admin.put(`/surveys/${id}/translations/de`, { questions });
    const save = page.getByRole('button', { name: 'Save' });
    await save.click();
    const conflict = page.getByRole('alert', { name: 'Conflict' });
    await conflict.getByText('Welches Gericht? (for “Which of the dishes?”)').waitFor();
    await conflict.getByRole('button', { name: 'Keep mine' }).click();
    await conflict.waitFor({ state: 'detached' });
    await save.waitFor({ state: 'detached' });
    assert.equal(await text.inputValue(), 'Welches Gericht?');
    await page.getByRole('button', { name: 'admin@localhost' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Surveys' }).waitFor();
    await page.context().close();
  });

  it('are saved without what was deleted meanwhile, which is said and stays to be read', async () => {
    for (const isTranslated of [true, false]) {
      const { id, question } = await survey('Deleted');
      const questions = [{ id: question.id, text: 'Welches Gericht?' }];
      if (isTranslated) await admin.put(`/surveys/${id}/translations/de`, { questions });
      const page = await signedInPage(browser, service, { path: `/surveys/${id}/languages?language=de` });
      const text = page.getByLabel('Question 1, Text, in German');
      await text.fill('Welches denn?');
      await page.getByLabel('Survey, Title, in German').fill('Gelöscht');
      await admin.remove(`/surveys/${id}/questions/${question.id}`);
      await text.waitFor({ state: 'detached' });
      const deleted = page.getByRole('alert', { name: 'Deleted meanwhile' });
      await deleted.getByText('Welches denn?').waitFor();
      await assertAccessible(page);
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('German is saved.').waitFor();
      assert.equal((await translation(id, 'de')).title, 'Gelöscht');
      await page.getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' });
      await deleted.getByRole('button', { name: 'Discard' }).click();
      await deleted.waitFor({ state: 'detached' });
      await page.context().close();
    }
  });

  it('show in a conflict that another translator has deleted the translation, and keep what is typed', async () => {
    const { id } = await survey('Deleted language');
    await admin.put(`/surveys/${id}/translations/de`, { title: 'Gelöschte Sprache' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/languages?language=de` });
    await page.getByLabel('Survey, Title, in German').fill('Meine');
    await admin.remove(`/surveys/${id}/translations/de`);
    const save = page.getByRole('button', { name: 'Save' });
    await save.click();
    const conflict = page.getByRole('alert', { name: 'Conflict' });
    await conflict.getByText('nothing', { exact: true }).waitFor();
    await conflict.getByRole('button', { name: 'Keep mine' }).click();
    await save.click();
    await page.getByText('German is saved.').waitFor();
    assert.equal((await translation(id, 'de')).title, 'Meine');
    await page.context().close();
  });
});
