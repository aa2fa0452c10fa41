import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, goTo, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

const questionCalls = '**/api/v1/surveys/questions/*';

describe('two editors of one survey', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const textOf = (page: Page) => page.getByRole('textbox', { name: 'Text', exact: true });
  const outlineOf = (page: Page) => page.getByRole('list', { name: 'Outline' });
  const saved = (page: Page) => page.getByRole('status').filter({ hasText: 'Saved' }).waitFor();
  const stored = async (id: string) => (await admin.get(`/surveys/${id}`)).questions[0];

  /** A survey of one question, open in two browsers. */
  const openTwice = async () => {
    const { id } = await admin.create('/surveys', { title: 'Together' });
    await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'Your name?' });
    const path = `/surveys/${id}/build`;
    const [one, other] = [
      await signedInPage(browser, service, { path }),
      await signedInPage(browser, service, { path }),
    ];
    for (const page of [one, other]) await textOf(page).waitFor();
    return { id, one, other };
  };

  /** Keeps the saves of a page back; the function that it gives lets them go. */
  const holdSaves = async (page: Page): Promise<() => Promise<void>> => {
    const held = await holdCalls(page, questionCalls);
    return async () => {
      await eventually(() => assert.ok(held.count() > 0));
      held.release();
    };
  };

  /** The same, where both have changed the text, and the other one the description besides. */
  const openInConflict = async () => {
    const { id, one, other } = await openTwice();
    const release = await holdSaves(other);
    await textOf(other).fill('Asked by the other?');
    await other.getByRole('textbox', { name: 'Description' }).fill('As in your passport');
    await textOf(one).fill('Asked by one?');
    await saved(one);
    await release();
    const conflict = other.getByRole('alert', { name: 'Conflict' });
    await conflict.getByText('Asked by one?').waitFor();
    const wordingIs = (wanted: { text: string; description: string }) =>
      eventually(async () => {
        const { text, description } = await stored(id);
        assert.deepEqual({ text, description }, wanted);
      });
    return { one, other, conflict, wordingIs };
  };

  it('see what the other changes, adds and deletes', async () => {
    const { one, other } = await openTwice();
    await textOf(one).fill('Your full name?');
    await outlineOf(other).getByText('Your full name?').waitFor();
    assert.equal(await textOf(other).inputValue(), 'Your full name?');
    await other.keyboard.press('a');
    await other.getByRole('menuitem', { name: 'Long text' }).click();
    await outlineOf(one).getByText('New question').waitFor();
    // Its own author may see it later than the other.
    await other.getByRole('heading', { name: 'Question 2', exact: true }).waitFor();
    await other.getByRole('button', { name: 'Delete the question' }).click();
    await other.getByRole('status', { name: 'Messages' }).getByRole('button', { name: 'Close' }).click();
    await outlineOf(one).getByText('New question').waitFor({ state: 'detached' });
    await one.context().close();
    await other.context().close();
  });

  it('are shown a conflict, and none overwrites the other', async () => {
    const { id, one, other } = await openTwice();
    const release = await holdSaves(other);
    await textOf(other).fill('Asked by the other?');
    await textOf(one).fill('Asked by one?');
    await saved(one);
    assert.equal((await stored(id)).text, 'Asked by one?');
    await release();
    const conflict = other.getByRole('alert', { name: 'Conflict' });
    await conflict.getByText('Asked by one?').waitFor();
    await conflict.getByText('Asked by the other?').waitFor();
    await assertAccessible(other);
    assert.equal((await stored(id)).text, 'Asked by one?');
    assert.equal(await textOf(other).inputValue(), 'Asked by the other?');
    await conflict.getByRole('button', { name: 'Keep mine' }).click();
    await eventually(async () => assert.equal((await stored(id)).text, 'Asked by the other?'));
    await outlineOf(one).getByText('Asked by the other?').waitFor();
    browser.forgive(/status of 409/);
    await one.context().close();
    await other.context().close();
  });

  it('keep the text that they type back to what it was, over what somebody else has stored meanwhile', async () => {
    const { one, other, conflict, wordingIs } = await openInConflict();
    await textOf(other).fill('Your name?');
    await conflict.getByText('Your name?').waitFor();
    await conflict.getByRole('button', { name: 'Keep mine' }).click();
    await wordingIs({ text: 'Your name?', description: 'As in your passport' });
    await saved(other);
    browser.forgive(/status of 409/);
    await one.context().close();
    await other.context().close();
  });

  it('have no conflict any more where one types what the other has stored', async () => {
    const { one, other, conflict, wordingIs } = await openInConflict();
    await textOf(other).fill('Asked by one?');
    await conflict.waitFor({ state: 'detached' });
    await wordingIs({ text: 'Asked by one?', description: 'As in your passport' });
    browser.forgive(/status of 409/);
    await one.context().close();
    await other.context().close();
  });

  it('change different fields of a question at once, and both count', async () => {
    const { id, one, other } = await openTwice();
    const release = await holdSaves(other);
    await other.getByRole('textbox', { name: 'Description' }).fill('As in your passport');
    await textOf(one).fill('Your whole name?');
    await saved(one);
    await release();
    await eventually(async () => {
      const { text, description } = await stored(id);
      assert.deepEqual({ text, description }, { text: 'Your whole name?', description: 'As in your passport' });
    });
    assert.equal(await other.getByRole('alert', { name: 'Conflict' }).count(), 0);
    browser.forgive(/status of 409/);
    await one.context().close();
    await other.context().close();
  });

  /**
   * A page on the second of two questions, the focus in its text; `remove` deletes it as somebody else does, of which the
   * page is told unless `isTold` is false.
   */
  const openToDelete = async ({ isTold = true } = {}) => {
    const { id } = await admin.create('/surveys', { title: 'Deleted meanwhile' });
    await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'Your name?' });
    const { id: gone } = await admin.create(`/surveys/${id}/questions`, { type: 'LONG_TEXT', text: 'Your story?' });
    const page = await signedInPage(browser, service);
    if (!isTold) await page.routeWebSocket(/\/api\/v1\/live/, () => undefined);
    await goTo(page, `/surveys/${id}/build?item=${gone}`);
    await textOf(page).focus();
    const remove = async () => {
      const { status } = await admin.call('DELETE', `/surveys/${id}/questions/${gone}`);
      assert.equal(status, 200);
    };
    return { id, page, remove };
  };
  const deletedDialog = (page: Page) =>
    page.getByRole('alertdialog', { name: 'Somebody else has deleted this question' });

  /** The rest of what is being typed is no command, and the dialog leaves nothing unsaved behind. */
  const typesOnAndCloses = async (page: Page, id: string) => {
    await page.keyboard.type('a long');
    await page.keyboard.press('Escape');
    assert.equal(await page.getByRole('menu').count(), 0);
    await deletedDialog(page).getByRole('button', { name: 'Close' }).click();
    await deletedDialog(page).waitFor({ state: 'detached' });
    await saved(page);
    assert.equal((await admin.get(`/surveys/${id}`)).questions.length, 1);
    await page.context().close();
  };

  it('keep what they type in a question that somebody else deletes', async () => {
    const { id, page, remove } = await openToDelete();
    const release = await holdSaves(page);
    const saving = page.waitForRequest(questionCalls);
    await textOf(page).fill('Your story so far?');
    await saving;
    await remove();
    await deletedDialog(page).getByText('Your story so far?').waitFor();
    await assertAccessible(page);
    await release();
    await typesOnAndCloses(page, id);
    browser.forgive(/status of 404/);
  });

  it('are told of the deletion where the service refuses what they typed, and where nothing is unsaved', async () => {
    const refused = await openToDelete({ isTold: false });
    const release = await holdSaves(refused.page);
    await textOf(refused.page).fill('Your story so far?');
    await refused.remove();
    await release();
    await deletedDialog(refused.page).getByText('Your story so far?').waitFor();
    await typesOnAndCloses(refused.page, refused.id);
    browser.forgive(/status of 404/);

    const unchanged = await openToDelete();
    await unchanged.remove();
    await deletedDialog(unchanged.page).getByText('Your story?').waitFor();
    await typesOnAndCloses(unchanged.page, unchanged.id);
  });

  it('see the kinds of files that the other has stored, and keep them', async () => {
    const { id } = await admin.create('/surveys', { title: 'Files' });
    const settings = { mimeTypes: ['image/png'] };
    const file = await admin.create(`/surveys/${id}/questions`, { type: 'FILE_UPLOAD', text: 'Which file?', settings });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${file.id}` });
    const kinds = page.getByRole('textbox', { name: 'Kinds of files' });
    const shows = (value: string) => eventually(async () => assert.equal(await kinds.inputValue(), value));
    await shows('image/png');
    await admin.put(`/surveys/questions/${file.id}`, { settings: { mimeTypes: ['application/pdf'] } });
    await shows('application/pdf');
    await kinds.focus();
    await page.keyboard.press('End');
    await page.keyboard.type(', image/gif');
    assert.equal(await kinds.inputValue(), 'application/pdf, image/gif');
    await eventually(async () =>
      assert.deepEqual((await stored(id)).settings.mimeTypes, ['application/pdf', 'image/gif']),
    );
    await page.keyboard.type(', ');
    await page.keyboard.type('image/png');
    assert.equal(await kinds.inputValue(), 'application/pdf, image/gif, image/png');
    await page.context().close();
  });
});
