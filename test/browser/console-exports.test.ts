import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import exceljs from 'exceljs';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, goTo, newConsoleUser, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import type { RunningService } from '../support/service.ts';
import { stopClock } from '../support/stopped-clock.ts';
import { useService } from '../support/use-service.ts';

describe('the exports of the console', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const surveyWith = async (texts: readonly string[]) => {
    const { id } = await admin.create('/surveys', { title: 'Lunch & “dinner”', status: 'ACTIVE' });
    const question = await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'Which dish?' });
    for (const textValue of texts)
      assert.equal((await admin.submit(id, { answers: [{ questionId: question.id, textValue }] })).status, 201);
    await eventually(async () => assert.equal((await admin.get(`/responses/surveys/${id}`)).length, texts.length));
    return { id: String(id), question };
  };
  const makeFile = async (page: Page, format: string) => {
    await page.getByRole('button', { name: /^Format|Format$/ }).click();
    await page.getByRole('option', { name: format, exact: true }).click();
    await page.getByRole('button', { name: 'Make the file' }).click();
    await page
      .getByRole('row', { name: new RegExp(`${format} .* Ready`) })
      .first()
      .waitFor();
  };
  const downloaded = async (page: Page, format: string) => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: new RegExp(`^Download ${format}`) }).click(),
    ]);
    return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
  };

  it('are asked for, followed, downloaded, opened and deleted', async () => {
    const { id } = await surveyWith(['Soup', '=2+3']);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/exports` });
    await page.getByRole('heading', { name: 'No files yet' }).waitFor();
    await assertAccessible(page);
    // Screen readers read out what changes in a part that was there before.
    await page.evaluate(`{
      globalThis.said = [];
      const status = document.querySelector('nav ~ [role=status]');
      const note = () => said.push(status.textContent);
      new MutationObserver(note).observe(status, { childList: true, characterData: true, subtree: true });
    }`);
    await makeFile(page, 'CSV');
    await page.getByRole('region', { name: 'Long work' }).getByText('Done', { exact: true }).waitFor();
    const file = 'CSV of Lunch & “dinner”';
    assert.deepEqual(await page.evaluate('said'), [`${file}: running`, `${file}: done`]);
    // On a usual screen, what a file is made for is in sight.
    await page.setViewportSize({ width: 1280, height: 800 });
    const { x = 0, width = 0 } = (await page.getByRole('button', { name: /^Delete CSV/ }).boundingBox()) ?? {};
    assert.ok(x > 0 && x + width < 1280, `${x + width} px`);
    const csv = await downloaded(page, 'CSV');
    assert.match(csv.name, /^Lunch.*\.csv$/);
    const lines = csv.bytes.toString().trim().split('\r\n');
    assert.equal(lines.length, 3);
    assert.match(lines[2] ?? '', /'=2\+3/);

    await makeFile(page, 'Excel');
    const workbook = new exceljs.Workbook();
    await workbook.xlsx.load((await downloaded(page, 'Excel')).bytes as never);
    const cells = workbook.worksheets.flatMap((sheet) =>
      (sheet.getSheetValues() as unknown[][]).flatMap((row) => (row ?? []).map(String)),
    );
    assert.ok(cells.includes('Soup'), 'the answers are in the workbook');
    await assertAccessible(page);

    await page.getByRole('button', { name: /^Delete CSV/ }).click();
    await page.getByRole('button', { name: /^Delete CSV/ }).waitFor({ state: 'detached' });
    assert.equal((await admin.get(`/exports?surveyId=${id}`)).length, 1);
  });

  it('select by days and completeness', async () => {
    const { id } = await surveyWith(['Soup']);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/exports` });
    await page.getByLabel('From (UTC)', { exact: true }).fill('2020-01-02');
    await page.getByLabel('To (UTC)', { exact: true }).fill('2020-01-01');
    await page.waitForURL(/to=2020-01-01/);
    await page.getByRole('button', { name: 'Make the file' }).click();
    await page.getByText('The day “To” lies before the day “From”').waitFor();
    await page.getByLabel('To (UTC)', { exact: true }).fill('2020-01-03');
    await makeFile(page, 'JSON');
    assert.deepEqual(JSON.parse((await downloaded(page, 'JSON')).bytes.toString()), []);
  });

  it('hold the responses of the outcome that is chosen, of those that fit the filters of the address', async () => {
    const { id, question } = await surveyWith(['Soup']);
    const isNone = { questionId: question.id, operator: 'equalsText', value: 'None' };
    await admin.put(`/surveys/questions/${question.id}`, { skips: [{ if: isNone, to: 'SCREEN_OUT' }] });
    const second = await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'Again?' });
    for (const [dish, again] of [
      ['Pasta', 'yes'],
      ['Rice', 'no'],
      ['None', undefined],
    ]) {
      const answers = [
        { questionId: question.id, textValue: dish },
        ...(again === undefined ? [] : [{ questionId: second.id, textValue: again }]),
      ];
      assert.equal((await admin.submit(id, { answers })).status, 201);
    }
    await eventually(async () => assert.equal((await admin.get(`/responses/surveys/${id}`)).length, 4));
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/exports` });
    await page.getByRole('button', { name: 'Outcome' }).click();
    await page.getByRole('option', { name: 'Completed' }).click();
    const written = async (format: string) => {
      await makeFile(page, format);
      const lines = (await downloaded(page, format)).bytes.toString();
      return ['Soup', 'Pasta', 'Rice', 'None'].filter((dish) => lines.includes(dish));
    };
    assert.deepEqual(await written('JSON'), ['Soup', 'Pasta', 'Rice']);
    await page.getByRole('button', { name: 'Add filter' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('combobox', { name: 'Question' }).fill('Again');
    await page.getByRole('option', { name: '2. Again?' }).click();
    await dialog.getByRole('button', { name: 'Answer' }).click();
    await page.getByRole('option', { name: 'Yes' }).click();
    await dialog.getByRole('button', { name: 'Add' }).click();
    await page.waitForURL(/filter=/);
    await assertAccessible(page);
    assert.deepEqual(await written('JSON lines'), ['Pasta']);
    await page.context().close();
  });

  it('are downloaded without a byte where no response stands in them', async () => {
    const { id } = await surveyWith([]);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/exports` });
    await makeFile(page, 'JSON lines');
    const { name, bytes } = await downloaded(page, 'JSON lines');
    assert.deepEqual([name.endsWith('.ndjson'), bytes.length], [true, 0]);
    await page.context().close();
  });

  it('say that a file could not be made', async () => {
    const { id } = await surveyWith(['Soup']);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/exports` });
    // There is no folder for files, and none can be made.
    const folder = join(service.dataDir, 'exports');
    rmSync(folder, { recursive: true, force: true });
    writeFileSync(folder, '');
    await page.getByRole('button', { name: 'Make the file' }).click();
    const row = page.getByRole('row', { name: /Excel .* Failed .*please ask for it again/ });
    await row.waitFor({ timeout: 90_000 });
    rmSync(folder);
    await page
      .getByRole('region', { name: 'Long work' })
      .getByText(/please ask for it again|Failed/)
      .first()
      .waitFor();
    await page
      .getByRole('status')
      .filter({ hasText: /^Excel of .*: failed[.] .*ask for it again/ })
      .waitFor();
    await assertAccessible(page);
    await row.getByRole('button', { name: /^Delete Excel/ }).click();
    await row.waitFor({ state: 'detached' });
    assert.deepEqual(await admin.get(`/exports?surveyId=${id}`), []);
    await makeFile(page, 'CSV');
  });

  it('say that a file has ended since a response was deleted', async () => {
    const { id } = await surveyWith(['Soup']);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/exports` });
    await makeFile(page, 'CSV');
    const [response] = await admin.get(`/responses/surveys/${id}`);
    await admin.remove(`/responses/${response.id}`);
    await page.reload();
    await page.getByRole('row', { name: /CSV .* Ended/ }).waitFor();
    assert.equal(await page.getByRole('button', { name: /^Download/ }).count(), 0);
    await assertAccessible(page);
  });

  it('are there for a VIEWER who may read the survey', async () => {
    const { id } = await surveyWith(['Soup']);
    const viewer = await newConsoleUser(service, admin, 'VIEWER');
    await admin.put(`/surveys/${id}/members/${viewer.id}`, { role: 'VIEWER' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/exports`, as: viewer });
    await makeFile(page, 'CSV');
    assert.match((await downloaded(page, 'CSV')).bytes.toString(), /Soup/);
  });

  describe('that take long', () => {
    /** Every file of the page is being made for as long as anybody looks; with `retryAfter` the service refuses to say. */
    const slowFiles = async () => {
      const { id } = await surveyWith(['Soup']);
      const page = await signedInPage(browser, service, { path: `/surveys/${id}/exports` });
      await page.getByRole('heading', { name: 'No files yet' }).waitFor();
      const slow = { id, page, calls: 0, retryAfter: undefined as string | undefined };
      await page.route('**/api/v1/exports{/*,?*}', async (route) => {
        slow.calls += 1;
        const { retryAfter } = slow;
        if (retryAfter !== undefined) {
          const json = { success: false, code: 'RATE_LIMITED', message: 'Too many requests', requestId: 'r' };
          return route.fulfill({ status: 429, headers: { 'retry-after': retryAfter }, json });
        }
        const response = await route.fetch();
        const json = await response.json();
        for (const one of [json.data].flat()) one.status = 'PROCESSING';
        return route.fulfill({ response, json });
      });
      const progress = page.getByRole('row').getByRole('progressbar');
      /** Stops the clock before the file is asked for: every timer of those who follow it is of that clock. */
      const makeSlowFile = async () => {
        const pass = await stopClock(page);
        const isShown = () =>
          eventually(async () => {
            await pass(1);
            assert.equal(await progress.count(), 1);
          });
        await page.getByRole('button', { name: 'Make the file' }).click();
        await isShown();
        return { pass, isShown };
      };
      const close = async () => {
        await page.unrouteAll({ behavior: 'ignoreErrors' });
        await page.context().close();
      };
      return { slow, page, progress, makeSlowFile, close };
    };

    it('are asked about seldom, whether the tray follows them or the list alone', async () => {
      const { slow, page, makeSlowFile, close } = await slowFiles();
      const { pass, isShown } = await makeSlowFile();
      for (const follower of ['the tray', 'the list']) {
        slow.calls = 0;
        await pass(60);
        assert.ok(slow.calls >= 10 && slow.calls <= 25, `${slow.calls} calls of ${follower}`);
        await page.reload();
        await isShown();
      }
      await close();
    });

    it('are asked about no sooner than the service says, but within two minutes', async () => {
      const { slow, makeSlowFile, close } = await slowFiles();
      const { pass } = await makeSlowFile();
      const refusedFor = async (retryAfter: string) => {
        slow.calls = 0;
        slow.retryAfter = retryAfter;
        await eventually(async () => {
          await pass(1);
          assert.equal(slow.calls, 1);
        });
      };
      await refusedFor('40');
      await pass(35);
      assert.equal(slow.calls, 1);
      slow.retryAfter = undefined;
      await pass(6);
      assert.ok(slow.calls > 1);

      // A proxy may name any time.
      await refusedFor('3600');
      await pass(120);
      assert.ok(slow.calls > 1);
      browser.forgive(/status of 429/);
      await close();
    });

    it('are listed where the view was left before the list was read again', async () => {
      const { slow, page, progress, close } = await slowFiles();
      const lists = '**/api/v1/exports?*';
      const held = await holdCalls(page, lists, { answer: (_, isReleased) => isReleased });
      await page.getByRole('button', { name: 'Make the file' }).click();
      await eventually(() => assert.ok(held.count() > 0));
      await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Keys' }).click();
      await page.waitForURL(/\/keys$/);
      await page.unroute(lists);
      // The tray has shown what its first read gave once it reads again.
      slow.calls = 0;
      await eventually(() => assert.ok(slow.calls > 1));
      await goTo(page, `/surveys/${slow.id}/exports`);
      await progress.waitFor();
      held.release();
      await close();
    });
  });

  it('are asked for with what was typed for their own survey, where the tray leads to another one', async () => {
    const [one, other] = [await surveyWith([]), await surveyWith([])];
    const page = await signedInPage(browser, service, { path: `/surveys/${other.id}/exports` });
    await page.getByRole('button', { name: 'Make the file' }).click();
    const open = page.getByRole('region', { name: 'Long work' }).getByRole('link', { name: 'Open' });
    await open.waitFor();
    await goTo(page, `/surveys/${one.id}/exports`);
    await page.getByRole('heading', { name: 'No files yet' }).waitFor();
    const from = page.getByLabel('From (UTC)', { exact: true });
    await from.fill('2026-01-31');
    await open.click();
    await page.getByRole('row', { name: /Excel .* Ready/ }).waitFor();
    await page.waitForURL(`**/surveys/${other.id}/exports`);
    assert.equal(await from.inputValue(), '');
    await page.context().close();
  });
});
