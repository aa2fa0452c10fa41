import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, fillSignIn, keepMessages, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { hotelSurvey } from '../support/hotel-survey.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('what is deleted in Build', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  /** Deletes the second of two questions. The time in which that can be undone does not end by itself. */
  const deleted = async () => {
    // Other files of a worker have surveys in the same list.
    const title = `Shortened ${randomUUID()}`;
    const { id } = await admin.create('/surveys', { title });
    await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Kept?' });
    const question = await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Deleted?' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${question.id}` });
    await keepMessages(page);
    await page.getByRole('heading', { name: 'Question 2' }).waitFor();
    await page.getByRole('button', { name: 'Delete the question' }).click();
    await page.getByText('“Deleted?” is deleted.').waitFor();
    return { id: id as string, title, page };
  };
  const textsOf = async (id: string): Promise<string[]> =>
    (await admin.get(`/surveys/${id}`)).questions.map(({ text }: { text: string }) => text);
  const act = async (page: Page, title: string, action: string) => {
    await page.getByRole('link', { name: 'Surveys' }).first().click();
    await page.getByRole('button', { name: `Actions of ${title}` }).click();
    await page.getByRole('menuitem', { name: action }).click();
  };
  const publish = async (page: Page) => {
    await page.getByRole('link', { name: 'Publish' }).click();
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Publish' }).click();
  };

  it('is not published while that can be undone, and cannot be brought back after that', async () => {
    const { id, page } = await deleted();
    await publish(page);
    await page.getByText('Published: it takes responses.').waitFor();
    assert.deepEqual(await textsOf(id), ['Kept?']);
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0);
    await page.context().close();
  });

  it('is not offered back on a page that the browser shows again as it was left', async () => {
    const { id, page } = await deleted();
    const sent = page.waitForResponse((reply) => reply.request().method() === 'DELETE');
    await page.evaluate(`dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))`);
    await sent;
    await page.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`);
    await page.getByText('“Deleted?” is deleted.').waitFor({ state: 'detached' });
    assert.deepEqual(await textsOf(id), ['Kept?']);
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0);
    browser.forgive(/status of 404/);
    await page.context().close();
  });

  it('keeps the survey from being published while the service refuses to delete it', async () => {
    const { id, page } = await deleted();
    await page.route('**/surveys/*/questions/*', (route) => route.fulfill({ status: 503, body: '{}' }));
    await publish(page);
    await page.getByText(/^“Deleted\?” was not deleted\./).waitFor();
    await page.getByRole('alertdialog').getByRole('alert').waitFor();
    assert.equal((await admin.get(`/surveys/${id}`)).status, 'DRAFT');
    browser.forgive(/status of 503/);
    await page.context().close();
  });

  it('can still be brought back after publishing was refused for what is typed and not saved', async () => {
    const { id, page } = await deleted();
    await page.getByRole('link', { name: 'Publish' }).click();
    await page.getByLabel('Start').fill('2099-01-02T08:00');
    await publish(page);
    await page.getByRole('alertdialog').getByText('Not saved yet: the schedule (Publish).').waitFor();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('button', { name: 'Undo' }).waitFor({ state: 'detached' });
    assert.deepEqual(await textsOf(id), ['Kept?', 'Deleted?']);
    await page.context().close();
  });

  it('is not copied', async () => {
    const { title, page } = await deleted();
    await act(page, title, 'Duplicate');
    await page.getByRole('heading', { name: `${title} (copy)` }).waitFor();
    const copy = /surveys\/([^/]+)\/build/.exec(page.url())?.[1] ?? '';
    assert.deepEqual(await textsOf(copy), ['Kept?']);
    await page.context().close();
  });

  it('is not in the file of the survey', async () => {
    const { title, page } = await deleted();
    const [download] = await Promise.all([page.waitForEvent('download'), act(page, title, 'Save as a file')]);
    const { questions } = JSON.parse(readFileSync(await download.path(), 'utf8'));
    assert.deepEqual(
      questions.map(({ text }: { text: string }) => text),
      ['Kept?'],
    );
    await page.context().close();
  });

  it('is a question that others name: what would be broken is listed', async () => {
    const { id, questions } = await hotelSurvey(admin);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${questions.dishes.id}` });
    await page.getByRole('button', { name: 'Delete the question' }).click();
    const dialog = page.getByRole('alertdialog');
    await dialog.getByText('a skip of “Why').waitFor();
    await dialog.getByText('the choice of options of “Which was best?”').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    assert.equal((await textsOf(id)).length, 7);
    await page.context().close();
  });

  it('is a question that a quota, texts of the survey or a translation name: they go only if that is agreed to', async () => {
    const { id } = await admin.create('/surveys', { title: 'Named elsewhere' });
    const ask = (text: string) => admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text });
    const [named, other] = [await ask('Gender?'), await ask('Other?')];
    const answer = `{{question:${named.id}|you}}`;
    await admin.put(`/surveys/${id}`, { appearance: { closingText: `Thanks ${answer}!` } });
    await admin.put(`/surveys/${id}/translations/de`, { questions: [{ id: other.id, text: `Andere, ${answer}?` }] });
    const where = { questionId: named.id, operator: 'isAnyOf', optionIds: [named.options[0].id] };
    await admin.create(`/surveys/${id}/quotas`, { name: 'Men', limit: 5, where, whenFull: 'CLOSE' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${named.id}` });
    await keepMessages(page);
    const remove = () => page.getByRole('button', { name: 'Delete the question' }).click();
    const dialog = page.getByRole('alertdialog', { name: 'Delete “Gender?”?' });
    await remove();
    await dialog.getByText('the quota “Men”').waitFor();
    await dialog.getByText('the closing text of “Named elsewhere”').waitFor();
    await dialog.getByText('the text of “Other?” (de)').waitFor();
    await assertAccessible(page);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.deepEqual(await textsOf(id), ['Gender?', 'Other?']);

    await page.getByRole('list', { name: 'Outline' }).getByText('Gender?').click();
    await page.getByRole('heading', { name: 'Question 1' }).waitFor();
    await remove();
    await dialog.getByRole('button', { name: 'Remove these' }).click();
    await page.getByText('“Gender?” is deleted.').waitFor();
    await publish(page);
    await page.getByText('Published: it takes responses.').waitFor();
    assert.deepEqual(await textsOf(id), ['Other?']);
    assert.deepEqual(await admin.get(`/surveys/${id}/quotas`), []);
    assert.equal((await admin.get(`/surveys/${id}`)).appearance.closingText, 'Thanks you!');
    assert.equal((await admin.get(`/surveys/${id}/translations/de`)).questions[0].text, 'Andere, you?');
    await page.context().close();
  });

  it('is a question that is named by one which is being deleted: nothing is asked', async () => {
    const { id } = await admin.create('/surveys', { title: 'Named by another' });
    const first = await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'Naming?' });
    const visibleIf = { questionId: first.id, operator: 'answered' };
    const second = await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'How much?', visibleIf });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${second.id}` });
    await keepMessages(page);
    await page.getByRole('heading', { name: 'Question 2' }).waitFor();
    await page.getByRole('button', { name: 'Delete the question' }).click();
    await page.getByText('“How much?” is deleted.').waitFor();
    await page.getByRole('heading', { name: 'Question 1' }).waitFor();
    await page.getByRole('button', { name: 'Delete the question' }).click();
    await page.getByText('“Naming?” is deleted.').waitFor();
    assert.equal(await page.getByRole('alertdialog').count(), 0);
    await page.context().close();
  });

  it('is a question that is named by one whose deletion is undone: both stay, with the condition', async () => {
    const { id } = await admin.create('/surveys', { title: 'Named again' });
    const first = await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'Naming?' });
    const visibleIf = { questionId: first.id, operator: 'answered' };
    const second = await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'How much?', visibleIf });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${second.id}` });
    await keepMessages(page);
    const message = (text: string) => page.getByRole('status', { name: 'Messages' }).locator('div', { hasText: text });
    for (const [place, text] of [
      ['Question 2', 'How much?'],
      ['Question 1', 'Naming?'],
    ] as const) {
      await page.getByRole('heading', { name: place }).waitFor();
      await page.getByRole('button', { name: 'Delete the question' }).click();
      await message(`“${text}” is deleted.`).waitFor();
    }
    await message('“How much?” is deleted.').getByRole('button', { name: 'Undo' }).click();
    await publish(page);
    await page.getByText('“Naming?” was not deleted. Something else in the survey names it by now.').waitFor();
    const { questions } = await admin.get(`/surveys/${id}`);
    assert.deepEqual(
      questions.map((question: { text: string; visibleIf: unknown }) => [question.text, question.visibleIf]),
      [
        ['Naming?', null],
        ['How much?', visibleIf],
      ],
    );
    browser.forgive(/status of 409/);
    await page.context().close();
  });

  it('is a question that a quota begins to name before it is gone: both stay', async () => {
    const { id, page } = await deleted();
    const [, { id: questionId }] = (await admin.get(`/surveys/${id}`)).questions;
    const where = { questionId, operator: 'answered' };
    await admin.create(`/surveys/${id}/quotas`, { name: 'Late', limit: 5, where, whenFull: 'CLOSE' });
    await publish(page);
    await page.getByText('“Deleted?” was not deleted. Something else in the survey names it by now.').waitFor();
    assert.deepEqual(await textsOf(id), ['Kept?', 'Deleted?']);
    assert.equal((await admin.get(`/surveys/${id}/quotas`)).length, 1);
    browser.forgive(/status of 409/);
    await page.context().close();
  });

  it('is a section, once the author agrees: its questions stay', async () => {
    const { id } = await admin.create('/surveys', { title: 'Sections' });
    const minor = await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'Minor?' });
    const visibleIf = { questionId: minor.id, operator: 'isAnyOf', optionIds: [minor.options[1].id] };
    const section = await admin.create(`/surveys/${id}/sections`, { title: 'Adults only', visibleIf });
    await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'Drinks?', sectionId: section.id });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${section.id}` });
    const sectionsOf = async () => (await admin.get(`/surveys/${id}`)).sections.length;
    const dialog = page.getByRole('alertdialog', { name: 'Delete the section “Adults only”?' });
    const row = page.getByRole('list', { name: 'Outline' }).getByRole('button', { name: /Adults only/ });
    await row.focus();
    await page.keyboard.press('Backspace');
    await dialog.getByText('Its question stays').waitFor();
    await dialog.getByText('Its condition goes').waitFor();
    await assertAccessible(page);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    assert.equal(await sectionsOf(), 1);

    await page.getByRole('button', { name: 'Delete the section' }).click();
    await dialog.getByRole('button', { name: 'Delete the section' }).click();
    await dialog.waitFor({ state: 'detached' });
    await eventually(async () => assert.equal(await sectionsOf(), 0));
    assert.deepEqual(await textsOf(id), ['Minor?', 'Drinks?']);
    await page.context().close();
  });

  it('counts for the places of others until it is gone', async () => {
    const { id } = await admin.create('/surveys', { title: `Places ${randomUUID()}` });
    for (const text of ['Q1', 'Q2', 'Q3', 'Q4', 'Q5'])
      await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build` });
    await keepMessages(page);
    const outline = page.getByRole('list', { name: 'Outline' });
    const row = (text: string) => outline.getByRole('button', { name: new RegExp(`${text}$`) });
    await row('Q1').focus();
    await page.keyboard.press('Delete');
    await row('Q1').waitFor({ state: 'detached' });
    await row('Q5').focus();
    const moved = page.waitForResponse((reply) => reply.request().method() === 'PUT');
    await page.keyboard.press('Alt+ArrowUp');
    await moved;
    assert.deepEqual(await textsOf(id), ['Q1', 'Q2', 'Q3', 'Q5', 'Q4']);
    await row('Q3').click();
    await page.keyboard.press('a');
    await page.getByRole('menuitem', { name: 'Multiple choice' }).click();
    await row('New question').waitFor();
    assert.deepEqual(await textsOf(id), ['Q1', 'Q2', 'Q3', 'New question', 'Q5', 'Q4']);
    await page.getByRole('button', { name: 'Undo' }).click();
    await row('Q1').waitFor();
    assert.deepEqual(await textsOf(id), ['Q1', 'Q2', 'Q3', 'New question', 'Q5', 'Q4']);
    await page.context().close();
  });

  it('is forgotten when its survey is deleted', async () => {
    const { id, title, page } = await deleted();
    const calls: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'DELETE') calls.push(new URL(request.url()).pathname);
    });
    await page.getByRole('link', { name: 'Settings', exact: true }).click();
    await page.getByRole('button', { name: 'Delete the survey' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete the survey' }).click();
    await page.getByText(`“${title}” is deleted.`).waitFor();
    await page.getByText('“Deleted?” is deleted.').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'admin@localhost' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Surveys' }).waitFor();
    assert.deepEqual(calls, [`/api/v1/surveys/${id}`]);
    await page.context().close();
  });

  it('is gone for whoever signs out after somebody else has deleted it', async () => {
    const { id, page } = await deleted();
    const [, { id: questionId }] = (await admin.get(`/surveys/${id}`)).questions;
    await admin.remove(`/surveys/${id}/questions/${questionId}`);
    await page.getByRole('button', { name: 'admin@localhost' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Surveys' }).waitFor();
    assert.equal(await page.getByText('“Deleted?” was not deleted.').count(), 0);
    browser.forgive(/status of 404/);
    await page.context().close();
  });

  it('is gone although the page is left right before its token would be renewed', async () => {
    const { id } = await admin.create('/surveys', { title: 'Left at once' });
    await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Kept?' });
    const question = await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Deleted?' });
    const page = await browser.open({ viewport: { width: 1440, height: 900 } });
    let endMs = 0;
    await page.route('**/auth/login', async (route) => {
      const response = await route.fetch();
      const { data } = await response.json();
      endMs = Date.now() + data.expiresIn * 1000;
      await route.fulfill({ response });
    });
    await page.goto(`${service.origin}/sign-in?next=/surveys/${id}/build?item=${question.id}`);
    await fillSignIn(page);
    await page.getByRole('heading', { name: 'Question 2' }).waitFor();
    await keepMessages(page);
    await page.getByRole('button', { name: 'Delete the question' }).click();
    await page.getByText('“Deleted?” is deleted.').waitFor();
    await page.evaluate(`Date.now = () => ${endMs - 15_000}; location.href = 'about:blank'`);
    await eventually(async () => assert.deepEqual(await textsOf(id), ['Kept?']));
    await page.context().close();
  });

  it('leaves the focus on the next question', async () => {
    const { id } = await admin.create('/surveys', { title: 'By keys' });
    for (const text of ['A', 'B', 'C']) await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build` });
    const row = (text: string) =>
      page.getByRole('list', { name: 'Outline' }).getByRole('button', { name: new RegExp(`${text}$`) });
    await row('A').focus();
    await page.keyboard.press('Delete');
    await row('A').waitFor({ state: 'detached' });
    await row('B').and(page.locator(':focus')).waitFor();
    await page.getByRole('button', { name: 'Delete the question' }).focus();
    await page.keyboard.press('Enter');
    await row('B').waitFor({ state: 'detached' });
    await row('C').and(page.locator(':focus')).waitFor();
    await page.context().close();
  });
});
