import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { newConsoleUser, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('what the service shows only once', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const open = (at: { path?: string } = {}) =>
    signedInPage(browser, service, { permissions: ['clipboard-read', 'clipboard-write'], ...at });

  /** Beside the list, whose surveys other files of the worker may have named so. */
  const follow = (page: Page, name: string) =>
    page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name, exact: true }).click();

  const backLeadsNowhere = async (page: Page) => {
    await page.evaluate(`{
      globalThis.moves = 0;
      onpopstate = () => (moves += 1);
      history.back();
    }`);
    await eventually(async () => assert.equal(await page.evaluate('moves'), 2, 'away, and back again'));
  };

  /** Back leads nowhere while the service has not replied to what `send` sends. */
  const staysWhile = async (page: Page, calls: string, send: () => Promise<unknown>) => {
    const held = await holdCalls(page, calls, { times: 1 });
    const sent = page.waitForRequest(calls);
    await send();
    await sent;
    await backLeadsNowhere(page);
    held.release();
  };

  /** The dialog stays through Back and a reload that is not confirmed, and after `take` Back leaves the view. */
  const staysUntil = async (page: Page, dialog: Locator, take: () => Promise<unknown>) => {
    await dialog.waitFor();
    const address = page.url();
    const asked = page.waitForEvent('dialog');
    void page.reload().catch(() => undefined);
    const question = await asked;
    assert.equal(question.type(), 'beforeunload');
    await question.dismiss();
    await backLeadsNowhere(page);
    assert.deepEqual([page.url(), await dialog.count()], [address, 1]);
    await take();
    await page.goBack();
    await dialog.waitFor({ state: 'detached' });
    assert.notEqual(page.url(), address);
    await page.context().close();
  };

  it('is an API key: it stays until it is copied', async () => {
    const page = await open();
    await follow(page, 'Keys');
    await page.getByRole('button', { name: 'New key' }).first().click();
    await page.getByRole('dialog').getByLabel('Name').fill('Once');
    await page.getByRole('button', { name: 'Create the key' }).click();
    const dialog = page.getByRole('dialog', { name: 'The key “Once”' });
    await staysUntil(page, dialog, async () => {
      await dialog.getByRole('button', { name: 'Copy' }).first().click();
      await dialog.getByRole('button', { name: 'Copied' }).waitFor();
    });
  });

  it('is the secret of a webhook: it stays until it is dismissed', async () => {
    const page = await open();
    await follow(page, 'Webhooks');
    await page.getByRole('button', { name: 'New webhook' }).first().click();
    await page.getByRole('dialog').getByLabel('Address').fill('https://example.org/hook');
    await page.getByRole('button', { name: 'Create the webhook' }).click();
    const dialog = page.getByRole('dialog', { name: 'The signing secret' });
    await staysUntil(page, dialog, () => dialog.getByRole('button', { name: 'Done' }).click());
  });

  it('are the links of invitations: they stay until they are downloaded', async () => {
    const { id } = await admin.create('/surveys', { title: 'By invitation' });
    await admin.create(`/surveys/${id}/collectors`, { name: 'Panel', kind: 'INVITATION' });
    const page = await open({ path: `/surveys/${id}` });
    await page.getByRole('link', { name: 'Publish' }).click();
    await page.getByRole('button', { name: 'Actions of Panel' }).click();
    await page.getByRole('menuitem', { name: 'Invitations' }).click();
    const dialog = page.getByRole('dialog', { name: 'Invitations of “Panel”' });
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await dialog.getByText(/^10 invitations are made\./).waitFor();
    await staysUntil(page, dialog, () => dialog.getByRole('button', { name: 'Download the links' }).click());
  });

  it('is the secret that replaces one: it is waited for, and stays until it is dismissed', async () => {
    const url = `https://example.org/${randomUUID()}`;
    await admin.create('/webhooks', { url, events: ['survey.published'] });
    const page = await open();
    await follow(page, 'Webhooks');
    await page.getByRole('link', { name: url }).click();
    await page.getByRole('button', { name: 'Actions of the webhook' }).click();
    await page.getByRole('menuitem', { name: 'Replace the secret…' }).click();
    const asking = page.getByRole('alertdialog', { name: 'Replace the secret?' });
    await staysWhile(page, '**/rotate-secret', () => asking.getByRole('button', { name: 'Replace' }).click());
    const dialog = page.getByRole('dialog', { name: 'The signing secret' });
    await staysUntil(page, dialog, () => dialog.getByRole('button', { name: 'Done' }).click());
  });

  it('is the password of a new user: it is waited for, and stays until it is handed over', async () => {
    const page = await open();
    await follow(page, 'People');
    await page.getByRole('button', { name: 'New user' }).click();
    await page.getByRole('dialog').getByLabel('E-mail').fill(`${randomUUID()}@example.org`);
    await staysWhile(page, '**/api/v1/users', () => page.getByRole('button', { name: 'Create the user' }).click());
    const dialog = page.getByRole('dialog', { name: 'The user is made' });
    await staysUntil(page, dialog, () => dialog.getByRole('button', { name: 'Done' }).click());
  });

  it('is a password that is set: it is waited for, and stays until it is handed over', async () => {
    const { email } = await newConsoleUser(service, admin, 'VIEWER');
    const page = await open();
    await follow(page, 'People');
    await page.getByRole('button', { name: `Actions of ${email}` }).click();
    await page.getByRole('menuitem', { name: 'Set a password' }).click();
    await staysWhile(page, '**/api/v1/users/*', () => page.getByRole('button', { name: 'Set the password' }).click());
    const dialog = page.getByRole('dialog', { name: 'The password is set' });
    await staysUntil(page, dialog, () => dialog.getByRole('button', { name: 'Done' }).click());
  });
});
