import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { openSurvey, publishedSurvey, questionAt, storedResponses, thanked } from '../support/page-fixture.ts';
import { png } from '../support/pictures.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

const dishes = [{ text: 'Soup' }, { text: 'Pasta' }];
const withOther = { options: dishes, settings: { allowOther: true } };

describe('an answer that was begun and is not there yet', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));
  const open = (link: string): Promise<Page> => openSurvey(browser, service, { link });
  const press = (page: Page, name: string) => page.getByRole('button', { name }).click();
  const other = (page: Page, text: string) => questionAt(page, text).getByRole('radio', { name: 'Other' });
  const otherText = (page: Page, text: string) => questionAt(page, text).getByLabel('Your own answer');

  it('an “Other” without its text is asked for, and can be taken back', async () => {
    const survey = await publishedSurvey(admin, { title: 'Dishes' }, [
      { type: 'MULTIPLE_CHOICE', text: 'Which dish?', ...withOther },
      { type: 'DROPDOWN', text: 'Which supper?', ...withOther },
      { type: 'MULTIPLE_CHOICE', text: 'Which lunch?', ...withOther },
    ]);
    const page = await open(survey.id);
    await page.getByRole('radio', { name: 'Soup' }).first().check();
    await page.locator('.status[data-status=saved]').waitFor({ state: 'attached' });
    await other(page, 'Which dish?').check();
    await questionAt(page, 'Which supper?').getByRole('combobox').selectOption('Other');
    await other(page, 'Which lunch?').check();
    await press(page, 'Send');
    for (const text of ['Which dish?', 'Which supper?', 'Which lunch?'])
      await questionAt(page, text).getByText('Please enter your own answer, or choose another one.').waitFor();
    await otherText(page, 'Which dish?').fill('Violets');
    await questionAt(page, 'Which supper?').getByRole('combobox').selectOption('Pasta');
    await questionAt(page, 'Which lunch?').getByRole('button', { name: 'Clear answer' }).click();
    await press(page, 'Send');
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.deepEqual(
      stored?.answers.map(({ textValue, optionId }) => textValue ?? optionId),
      ['Violets', survey.questions[1]?.options[1]?.id],
    );
    await page.context().close();
  });

  it('the text of “Other” is there again after another option was pressed by mistake', async () => {
    const survey = await publishedSurvey(admin, { title: 'Dishes' }, [
      { type: 'MULTIPLE_CHOICE', text: 'Which dish?', ...withOther },
      { type: 'DROPDOWN', text: 'Which supper?', ...withOther },
    ]);
    const page = await open(survey.id);
    const supper = questionAt(page, 'Which supper?').getByRole('combobox');
    await other(page, 'Which dish?').check();
    await otherText(page, 'Which dish?').fill('Violets');
    await supper.selectOption('Other');
    await otherText(page, 'Which supper?').fill('Roses');
    for (const name of ['Soup', 'Pasta']) {
      await page.getByRole('radio', { name }).check();
      await supper.selectOption(name);
    }
    assert.equal(await page.getByLabel('Your own answer').count(), 0);
    await other(page, 'Which dish?').check();
    await supper.selectOption('Other');
    assert.equal(await otherText(page, 'Which dish?').inputValue(), 'Violets');
    assert.equal(await otherText(page, 'Which supper?').inputValue(), 'Roses');
    await supper.selectOption('Soup');
    await press(page, 'Send');
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.deepEqual(
      stored?.answers.map(({ textValue, optionId }) => textValue ?? optionId),
      ['Violets', survey.questions[1]?.options[0]?.id],
    );
    await page.context().close();
  });

  it('a file that could not be uploaded is asked for until it is sent again or removed', async () => {
    const survey = await publishedSurvey(admin, { title: 'Pictures' }, [
      { type: 'FILE_UPLOAD', text: 'Your picture?' },
      { type: 'FILE_UPLOAD', text: 'Your receipt?' },
      { type: 'SHORT_TEXT', text: 'Your name?' },
    ]);
    const page = await open(survey.id);
    await page.route('**/api/v1/uploads/**', (route) => route.abort());
    for (const text of ['Your picture?', 'Your receipt?'])
      await questionAt(page, text)
        .locator('input[type=file]')
        .setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: Buffer.from(png) });
    await page.getByLabel('Your name?').fill('Ada');
    for (const text of ['Your picture?', 'Your receipt?'])
      await questionAt(page, text).getByText('me.png could not be uploaded.').waitFor();
    await press(page, 'Send');
    for (const text of ['Your picture?', 'Your receipt?'])
      await questionAt(page, text)
        .getByText('This file is not uploaded. Please try again, choose another one or remove it.')
        .waitFor();
    await page.unroute('**/api/v1/uploads/**');
    await questionAt(page, 'Your receipt?').getByRole('button', { name: 'Remove: me.png' }).click();
    await questionAt(page, 'Your picture?').getByRole('button', { name: 'Try again' }).click();
    await questionAt(page, 'Your picture?').getByRole('button', { name: 'Remove: me.png' }).waitFor();
    assert.equal(await page.getByText('could not be uploaded').count(), 0);
    assert.equal(await page.getByText('This file is not uploaded.').count(), 0);
    await press(page, 'Send');
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.deepEqual(
      stored?.answers.map(({ questionId }) => questionId),
      [survey.questions[0]?.id, survey.questions[2]?.id],
    );
    browser.forgive(/ERR_FAILED/);
    await page.context().close();
  });

  it('a file with a long name is uploaded, under a name with the same ending', async () => {
    const survey = await publishedSurvey(admin, { title: 'Pictures' }, [
      { type: 'FILE_UPLOAD', text: 'Your picture?' },
    ]);
    const page = await open(survey.id);
    const name = `${'写'.repeat(240)}.png`;
    const uploading = page.waitForRequest('**/api/v1/uploads/**');
    await page.locator('input[type=file]').setInputFiles({ name, mimeType: 'image/png', buffer: Buffer.from(png) });
    const sent = decodeURIComponent((await (await uploading).headerValue('x-filename')) ?? '');
    assert.match(sent, /^写{200,239}\.png$/);
    await page.getByRole('button', { name: `Remove: ${name}` }).waitFor();
    await press(page, 'Send');
    await thanked(page);
    assert.equal((await storedResponses(admin, survey.id, 1))[0]?.answers.length, 1);
    await page.context().close();
  });
});
