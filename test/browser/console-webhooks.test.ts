import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, goTo, keyTitles, newConsoleUser, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts';

describe('the webhooks of the console', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  const receivers: Receiver[] = [];
  useBrowser((opened) => (browser = opened));
  // One retry after an hour: what fails stays so until somebody sends it again.
  useService((served) => ({ service, admin } = served), {
    env: { WEBHOOK_ALLOW_PRIVATE: 'true', WEBHOOK_RETRY_SCHEDULE_SECONDS: '3600' },
  });
  after(() => Promise.all(receivers.map((receiver) => receiver.close())));

  const receiverOf = async (answer: () => number) => {
    const receiver = await startReceiver(answer);
    receivers.push(receiver);
    return receiver;
  };
  const fromMenu = async (page: Page, item: string) => {
    await page.getByRole('button', { name: 'Actions of the webhook' }).click();
    await page.getByRole('menuitem', { name: item }).click();
  };

  it('makes an endpoint, whose secret is shown once, and sends a test that it signs', async () => {
    const receiver = await receiverOf(() => 204);
    // An EDITOR sees own endpoints only; those of other tests are in the same database.
    const editor = await newConsoleUser(service, admin, 'EDITOR');
    const page = await signedInPage(browser, service, { path: '/webhooks', as: editor });
    await page.getByRole('heading', { name: 'No webhooks' }).waitFor();
    await assertAccessible(page);
    await page.keyboard.press('n');
    const dialog = page.getByRole('dialog', { name: 'New webhook' });
    await dialog.getByRole('button', { name: 'Create the webhook' }).click();
    await dialog.getByText('Please enter the address that events are sent to.').waitFor();
    await dialog.getByLabel('Address').fill('ftp://example.org/');
    await dialog.getByRole('button', { name: 'Create the webhook' }).click();
    await dialog.getByRole('alert').or(dialog.getByText(/http/)).first().waitFor();
    await assertAccessible(page);
    await dialog.getByLabel('Address').fill(receiver.url);
    await dialog.getByLabel('Description').fill('Ledger <b>of</b> responses');
    await dialog.getByRole('button', { name: 'Create the webhook' }).click();
    const shown = page.getByRole('dialog', { name: 'The signing secret' });
    const secret = (await shown.locator('code').textContent()) ?? '';
    assert.match(secret, /^whsec_/);
    await assertAccessible(page);
    await shown.getByRole('button', { name: 'Done' }).click();
    await page.getByText('Ledger <b>of</b> responses').waitFor();
    await assertAccessible(page);
    await page.getByRole('link', { name: receiver.url }).click();
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByRole('row', { name: /Response completed Delivered Status 204/ }).waitFor();
    const [test] = receiver.verified(secret);
    assert.equal(test?.content.data.test, true);
    await assertAccessible(page);
    assert.doesNotMatch(await page.content(), new RegExp(secret));
    browser.forgive(/status of 400/);
  });

  it('shows every attempt of a delivery that failed, and sends it again', async () => {
    let status = 500;
    const receiver = await receiverOf(() => status);
    const { id } = await admin.create('/webhooks', { url: receiver.url, events: ['survey.published'] });
    const survey = await admin.create('/surveys', { title: 'Told of' });
    await admin.create(`/surveys/${survey.id}/questions`, { type: 'NPS', text: 'Well?' });
    await admin.post(`/surveys/${survey.id}/publish`);
    await eventually(() => assert.equal(receiver.received.length, 1));
    const page = await signedInPage(browser, service, { path: `/webhooks/${id}` });
    const row = page.getByRole('row', { name: /Survey published/ });
    await page.getByRole('row', { name: /Survey published Waiting Status 500/ }).waitFor();
    await eventually(async () => {
      const [delivery] = await admin.get(`/webhooks/${id}/deliveries`);
      assert.equal(delivery.attempts.length, 1);
    });
    await row.getByRole('button', { name: /\d{4}/ }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Survey published' });
    await dialog.getByRole('list', { name: 'Attempts' }).getByText('Status 500').waitFor();
    await assertAccessible(page);
    await dialog.getByRole('button', { name: 'Close' }).click();
    status = 204;
    // It would be tried again in an hour.
    await row.getByRole('button', { name: /^Send again/ }).click();
    await page.getByRole('row', { name: /Survey published Delivered Status 204/ }).waitFor();
    assert.equal(receiver.received.length, 2);
    assert.equal(receiver.received[0]?.id, receiver.received[1]?.id, 'the same webhook-id');

    await fromMenu(page, 'Switch off');
    await page.getByText('Inactive', { exact: true }).waitFor();
    await fromMenu(page, 'Switch on');
    await page.getByText('Active', { exact: true }).waitFor();
    assert.equal((await admin.get(`/webhooks/${id}`)).isActive, true);
  });

  it('shows a delivery for as long as it is read, also when the list lists it no more', async () => {
    let status = 500;
    const receiver = await receiverOf(() => status);
    const { id } = await admin.create('/webhooks', { url: receiver.url, events: ['survey.published'] });
    await admin.expect(202, 'POST', `/webhooks/${id}/test`);
    await eventually(async () => {
      const [delivery] = await admin.get(`/webhooks/${id}/deliveries`);
      assert.equal(delivery?.attempts.length, 1);
    });
    const page = await signedInPage(browser, service, { path: `/webhooks/${id}?status=PENDING` });
    await page.getByRole('row', { name: /Survey published Waiting Status 500/ }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Survey published' });
    await dialog.getByText('Status 500').waitFor();
    status = 204;
    await dialog.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('No delivery fits').waitFor();
    await dialog.getByText('Status 500').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: /State/ }).click();
    await page.getByRole('option', { name: 'Every state' }).click();
    await page.getByRole('row', { name: /Survey published Delivered/ }).waitFor();
    assert.equal(await dialog.count(), 0);
    await page.context().close();
  });

  it('replays a range, replaces the secret, changes and deletes', async () => {
    const receiver = await receiverOf(() => 204);
    const { id } = await admin.create('/webhooks', { url: receiver.url, events: ['survey.published'] });
    await admin.expect(202, 'POST', `/webhooks/${id}/test`);
    await eventually(() => assert.equal(receiver.received.length, 1));
    const page = await signedInPage(browser, service, { path: `/webhooks/${id}` });
    await page.getByRole('row', { name: /Survey published Delivered/ }).waitFor();
    await page.getByRole('button', { name: /^Send again/ }).click();
    await eventually(() => assert.equal(receiver.received.length, 2));

    await fromMenu(page, 'Replay a time range…');
    const replay = page.getByRole('dialog', { name: 'Replay a time range' });
    await replay.getByRole('button', { name: 'Send again' }).click();
    await replay.getByText('Please choose a time.').waitFor();
    await replay.getByLabel('From').fill('2026-01-01T00:00');
    await replay.getByText('Only those that failed').click();
    await assertAccessible(page);
    await eventually(async () => {
      const [delivery] = await admin.get(`/webhooks/${id}/deliveries`);
      assert.equal(delivery.status, 'DELIVERED');
    });
    await replay.getByRole('button', { name: 'Send again' }).click();
    await eventually(() => assert.equal(receiver.received.length, 3));

    await fromMenu(page, 'Replace the secret…');
    await page.getByRole('button', { name: 'Replace', exact: true }).click();
    const shown = page.getByRole('dialog', { name: 'The signing secret' });
    const secret = (await shown.locator('code').textContent()) ?? '';
    await shown.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Send a test' }).click();
    await eventually(() => assert.equal(receiver.received.length, 4));
    receiver.received.splice(0, 3);
    assert.equal(receiver.verified(secret).length, 1, 'signed with the new secret');

    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await page.getByRole('textbox', { name: 'Description' }).fill('Renamed');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Renamed').waitFor();
    await fromMenu(page, 'Delete…');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.waitForURL(/\/webhooks$/);
    assert.equal((await admin.call('GET', `/webhooks/${id}`)).status, 404);
  });

  it('says why nothing is sent, and switches the endpoint on again', async () => {
    const receiver = await receiverOf(() => 410);
    const { id } = await admin.create('/webhooks', { url: receiver.url, events: ['survey.published'] });
    await admin.expect(202, 'POST', `/webhooks/${id}/test`);
    await eventually(async () => assert.equal((await admin.get(`/webhooks/${id}`)).isActive, false));
    const page = await signedInPage(browser, service, { path: `/webhooks/${id}` });
    await page.getByText('Switched off', { exact: true }).waitFor();
    await page.getByText(/Nothing is sent: .*410/).waitFor();
    await assertAccessible(page);
    await page.getByRole('button', { name: 'Switch on again' }).click();
    await eventually(async () => assert.equal((await admin.get(`/webhooks/${id}`)).isActive, true));
  });

  it('are sent one test, and one delivery again, by a double-click', async () => {
    const receiver = await receiverOf(() => 204);
    const { id } = await admin.create('/webhooks', { url: receiver.url, events: ['survey.published'] });
    const page = await signedInPage(browser, service, { path: `/webhooks/${id}` });
    const tests = await holdCalls(page, '**/webhooks/*/test');
    tests.release();
    await page.getByRole('button', { name: 'Send a test' }).dblclick();
    await page.getByText('A test event is on its way').waitFor();
    const again = page.getByRole('button', { name: /^Send again: / });
    await page.getByRole('row', { name: /Delivered Status 204/ }).waitFor();
    const repeats = await holdCalls(page, '**/redeliver');
    repeats.release();
    await again.dblclick();
    await page.getByText('The event is sent again.').waitFor();
    await page.getByRole('link', { name: 'Keys' }).click();
    await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor();
    assert.deepEqual([tests.count(), repeats.count()], [1, 1]);
    await page.context().close();
  });

  it('are not there for a VIEWER', async () => {
    const viewer = await newConsoleUser(service, admin, 'VIEWER');
    const page = await signedInPage(browser, service, { as: viewer });
    assert.equal(await page.getByRole('link', { name: 'Webhooks' }).count(), 0);
    await goTo(page, '/webhooks');
    await page.getByText('You do not have the right to do this.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'New webhook' }).count(), 0);
    assert.equal((await keyTitles(page)).includes('New webhook'), false);
    browser.forgive(/status of 403/);
  });

  it('are listed as somebody else has switched them off', async () => {
    const editor = await newConsoleUser(service, admin, 'EDITOR');
    const { id } = await editor.client.create('/webhooks', {
      url: (await receiverOf(() => 204)).url,
      events: ['survey.published'],
    });
    const page = await signedInPage(browser, service, { path: '/webhooks', as: editor });
    await page.getByText('Active', { exact: true }).waitFor();
    await admin.put(`/webhooks/${id}`, { isActive: false });
    await page.getByText('Inactive', { exact: true }).waitFor();
    await page.context().close();
  });

  it('follow what somebody else switches off and deletes', async () => {
    const { id } = await admin.create('/webhooks', {
      url: (await receiverOf(() => 204)).url,
      events: ['survey.published'],
    });
    const page = await signedInPage(browser, service, { path: `/webhooks/${id}` });
    await page.getByText('Active', { exact: true }).waitFor();
    await admin.put(`/webhooks/${id}`, { isActive: false });
    await page.getByText('Inactive', { exact: true }).waitFor();
    await admin.remove(`/webhooks/${id}`);
    await page.getByText('This is not there any more').waitFor();
    browser.forgive(/status of 404/);
    await page.context().close();
  });
});
