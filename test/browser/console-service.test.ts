import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createLog } from '../../src/log.ts';
import { newId } from '../../src/platform/ids.ts';
import { createIntakeRedis } from '../../src/stores/redis/clients.ts';
import { createShards } from '../../src/stores/redis/intake/shards.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, goTo, newConsoleUser, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import type { RunningService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';
import { useService } from '../support/use-service.ts';

describe('the service as the console shows it', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  before(async () => void (await sharedStores()));
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));
  after(async () => (await sharedStores()).stop());

  /** A row that ClickHouse cannot read, as if the service had accepted it. */
  const acceptPoison = async (surveyId: string) => {
    const redis = createIntakeRedis((await sharedStores()).redisUrl, createLog('silent'));
    await redis.connect();
    const { stream } = createShards(2).of(surveyId);
    const row = `["${surveyId}","${newId()}","not a time",1]`;
    await redis.xadd(stream, '*', 'n', 1, 'codes', 0, 'surveys', surveyId, 'filled', '', 'rows', row);
    await redis.quit();
  };

  /** A survey with a dead letter. */
  const deadLetter = async (): Promise<{ id: string }> => {
    const survey = await admin.create('/surveys', { title: 'Poison', status: 'ACTIVE' });
    await acceptPoison(survey.id);
    await eventually(async () => {
      const letters = await admin.get('/dead-letters?limit=100');
      assert.ok(letters.some(({ surveyId }: any) => surveyId === survey.id));
    });
    return survey;
  };

  it('shows health, lag, queues, refusals and versions', async () => {
    const survey = await admin.create('/surveys', { title: 'Counted', status: 'ACTIVE' });
    assert.equal((await admin.submit(survey.id, { answers: [] })).status, 201);
    await admin.call('GET', '/surveys/not-an-id');
    const state = await eventually(async () => {
      const read = await admin.get('/service');
      assert.equal(read.intake.lag, 0);
      assert.equal(read.health.isReady, true);
      assert.deepEqual(read.health.degraded, []);
      // A store that does not reply within two seconds has none.
      assert.ok(read.queues && Object.values(read.storeVersions).every((version) => version !== null));
      return read;
    }, 60_000);
    assert.deepEqual(Object.keys(state.storeVersions), ['PostgreSQL', 'ClickHouse', 'Redis']);
    for (const [name, version] of Object.entries(state.storeVersions)) assert.match(String(version), /^\d+\.\d+/, name);
    assert.deepEqual(
      state.queues.map(({ name }: { name: string }) => name),
      ['webhooks', 'exports', 'analyses', 'ai'],
    );
    assert.ok(state.refusals.some(({ name, count }: any) => name === 'NOT_FOUND' && count >= 1));
    assert.ok(state.processes.some(({ memoryBytes, requests }: any) => memoryBytes > 1_000_000 && requests > 0));

    const page = await signedInPage(browser, service, { path: '/service' });
    await page.getByText('Takes submissions').waitFor();
    await page.getByText('Everything accepted is stored').waitFor();
    await page.getByRole('table', { name: 'Queues' }).getByText('Webhooks').waitFor();
    await page.getByRole('table', { name: 'Refusals' }).getByText('NOT_FOUND').waitFor();
    await page.getByText(state.storeVersions.PostgreSQL).waitFor();
    await assertAccessible(page);
  });

  it('says that it is out of date while the service does not reply, and goes on afterwards', async () => {
    const page = await signedInPage(browser, service, { path: '/service' });
    await page.getByText('Takes submissions').waitFor();
    await page.route('**/api/v1/service', (route) => route.abort());
    await page.getByText(/This is not up to date/).waitFor();
    await assertAccessible(page);
    await page.unroute('**/api/v1/service');
    await page.getByText(/This is not up to date/).waitFor({ state: 'detached' });
    browser.forgive(/ERR_FAILED/);
  });

  it('lists dead letters with their reason, and replays them', async () => {
    const { id } = await deadLetter();
    const page = await signedInPage(browser, service, { path: '/service' });
    const row = page.getByRole('table', { name: 'Dead letters' }).getByRole('row', { name: new RegExp(id) });
    await row.waitFor();
    await assertAccessible(page);
    // The survey is deleted: a replay drops its dead letters.
    await admin.remove(`/surveys/${id}`);
    await page.getByRole('button', { name: 'Replay all' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Replay' }).click();
    await page.getByText(/^Replayed: /).waitFor();
    await row.waitFor({ state: 'detached' });
  });

  it('lists a dead letter that comes while there is none', async () => {
    const page = await signedInPage(browser, service);
    let letters: object[] = [];
    await page.route('**/api/v1/service', async (route) => {
      const reply = await route.fetch();
      const { data, ...rest } = await reply.json();
      await route.fulfill({ response: reply, json: { ...rest, data: { ...data, deadLetters: letters.length } } });
    });
    await page.route('**/api/v1/dead-letters?*', (route) => {
      const pagination = { page: 1, limit: 20, total: letters.length };
      return route.fulfill({ json: { success: true, data: letters, pagination } });
    });
    await goTo(page, '/service');
    await page.getByText(/^None\. /).waitFor();
    letters = [{ shard: 0, id: '1-0', surveyId: newId(), responseId: newId(), reason: 'Not a time' }];
    await page.getByText('Kept until they are replayed').waitFor();
    await page.getByRole('table', { name: 'Dead letters' }).getByText('Not a time').waitFor();
    await page.getByRole('button', { name: 'Replay all' }).waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.context().close();
  });

  it('does not move the button that replays dead letters by what comes with a refresh', async () => {
    const { id } = await deadLetter();
    const page = await signedInPage(browser, service, { path: '/service' });
    const button = page.getByRole('button', { name: 'Replay all' });
    await button.waitFor();
    const refusals = page.getByRole('table', { name: 'Refusals' });
    await refusals.getByText('NOT_FOUND').waitFor();
    const place = await button.boundingBox();
    await page.route('**/api/v1/service', async (route) => {
      const reply = await route.fetch();
      const { data, ...rest } = await reply.json();
      const more = Array.from({ length: 12 }, (_, index) => ({ name: `REFUSAL_${index}`, count: 1 }));
      await route.fulfill({ response: reply, json: { ...rest, data: { ...data, refusals: more } } });
    });
    await refusals.getByRole('cell', { name: 'REFUSAL_11' }).waitFor();
    assert.deepEqual(await button.boundingBox(), place);
    await page.unroute('**/api/v1/service');
    await page.route('**/api/v1/service', (route) => route.abort());
    await page.getByText(/This is not up to date/).waitFor();
    assert.deepEqual(await button.boundingBox(), place);
    await admin.remove(`/surveys/${id}`);
    await admin.post('/dead-letters/replay');
    browser.forgive(/ERR_FAILED/);
    await page.context().close();
  });

  it('is for an ADMIN alone', async () => {
    const editor = await newConsoleUser(service, admin, 'EDITOR');
    assert.equal((await editor.client.call('GET', '/service')).status, 403);
    const page = await signedInPage(browser, service, { path: '/service', as: editor });
    await page.getByText('You do not have the right to do this.').first().waitFor();
    assert.equal(await page.getByRole('link', { name: 'Service' }).count(), 0);
    browser.forgive(/status of 403/);
  });
});
