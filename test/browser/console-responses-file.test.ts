import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Locator, Page, Request } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, newConsoleUser, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

const dishes = ['Soup', 'Pasta', '<b>Salad</b>'];
const rowCount = 12;
/** Separated by semicolons, in Windows-1252, as spreadsheets of some countries save it. */
const file = Buffer.from(
  [
    'Respondent ID;Which dish?;Would you come again?;How satisfied are you?;Anything else?',
    ...Array.from({ length: rowCount }, (_, n) =>
      [`r${n}`, dishes[n % 3], n % 4 === 0 ? 'No' : 'Yes', (n % 5) + 1, n % 2 === 0 ? `"Für ${n}; danke"` : ''].join(
        ';',
      ),
    ),
  ].join('\r\n'),
  'latin1',
);

/** A call that changes nothing. */
const isRead = (request: Request): boolean =>
  request.method() === 'GET' && new URL(request.url()).pathname.startsWith('/api/v1/');

describe('a survey of a file of responses', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const chosen = async (page: Page, name: string, content: Buffer): Promise<Locator> => {
    await page.getByRole('button', { name: 'New survey' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'New survey' });
    await dialog.getByText('From a file', { exact: true }).click();
    const choosing = page.waitForEvent('filechooser');
    await dialog.getByRole('button', { name: 'Choose a file' }).click();
    await (await choosing).setFiles({ name, mimeType: 'text/csv', buffer: content });
    return dialog;
  };
  const madeSurvey = async (page: Page) => {
    await page.waitForURL(/\/surveys\/[^/]+\/build/);
    return admin.get(`/surveys/${page.url().split('/')[4]}`);
  };

  it('has the questions that are recognised, of the types that are chosen, without those left out', async () => {
    const page = await signedInPage(browser, service);
    const dialog = await chosen(page, 'lunch.csv', file);
    const table = dialog.getByRole('table', { name: 'Questions of the file' });
    await table.waitFor();
    await dialog.getByRole('status').filter({ hasText: 'lunch.csv: 12 rows, 4 questions.' }).waitFor();
    await dialog.getByRole('button', { name: 'Choose a file' }).and(page.locator(':focus')).waitFor();
    await dialog.getByText('“Respondent ID” says who answered, and is no question.').waitFor();
    assert.deepEqual(await typesIn(table), ['Multiple choice', 'Yes or no', 'Number', 'Short text']);
    await assertAccessible(page);
    await table.getByRole('button', { name: /Type of How satisfied/ }).click();
    await page.getByRole('option', { name: 'E-mail' }).click();
    await table.getByText('12 do not fit').waitFor();
    await table.getByRole('button', { name: /Type of How satisfied/ }).click();
    await page.getByRole('option', { name: 'Rating' }).click();
    await table.getByText('12 do not fit').waitFor({ state: 'detached' });
    await table.getByRole('checkbox', { name: 'Take Anything else?' }).press('Space');
    await dialog.getByLabel('Title').fill('Lunch');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const { title, status, questions } = await madeSurvey(page);
    assert.deepEqual([title, status], ['Lunch', 'DRAFT']);
    assert.deepEqual(
      questions.map(({ type, text }: any) => [type, text]),
      [
        ['MULTIPLE_CHOICE', 'Which dish?'],
        ['YES_NO', 'Would you come again?'],
        ['RATING_SCALE', 'How satisfied are you?'],
      ],
    );
    assert.deepEqual(
      questions[0].options.map(({ text }: any) => text),
      dishes,
    );
  });

  it('is made of the JSON that is chosen while the reader of the file before is being loaded', async () => {
    const page = await signedInPage(browser, service);
    const held = await holdCalls(page, /\/responses-file[^/]*\.js/);
    const dialog = await chosen(page, 'lunch.csv', file);
    await eventually(() => assert.ok(held.count() > 0));
    const choosing = page.waitForEvent('filechooser');
    await dialog.getByRole('button', { name: 'Choose a file' }).click();
    const json = JSON.stringify({ title: 'The latest file', questions: [{ type: 'NPS', text: 'How likely?' }] });
    const reader = page.waitForResponse(/\/responses-file[^/]*\.js/);
    await (await choosing).setFiles({ name: 'b.json', mimeType: 'application/json', buffer: Buffer.from(json) });
    await dialog.getByText('b.json').waitFor();
    held.release();
    // The reader is there, and has had the time that a small file takes.
    await page.evaluate(`(async () => {
      await import(${JSON.stringify((await reader).url())});
      await new Blob(['a,b']).arrayBuffer();
      for (let frame = 0; frame < 5; frame += 1) await new Promise(requestAnimationFrame);
    })()`);
    await dialog.getByRole('button', { name: 'Create' }).click();
    const { title, questions } = await madeSurvey(page);
    assert.deepEqual([title, questions.length], ['The latest file', 1]);
    await page.context().close();
  });

  it('is made to the end before another file can be chosen', async () => {
    const page = await signedInPage(browser, service);
    const held = await holdCalls(page, '**/api/v1/surveys/import');
    const dialog = await chosen(page, 'sent.csv', file);
    let choosers = 0;
    page.on('filechooser', () => (choosers += 1));
    await dialog.getByRole('button', { name: 'Create' }).click();
    await eventually(() => assert.equal(held.count(), 1));
    const pending = dialog.getByRole('button', { name: 'Choose a file', disabled: true });
    await pending.click({ force: true });
    await pending.press('Enter');
    held.release();
    const { title } = await madeSurvey(page);
    assert.deepEqual([title, choosers], ['sent', 0]);
    await page.context().close();
  });

  it('gets the rows as responses, and is paused afterwards', async () => {
    const page = await signedInPage(browser, service);
    const dialog = await chosen(page, 'with answers.csv', file);
    await dialog.getByRole('checkbox', { name: /Submit the 12 rows as responses/ }).press('Space');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const { id } = await madeSurvey(page);
    const tray = page.getByRole('region', { name: 'Long work' });
    await tray.waitFor();
    await eventually(async () => assert.match((await tray.textContent()) ?? '', /Done/));
    const survey = await admin.get(`/surveys/${id}`);
    assert.deepEqual(
      [survey.title, survey.status, survey.submissionRateLimit, survey.questions.length],
      ['with answers', 'PAUSED', null, 4],
    );
    const statistics = await eventually(async () => {
      const found = await admin.get(`/analytics/surveys/${id}`);
      assert.equal(found.totalResponses, rowCount);
      return found;
    });
    const [dish, again, satisfied, remark] = statistics.questionStats;
    assert.deepEqual(Object.values(dish.distribution), [4, 4, 4]);
    assert.deepEqual(again.distribution, { yes: 9, no: 3 });
    assert.equal(satisfied.averageValue, 33 / 12);
    assert.equal(remark.responseCount, 6);
    const responses = await admin.get(`/responses/surveys/${id}?limit=100`);
    assert.deepEqual(
      responses.map(({ metadata }: any) => metadata['Respondent ID']).sort(),
      Array.from({ length: rowCount }, (_, n) => `r${n}`).sort(),
    );
    assert.ok(JSON.stringify(responses).includes('Für 4; danke'));
  });

  it('is not made of a file without responses, which is said', async () => {
    const page = await signedInPage(browser, service);
    const dialog = await chosen(page, 'head.csv', Buffer.from('Which dish?,Again?\r\n'));
    await dialog.getByText('The file has a head, but no responses.').waitFor();
    assert.equal(await dialog.getByRole('button', { name: 'Create' }).isDisabled(), true);
    await assertAccessible(page);
  });

  it('is paused though the service is away or the session ends when all rows are in, and said to be open till then', async () => {
    for (const reason of ['the service is away', 'the session ends'] as const) {
      const user = await newConsoleUser(service, admin, 'ADMIN');
      const page = await signedInPage(browser, service, { as: user });
      let isAway = reason === 'the service is away';
      let refused = 0;
      await page.route(/\/api\/v1\/surveys\/[^/]+$/, async (route) => {
        if (!route.request().postData()?.includes('PAUSED')) return route.fallback();
        if (isAway) {
          refused += 1;
          return route.fulfill({ status: 503, json: { code: 'SERVICE_UNAVAILABLE' } });
        }
        if (reason === 'the session ends' && refused === 0) {
          refused += 1;
          await user.client.call('POST', '/auth/logout', { body: { everywhere: true } });
        }
        return route.continue();
      });
      const dialog = await chosen(page, 'open.csv', file);
      await dialog.getByRole('checkbox', { name: /Submit the 12 rows as responses/ }).press('Space');
      await dialog.getByRole('button', { name: 'Create' }).click();
      await page.waitForURL(/\/surveys\/[^/]+\/build/);
      const id = page.url().split('/')[4];
      const tray = page.getByRole('region', { name: 'Long work' });
      await tray.getByText(/The survey is still open\./).waitFor();
      assert.equal((await admin.get(`/surveys/${id}`)).status, 'ACTIVE');
      isAway = false;
      if (reason === 'the session ends') {
        const again = page.getByRole('dialog', { name: 'Your session has ended' });
        await again.getByLabel('Password').fill(user.password);
        await again.getByRole('button', { name: 'Sign in' }).click();
      }
      await tray.getByText('Done', { exact: true }).waitFor();
      const { status, submissionRateLimit } = await admin.get(`/surveys/${id}`);
      assert.deepEqual([status, submissionRateLimit], ['PAUSED', null]);
      browser.forgive(/status of (401|503)/);
      await page.context().close();
    }
  });

  it('is paused by whoever signs out while rows are being submitted, once that is agreed to', async () => {
    const user = await newConsoleUser(service, admin, 'ADMIN');
    const page = await signedInPage(browser, service, { as: user });
    const held = await holdCalls(page, '**/responses/surveys/*/submit');
    const dialog = await chosen(page, 'left.csv', file);
    await dialog.getByRole('checkbox', { name: /Submit the 12 rows as responses/ }).press('Space');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const { id } = await madeSurvey(page);
    await eventually(() => assert.equal(held.count(), 6));
    await page.getByRole('button', { name: user.email }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    const asked = page.getByRole('alertdialog', { name: 'Sign out without saving?' });
    await asked.getByText('The rows of a file are still being submitted.').waitFor();
    await assertAccessible(page);
    assert.equal((await admin.get(`/surveys/${id}`)).status, 'ACTIVE');
    await asked.getByRole('button', { name: 'Sign out' }).click();
    held.release();
    await page.getByRole('heading', { name: 'Sign in to Surveys' }).waitFor();
    const { status, submissionRateLimit } = await admin.get(`/surveys/${id}`);
    assert.deepEqual([status, submissionRateLimit, held.count()], ['PAUSED', null, 6]);
    await page.context().close();
  });

  it('is paused after another sign-in where signing out finds that the session has ended elsewhere', async () => {
    const user = await newConsoleUser(service, admin, 'ADMIN');
    const page = await signedInPage(browser, service, { as: user });
    // The connection would end with the session, and ask for another one.
    await page.routeWebSocket(/\/api\/v1\/live/, () => undefined);
    const reading = new Set<Request>();
    page.on('request', (request) => isRead(request) && reading.add(request));
    page.on('requestfinished', (request) => reading.delete(request));
    page.on('requestfailed', (request) => reading.delete(request));
    const held = await holdCalls(page, '**/responses/surveys/*/submit', {
      answer: async (route, isReleased) => {
        await isReleased;
        await route.fulfill({ status: 201, json: { success: true, data: {} } });
      },
    });
    const dialog = await chosen(page, 'ended.csv', file);
    await dialog.getByRole('checkbox', { name: /Submit the 12 rows as responses/ }).press('Space');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const { id } = await madeSurvey(page);
    await eventually(() => assert.equal(held.count(), 6));
    // Signing out, and nothing that Build still reads, is what finds that the session has ended.
    const reads = await holdCalls(page, '**/api/v1/**', {
      answer: async (route, isReleased) => {
        if (!isRead(route.request())) return route.fallback();
        await isReleased;
        await route.continue().catch(() => undefined);
      },
    });
    await eventually(() => assert.equal(reading.size, reads.count()));
    await user.client.post('/auth/logout', { everywhere: true });
    await page.getByRole('button', { name: user.email }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    const asked = page.getByRole('alertdialog', { name: 'Sign out without saving?' });
    await asked.getByRole('button', { name: 'Sign out' }).click();
    const isRefused = page.waitForResponse((reply) => reply.url().endsWith('/auth/refresh') && reply.status() === 401);
    held.release();
    await isRefused;
    reads.release();
    const again = page.getByRole('dialog', { name: 'Your session has ended' });
    await again.getByLabel('Password').fill(user.password);
    await again.getByRole('button', { name: 'Sign in' }).click();
    await again.waitFor({ state: 'detached' });
    await asked.getByText(/The survey is still open\./).waitFor();
    await eventually(async () => assert.equal((await admin.get(`/surveys/${id}`)).status, 'PAUSED'));
    await asked.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Surveys' }).waitFor();
    browser.forgive(/status of 401/);
    await page.context().close();
  });

  it('is not changed in the name of somebody else who signs in while rows are being submitted', async () => {
    const [user, other] = [
      await newConsoleUser(service, admin, 'ADMIN'),
      await newConsoleUser(service, admin, 'ADMIN'),
    ];
    const page = await signedInPage(browser, service, { as: user });
    const held = await holdCalls(page, '**/responses/surveys/*/submit', {
      answer: async (route, isReleased) => {
        await isReleased;
        await route.fulfill({ status: 201, json: { success: true, data: {} } });
      },
    });
    const dialog = await chosen(page, 'handed over.csv', file);
    await dialog.getByRole('checkbox', { name: /Submit the 12 rows as responses/ }).press('Space');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const { id } = await madeSurvey(page);
    await eventually(() => assert.equal(held.count(), 6));
    await user.client.post('/auth/logout', { everywhere: true });
    const again = page.getByRole('dialog', { name: 'Your session has ended' });
    await again.getByLabel('E-mail').fill(other.email);
    await again.getByLabel('Password').fill(other.password);
    await again.getByRole('button', { name: 'Sign in' }).click();
    await again.waitFor({ state: 'detached' });
    let changes = 0;
    await page.route(`**/api/v1/surveys/${id}`, (route) => {
      if (route.request().method() !== 'GET') changes += 1;
      return route.fallback();
    });
    held.release();
    // Once the import has ended nothing is unsaved.
    await eventually(async () => assert.equal(await isLeftFreely(page), true));
    assert.deepEqual([changes, held.count(), (await admin.get(`/surveys/${id}`)).status], [0, 6, 'ACTIVE']);
    browser.forgive(/status of 401/);
    await page.context().close();
  });
});

/** The types that the rows of the table show. */
const typesIn = (table: Locator): Promise<string[]> =>
  table
    .getByRole('button', { name: /^.*Type of/ })
    .evaluateAll((buttons) =>
      buttons.map((button) => button.querySelector('.react-aria-SelectValue')?.textContent ?? ''),
    );

/** Whether nothing of the page asks before it is left. */
const isLeftFreely = (page: Page): Promise<boolean> =>
  page.evaluate(`dispatchEvent(new Event('beforeunload', { cancelable: true }))`);
