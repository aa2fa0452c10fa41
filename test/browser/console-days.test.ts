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
});
