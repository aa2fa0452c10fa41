import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { addFilter, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import { publishedSurvey } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
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
});
