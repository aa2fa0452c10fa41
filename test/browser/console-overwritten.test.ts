import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { signedInPage } from '../support/console.ts';
import { publishedSurvey } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('what somebody else has changed while a form is open', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  // The browser is closed before the service: pages would report that they cannot reconnect.
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const edit = async (page: Page, name: string, action: string) => {
    await page.getByRole('button', { name: `Actions of ${name}` }).click();
    await page.getByRole('menuitem', { name: action }).click();
  };

  /** Lets the service answer the next change at an address, and nobody hear the reply. */
  const loseReply = (page: Page, address: string) =>
    page.route(
      address,
      async (route) => {
        await route.fetch();
        await route.abort('connectionreset');
      },
      { times: 1 },
    );

  it('of a quota is shown beside the own change, and neither overwrites the other unasked', async () => {
    const { id, questions } = await publishedSurvey(admin, { title: 'Two editors' }, [
      { type: 'YES_NO', text: 'Again?' },
    ]);
    const where = { questionId: questions[0]?.id, operator: 'answered' };
    const quota = await admin.create(`/surveys/${id}/quotas`, { name: 'Guests', limit: 100, where });
    const stored = async () => (await admin.get(`/surveys/${id}/quotas`))[0];
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/quotas` });
    const dialog = page.getByRole('dialog', { name: 'Edit “Guests”' });
    await edit(page, 'Guests', 'Edit');
    const limit = dialog.getByRole('textbox', { name: 'Responses at most' });
    await limit.fill('70');
    await dialog.getByLabel('Name').fill('Visitors');
    await admin.put(`/surveys/${id}/quotas/${quota.id}`, { limit: 50, whenFull: 'COUNT_ONLY' });
    await dialog.getByRole('button', { name: 'Save' }).click();
    const conflict = dialog.getByRole('alert', { name: 'Conflict' });
    await conflict.getByRole('heading', { name: 'Responses at most: theirs' }).waitFor();
    assert.deepEqual([(await stored()).limit, (await stored()).name], [50, 'Guests']);
    await conflict.getByRole('button', { name: 'Take theirs' }).click();
    assert.equal(await limit.inputValue(), '50');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { name, limit: kept, whenFull } = await stored();
    assert.deepEqual([name, kept, whenFull], ['Visitors', 50, 'COUNT_ONLY']);
    await page.context().close();
  });

  it('of a collector is shown beside the own change, which can be kept', async () => {
    const { id } = await admin.create('/surveys', { title: 'Two publishers' });
    const collector = await admin.create(`/surveys/${id}/collectors`, { name: 'Poster' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/publish` });
    const dialog = page.getByRole('dialog', { name: 'Change the collector' });
    await edit(page, 'Poster', 'Change');
    await dialog.getByLabel('Name').fill('Poster in Ulm');
    await admin.put(`/collectors/${collector.id}`, { name: 'Poster in Rome', responseQuota: 5 });
    await dialog.getByRole('button', { name: 'Save' }).click();
    const conflict = dialog.getByRole('alert', { name: 'Conflict' });
    await conflict.getByText('Poster in Rome').waitFor();
    await conflict.getByRole('button', { name: 'Keep mine' }).click();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { name, responseQuota } = await admin.get(`/collectors/${collector.id}`);
    assert.deepEqual([name, responseQuota], ['Poster in Ulm', 5]);
    await page.context().close();
  });

  it('is not what the own change has stored whose reply was lost', async () => {
    const { id, questions } = await publishedSurvey(admin, { title: 'One editor' }, [
      { type: 'YES_NO', text: 'Again?' },
    ]);
    const where = { questionId: questions[0]?.id, operator: 'answered' };
    const quota = await admin.create(`/surveys/${id}/quotas`, { name: 'Guests', limit: 100, where });
    const stored = async () => (await admin.get(`/surveys/${id}/quotas`))[0].limit;
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/quotas` });
    const dialog = page.getByRole('dialog', { name: 'Edit “Guests”' });
    const limit = dialog.getByRole('textbox', { name: 'Responses at most' });
    const save = dialog.getByRole('button', { name: 'Save' });
    for (const next of ['80', '100']) {
      await admin.put(`/surveys/${id}/quotas/${quota.id}`, { limit: 100 });
      await page.reload();
      await edit(page, 'Guests', 'Edit');
      await loseReply(page, `**/quotas/${quota.id}`);
      await limit.fill('70');
      await save.click();
      await dialog.getByText(/cannot be reached/).waitFor();
      assert.equal(await stored(), 70);
      await limit.fill(next);
      await save.click();
      await dialog.waitFor({ state: 'detached' });
      assert.equal(await stored(), Number(next));
    }
    browser.forgive(/ERR_CONNECTION_RESET/);
    await page.context().close();
  });
});
