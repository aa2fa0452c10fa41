import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { medianOf } from '../../bench/support/timing.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { addFilter, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import { slowness } from '../support/machine-speed.ts';
import { storeNumberResponses } from '../support/many-responses.ts';
import { publishedSurvey } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { assertWithin } from '../support/time-bars.ts';
import { useService } from '../support/use-service.ts';

describe('the responses of a large survey', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  // The browser is closed before the service: pages would report that they cannot reconnect.
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  it('come in pages of about the same size, however many questions there are', async () => {
    const questions = Array.from({ length: 500 }, (_, place) => ({ type: 'YES_NO', text: `Question ${place + 1}` }));
    const { id } = await admin.create('/surveys/import', { title: 'Five hundred', questions });
    await admin.post(`/surveys/${id}/publish`);
    for (let n = 0; n < 70; n += 1) assert.equal((await admin.submit(id, { answers: [] })).status, 201);
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 70));
    const page = await signedInPage(browser, service);
    const limits: (string | null)[] = [];
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url());
      if (pathname.endsWith(`/responses/surveys/${id}`)) limits.push(searchParams.get('limit'));
    });
    await page.goto(`${service.origin}/surveys/${id}/responses`);
    await page.getByText('70 responses').waitFor();
    await page.getByRole('table', { name: 'Responses' }).getByRole('row').nth(1).focus();
    await page.keyboard.press('End');
    await eventually(() => assert.deepEqual(limits, ['60', '60']));
    await page.context().close();
  });

  it('name every one of more than a hundred collectors, and none as a former one before the names are known', async () => {
    const { id } = await publishedSurvey(admin, { title: 'Branches' }, [{ type: 'YES_NO', text: 'Again?' }]);
    let collectorId: string | undefined;
    for (let n = 1; n <= 101; n += 1)
      collectorId = (await admin.create(`/surveys/${id}/collectors`, { name: `Branch ${n}` })).id;
    assert.equal((await admin.submit(id, { answers: [], collectorId })).status, 201);
    await eventually(async () => assert.equal((await admin.get(`/responses/surveys/${id}`)).length, 1));
    const page = await signedInPage(browser, service);
    const held = await holdCalls(page, `**/api/v1/surveys/${id}/collectors*`);
    await page.goto(`${service.origin}/surveys/${id}/responses?columns=${encodeURIComponent('["collector"]')}`);
    const row = page.getByRole('table', { name: 'Responses' }).locator('[data-row]');
    await row.filter({ hasText: '…' }).waitFor();
    held.release();
    await row.filter({ hasText: 'Branch 101' }).waitFor();
    await addFilter(page, { search: 'Coll', variable: 'Collector', value: 'Branch 101' });
    await page.getByText('Collector: Branch 101').waitFor();
    await page.context().close();
  });

  describe('the list of them', () => {
    it('loads those of 100,000 that are scrolled to, and renders those in sight', async () => {
      const [count, scrolled] = [100_000, 20_000];
      const { id } = await admin.create('/surveys', { title: 'Many' });
      await admin.create(`/surveys/${id}/questions`, { type: 'NUMBER', text: 'Which number?' });
      await admin.post(`/surveys/${id}/publish`);
      await storeNumberResponses(id, count);
      const page = await signedInPage(browser, service, { path: `/surveys/${id}/responses` });
      const table = page.getByRole('table', { name: 'Responses' });
      await page.getByText('100,000 responses').waitFor();
      await table.getByRole('row').nth(1).focus();
      const focusedRow = () => page.evaluate('document.activeElement.ariaRowIndex');
      const tookMs: number[] = [];
      // The rows of the next page are there when the end of the pages before was seen.
      await eventually(
        async () => {
          const pressedAt = performance.now();
          await page.keyboard.press('End');
          const row = await focusedRow();
          tookMs.push(performance.now() - pressedAt);
          assert.ok(Number(row) > scrolled, `row ${row}`);
        },
        120_000,
        10,
      );
      await table.getByText(String(Number(await focusedRow()) - 1), { exact: true }).waitFor();
      assert.ok((await table.getByRole('row').count()) < 100);
      const keyMs = medianOf(tookMs);
      assertWithin(300 * slowness(), keyMs, 'a key');
      await page.keyboard.press('Home');
      await table.getByText('1', { exact: true }).waitFor();
      assert.equal(await focusedRow(), '2');
    });

    it('shows a response no more that was deleted while others were being loaded', async () => {
      const { id } = await admin.create('/surveys', { title: 'Some pages' });
      await admin.create(`/surveys/${id}/questions`, { type: 'NUMBER', text: 'Which number?' });
      await admin.post(`/surveys/${id}/publish`);
      await storeNumberResponses(id, 1500);
      const page = await signedInPage(browser, service, { path: `/surveys/${id}/responses` });
      const table = page.getByRole('table', { name: 'Responses' });
      const row = (number: string) => table.getByRole('row').filter({ has: page.getByText(number, { exact: true }) });
      await row('3').waitFor();
      const held = await holdCalls(page, '**/responses/surveys/*?*cursor=*', { times: 1 });
      const asked = page.waitForRequest('**/responses/surveys/*?*cursor=*');
      await table.getByRole('row').nth(1).focus();
      await page.keyboard.press('End');
      await asked;
      await page.keyboard.press('Home');
      await row('3').click();
      await page.getByRole('dialog', { name: 'Response' }).getByRole('button', { name: 'Delete the response' }).click();
      await page.getByRole('alertdialog').getByRole('button', { name: 'Delete for good' }).click();
      await row('3').waitFor({ state: 'detached' });
      held.release();
      // All that are left, once the others have come as well.
      await eventually(async () => {
        await table.getByRole('row').nth(1).focus();
        await page.keyboard.press('End');
        await row('1500').waitFor({ timeout: 2000 });
      });
      await page.keyboard.press('Home');
      await row('2').waitFor();
      assert.equal(await row('3').count(), 0);
      await page.context().close();
    });
  });
});
