import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import { type Client, createClient } from '../support/client.ts';
import { assertAccessible, fillSignIn, keyTitles, newConsoleUser, signedInPage } from '../support/console.ts';
import { holdNextCall } from '../support/held-calls.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

/** The text that is shown once below a label. */
const secretOf = async (page: Page, label: string) =>
  (await page.getByText(label, { exact: true }).locator('xpath=..').locator('code').textContent()) ?? '';

describe('people and keys', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const act = async (page: Page, email: string, action: string | RegExp) => {
    await page.getByRole('button', { name: `Actions of ${email}` }).click();
    await page.getByRole('menuitem', { name: action }).click();
  };

  it('makes a user, who can sign in with what was handed over', async () => {
    const page = await signedInPage(browser, service, { path: '/people' });
    await page.getByRole('table', { name: 'Users' }).waitFor();
    await assertAccessible(page);
    await page.keyboard.press('n');
    const dialog = page.getByRole('dialog', { name: 'New user' });
    await dialog.getByRole('button', { name: 'Create the user' }).click();
    await dialog.getByText('Please enter an address.').waitFor();
    await dialog.getByLabel('E-mail').fill('ada@example.org');
    await dialog.getByRole('radio', { name: /VIEWER/ }).check({ force: true });
    await assertAccessible(page);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'The user is made' }).waitFor();
    await assertAccessible(page);
    const password = await secretOf(page, 'First password');
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('row', { name: /ada@example.org VIEWER/ }).waitFor();

    const hers = await browser.open();
    await hers.goto(`${service.origin}/sign-in`);
    await fillSignIn(hers, { email: 'ada@example.org', password });
    await hers.getByRole('heading', { name: 'Choose a password of your own' }).waitFor();
  });

  it('says which field the service refuses, and keeps what was typed', async () => {
    const page = await signedInPage(browser, service, { path: '/people' });
    await page.getByRole('button', { name: 'New user' }).click();
    const dialog = page.getByRole('dialog', { name: 'New user' });
    await dialog.getByLabel('E-mail').fill('nobody');
    await dialog.getByLabel('First password').fill('password');
    await page.keyboard.press('Enter');
    await dialog.getByText('Must be a valid e-mail address.').waitFor();
    await dialog.getByText('Is one of the most common passwords.').waitFor();
    assert.equal(await dialog.getByLabel('E-mail').inputValue(), 'nobody');
    browser.forgive(/status of 400/);
  });

  it('changes a role, disables, enables and deletes', async () => {
    // The list begins with the latest users, and other tests have made more of them than a page shows.
    const me = await newConsoleUser(service, admin, 'ADMIN');
    const { id, email, password } = await newConsoleUser(service, admin, 'EDITOR');
    const page = await signedInPage(browser, service, { path: '/people', as: me });
    await act(page, email, /Change/);
    await page.getByRole('radio', { name: /VIEWER/ }).check({ force: true });
    await page.getByRole('textbox', { name: 'API calls a minute' }).fill('120');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: new RegExp(`${email} VIEWER`) }).waitFor();
    assert.equal((await admin.get(`/users/${id}`)).apiKeyRequestsPerMinute, 120);

    await act(page, email, /Disable/);
    await page.getByText('what happens until the user is enabled again is not sent later').waitFor();
    await page.getByRole('button', { name: 'Disable the user' }).click();
    await page.getByRole('row', { name: new RegExp(`${email} VIEWER Disabled`) }).waitFor();
    const login = { body: { email, password } };
    assert.equal((await createClient(service).call('POST', '/auth/login', login)).status, 401);
    await act(page, email, 'Enable');
    await page.getByRole('row', { name: new RegExp(`${email} VIEWER Active`) }).waitFor();

    await act(page, email, /Set a password/);
    await page.getByRole('button', { name: 'Set the password' }).click();
    const given = await secretOf(page, 'First password');
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('row', { name: new RegExp(`${email} VIEWER Given password`) }).waitFor();
    await createClient(service).post('/auth/login', { email, password: given });

    await act(page, email, /Delete/);
    await page.getByRole('button', { name: 'Delete the user' }).click();
    await page.getByRole('row', { name: new RegExp(email) }).waitFor({ state: 'detached' });
    assert.equal((await admin.call('GET', `/users/${id}`)).status, 404);
    await page.getByRole('button', { name: `Actions of ${me.email}` }).click();
    assert.equal(await page.getByRole('menuitem', { name: /Delete/ }).getAttribute('aria-disabled'), 'true');
  });

  it('lists nobody any more who was deleted elsewhere, once that is noticed', async () => {
    const me = await newConsoleUser(service, admin, 'ADMIN');
    const { id, email } = await newConsoleUser(service, admin, 'EDITOR');
    const page = await signedInPage(browser, service, { path: '/people', as: me });
    await act(page, email, /Delete/);
    await admin.remove(`/users/${id}`);
    await page.getByRole('button', { name: 'Delete the user' }).click();
    const dialog = page.getByRole('alertdialog', { name: `Delete ${email}?` });
    await dialog.getByText('This is not there any more').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('row', { name: new RegExp(email) }).waitFor({ state: 'detached' });
    browser.forgive(/status of 404/);
    await page.context().close();
  });

  it('shows the secret of a key once, and revokes it', async () => {
    const editor = await newConsoleUser(service, admin, 'EDITOR');
    const page = await signedInPage(browser, service, { path: '/keys', as: editor });
    await page.getByRole('heading', { name: 'No API keys' }).waitFor();
    await assertAccessible(page);
    await page.keyboard.press('n');
    const dialog = page.getByRole('dialog', { name: 'New API key' });
    assert.equal(await dialog.getByRole('radio', { name: /ADMIN/ }).count(), 0, 'no role above that of the user');
    await dialog.getByLabel('Name').fill('Nightly import');
    await dialog.getByRole('radio', { name: /VIEWER/ }).check({ force: true });
    await assertAccessible(page);
    await dialog.getByRole('button', { name: 'Create the key' }).click();
    await page.getByRole('dialog', { name: 'The key “Nightly import”' }).waitFor();
    const key = await secretOf(page, 'Key');
    assert.equal((await createClient(service, key).get('/auth/me')).role, 'VIEWER');
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('row', { name: /Nightly import/ }).waitFor();
    await assertAccessible(page);
    await page.reload();
    await page.getByRole('row', { name: /Nightly import/ }).waitFor();
    assert.doesNotMatch(await page.content(), new RegExp(key), 'the secret is shown no more');

    await page.getByRole('button', { name: 'Revoke Nightly import' }).click();
    await page.getByRole('button', { name: 'Revoke the key' }).click();
    await page.getByRole('heading', { name: 'No API keys' }).waitFor();
    assert.equal((await createClient(service, key).call('GET', '/auth/me')).status, 401);
  });

  it('shows the secret of a key though it is double-clicked, and cannot be closed while it is made', async () => {
    const editor = await newConsoleUser(service, admin, 'EDITOR');
    const page = await signedInPage(browser, service, { path: '/keys', as: editor });
    await page.getByRole('button', { name: 'New key' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'New API key' });
    await dialog.getByLabel('Name').fill('Once');
    const create = dialog.getByRole('button', { name: 'Create the key' });
    await page.route('**/api/v1/api-keys', (route) => route.fulfill({ status: 503, body: '{}' }), { times: 1 });
    await create.click();
    await dialog.getByRole('alert').waitFor();
    const held = await holdNextCall(page, '**/api/v1/api-keys');
    await create.dblclick();
    const route = await held.made();
    await page.keyboard.press('Escape');
    await page.mouse.click(5, 5);
    assert.ok(await dialog.getByRole('button', { name: 'Cancel' }).isDisabled());
    await route.continue();
    await page.getByRole('dialog', { name: 'The key “Once”' }).waitFor();
    assert.equal((await editor.client.get('/api-keys')).length, 1);
    browser.forgive(/status of 503/);
  });

  it('keeps the form of a key over the end of the session', async () => {
    const editor = await newConsoleUser(service, admin, 'EDITOR');
    const page = await signedInPage(browser, service, { path: '/keys', as: editor });
    await page.getByRole('button', { name: 'New key' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'New API key' });
    await dialog.getByLabel('Name').fill('Typed before the end');
    await editor.client.call('POST', '/auth/logout', { body: { everywhere: true } });
    await dialog.getByRole('button', { name: 'Create the key' }).click();
    const again = page.getByRole('dialog', { name: 'Your session has ended' });
    await again.getByLabel('Password').fill(editor.password);
    await again.getByRole('button', { name: 'Sign in' }).click();
    await again.waitFor({ state: 'detached' });
    assert.equal(await dialog.getByLabel('Name').inputValue(), 'Typed before the end');
    await dialog.getByRole('button', { name: 'Create the key' }).click();
    await page.getByRole('dialog', { name: 'The key “Typed before the end”' }).waitFor();
    browser.forgive(/status of 401/);
  });

  it('shows users to an ADMIN alone, and lets a VIEWER make no key', async () => {
    const viewer = await newConsoleUser(service, admin, 'VIEWER');
    const page = await signedInPage(browser, service, { path: '/keys', as: viewer });
    await page.getByText('Keys are made by users with the role EDITOR or ADMIN.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'New key' }).count(), 0);
    assert.equal(await page.getByRole('link', { name: 'People' }).count(), 0);
    assert.equal((await keyTitles(page)).includes('New key'), false);
    await page.goto(`${service.origin}/people`);
    await page.getByText('You do not have the right to do this.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'New user' }).count(), 0);
    await assertAccessible(page);
    assert.equal((await keyTitles(page)).includes('New user'), false);
    browser.forgive(/status of 403/);
  });

  it('shows the own address in the menu as soon as it is changed', async () => {
    const user = await newConsoleUser(service, admin, 'ADMIN');
    const page = await signedInPage(browser, service, { path: '/people', as: user });
    const email = `renamed-${randomUUID()}@example.org`;
    await page.getByRole('button', { name: `Actions of ${user.email}` }).click();
    await page.getByRole('menuitem', { name: /Change|Edit/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('E-mail').fill(email);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: email, exact: true }).waitFor();
    await page.context().close();
  });
});
