import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, goTo, newConsoleUser, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('the audit', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const table = (page: Page) => page.getByRole('table', { name: 'Events' });
  const actions = async (page: Page) => {
    const rows = await table(page).getByRole('row').allTextContents();
    return rows.slice(1);
  };

  it('is filtered by user, action, survey and time, and the address names the filters', async () => {
    const editor = await newConsoleUser(service, admin, 'EDITOR');
    // Other tests have surveys in the same list.
    const title = `Lunch ${randomUUID()}`;
    const { id } = await editor.client.create('/surveys', { title: 'Lunch in the canteen' });
    await editor.client.put(`/surveys/${id}`, { title, retentionDays: 30 });
    await admin.create('/surveys', { title: 'Another survey' });
    const page = await signedInPage(browser, service, { path: '/audit' });
    await table(page).getByText('Survey created').first().waitFor();
    await assertAccessible(page);

    // Of however many users: the service is asked for those that fit.
    const search = page.waitForResponse((reply) => reply.url().includes(`search=${encodeURIComponent(editor.email)}`));
    await page.getByRole('combobox', { name: 'User' }).fill(editor.email);
    await search;
    await page.getByRole('option', { name: editor.email }).click();
    await page.waitForURL(new RegExp(`user=${editor.id}`));
    await page.getByRole('combobox', { name: 'Survey' }).fill(title);
    await page.getByRole('option', { name: title }).click();
    await page.waitForURL(new RegExp(`survey=${id}`));
    await eventually(async () => {
      const found = await actions(page);
      assert.equal(found.length, 2);
      assert.match(found[0] ?? '', new RegExp(`Survey changed${title}.*Fields: title, retentionDays`));
      assert.match(found[1] ?? '', new RegExp(`Survey created${title}`));
    });
    await page.getByRole('combobox', { name: 'Action' }).fill('Survey crea');
    await page.getByRole('option', { name: 'Survey created' }).click();
    await eventually(async () => assert.equal((await actions(page)).length, 1));
    await page.reload();
    await eventually(async () => assert.equal((await actions(page)).length, 1));
    await eventually(async () => {
      assert.equal(await page.getByRole('combobox', { name: 'Action' }).inputValue(), 'Survey created');
      assert.equal(await page.getByRole('combobox', { name: 'User' }).inputValue(), editor.email);
    });
    await page.getByLabel('To').fill('2020-01-01');
    await page.getByRole('heading', { name: 'No event fits' }).waitFor();
    await assertAccessible(page);
    await page.getByRole('button', { name: 'Clear the filters' }).click();
    await table(page).waitFor();
    assert.equal(new URL(page.url()).search, '');
  });

  it('shows an event in full, by keyboard', async () => {
    const { id } = await admin.create('/surveys', { title: '<img src=x onerror=alert(1)>' });
    await admin.post(`/surveys/${id}/publish`);
    const page = await signedInPage(browser, service, { path: `/audit?survey=${id}&action=survey.published` });
    await table(page).getByText('Status: DRAFT → ACTIVE').waitFor();
    await table(page).getByRole('row').nth(1).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Survey published' });
    await dialog.getByText('DRAFT → ACTIVE').waitFor();
    await dialog.getByText(id).waitFor();
    await dialog.getByRole('link', { name: '<img src=x onerror=alert(1)>' }).waitFor();
    await assertAccessible(page);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  it('does not name the service as who was refused to sign in', async () => {
    await admin.call('POST', '/auth/login', { body: { email: 'nobody@example.org', password: 'guessed' } });
    const page = await signedInPage(browser, service, { path: '/audit?action=session.refused' });
    await table(page).getByText('Session refused').first().waitFor();
    assert.match((await actions(page))[0] ?? '', /An unknown caller/);
    await page.context().close();
  });

  it('is for an ADMIN alone', async () => {
    const editor = await newConsoleUser(service, admin, 'EDITOR');
    const page = await signedInPage(browser, service, { path: '/audit', as: editor });
    await page.getByText('You do not have the right to do this.').first().waitFor();
    assert.equal(await page.getByRole('link', { name: 'Audit' }).count(), 0);
    browser.forgive(/status of 403/);
  });

  it('calls no user and no survey gone as long as their names are not known', async () => {
    const [one, other] = [
      await admin.create('/surveys', { title: `One ${randomUUID()}` }),
      await admin.create('/surveys', { title: `Other ${randomUUID()}` }),
    ];
    const page = await signedInPage(browser, service, { path: `/audit?survey=${one.id}` });
    const row = page.getByRole('table', { name: 'Events' }).getByRole('row').nth(1);
    await row.getByText(one.title).waitFor();
    const isNames = (url: URL) => /\/api\/v1\/(surveys|users)$/.test(url.pathname) && url.searchParams.has('id');
    let refusals = 0;
    const held = await holdCalls(page, isNames, {
      answer: async (route, isReleased) => {
        await isReleased;
        await route.fulfill({ status: 400, json: { code: 'VALIDATION_ERROR', message: 'not now' } });
        refusals += 1;
      },
    });
    await goTo(page, `/audit?survey=${other.id}`);
    await row.getByText(one.title).waitFor({ state: 'detached' });
    assert.match((await row.textContent()) ?? '', /Survey created…/);
    held.release();
    await eventually(() => assert.ok(refusals > 0));
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    assert.match((await row.textContent()) ?? '', /Survey created…/);
    browser.forgive(/status of 400/);
    await page.context().close();
  });
});
