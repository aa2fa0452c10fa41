import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Stores } from '../../src/stores/stores.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import type { RunningService } from '../support/service.ts';
import { useServiceAndStores } from '../support/use-service.ts';

describe('the versions of a survey', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let stores: Stores;
  let browser: BrowserFixture;
  // The browser is closed before the service: pages would report that they cannot reconnect.
  useBrowser((opened) => (browser = opened));
  useServiceAndStores((served) => ({ service, admin, stores } = served));

  it('can be seen to the first one, however many there are, also after another one was made', async () => {
    const { id } = await admin.create('/surveys', { title: 'Title 1' });
    for (let version = 2; version <= 110; version += 1)
      await admin.put(`/surveys/${id}`, { title: `Title ${version}` });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?pane=versions` });
    const rows = page.getByRole('listitem').getByRole('button', { name: /^Version/ });
    const more = page.getByRole('button', { name: 'Show older versions' });
    await page.getByText('The newest 50 of 110').waitFor();
    await more.click();
    await page.getByText('The newest 100 of 110').waitFor();
    await admin.put(`/surveys/${id}`, { title: 'Title 111' });
    await page.getByText('The newest 101 of 111').waitFor();
    await more.click();
    await more.waitFor({ state: 'detached' });
    const versions = (await rows.allTextContents()).map((text) => Number(/\d+/.exec(text)?.[0]));
    assert.deepEqual(
      versions,
      Array.from({ length: 111 }, (_, place) => 111 - place),
    );
    await page.context().close();
  });

  it('can be seen to the first one after others were removed meanwhile', async () => {
    const { id } = await admin.create('/surveys', { title: 'Title 1' });
    for (let version = 2; version <= 70; version += 1) await admin.put(`/surveys/${id}`, { title: `Title ${version}` });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?pane=versions` });
    const rows = page.getByRole('listitem').getByRole('button', { name: /^Version/ });
    const more = page.getByRole('button', { name: 'Show older versions' });
    await page.getByText('The newest 50 of 70').waitFor();
    await stores.sql`DELETE FROM survey_versions WHERE survey_id = ${id} AND version BETWEEN 5 AND 40`;
    await more.click();
    await more.waitFor({ state: 'detached' });
    assert.equal(await rows.count(), 34);
    await page.context().close();
  });

  it('name a question that was moved, and none of those that it was moved past', async () => {
    const { id } = await admin.create('/surveys', { title: 'Moved' });
    const ids: string[] = [];
    for (const text of ['First', 'Second', 'Third', 'Last'])
      ids.push((await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text })).id);
    await admin.put(`/surveys/questions/${ids[3]}`, { order: 0 });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?pane=versions` });
    const differences = page.getByRole('region', { name: 'Differences' }).getByRole('listitem');
    await eventually(async () => assert.deepEqual(await differences.allTextContents(), ['Changed Last: Place41']));
    await page.context().close();
  });
});
