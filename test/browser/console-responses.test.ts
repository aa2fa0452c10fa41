import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, goTo, newConsoleUser, signedInPage } from '../support/console.ts';
import { answeredSurvey } from '../support/dishes-survey.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import { type AskedQuestion, publishedSurvey } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('the screen Responses', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  // The browser is closed before the service: pages would report that they cannot reconnect.
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const answered = (given: readonly (readonly [respondent: string, text: string])[]) => answeredSurvey(admin, given);
  const stored = (id: string) => admin.get(`/responses/surveys/${id}`);

  it('lists responses, shows one in full and deletes it', async () => {
    const id = await answered([
      ['anna', '<b>Soup</b>'],
      ['bert', 'Pasta'],
    ]);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/responses` });
    const table = page.getByRole('table', { name: 'Responses' });
    await table.getByText('<b>Soup</b>').waitFor();
    await page.getByText('2 responses').waitFor();
    await assertAccessible(page);
    await table.getByText('Pasta').click();
    const dialog = page.getByRole('dialog', { name: 'Response' });
    await dialog.getByText('bert').waitFor();
    await dialog.getByText('Which dish?').waitFor();
    await assertAccessible(page);
    await dialog.getByRole('button', { name: 'Delete the response' }).click();
    const deletion = page.waitForRequest((request) => request.method() === 'DELETE');
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete for good' }).click();
    assert.equal(new URL((await deletion).url()).searchParams.get('surveyId'), id, 'others may hold the same id');
    await table.getByText('Pasta').waitFor({ state: 'detached' });
    assert.deepEqual(
      (await stored(id)).map(({ respondent }: { respondent: string }) => respondent),
      ['anna'],
    );
  });

  it('shows the first response, which arrives while the list is open', async () => {
    const { id } = await publishedSurvey(admin, { title: 'Empty' }, [{ type: 'SHORT_TEXT', text: 'Which dish?' }]);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/responses` });
    await page.getByRole('heading', { name: 'No responses yet' }).waitFor();
    assert.equal((await admin.submit(id, { answers: [] })).status, 201);
    await page.getByRole('table', { name: 'Responses' }).waitFor();
    await page.context().close();
  });

  it('says of an empty list that cannot be read anew that it may be out of date, and asks no more', async () => {
    const { id } = await publishedSurvey(admin, { title: 'Empty' }, [{ type: 'LONG_TEXT', text: 'Which dish?' }]);
    const page = await signedInPage(browser, service);
    await page.clock.install();
    for (const [view, title] of [
      ['responses', 'No responses yet'],
      ['texts', 'No answers yet'],
    ] as const) {
      await goTo(page, `/surveys/${id}/${view}`);
      await page.getByRole('heading', { name: title }).waitFor();
      let reads = 0;
      const lists = /\/api\/v1\/responses\/surveys\/[^?]+\?/;
      await page.route(lists, (route) => {
        reads += 1;
        return route.fulfill({ status: 400, json: { code: 'VALIDATION_ERROR' } });
      });
      await page.getByRole('alert').filter({ hasText: 'What follows may be out of date.' }).waitFor();
      await page.clock.fastForward(60_000);
      await page.getByRole('heading', { name: title }).waitFor();
      assert.equal(reads, 1);
      await page.unroute(lists);
    }
    browser.forgive(/status of 400/);
    await page.context().close();
  });

  it('stays as it was loaded when somebody else saves the survey', async () => {
    const id = await answered([['anna', 'Soup']]);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/responses` });
    await page.getByRole('table', { name: 'Responses' }).getByText('Soup').waitFor();
    let reads = 0;
    page.on('request', (request) => (reads += Number(/\/responses\/surveys\//.test(request.url()))));
    await admin.put(`/surveys/${id}`, { title: 'Dinner' });
    await page.getByRole('heading', { name: 'Dinner', exact: true }).waitFor();
    assert.equal(reads, 0);
    await page.context().close();
  });

  it('shows what was deleted or erased in no other view any more', async () => {
    const id = await answered([
      ['anna', 'Soup'],
      ['bert', 'Pasta'],
      ['carl', 'Salad'],
    ]);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/texts` });
    const texts = page.getByRole('region', { name: 'Answers' }).locator('li > p');
    const views = [
      { href: `/surveys/${id}/texts`, counted: async () => (await texts.allTextContents()).length },
      {
        href: `/surveys/${id}/crosstab?rows=language&columns=collector`,
        counted: async () => {
          const text = await page.getByRole('table', { name: 'Crosstab' }).getByText(/^n /).first().textContent();
          return Number(text?.slice('n '.length));
        },
      },
    ];
    const show = async (count: number) => {
      for (const { href, counted } of views) {
        await goTo(page, href);
        await page
          .getByRole('region', { name: 'Answers' })
          .or(page.getByRole('table', { name: 'Crosstab' }))
          .waitFor();
        assert.equal(await counted(), count, href);
      }
      await goTo(page, `/surveys/${id}/responses`);
    };
    await show(3);
    const table = page.getByRole('table', { name: 'Responses' });
    await table.getByText('Pasta').click();
    await page.getByRole('button', { name: 'Delete the response' }).click();
    await page.getByRole('button', { name: 'Delete for good' }).click();
    await page.getByText('The response is deleted.').waitFor();
    await show(2);
    await page.getByRole('button', { name: 'Erase a respondent' }).click();
    await page.getByRole('textbox', { name: 'Respondent' }).fill('carl');
    await page.getByRole('button', { name: 'Erase', exact: true }).click();
    await page.getByText('1 response is erased.').waitFor();
    await show(1);
    await page.context().close();
  });

  it('keeps the focus on its controls while responses are read anew', async () => {
    const id = await answered([['anna', 'Soup']]);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/responses` });
    const table = page.getByRole('table', { name: 'Responses' });
    await table.getByText('Soup').waitFor();
    const holdReads = () => holdCalls(page, '**/responses/surveys/*?*');
    const isFocused = async (name: RegExp) => {
      const button = page.getByRole('button', { name });
      await eventually(async () =>
        assert.equal(await button.evaluate((element) => element === element.ownerDocument.activeElement), true),
      );
    };
    const first = await holdReads();
    await page.getByRole('button', { name: 'Reload' }).press('Enter');
    await table.waitFor({ state: 'detached' });
    await isFocused(/Reload/);
    first.release();
    await table.getByText('Soup').waitFor();
    await isFocused(/Reload/);
    const second = await holdReads();
    await page.getByRole('button', { name: /Outcome/ }).press('Enter');
    await page.getByRole('option', { name: 'Completed' }).press('Enter');
    await table.waitFor({ state: 'detached' });
    await isFocused(/Outcome/);
    second.release();
    await table.getByText('Soup').waitFor();
    await isFocused(/Outcome/);
    await page.context().close();
  });

  it('tells what a respondent was not asked from what was not answered, and names the collector', async () => {
    const { id, questions } = await publishedSurvey(admin, { title: 'Paths' }, [
      { type: 'YES_NO', text: 'Do you drive?' },
      { type: 'SHORT_TEXT', text: 'Which car?' },
      { type: 'SHORT_TEXT', text: 'Anything else?' },
    ]);
    const [drives, car] = questions;
    const [yes, no] = drives?.options ?? [];
    const saysYes = { questionId: drives?.id, operator: 'isAnyOf', optionIds: [yes?.id] };
    await admin.put(`/surveys/questions/${car?.id}`, { visibleIf: saysYes });
    const { id: collectorId } = await admin.create(`/surveys/${id}/collectors`, { name: 'Posters' });
    const answers = [{ questionId: drives?.id, optionId: no?.id }];
    assert.equal((await admin.submit(id, { answers, collectorId })).status, 201);
    await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'Added later' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/responses` });
    await page.getByRole('table', { name: 'Responses' }).getByText('No', { exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Response' });
    await dialog.getByText('Not asked').first().waitFor();
    const lines = await dialog.locator('dl > div').allInnerTexts();
    const shown = new Map(lines.map((line) => line.split('\n') as [string, string]));
    assert.deepEqual(
      ['Collector', 'Do you drive?', 'Which car?', 'Anything else?', 'Added later'].map((name) => shown.get(name)),
      ['Posters', 'No', 'Not asked', 'No answer', 'Not asked'],
    );
    await assertAccessible(page);
    await page.context().close();
  });

  it('names removed options and rows as results do', async () => {
    const { id, questions } = await publishedSurvey(admin, { title: 'Removed' }, [
      { type: 'MULTIPLE_CHOICE', text: 'Dish?', options: [{ text: 'Soup of the day' }, { text: 'Pasta' }] },
      {
        type: 'MATRIX',
        text: 'How was it?',
        options: [{ text: 'Good' }, { text: 'Bad' }],
        settings: { rows: [{ text: 'Its price' }, { text: 'Taste' }] },
      },
    ]);
    const [dish, matrix] = questions as [AskedQuestion, AskedQuestion];
    const [soup, pasta] = dish.options;
    const [price, taste] = matrix.settings.rows ?? [];
    const answers = [
      { questionId: dish.id, optionId: soup?.id },
      { questionId: matrix.id, rowId: price?.id, optionId: matrix.options[0]?.id },
      { questionId: matrix.id, rowId: taste?.id, optionId: matrix.options[1]?.id },
    ];
    assert.equal((await admin.submit(id, { answers })).status, 201);
    await eventually(async () => assert.equal((await stored(id)).length, 1));
    await admin.put(`/surveys/questions/${dish.id}`, { options: [{ id: pasta?.id, text: 'Pasta' }] });
    await admin.put(`/surveys/questions/${matrix.id}`, { settings: { rows: [{ id: taste?.id, text: 'Taste' }] } });
    const viewer = await newConsoleUser(service, admin, 'VIEWER');
    await admin.put(`/surveys/${id}/members/${viewer.id}`, { role: 'VIEWER' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/responses`, as: viewer });
    const table = page.getByRole('table', { name: 'Responses' });
    await table.getByRole('row').nth(1).waitFor();
    const [dishText, ratings] = ['soup-of-the-day (removed)', 'Taste: Bad; its-price (removed): Good'];
    await eventually(async () =>
      assert.deepEqual((await table.getByRole('row').nth(1).getByRole('cell').allInnerTexts()).slice(2, 4), [
        dishText,
        ratings,
      ]),
    );
    await table.getByText(dishText).click();
    const dialog = page.getByRole('dialog', { name: 'Response' });
    await dialog.getByText(dishText).waitFor();
    await dialog.getByText(ratings).waitFor();
  });

  it('erases a respondent', async () => {
    const id = await answered([
      ['anna', 'Soup'],
      ['anna', 'Pasta'],
      ['bert', 'Salad'],
    ]);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/responses` });
    await page.getByRole('button', { name: 'Erase a respondent' }).click();
    const dialog = page.getByRole('alertdialog', { name: 'Erase a respondent' });
    await dialog.getByLabel('Respondent').fill('anna');
    await dialog.getByRole('button', { name: 'Erase', exact: true }).click();
    await page.getByText('2 responses are erased.').waitFor();
    await page.getByText('1 response', { exact: true }).waitFor();
    assert.equal((await stored(id)).length, 1);
  });

  it('lets a VIEWER read and delete nothing', async () => {
    const id = await answered([['anna', 'Soup']]);
    const viewer = await newConsoleUser(service, admin, 'VIEWER');
    await admin.put(`/surveys/${id}/members/${viewer.id}`, { role: 'VIEWER' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/responses`, as: viewer });
    await page.getByRole('table', { name: 'Responses' }).getByText('Soup').click();
    await page.getByRole('dialog', { name: 'Response' }).getByText('anna').waitFor();
    assert.equal(await page.getByRole('button', { name: /^(Delete|Erase)/ }).count(), 0);
  });
});
