import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import { type Client, createClient } from '../support/client.ts';
import {
  assertAccessible,
  fillSignIn,
  goTo,
  keepMessages,
  newConsoleUser,
  signedInPage,
  userPassword,
} from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('the account of the signed-in user', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const isAccepted = async (email: string, password: string) =>
    (await createClient(service).call('POST', '/auth/login', { body: { email, password } })).status === 200;

  it('asks for a password of one’s own before anything else is shown', async () => {
    const given = { email: 'new@example.org', password: 'chosen by somebody else' };
    await admin.create('/users', { ...given, role: 'EDITOR' });
    const page = await browser.open();
    await page.goto(`${service.origin}/surveys`);
    await fillSignIn(page, given);
    await page.getByRole('heading', { name: 'Choose a password of your own' }).waitFor();
    assert.equal(await page.getByRole('navigation').count(), 0, 'nothing else is shown');
    await assertAccessible(page);

    await page.getByLabel('Password that you were given').fill('not this one');
    await page.getByLabel('New password', { exact: true }).fill('short');
    await page.getByLabel('New password again').fill('other');
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByText('This is not the same.').waitFor();
    await page.getByLabel('New password', { exact: true }).fill('my own good words');
    await page.getByLabel('New password again').fill('my own good words');
    await page.keyboard.press('Enter');
    await page.getByText('Is not the current password.').waitFor();
    assert.equal(await page.getByLabel('New password again').inputValue(), 'my own good words');
    await assertAccessible(page);

    await page.getByLabel('Password that you were given').fill(given.password);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Surveys', exact: true }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Surveys', exact: true }).waitFor();
    assert.deepEqual(
      [await isAccepted(given.email, given.password), await isAccepted(given.email, 'my own good words')],
      [false, true],
    );
    browser.forgive(/status of 400/);
  });

  it('says that the session goes on where it cannot be ended while the first password is asked for', async () => {
    const given = { email: 'stays@example.org', password: 'chosen by somebody else' };
    await admin.create('/users', { ...given, role: 'EDITOR' });
    const page = await browser.open();
    await page.goto(`${service.origin}/surveys`);
    await fillSignIn(page, given);
    let isAway = true;
    await page.route('**/auth/logout', (route) =>
      isAway ? route.fulfill({ status: 503, json: { code: 'SERVICE_UNAVAILABLE' } }) : route.continue(),
    );
    const signOut = page.getByRole('button', { name: 'Sign out' });
    await signOut.click();
    await page.getByText(/You are still signed in\./).waitFor();
    await assertAccessible(page);
    isAway = false;
    await signOut.click();
    await page.getByRole('heading', { name: 'Sign in to Surveys' }).waitFor();
    browser.forgive(/status of 503/);
  });

  it('changes the password, and keeps the API keys only if asked to', async () => {
    const user = await newConsoleUser(service, admin, 'EDITOR');
    await user.client.create('/api-keys', { name: 'Nightly import', role: 'EDITOR' });
    const page = await signedInPage(browser, service, { path: '/account', as: user });
    await page.getByText('EDITOR: makes surveys').waitFor();
    await assertAccessible(page);
    await page.getByLabel('Present password').fill(userPassword);
    await page.getByLabel('New password', { exact: true }).fill('another good password');
    await page.getByLabel('New password again').fill('another good password');
    await page.getByText('Keep my API keys').click();
    await page.getByRole('button', { name: 'Change the password' }).click();
    await page.getByText('Your password is changed.').waitFor();
    assert.equal(await page.getByLabel('Present password').inputValue(), '');
    assert.equal(await isAccepted(user.email, 'another good password'), true);
    assert.equal((await user.client.call('GET', '/auth/me')).status, 401, 'other sessions have ended');
    const { accessToken } = await createClient(service).post('/auth/login', {
      email: user.email,
      password: 'another good password',
    });
    assert.equal((await createClient(service, accessToken).get('/api-keys')).length, 1);
  });

  it('signs out everywhere', async () => {
    const user = await newConsoleUser(service, admin, 'VIEWER');
    const page = await signedInPage(browser, service, { path: '/account', as: user });
    await page.getByRole('button', { name: 'Sign out everywhere' }).click();
    const dialog = page.getByRole('alertdialog', { name: 'Sign out everywhere?' });
    await assertAccessible(page);
    await dialog.getByRole('button', { name: 'Sign out everywhere' }).click();
    await page.getByRole('heading', { name: 'Sign in to Surveys' }).waitFor();
    assert.equal((await user.client.call('GET', '/auth/me')).status, 401, 'a program of the user has no session left');
  });

  it('is asked for the password where the session has ended before it is ended everywhere', async () => {
    const user = await newConsoleUser(service, admin, 'VIEWER');
    const page = await signedInPage(browser, service, { path: '/account', as: user });
    await page.getByRole('button', { name: 'Sign out everywhere' }).click();
    await user.client.post('/auth/logout', { everywhere: true });
    const dialog = page.getByRole('alertdialog', { name: 'Sign out everywhere?' });
    await dialog.getByRole('button', { name: 'Sign out everywhere' }).click();
    const again = page.getByRole('dialog', { name: 'Your session has ended' });
    await again.getByLabel('Password').fill(user.password);
    await again.getByRole('button', { name: 'Sign in' }).click();
    await again.waitFor({ state: 'detached' });
    await dialog.getByRole('button', { name: 'Sign out everywhere' }).click();
    await page.getByRole('heading', { name: 'Sign in to Surveys' }).waitFor();
    browser.forgive(/status of 401/);
  });

  it('loses nothing that was typed when the session ends', async () => {
    const user = await newConsoleUser(service, admin, 'EDITOR');
    const page = await signedInPage(browser, service, { path: '/account', as: user });
    await page.getByLabel('Present password').fill(userPassword);
    await page.getByLabel('New password', { exact: true }).fill('typed before the end');
    await page.getByLabel('New password again').fill('typed before the end');
    await user.client.post('/auth/logout', { everywhere: true });
    await page.getByRole('button', { name: 'Change the password' }).click();
    const again = page.getByRole('dialog', { name: 'Your session has ended' });
    await again.getByLabel('Password').fill(userPassword);
    await again.getByRole('button', { name: 'Sign in' }).click();
    await again.waitFor({ state: 'detached' });
    assert.equal(await page.getByLabel('New password again').inputValue(), 'typed before the end');
    await page.getByRole('button', { name: 'Change the password' }).click();
    await page.getByText('Your password is changed.').waitFor();
    browser.forgive(/status of 401/);
  });

  describe('who signs out', () => {
    /** Opens Build in the name of a new user, with one question. */
    const building = async () => {
      const user = await newConsoleUser(service, admin, 'EDITOR');
      const { id } = await user.client.create('/surveys', { title: 'Typed last' });
      const { id: question } = await user.client.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Likely?' });
      const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${question}`, as: user });
      const text = page.getByRole('textbox', { name: 'Text', exact: true });
      await text.waitFor();
      // Whoever signs out is asked after eight seconds of saving, which a loaded machine may need.
      await page.evaluate(`{
        const later = setTimeout;
        globalThis.setTimeout = (run, ms, ...rest) => later(run, ms === 8000 ? 2 ** 30 : ms, ...rest);
      }`);
      const signOut = async () => {
        await page.getByRole('button', { name: user.email }).click();
        await page.getByRole('menuitem', { name: 'Sign out' }).click();
      };
      const stored = async () => (await admin.get(`/surveys/${id}`)).questions;
      return { page, text, signOut, stored };
    };
    const isSignedOut = (page: Page) => page.getByRole('heading', { name: 'Sign in to Surveys' }).waitFor();

    it('has what was typed just before saved first, also while an earlier save is under way', async () => {
      const { page, text, signOut, stored } = await building();
      const held = await holdCalls(page, '**/surveys/questions/*', { times: 1 });
      await text.fill('How likely?');
      await eventually(() => assert.equal(held.count(), 1));
      await text.fill('How likely is it?');
      await signOut();
      await new Promise((resolve) => setTimeout(resolve, 500));
      held.release();
      await isSignedOut(page);
      assert.equal((await stored())[0].text, 'How likely is it?');
      await page.context().close();
    });

    it('is asked when something cannot be saved, and can stay', async () => {
      const { page, text, signOut, stored } = await building();
      let isAway = true;
      await page.route('**/surveys/questions/*', (route) =>
        isAway ? route.abort('connectionrefused') : route.continue(),
      );
      await text.fill('How likely?');
      await signOut();
      const dialog = page.getByRole('alertdialog', { name: 'Sign out without saving?' });
      await dialog.waitFor();
      await assertAccessible(page);
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      // Within the press: every five seconds it is tried again anyway, and once that succeeds there is no button.
      await page.getByRole('button', { name: 'Try again' }).first().hover();
      await page.mouse.down();
      isAway = false;
      await page.mouse.up();
      await eventually(async () => assert.equal((await stored())[0].text, 'How likely?'));
      await text.fill('');
      await signOut();
      await dialog.getByRole('button', { name: 'Sign out' }).click();
      await isSignedOut(page);
      browser.forgive(/ERR_CONNECTION_REFUSED/);
      await page.context().close();
    });

    it('has a question deleted for good that could still be brought back', async () => {
      const { page, signOut, stored } = await building();
      await page.getByRole('button', { name: 'Delete the question' }).click();
      await page.getByText('“Likely?” is deleted.').waitFor();
      await signOut();
      await isSignedOut(page);
      assert.deepEqual(await stored(), []);
      await page.context().close();
    });

    it('is told what cannot be saved before every session is ended', async () => {
      const { page, stored } = await building();
      await page.route('**/surveys/*/questions/*', (route) => route.fulfill({ status: 503, body: '{}' }));
      await page.getByRole('button', { name: 'Delete the question' }).click();
      await page.getByText('“Likely?” is deleted.').waitFor();
      await goTo(page, '/account');
      await page.getByRole('button', { name: 'Sign out everywhere' }).click();
      const dialog = page.getByRole('alertdialog', { name: 'Sign out everywhere?' });
      const confirm = dialog.getByRole('button', { name: 'Sign out everywhere' });
      await confirm.click();
      await dialog.getByText('You are still signed in. “Likely?” is not deleted.').waitFor();
      await assertAccessible(page);
      await confirm.click();
      await isSignedOut(page);
      assert.equal((await stored()).length, 1);
      browser.forgive(/status of 503/);
      await page.context().close();
    });

    it('is asked when a question or a survey cannot be deleted, and leaves no message to the next user', async () => {
      const user = await newConsoleUser(service, admin, 'EDITOR');
      const title = `Refused ${randomUUID()}`;
      const { id } = await user.client.create('/surveys', { title });
      const { id: other } = await user.client.create('/surveys', { title: 'With a question' });
      const { id: question } = await user.client.create(`/surveys/${other}/questions`, {
        type: 'NPS',
        text: 'Likely?',
      });
      const path = `/surveys/${other}/build?item=${question}`;
      const page = await signedInPage(browser, service, { path, as: user });
      await keepMessages(page);
      await page.route('**/api/v1/surveys/**', (route) =>
        route.request().method() === 'DELETE'
          ? route.fulfill({ status: 503, json: { code: 'SERVICE_UNAVAILABLE' } })
          : route.continue(),
      );
      await page.getByRole('button', { name: 'Delete the question' }).click();
      await page.getByText('“Likely?” is deleted.').waitFor();
      await goTo(page, `/surveys?search=${encodeURIComponent(title)}`);
      await page.getByRole('button', { name: `Actions of ${title}` }).click();
      await page.getByRole('menuitem', { name: 'Delete' }).click();
      await page.getByText(`“${title}” is deleted.`).waitFor();
      const signOut = async () => {
        await page.getByRole('button', { name: user.email }).click();
        await page.getByRole('menuitem', { name: 'Sign out' }).click();
      };
      await signOut();
      const dialog = page.getByRole('alertdialog', { name: 'Sign out without saving?' });
      for (const name of ['Likely?', title]) await dialog.getByText(`“${name}” is not deleted.`).waitFor();
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await page.getByRole('link', { name: title }).waitFor();
      await page.getByText(`“${title}” was not deleted.`).waitFor();

      await signOut();
      await isSignedOut(page);
      await fillSignIn(page, await newConsoleUser(service, admin, 'VIEWER'));
      await page.getByRole('navigation', { name: 'Console' }).waitFor();
      assert.equal(await page.getByText(title).count(), 0);
      assert.equal((await admin.get(`/surveys/${id}`)).title, title);
      assert.equal((await admin.get(`/surveys/${other}`)).questions.length, 1);
      browser.forgive(/status of 503/);
      await page.context().close();
    });
  });

  it('loses the buttons of an EDITOR with the first refusal, once the role is VIEWER', async () => {
    const user = await newConsoleUser(service, admin, 'EDITOR');
    const { id } = await user.client.create('/surveys', { title: 'Once mine' });
    const { id: question } = await user.client.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Likely?' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${question}`, as: user });
    const text = page.getByRole('textbox', { name: 'Text', exact: true });
    await text.waitFor();
    await admin.put(`/users/${user.id}`, { role: 'VIEWER' });
    await text.fill('How likely?');
    await page.getByText('You do not have the right to do this.').waitFor();
    const gone = { state: 'detached' } as const;
    await page.getByRole('link', { name: 'Webhooks' }).waitFor(gone);
    await page.getByRole('button', { name: 'Add', exact: true }).waitFor(gone);
    assert.equal(await text.inputValue(), 'How likely?', 'what was typed can be copied');
    browser.forgive(/status of 403/);
    await page.context().close();
  });

  it('does not ask about what was typed into a survey that is deleted', async () => {
    const title = `Gone ${randomUUID()}`;
    const { id } = await admin.create('/surveys', { title });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings` });
    await page.getByRole('textbox', { name: 'Closing text' }).fill('Thanks');
    await goTo(page, `/surveys?search=${encodeURIComponent(title)}`);
    await page.getByRole('button', { name: `Actions of ${title}` }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByText('is deleted.').waitFor();
    await page.getByRole('button', { name: 'admin@localhost' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Surveys' }).waitFor();
    await page.context().close();
  });

  it('does not ask about what was typed into a survey that somebody else deletes', async () => {
    const { id } = await admin.create('/surveys', { title: 'Gone elsewhere' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings` });
    await page.getByRole('textbox', { name: 'Closing text' }).fill('Thanks');
    await admin.remove(`/surveys/${id}`);
    await page.getByText('This is not there any more, or you have no right to see it.').waitFor();
    await page.getByRole('button', { name: 'admin@localhost' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Surveys' }).waitFor();
    browser.forgive(/status of 404/);
    await page.context().close();
  });

  it('is offered to undo no deletion that was carried out before signing out was called off', async () => {
    const title = `Carried out ${randomUUID()}`;
    const { id } = await admin.create('/surveys', { title });
    const { id: other } = await admin.create('/surveys', { title: `Stays ${randomUUID()}` });
    const page = await signedInPage(browser, service, { path: `/surveys/${other}/settings` });
    await keepMessages(page);
    await page.getByRole('textbox', { name: 'Closing text' }).fill('Thanks');
    await goTo(page, `/surveys?search=${encodeURIComponent(title)}`);
    await page.getByRole('button', { name: `Actions of ${title}` }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    await page.getByRole('button', { name: 'admin@localhost' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    const dialog = page.getByRole('alertdialog', { name: 'Sign out without saving?' });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.equal((await admin.call('GET', `/surveys/${id}`)).status, 404);
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0);
    await page.context().close();
  });
});
