import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, newConsoleUser, openNewSurvey, signedInPage } from '../support/console.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('a new survey', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  it('is a copy of another', async () => {
    // Other files of a worker have surveys in the same list.
    const title = `The original ${randomUUID()}`;
    const { id } = await admin.create('/surveys', { title });
    await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'How likely?' });
    const page = await signedInPage(browser, service);
    const dialog = await openNewSurvey(page, 'From a copy');
    await dialog.getByRole('button', { name: 'Copy' }).click();
    await dialog.getByText('Please choose a survey.').waitFor();
    await assertAccessible(page);
    await dialog.getByRole('combobox', { name: 'Survey' }).fill(title);
    await page.getByRole('option', { name: title }).click();
    await dialog.getByLabel('Title of the copy').fill('The second');
    await dialog.getByRole('button', { name: 'Copy' }).click();
    await page.waitForURL(/\/surveys\/[^/]+\/build/);
    await page.getByRole('heading', { name: 'The second', level: 1 }).waitFor();
    assert.equal(page.url().includes(id), false);
  });

  it('is made of a file that the list saves, and of none that is wrong', async () => {
    const title = `Kept in a file ${randomUUID()}`;
    const { id } = await admin.create('/surveys', { title, language: 'de' });
    await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'How likely?' });
    const page = await signedInPage(browser, service, { path: `/surveys?search=${title}` });
    await page.getByRole('button', { name: `Actions of ${title}` }).click();
    const saving = page.waitForEvent('download');
    await page.getByRole('menuitem', { name: 'Save as a file' }).click();
    const download = await saving;
    assert.equal(download.suggestedFilename(), `${title}.json`);
    const saved = JSON.parse(await readFile(await download.path(), 'utf8'));

    const dialog = await openNewSurvey(page, 'From a file');
    const choose = async (name: string, content: string) => {
      const choosing = page.waitForEvent('filechooser');
      await dialog.getByRole('button', { name: 'Choose a file' }).click();
      await (await choosing).setFiles({ name, mimeType: 'application/json', buffer: Buffer.from(content) });
      await dialog.getByText(name).waitFor();
      await dialog.getByRole('button', { name: 'Create' }).click();
    };
    await choose('none.json', '<html>');
    await dialog.getByText('This file is not JSON.').waitFor();
    await choose('responses.xlsx', 'PK\u0003\u0004');
    await dialog
      .getByText('This file is neither the JSON of a survey nor a CSV. Save a table of Excel or SPSS as CSV first.')
      .waitFor();
    const wrong = {
      ...saved,
      questions: [
        { ...saved.questions[0], type: 'PIE' },
        { text: '<b>x</b>', type: 'NPS', pie: 1 },
      ],
    };
    await choose('wrong.json', JSON.stringify(wrong));
    const issues = dialog.getByRole('list', { name: 'What is wrong' });
    await issues.getByText('questions.0.type').waitFor();
    await issues.getByText('questions.1.pie').waitFor();
    await assertAccessible(page);
    browser.forgive(/status of 400/);
    await choose('right.json', JSON.stringify({ ...saved, title: 'Out of a file' }));
    await page.waitForURL(/\/surveys\/[^/]+\/build/);
    await page.getByRole('heading', { name: 'Out of a file', level: 1 }).waitFor();
    const made = await admin.get(`/surveys/${page.url().split('/')[4]}`);
    assert.deepEqual([made.language, made.questions.length, made.id === id], ['de', 1, false]);
  });

  describe('with AI where no provider is set up', () => {
    it('an ADMIN is led to the settings before anything is asked, others are told when they ask', async () => {
      const page = await signedInPage(browser, service, { path: '/surveys/new' });
      await page.getByRole('heading', { name: 'No AI provider is set up yet' }).waitFor();
      await assertAccessible(page);
      await page.getByRole('link', { name: 'Open AI settings' }).click();
      await page.waitForURL(/\/ai$/);

      const editor = await newConsoleUser(service, admin, 'EDITOR');
      const theirs = await signedInPage(browser, service, { path: '/surveys/new', as: editor });
      await theirs.getByLabel('Topic').fill('Our canteen');
      await theirs.getByRole('button', { name: 'Write the draft' }).click();
      await theirs
        .getByRole('alert')
        .getByText(/No AI provider is set up yet/)
        .waitFor();
      assert.equal(await theirs.getByRole('link', { name: 'Open AI settings' }).count(), 0);
      browser.forgive(/status of 503/);
    });
  });
});
