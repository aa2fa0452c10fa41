import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { fillSignIn } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('a survey from the sign-in to a table, by mouse', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const addQuestion = async (page: Page, type: string, text: string) => {
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('menuitem', { name: type }).click();
    const field = page.getByRole('textbox', { name: 'Text', exact: true });
    await eventually(async () => assert.equal(await field.inputValue(), 'New question'));
    await field.fill(text);
    await page.getByRole('list', { name: 'Outline' }).getByRole('button', { name: text }).waitFor();
  };

  it('is answered by invitation and by its link, while its author watches the results move', async () => {
    const page = await browser.open({ viewport: { width: 1440, height: 900 } });
    await page.goto(service.origin);
    await fillSignIn(page);
    await page.getByRole('button', { name: 'New survey' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'New survey' });
    await dialog.getByLabel('Title').fill('Lunch');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'No questions yet' }).waitFor();
    await addQuestion(page, 'Multiple choice', 'Which dish?');
    await page.getByRole('textbox', { name: 'Option 1' }).fill('Soup');
    await page.getByRole('textbox', { name: 'Option 2' }).fill('Salad');
    await addQuestion(page, 'Yes or no', 'Would you come again?');
    await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor();

    const tabs = page.getByRole('navigation', { name: 'Survey' });
    await tabs.getByRole('link', { name: 'Publish' }).click();
    await page.getByText('Nothing is missing.').waitFor();
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Publish' }).click();
    await page.getByText('Published: it takes responses.').waitFor();
    const surveyId = new URL(page.url()).pathname.split('/')[2] ?? '';

    await page.getByRole('button', { name: 'New collector' }).click();
    const form = page.getByRole('dialog', { name: 'New collector' });
    await form.getByLabel('Name').fill('Colleagues');
    await form.getByText('Invited people').click();
    await form.getByRole('button', { name: 'Create the collector' }).click();
    await page.getByRole('button', { name: 'Actions of Colleagues' }).click();
    await page.getByRole('menuitem', { name: 'Invitations' }).click();
    const invitations = page.getByRole('dialog', { name: 'Invitations of “Colleagues”' });
    await invitations.getByRole('textbox', { name: 'Without names' }).fill('1');
    await invitations.getByRole('button', { name: 'Create', exact: true }).click();
    await invitations.getByText('1 invitation is made.').waitFor();
    const saving = page.waitForEvent('download');
    await invitations.getByRole('button', { name: 'Download the links' }).click();
    const csv = await readFile(await (await saving).path(), 'utf8');
    const invitation = csv.split('\r\n')[1]?.split(',')[2] ?? '';
    await invitations.getByRole('button', { name: 'Close' }).click();
    const link = (await page.getByText(`${service.origin}/s/${surveyId}`, { exact: true }).textContent()) ?? '';

    await tabs.getByRole('link', { name: 'Results' }).click();
    await page.getByText('Live', { exact: true }).waitFor();
    const answer = async (address: string, dish: string, again: string) => {
      const theirs = await browser.open({ viewport: { width: 390, height: 800 } });
      await theirs.goto(address);
      await theirs.getByRole('radio', { name: dish }).click();
      await theirs.getByRole('radio', { name: again, exact: true }).click();
      await theirs.getByRole('button', { name: 'Send' }).click();
      await theirs.getByRole('heading', { name: 'Thank you' }).waitFor();
      await theirs.context().close();
    };
    const figure = (name: string) =>
      page
        .locator('dl > div')
        .filter({ has: page.getByText(name, { exact: true }) })
        .first();
    // Nobody reloads the page.
    await page.evaluate('globalThis.isTheSamePage = true');
    await answer(invitation, 'Soup', 'Yes');
    await figure('Complete').getByText('1', { exact: true }).waitFor();
    await answer(link, 'Salad', 'No');
    await figure('Complete').getByText('2', { exact: true }).waitFor();
    await figure('Colleagues').getByText('1', { exact: true }).waitFor();
    assert.equal(await page.evaluate('globalThis.isTheSamePage'), true);
    assert.equal((await admin.get(`/analytics/surveys/${surveyId}`)).completeResponses, 2);

    await tabs.getByRole('link', { name: 'Crosstab' }).click();
    for (const [field, question] of [
      ['Rows', 'Would you come again?'],
      ['Columns', 'Which dish?'],
    ] as const) {
      await page.getByRole('combobox', { name: field }).click();
      await page.getByRole('option', { name: question }).click();
    }
    const table = page.getByRole('table', { name: 'Crosstab' });
    await table.getByRole('columnheader', { name: /Salad/ }).waitFor();
    await page.getByRole('table', { name: 'Association of the rows with each variable in columns' }).waitFor();
  });
});
