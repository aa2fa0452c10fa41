import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { keepMessages, signedInPage } from '../support/console.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('a question that is deleted in Build, while that can be undone', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  /** Deletes the second of two questions. The time in which that can be undone does not end by itself. */
  const deleted = async () => {
    // Other files of a worker have surveys in the same list.
    const title = `Shortened ${randomUUID()}`;
    const { id } = await admin.create('/surveys', { title });
    await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Kept?' });
    const question = await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Deleted?' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${question.id}` });
    await keepMessages(page);
    await page.getByRole('heading', { name: 'Question 2' }).waitFor();
    await page.getByRole('button', { name: 'Delete the question' }).click();
    await page.getByText('“Deleted?” is deleted.').waitFor();
    return { id: id as string, title, page };
  };
  const textsOf = async (id: string): Promise<string[]> =>
    (await admin.get(`/surveys/${id}`)).questions.map(({ text }: { text: string }) => text);
  const act = async (page: Page, title: string, action: string) => {
    await page.getByRole('link', { name: 'Surveys' }).first().click();
    await page.getByRole('button', { name: `Actions of ${title}` }).click();
    await page.getByRole('menuitem', { name: action }).click();
  };
  const publish = async (page: Page) => {
    await page.getByRole('link', { name: 'Publish' }).click();
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Publish' }).click();
  };

  it('is not published, and cannot be brought back after that', async () => {
    const { id, page } = await deleted();
    await publish(page);
    await page.getByText('Published: it takes responses.').waitFor();
    assert.deepEqual(await textsOf(id), ['Kept?']);
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0);
    await page.context().close();
  });

  it('keeps the survey from being published while the service refuses to delete it', async () => {
    const { id, page } = await deleted();
    await page.route('**/surveys/*/questions/*', (route) => route.fulfill({ status: 503, body: '{}' }));
    await publish(page);
    await page.getByText(/^“Deleted\?” was not deleted\./).waitFor();
    await page.getByRole('alertdialog').getByRole('alert').waitFor();
    assert.equal((await admin.get(`/surveys/${id}`)).status, 'DRAFT');
    browser.forgive(/status of 503/);
    await page.context().close();
  });

  it('is not copied', async () => {
    const { title, page } = await deleted();
    await act(page, title, 'Duplicate');
    await page.getByRole('heading', { name: `${title} (copy)` }).waitFor();
    const copy = /surveys\/([^/]+)\/build/.exec(page.url())?.[1] ?? '';
    assert.deepEqual(await textsOf(copy), ['Kept?']);
    await page.context().close();
  });

  it('is not in the file of the survey', async () => {
    const { title, page } = await deleted();
    const [download] = await Promise.all([page.waitForEvent('download'), act(page, title, 'Save as a file')]);
    const { questions } = JSON.parse(readFileSync(await download.path(), 'utf8'));
    assert.deepEqual(
      questions.map(({ text }: { text: string }) => text),
      ['Kept?'],
    );
    await page.context().close();
  });
});
