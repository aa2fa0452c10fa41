import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, goTo, keepMessages, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import { makeInvitations } from '../support/invitations.ts';
import { publishedSurvey } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

/** The button of the menu itself, not the one that stands in for it while it is being loaded. */
const menuButton = (page: Page, title: string) =>
  page.getByRole('button', { name: `Actions of ${title}` }).and(page.locator('[aria-haspopup]'));

describe('messages of the console', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const messages = (page: Page) => page.getByRole('status', { name: 'Messages' });
  const assertInside = async (page: Page, part: Locator) => {
    const { x, y, width, height } = (await part.boundingBox()) ?? assert.fail('it is not shown');
    const window = page.viewportSize() ?? assert.fail('the window has no size');
    const isInside = x >= 0 && y >= 0 && x + width <= window.width && y + height <= window.height;
    assert.ok(isInside, `${JSON.stringify({ x, y, width, height })} of ${JSON.stringify(window)}`);
  };

  it('keep their buttons inside the window, however long the title of a survey is', async () => {
    const title = 'W'.repeat(200);
    const { id } = await admin.create('/surveys', { title });
    const page = await signedInPage(browser, service, { path: `/surveys?search=${title}` });
    await keepMessages(page);
    await page.getByRole('button', { name: `Actions of ${title}` }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    const undo = messages(page).getByRole('button', { name: 'Undo' });
    await undo.waitFor();
    await assertInside(page, undo);
    await undo.click();
    await page.getByRole('link', { name: title }).waitFor();
    await admin.remove(`/surveys/${id}`);
    await page.context().close();
  });

  it('keep their buttons inside a small window, however long the text of a question is', async () => {
    const { id } = await admin.create('/surveys', { title: 'A long question' });
    const text = 'Why do you think so? '.repeat(90);
    const question = await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text });
    const viewport = { width: 360, height: 640 };
    const page = await signedInPage(browser, service, {
      path: `/surveys/${id}/build?item=${question.id}`,
      viewport,
    });
    await keepMessages(page);
    await page.getByRole('button', { name: 'Delete the question' }).click();
    const undo = messages(page).getByRole('button', { name: 'Undo' });
    await undo.waitFor();
    await assertInside(page, undo);
    await assertInside(page, messages(page));
    await undo.click();
    await undo.waitFor({ state: 'detached' });
    assert.equal((await admin.get(`/surveys/${id}`)).questions.length, 1);
    await page.context().close();
  });

  it('can be read and closed while a dialog is open, which stays', async () => {
    const { id } = await admin.create('/surveys', { title: 'For members' });
    await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'Coming?' });
    await admin.post(`/surveys/${id}/publish`);
    const collector = await admin.create(`/surveys/${id}/collectors`, { name: 'Members', kind: 'INVITATION' });
    await makeInvitations(service, admin, collector.id, [{ reference: 'anna' }]);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/publish` });
    const held = await holdCalls(page, `**/collectors/${collector.id}`, {
      answer: async (route, isReleased) => {
        await isReleased;
        await route.fulfill({ status: 503, json: { code: 'SERVICE_UNAVAILABLE' } });
      },
    });
    for (const action of ['Pause', 'Invitations']) {
      await page.getByRole('button', { name: 'Actions of Members' }).click();
      await page.getByRole('menuitem', { name: action }).click();
    }
    const dialog = page.getByRole('dialog', { name: 'Invitations of “Members”' });
    await dialog.getByText('anna').waitFor();
    held.release();
    const refusal = messages(page).getByText('Part of the service is away at the moment.');
    await refusal.waitFor();
    await assertAccessible(page);
    await messages(page).getByRole('button', { name: 'Close' }).click();
    await refusal.waitFor({ state: 'detached' });
    // React Aria gives the focus back to the dialog in a later frame.
    await dialog.and(page.locator(':focus, :focus-within')).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    browser.forgive(/status of 503/);
    await page.context().close();
  });

  it('say at once that something in a form is to be corrected, as the form itself has found', async () => {
    const page = await signedInPage(browser, service);
    await page.getByRole('button', { name: 'New survey' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'New survey' });
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await dialog.getByRole('alert').filter({ hasText: 'Please correct what is marked.' }).waitFor();
    await dialog.getByText('Please enter a title.').waitFor();
    await assertAccessible(page);
    await dialog.getByLabel('Title').fill('With a title');
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await page.waitForURL(/\/build/);
    await page.context().close();
  });

  it('stay as long as they can be undone, however many follow, and can be scrolled in a low window', async () => {
    const { id } = await admin.create('/surveys', { title: 'Many deletions' });
    const texts = Array.from({ length: 6 }, (_, index) => `Question ${index + 1}?`);
    for (const text of texts) await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build` });
    await keepMessages(page);
    const outline = page.getByRole('list', { name: 'Outline' });
    for (const text of texts) {
      await outline.getByText(text).click();
      await page.keyboard.press('Delete');
      await messages(page).getByText(`“${text}” is deleted.`).waitFor();
    }
    const undo = messages(page).getByRole('button', { name: 'Undo' });
    assert.equal(await undo.count(), texts.length);
    await page.setViewportSize({ width: 1440, height: 240 });
    await assertInside(page, messages(page));
    await assertAccessible(page);
    const close = messages(page).getByRole('button', { name: 'Close' });
    await messages(page).evaluate((list) => list.scrollTo({ top: 0 }));
    await close.last().dispatchEvent('click');
    await eventually(async () => assert.equal(await close.count(), texts.length - 1));
    assert.equal(await messages(page).evaluate((list) => list.scrollTop), 0);
    await undo.first().focus();
    await assertInside(page, undo.first());
    await page.keyboard.press('Enter');
    await outline.getByText('Question 1?').waitFor();
    assert.equal(await undo.count(), texts.length - 2);
    await page.context().close();
  });

  it('stay while the focus or the pointer is in them, and the survey that can be brought back is not deleted', async () => {
    const list = `Slowly ${randomUUID().slice(0, 8)}`;
    const [first, second] = [`${list} 1`, `${list} 2`];
    const { id } = await admin.create('/surveys', { title: first });
    await admin.create('/surveys', { title: second });
    const page = await signedInPage(browser, service, { path: '/account' });
    await page.clock.install();
    await goTo(page, `/surveys?search=${list}&sort=title`);
    await menuButton(page, first).press('Enter');
    await page.getByRole('menuitem', { name: 'Delete' }).press('Enter');
    await page.locator('[role=row]:focus', { hasText: second }).waitFor();
    const undo = page.getByRole('button', { name: 'Undo' });
    await undo.focus();
    await page.clock.fastForward(60_000);
    await undo.press('Enter');
    await page.getByRole('link', { name: first }).waitFor();
    await page.locator('#content:focus').waitFor();
    assert.equal((await admin.get(`/surveys/${id}`)).title, first);

    await page.getByRole('button', { name: `Actions of ${first}` }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await undo.hover();
    await page.clock.fastForward(60_000);
    assert.equal((await admin.get(`/surveys/${id}`)).title, first);
    await page.mouse.move(0, 0);
    await page.clock.fastForward(60_000);
    await undo.waitFor({ state: 'detached' });
    await eventually(async () => assert.equal((await admin.call('GET', `/surveys/${id}`)).status, 404));
    await page.context().close();
  });

  it('offer to bring back a survey with responses too, which is deleted after a question', async () => {
    const title = `Answered ${randomUUID()}`;
    const { id } = await publishedSurvey(admin, { title }, [{ type: 'YES_NO', text: 'Again?' }]);
    for (let count = 1; count <= 2; count += 1) assert.equal((await admin.submit(id, { answers: [] })).status, 201);
    await eventually(async () => assert.equal((await admin.get(`/surveys/${id}`)).responseCount, 2));
    const page = await signedInPage(browser, service, { path: `/surveys?search=${title}` });
    await keepMessages(page);
    await menuButton(page, title).press('Enter');
    await page.getByRole('menuitem', { name: 'Delete' }).press('Enter');
    const dialog = page.getByRole('alertdialog', { name: `Delete “${title}”?` });
    await dialog.getByText('Its 2 responses are deleted with it.').waitFor();
    await page.getByRole('link', { name: title, includeHidden: true }).waitFor();
    await dialog.getByRole('button', { name: 'Delete the survey' }).press('Enter');
    await page.getByRole('heading', { name: 'No survey fits' }).waitFor();
    await page.locator('#content:focus').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('link', { name: title }).waitFor();
    await page.context().close();
  });
});
