import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type AiProviderServer, standInKey, startAiProvider } from '../support/ai-provider.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, newConsoleUser, signedInPage } from '../support/console.ts';
import { holdCalls } from '../support/held-calls.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('the AI settings of the console', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  let provider: AiProviderServer;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served), { env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
  before(async () => {
    provider = await startAiProvider();
  });
  after(() => provider?.close());

  it('takes a key, tests it, saves it, shows its end only, and counts the calls', async () => {
    const page = await signedInPage(browser, service, { path: '/ai' });
    await page.getByRole('heading', { name: 'Usage' }).waitFor();
    await assertAccessible(page);
    await page.getByRole('button', { name: 'Set up OpenAI', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'OpenAI' });
    await dialog.getByRole('button', { name: 'Save and test' }).click();
    await dialog.getByText('Please enter the key.').waitFor();
    await assertAccessible(page);

    // A key that the provider refuses is saved, and said to be refused.
    await dialog.getByLabel('Key').fill('sk-not-the-right-one');
    await dialog.getByLabel('Address').fill(`${provider.url}/v1`);
    await dialog.getByRole('button', { name: 'Save and test' }).click();
    await dialog.getByText(/The settings are saved, but the test failed/).waitFor();
    await dialog.getByLabel('Key').fill(standInKey);
    await dialog.getByLabel('Model for much work').fill('small-1');
    await dialog.getByRole('button', { name: 'Save and test' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText(/Saved. OpenAI replied with small-1 after \d+ ms/).waitFor();
    await page.getByText(`…${standInKey.slice(-4)}`).waitFor();
    assert.doesNotMatch(await page.content(), new RegExp(standInKey), 'the key is not shown');
    const [settings] = await admin.get('/ai/settings');
    assert.deepEqual([settings.isConfigured, settings.models.low], [true, 'small-1']);

    await page.reload();
    await page.getByRole('row', { name: /OpenAI small-1 \d/ }).waitFor();
    await assertAccessible(page);
    await page.getByRole('button', { name: 'Test OpenAI', exact: true }).click();
    await page.getByText(/^OpenAI replied with small-1/).waitFor();
    await page.getByRole('button', { name: 'Remove OpenAI', exact: true }).click();
    await page.getByRole('button', { name: 'Remove the key' }).click();
    await page.getByRole('button', { name: 'Set up OpenAI', exact: true }).waitFor();
    assert.equal((await admin.get('/ai/settings'))[0].isConfigured, false);
    browser.forgive(/status of (4\d\d|50[23])/);
  });

  it('counts today among the last days of usage', async () => {
    const page = await signedInPage(browser, service, { path: '/ai' });
    const now = new Date();
    await page.clock.setFixedTime(now);
    const today = Date.parse(now.toISOString().slice(0, 10));
    for (const days of [7, 90]) {
      const first = new Date(today - (days - 1) * 86_400_000).toISOString().slice(0, 10);
      const asked = page.waitForRequest((request) => request.url().endsWith(`/ai/usage?startDate=${first}`));
      await page.getByRole('button', { name: /Time/ }).click();
      await page.getByRole('option', { name: `Last ${days} days` }).click();
      await asked;
    }
    await page.context().close();
  });

  it('shows no usage of other days below the days that are chosen', async () => {
    const page = await signedInPage(browser, service, { path: '/ai' });
    const figures = page.getByText(/^No calls in this time\.$|^[\d,]+ calls, /);
    await figures.waitFor();
    const held = await holdCalls(page, '**/ai/usage?*');
    const asked = page.waitForRequest('**/ai/usage?*');
    await page.getByRole('button', { name: /Time/ }).click();
    await page.getByRole('option', { name: 'Last 7 days' }).click();
    await asked;
    await figures.waitFor({ state: 'detached' });
    held.release();
    await figures.waitFor();
    await page.context().close();
  });

  it('names what Azure needs at its fields', async () => {
    const page = await signedInPage(browser, service, { path: '/ai' });
    await page.getByRole('button', { name: 'Set up Azure OpenAI' }).click();
    const dialog = page.getByRole('dialog', { name: 'Azure OpenAI' });
    await dialog.getByLabel('Key').fill('azure-key-0002');
    await dialog.getByRole('button', { name: 'Save and test' }).click();
    await dialog.getByText('Is needed for azure.').first().waitFor();
    assert.equal(await dialog.getByText('Is needed for azure.').count(), 2);
    assert.equal(await dialog.getByLabel('Key').inputValue(), 'azure-key-0002');
    browser.forgive(/status of 400/);
  });

  it('is entered anew without what nobody entered: addresses, models and deployments that others give', async () => {
    await admin.put('/ai/settings/azure', { apiKey: standInKey, endpoint: provider.url, deployment: 'dep0' });
    const page = await signedInPage(browser, service, { path: '/ai' });
    await page.getByRole('button', { name: 'Change Azure OpenAI', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Azure OpenAI' });
    await dialog.getByLabel('Key').fill(standInKey);
    assert.equal(await dialog.getByLabel('Address').inputValue(), provider.url);
    await dialog.getByLabel('Deployment').fill('dep1');
    await dialog.getByRole('button', { name: 'Save and test' }).click();
    await page.getByText(/Saved. Azure OpenAI replied with dep1 after \d+ ms/).waitFor();
    const { deployment, models } = (await admin.get('/ai/settings')).find((one: any) => one.provider === 'azure');
    assert.deepEqual([deployment, models], ['dep1', { high: 'dep1', low: 'dep1' }]);
    await admin.remove('/ai/settings/azure');
    await page.context().close();
  });

  it('is not there for an EDITOR', async () => {
    const editor = await newConsoleUser(service, admin, 'EDITOR');
    const page = await signedInPage(browser, service, { as: editor });
    await page.getByRole('heading', { name: 'Surveys', level: 1 }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'AI', exact: true }).count(), 0);
  });
});
