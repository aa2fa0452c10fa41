import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { publishedSurvey } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('days in the console', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  for (const screen of ['results', 'crosstab', 'responses', 'audit'])
    it(`of the filters of ${screen} are typed key by key, and the address names the day that was meant`, async () => {
      const { id } = await publishedSurvey(admin, { title: 'Days' }, [{ type: 'YES_NO', text: 'Hungry?' }]);
      const path = screen === 'audit' ? '/audit' : `/surveys/${id}/${screen}`;
      // The language decides in which order the parts of a day are typed.
      const page = await signedInPage(browser, service, { path, locale: 'en-US' });
      const from = page.getByLabel(/^From/);
      const holds = (day: string) =>
        eventually(async () => {
          assert.equal(await from.inputValue(), day);
          assert.equal(new URL(page.url()).searchParams.get('from'), day);
        });
      const named: string[] = [];
      page.on('framenavigated', () => named.push(new URL(page.url()).searchParams.get('from') ?? ''));
      await from.focus();
      await page.keyboard.type('11272026');
      await holds('2026-11-27');
      // On the way the field holds the years 2, 20 and 202.
      assert.deepEqual(
        named.filter((day) => day.startsWith('0')),
        [],
      );

      await page.reload();
      await holds('2026-11-27');
      await from.focus();
      await page.keyboard.press('Tab');
      await page.keyboard.type('15');
      await holds('2026-11-15');
      await page.keyboard.type('2025');
      await holds('2025-11-15');
      await page.goBack();
      await holds('2026-11-15');
      await page.context().close();
    });

  it('of a year before 1000 count when the field is left', async () => {
    const page = await signedInPage(browser, service, { path: '/audit', locale: 'en-US' });
    await page.getByLabel(/^From/).focus();
    await page.keyboard.type('11270202');
    await page.getByLabel(/^To/).focus();
    await page.waitForURL(/from=0202-11-27/);
  });

  it('of a year with five digits are named at their field, and nothing is sent', async () => {
    const { id } = await publishedSurvey(admin, { title: 'Years' }, [{ type: 'YES_NO', text: 'Hungry?' }]);
    const webhook = await admin.create('/webhooks', { url: 'https://example.org/', events: ['response.submitted'] });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/publish` });
    const error = page.getByText('Please enter a year from 1900 to 9999.');
    const time = '20275-01-01T08:00';
    const open = async (path: string, ...presses: readonly string[]) => {
      await page.goto(`${service.origin}${path}`);
      for (const name of presses) await page.getByRole('button', { name }).first().click();
    };

    for (const label of ['Start', 'End']) {
      await open(`/surveys/${id}/publish`);
      await page.getByLabel(label, { exact: true }).fill(time);
      await page.getByRole('button', { name: 'Save the schedule' }).click();
      await error.waitFor();
    }
    for (const label of ['Opens', 'Closes']) {
      await open(`/surveys/${id}/publish`, 'New collector');
      await page.getByLabel('Name').fill('Newsletter');
      await page.getByLabel(label).fill(time);
      await page.getByRole('button', { name: 'Create the collector' }).click();
      await error.waitFor();
    }
    for (const label of ['From', 'Until']) {
      await open(`/webhooks/${webhook.id}`, 'Actions of the webhook');
      await page.getByRole('menuitem', { name: 'Replay a time range…' }).click();
      await page.getByLabel('From').fill('2026-01-01T08:00');
      await page.getByLabel(label).fill(time);
      await page.getByRole('button', { name: 'Send again' }).click();
      await error.waitFor();
    }
    await open('/keys', 'New key');
    await page.getByLabel('Name').fill('Nightly import');
    await page.getByRole('button', { name: 'Ends' }).click();
    await page.getByRole('option', { name: 'On a date' }).click();
    await page.getByLabel('Last day').fill('20275-01-01');
    await page.getByRole('button', { name: 'Create the key' }).click();
    await error.waitFor();
  });

  it('of a year with two digits are named at their field, and nothing is sent', async () => {
    const { id } = await publishedSurvey(admin, { title: 'Short years' }, [{ type: 'YES_NO', text: 'Hungry?' }]);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/publish` });
    const start = page.getByLabel('Start', { exact: true });
    const save = page.getByRole('button', { name: 'Save the schedule' });
    await start.fill('0026-11-30T08:00');
    await save.click();
    await page.getByText('Please enter a year from 1900 to 9999.').waitFor();
    assert.equal((await admin.get(`/surveys/${id}`)).startsAt, null);
    await start.fill('1900-01-02T00:00');
    await save.click();
    await page.getByText('The schedule is saved.').waitFor();
    await page.context().close();
  });
});
