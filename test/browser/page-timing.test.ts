import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import {
  openSurvey,
  publishedSurvey,
  questionAt,
  statusOf,
  storedResponses,
  thanked,
  twoTexts,
} from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { heldIn, slowToOpen } from '../support/slow-database.ts';
import { stopClock } from '../support/stopped-clock.ts';
import { useService } from '../support/use-service.ts';

/** A device that takes longer than a double-click to draw the next page. */
const slowToDraw = `
  new MutationObserver((changes) => {
    if (!changes.some(({ removedNodes }) => [...removedNodes].some(({ nodeName }) => nodeName === 'FORM'))) return;
    const untilMs = performance.now() + 1500;
    while (performance.now() < untilMs);
  }).observe(document, { childList: true, subtree: true });`;

describe('what comes early, late or not at all on the respondent’s page', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const open = (link: string, script?: string) => openSurvey(browser, service, { link, script });
  const send = (page: Page) => page.getByRole('button', { name: 'Send' }).click();
  const textsOf = async (surveyId: string) => {
    const [stored] = await storedResponses(admin, surveyId, 1);
    return stored?.answers.map(({ textValue }) => textValue);
  };

  it('what is sent before the database is open is received', async () => {
    const survey = await publishedSurvey(admin, { title: 'Sent early' }, twoTexts);
    const page = await open(survey.id, slowToOpen(2000));
    await page.getByLabel('Your name?').fill('Ada');
    await send(page);
    await thanked(page);
    assert.deepEqual(await textsOf(survey.id), ['Ada']);
    await page.context().close();
  });

  it('the browser’s own back leads to the page before, also before the database is open', async () => {
    const survey = await publishedSurvey(
      admin,
      { title: 'Left early', appearance: { pageMode: 'QUESTION' } },
      twoTexts,
    );
    const page = await open(survey.id, slowToOpen(3000));
    await page.getByLabel('Your name?').fill('Ada');
    await page.getByRole('button', { name: 'Next' }).click();
    await questionAt(page, 'Your story?').waitFor();
    await page.goBack();
    assert.equal(await page.getByLabel('Your name?').inputValue(), 'Ada');
    await page.goForward();
    await page.getByLabel('Your story?').fill('It was long.');
    await send(page);
    await thanked(page);
    assert.deepEqual(await textsOf(survey.id), ['Ada', 'It was long.']);
    await page.context().close();
  });

  it('Send that is pressed as a save begins stays pressed, also without a network', async () => {
    const survey = await publishedSurvey(admin, { title: 'Sent in a save' }, twoTexts);
    const page = await browser.open();
    let isAway = true;
    await page.route('**/submit', (route) => (isAway ? route.abort('connectionrefused') : route.continue()));
    const pass = await stopClock(page);
    await page.goto(`${service.origin}/s/${survey.id}`);
    await page.getByLabel('Your name?').fill('Ada');
    await eventually(async () => assert.deepEqual(await page.evaluate('Object.keys(localStorage)'), []));
    await page.evaluate(heldIn('readonly'));
    await pass(2);
    await eventually(async () => assert.ok(await page.evaluate('window.isHeld')));
    await send(page);
    const sending = page.getByText('Sending your answers');
    await sending.waitFor();
    await page.evaluate('window.goesOn = true');
    await page.getByRole('status').filter({ hasText: 'No connection' }).waitFor();
    assert.ok(await sending.isVisible());
    isAway = false;
    await eventually(async () => {
      await pass(2);
      assert.ok(await page.locator('[data-notice="thanks"]').isVisible());
    });
    assert.deepEqual(await textsOf(survey.id), ['Ada']);
    browser.forgive(/ERR_CONNECTION_REFUSED/);
    await page.context().close();
  });

  it('a browser that never opens its database sends all the same', async () => {
    const survey = await publishedSurvey(admin, { title: 'Never opened' }, twoTexts);
    const page = await open(survey.id, slowToOpen(10 ** 8));
    await page.getByLabel('Your name?').fill('Ada');
    await send(page);
    await thanked(page);
    assert.deepEqual(await textsOf(survey.id), ['Ada']);
    await page.context().close();
  });

  it('the browser asks before it leaves a page whose last change is still being written', async () => {
    const survey = await publishedSurvey(admin, { title: 'Slow device' }, twoTexts);
    const page = await open(survey.id);
    await page.getByLabel('Your name?').fill('Ada');
    await statusOf(page, 'saved');
    await page.evaluate(heldIn('readwrite'));
    await page.getByLabel('Your story?').fill('It was long.');
    const asked = page.waitForEvent('dialog');
    const leaving = page.evaluate('location.reload()');
    const dialog = await asked;
    assert.equal(dialog.type(), 'beforeunload');
    await dialog.dismiss();
    await leaving;
    await page.evaluate('window.goesOn = true');
    await statusOf(page, 'saved');
    await page.reload();
    await eventually(async () => assert.equal(await page.getByLabel('Your story?').inputValue(), 'It was long.'));
    await page.context().close();
  });

  it('an answer about the build that never comes delays nothing', async () => {
    const survey = await publishedSurvey(admin, { title: 'No build' }, twoTexts);
    // Nor does its time limit come to an end.
    const page = await open(survey.id, 'AbortController.prototype.abort = () => undefined;');
    let isAway = true;
    await page.route('**/submit', (route) => (isAway ? route.abort('connectionrefused') : route.continue()));
    await page.route('**/s/*', (route) => (route.request().method() === 'HEAD' ? undefined : route.continue()));
    await page.getByLabel('Your name?').fill('Ada');
    await page.locator('.status[data-status=offline]').waitFor({ state: 'attached' });
    isAway = false;
    await statusOf(page, 'saved');
    await send(page);
    await thanked(page);
    browser.forgive(/ERR_CONNECTION_REFUSED|ERR_FAILED|ERR_ABORTED/);
    await page.context().close();
  });

  it('a double-click on a slow device does the same, when its second click comes long after the page', async () => {
    const questions = ['One?', 'Two?', 'Three?'].map((text) => ({ type: 'YES_NO', text }));
    const survey = await publishedSurvey(admin, { title: 'Slow', appearance: { pageMode: 'QUESTION' } }, questions);
    const page = await open(survey.id, slowToDraw);
    await page.getByRole('radio', { name: 'Yes' }).check();
    await statusOf(page, 'saved');
    await page.getByRole('button', { name: 'Next' }).click();
    await questionAt(page, 'Two?').waitFor();
    // From here on the buttons stay where they are.
    await new Promise((resolve) => setTimeout(resolve, 600));
    await page.getByRole('button', { name: 'Next' }).dblclick();
    await questionAt(page, 'Three?').waitFor();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    assert.equal(await page.locator('[data-notice]').count(), 0);
    await page.context().close();
  });

  it('a double-click goes on by one page, and sends no page that was not looked at', async () => {
    const survey = await publishedSurvey(admin, { title: 'Twice', appearance: { pageMode: 'QUESTION' } }, [
      { type: 'YES_NO', text: 'One?' },
      { type: 'YES_NO', text: 'Two?' },
      { type: 'YES_NO', text: 'Three?' },
    ]);
    const page = await open(survey.id);
    await page.getByRole('button', { name: 'Next' }).dblclick();
    await questionAt(page, 'Two?').waitFor();
    // The next double-click is one of its own.
    await new Promise((resolve) => setTimeout(resolve, 600));
    await page.getByRole('button', { name: 'Next' }).dblclick();
    await questionAt(page, 'Three?').waitFor();
    await page.getByRole('radio', { name: 'Yes' }).check();
    await send(page);
    await thanked(page);
    assert.equal((await storedResponses(admin, survey.id, 1))[0]?.answers.length, 1);
    await page.context().close();
  });
});
