import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { blockedStorage } from '../support/blocked-storage.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import {
  holdUploads,
  keptOn,
  openSurvey,
  publishedSurvey,
  questionAt,
  storedResponses,
  thanked,
} from '../support/page-fixture.ts';
import { png } from '../support/pictures.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

const options = (...texts: string[]) => texts.map((text) => ({ text }));

describe('ways through the respondent’s page', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));
  const open = (link: string): Promise<Page> => openSurvey(browser, service, { link });

  it('one question a page: each is asked alone, in order, and back and forth loses nothing', async () => {
    const survey = await publishedSurvey(admin, { title: 'One by one', appearance: { pageMode: 'QUESTION' } }, [
      { type: 'SHORT_TEXT', text: 'Your name?', isRequired: true },
      { type: 'YES_NO', text: 'Hungry?' },
      { type: 'NUMBER', text: 'Your age?' },
    ]);
    const page = await open(survey.id);
    const asked = page.locator('.question');
    assert.equal(await asked.count(), 1);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('Please answer this question.').waitFor();
    await page.getByLabel('Your name?').fill('Ada');
    await page.keyboard.press('Enter');
    await questionAt(page, 'Hungry?').waitFor();
    assert.equal(await asked.count(), 1);
    await page.getByRole('radio', { name: 'Yes' }).check();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByLabel('Your age?').fill('36');
    await page.goBack();
    assert.ok(await page.getByRole('radio', { name: 'Yes' }).isChecked());
    await page.getByRole('button', { name: 'Back' }).click();
    assert.equal(await page.getByLabel('Your name?').inputValue(), 'Ada');
    // A reload keeps the page that the database has.
    const isBack = new RegExp(`"page":"${survey.questions[0]?.id}"`);
    await eventually(async () => assert.match(JSON.stringify(await keptOn(page)), isBack));
    await page.reload();
    await eventually(async () => assert.equal(await page.getByLabel('Your name?').inputValue(), 'Ada'));
    for (const name of ['Next', 'Next', 'Send']) await page.getByRole('button', { name }).click();
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.equal(stored?.answers.length, 3);
    await page.context().close();
  });

  it('after a reload, the browser’s back and forward go to the pages before and after', async () => {
    const survey = await publishedSurvey(admin, { title: 'Reloaded', appearance: { pageMode: 'QUESTION' } }, [
      { type: 'SHORT_TEXT', text: 'First?' },
      { type: 'SHORT_TEXT', text: 'Second?' },
      { type: 'SHORT_TEXT', text: 'Third?' },
    ]);
    const page = await open(survey.id);
    const isKept = (text: RegExp) => eventually(async () => assert.match(JSON.stringify(await keptOn(page)), text));
    for (const text of ['First?', 'Second?']) {
      await page.getByLabel(text).fill(`To ${text}`);
      await page.getByRole('button', { name: 'Next' }).click();
    }
    await isKept(new RegExp(`"page":"${survey.questions[2]?.id}"`));
    await page.reload();
    await questionAt(page, 'Third?').waitFor();
    await page.goBack();
    await questionAt(page, 'Second?').waitFor();
    await page.goBack();
    await questionAt(page, 'First?').waitFor();
    await page.goForward();
    await page.goForward();
    await questionAt(page, 'Third?').waitFor();
    await page.context().close();
  });

  it('the browser’s back to a page that has left the path shows the one before it', async () => {
    const { id } = await admin.create('/surveys', { title: 'Turned', appearance: { pageMode: 'QUESTION' } });
    const ask = (body: object) => admin.create(`/surveys/${id}/questions`, body);
    for (const text of ['First?', 'Second?']) await ask({ type: 'SHORT_TEXT', text });
    const third = await ask({ type: 'YES_NO', text: 'Third?' });
    const visibleIf = { questionId: third.id, operator: 'isAnyOf', optionIds: [third.options[0].id] };
    await ask({ type: 'SHORT_TEXT', text: 'Fourth?', visibleIf });
    await ask({ type: 'SHORT_TEXT', text: 'Fifth?' });
    await admin.post(`/surveys/${id}/publish`);
    const page = await open(id);
    const next = async (text: string) => {
      await page.getByRole('button', { name: 'Next' }).click();
      await questionAt(page, text).waitFor();
    };
    await questionAt(page, 'First?').waitFor();
    await next('Second?');
    await next('Third?');
    await page.getByRole('radio', { name: 'Yes' }).check();
    await next('Fourth?');
    await page.getByRole('button', { name: 'Back' }).click();
    await page.getByRole('radio', { name: 'No' }).check();
    await next('Fifth?');
    for (const text of ['Third?', 'Third?', 'Third?', 'Second?', 'First?']) {
      await page.goBack();
      await questionAt(page, text).waitFor();
    }
    await page.goForward();
    await questionAt(page, 'Second?').waitFor();
    await next('Third?');
    await page.context().close();
  });

  it('after a reload that finds nothing kept, back goes to the page that the respondent saw', async () => {
    const survey = await publishedSurvey(admin, { title: 'Forgotten', appearance: { pageMode: 'QUESTION' } }, [
      { type: 'SHORT_TEXT', text: 'First?' },
      { type: 'SHORT_TEXT', text: 'Second?' },
      { type: 'SHORT_TEXT', text: 'Third?' },
    ]);
    // A browser that keeps nothing.
    const page = await openSurvey(browser, service, { link: survey.id, script: blockedStorage });
    for (const text of ['First?', 'Second?']) {
      await questionAt(page, text).waitFor();
      await page.getByRole('button', { name: 'Next' }).click();
    }
    await questionAt(page, 'Third?').waitFor();
    await page.reload();
    await questionAt(page, 'First?').waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await questionAt(page, 'Second?').waitFor();
    await page.goBack();
    await questionAt(page, 'First?').waitFor();
    await page.context().close();
  });

  it('a file goes on being sent while its respondent looks at the page before', async () => {
    const survey = await publishedSurvey(admin, { title: 'Slow file', appearance: { pageMode: 'QUESTION' } }, [
      { type: 'SHORT_TEXT', text: 'Your name?' },
      { type: 'FILE_UPLOAD', text: 'Your picture?' },
    ]);
    const page = await open(survey.id);
    const held = await holdUploads(page);
    await page.getByRole('button', { name: 'Next' }).click();
    const choose = () => page.locator('input[type=file]');
    await choose().setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: Buffer.from(png) });
    await page.getByRole('button', { name: 'Cancel' }).waitFor();
    await page.goBack();
    await questionAt(page, 'Your name?').waitFor();
    await page.goForward();
    await page.getByRole('button', { name: 'Cancel' }).waitFor();
    await page.getByRole('button', { name: 'Back' }).click();
    held.release();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('button', { name: 'Remove' }).waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    await thanked(page);
    assert.equal((await storedResponses(admin, survey.id, 1))[0]?.answers.length, 1);
    await page.context().close();
  });

  it('a shuffled order stays the same for a respondent, and is that of the service', async () => {
    const dishes = Array.from({ length: 12 }, (_, index) => `Dish ${index}`);
    const survey = await publishedSurvey(admin, { title: 'Shuffled' }, [
      {
        type: 'MULTIPLE_CHOICE',
        text: 'Which dish?',
        options: [...options(...dishes), { text: 'None', isAnchored: true }],
        settings: { shuffleOptions: true },
      },
    ]);
    const orders = new Set<string>();
    for (let respondent = 0; respondent < 3; respondent += 1) {
      const page = await open(survey.id);
      const order = () => page.locator('.question label').allTextContents();
      const first = await order();
      assert.deepEqual([...first].sort(), [...dishes, 'None'].sort());
      assert.equal(first.at(-1), 'None');
      const saving = page.waitForRequest((request) => request.url().endsWith('/submit'));
      await page.getByRole('radio', { name: 'Dish 3', exact: true }).check();
      await page.locator('.status[data-status=saved]').waitFor();
      const { responseId } = (await saving).postDataJSON() as { responseId: string };
      await page.reload();
      await eventually(async () => {
        assert.ok(await page.getByRole('radio', { name: 'Dish 3', exact: true }).isChecked());
        assert.deepEqual(await order(), first);
      });
      const path = await admin.post(`/public/surveys/${survey.id}/path`, { responseId, answers: [] });
      assert.deepEqual(
        path.sections[0].questions[0].options.map(({ text }: { text: string }) => text),
        first,
      );
      orders.add(first.join());
      await page.context().close();
    }
    assert.ok(orders.size > 1, 'all respondents saw one order');
  });

  it('a file whose sending is cancelled or fails can be sent again, and is waited for', async () => {
    const survey = await publishedSurvey(admin, { title: 'Photos' }, [
      { type: 'FILE_UPLOAD', text: 'Show it to us', isRequired: true },
    ]);
    const page = await open(survey.id);
    const held: Route[] = [];
    let isHeld = true;
    await page.route('**/uploads/**', (route) => (isHeld ? void held.push(route) : route.continue()));
    const question = questionAt(page, 'Show it to us');
    const choose = () =>
      question
        .locator('input[type=file]')
        .setInputFiles({ name: 'photo.png', mimeType: 'image/png', buffer: Buffer.from(png) });
    await choose();
    await question.getByText('Uploading photo.png').waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    await question.getByText('Please wait until the file is uploaded.').waitFor();
    await question.getByRole('button', { name: 'Cancel' }).click();
    await question.getByText('Choose a file').waitFor();
    await choose();
    await eventually(() => assert.equal(held.length, 2));
    await held[1]?.abort('connectionreset');
    await question.getByText('photo.png could not be uploaded.').waitFor();
    isHeld = false;
    await question.getByRole('button', { name: 'Try again' }).click();
    await question.getByRole('button', { name: 'Remove: photo.png' }).click();
    await choose();
    await question.getByRole('button', { name: 'Remove: photo.png' }).waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.equal(stored?.answers.length, 1);
    browser.forgive(/ERR_CONNECTION_RESET|ERR_FAILED/);
    await page.context().close();
  });

  it('what was kept on the device is shown even where the browser draws late', async () => {
    const survey = await publishedSurvey(admin, { title: 'Drawn late' }, [
      { type: 'SHORT_TEXT', text: 'Your name?' },
      { type: 'LONG_TEXT', text: 'Your story?' },
    ]);
    const page = await open(survey.id);
    await page.getByLabel('Your story?').fill('It was long.');
    await page.locator('.status[data-status=saved]').waitFor({ state: 'attached' });
    // No frame comes, and timers are late, as in a tab in the background of a busy machine.
    await page.addInitScript(`
      requestAnimationFrame = () => 0;
      const inTime = setTimeout;
      setTimeout = (work, delayMs, ...given) => inTime(work, (delayMs ?? 0) + 1500, ...given);
    `);
    await page.reload();
    await eventually(async () => {
      assert.equal(await page.getByLabel('Your story?').inputValue(), 'It was long.');
    });
    await page.context().close();
  });
});
