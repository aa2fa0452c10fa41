import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { blockedStorage } from '../support/blocked-storage.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import {
  keptOn,
  openSurvey,
  openTab,
  pauseClock,
  publishedSurvey,
  storedResponses,
  textsOf as textsOfAll,
  thanked,
  twoTexts,
} from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { heldIn } from '../support/slow-database.ts';
import { useService } from '../support/use-service.ts';

const fullDisk = 'IDBObjectStore.prototype.put = function () { this.transaction.abort(); }';
const fullTab = `Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }`;

describe('storage that fails on the respondent’s page', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const open = (link: string, script?: string) => openSurvey(browser, service, { link, script });
  const send = (page: Page) => page.getByRole('button', { name: 'Send' }).click();
  const saved = (page: Page) => page.locator('.status[data-status=saved]').waitFor({ state: 'attached' });
  const textsOf = async (surveyId: string) => {
    const [stored] = await storedResponses(admin, surveyId, 1);
    return stored?.answers.map(({ textValue }) => textValue);
  };

  for (const [fault, script] of [
    ['a disk that is full', fullDisk],
    [
      'a database that the browser has closed',
      `IDBDatabase.prototype.transaction = () => { throw new DOMException('closing', 'InvalidStateError'); }`,
    ],
  ] as const) {
    it(`${fault} keeps no answer from being sent`, async () => {
      const survey = await publishedSurvey(admin, { title: 'Lost database' }, twoTexts);
      const page = await open(survey.id);
      await page.getByLabel('Your name?').fill('Ada');
      await saved(page);
      await page.evaluate(script);
      await page.getByLabel('Your story?').fill('It was long.');
      await page.getByRole('status').filter({ hasText: 'This browser keeps nothing' }).waitFor();
      await send(page);
      await thanked(page);
      assert.deepEqual(await textsOf(survey.id), ['Ada', 'It was long.']);
      await page.reload();
      await page.getByLabel('Your name?').waitFor();
      await page.context().close();
    });
  }

  it('a browser that keeps nothing shows what was entered when the page is loaded anew', async () => {
    const survey = await publishedSurvey(admin, { title: 'Nothing kept' }, twoTexts);
    const page = await open(survey.id, `IDBFactory.prototype.open = () => { throw new Error('refused'); }`);
    await page.getByLabel('Your name?').fill('Ada');
    await saved(page);
    await page.getByLabel('Your story?').fill('It was long.');
    await page.reload();
    await eventually(async () => assert.equal(await page.getByLabel('Your story?').inputValue(), 'It was long.'));
    await send(page);
    await thanked(page);
    assert.deepEqual(await textsOf(survey.id), ['Ada', 'It was long.']);
    await page.context().close();
  });

  /** A page of an earlier build than the service’s, in two languages, whose disk becomes full and its network away. */
  const openWithFullDisk = async (title: string, ...scripts: readonly string[]) => {
    const survey = await publishedSurvey(admin, { title }, twoTexts);
    await admin.put(`/surveys/${survey.id}/translations/de`, { title: `${title}, deutsch` });
    const address = `${service.origin}/s/${survey.id}`;
    const page = await browser.open();
    await page.route(address, async (route) => {
      if (route.request().method() !== 'GET') return route.continue();
      const response = await route.fetch();
      const body = (await response.text()).replace(/"build":"[^"]+"/, '"build":"/assets/main-earlier.js"');
      return route.fulfill({ response, body });
    });
    await page.goto(address);
    await page.getByLabel('Your name?').fill('Ada');
    await saved(page);
    for (const script of scripts) await page.evaluate(script);
    const back = await awayFrom(page);
    await page.getByLabel('Your story?').fill('It was long.');
    await page.getByText('Please leave this page open').waitFor();
    await page.locator('.status[data-status=offline]').waitFor({ state: 'attached' });
    await page.unroute(address);
    await page.evaluate('window.isFirst = true');
    const isFirst = () => page.evaluate<boolean | undefined>('window.isFirst');
    return { survey, page, back, isFirst };
  };
  /** Cuts submissions off until the function that it gives is called. */
  const awayFrom = async (page: Page) => {
    let isAway = true;
    await page.route('**/submit', (route) => (isAway ? route.abort('connectionrefused') : route.continue()));
    return async () => {
      isAway = false;
      browser.forgive(/ERR_CONNECTION_REFUSED/);
      await page.evaluate("dispatchEvent(new Event('online'))");
    };
  };
  const storyIs = (page: Page, text: string) =>
    eventually(async () => assert.equal(await page.getByLabel('Your story?').inputValue(), text));

  it('what a full disk does not take follows into another language', async () => {
    const { survey, page, back } = await openWithFullDisk('Full disk', fullDisk);
    await page.addInitScript(fullDisk);
    await page.getByRole('link', { name: 'Deutsch' }).click();
    await page.getByRole('heading', { name: 'Full disk, deutsch' }).waitFor();
    await storyIs(page, 'It was long.');
    await back();
    await page.getByRole('button', { name: 'Senden' }).click();
    await thanked(page);
    assert.deepEqual(await textsOf(survey.id), ['Ada', 'It was long.']);
    await page.context().close();
  });

  it('what a full disk does not take is there when a page of an earlier build has loaded itself anew', async () => {
    const { survey, page, back, isFirst } = await openWithFullDisk('Full disk, old page', fullDisk);
    await back();
    await eventually(async () => assert.equal(await isFirst(), undefined));
    await storyIs(page, 'It was long.');
    // The disk has room again, and has it all.
    await page.reload();
    await storyIs(page, 'It was long.');
    assert.equal(await page.evaluate('sessionStorage.length'), 0);
    await send(page);
    await thanked(page);
    assert.deepEqual(await textsOf(survey.id), ['Ada', 'It was long.']);
    await page.context().close();
  });

  it('what only the page itself has keeps it from loading itself anew, and the browser asks before it is left', async () => {
    const { survey, page, back, isFirst } = await openWithFullDisk('Full device', fullDisk, fullTab);
    const asked = page.waitForEvent('dialog');
    const pressed = page.getByRole('link', { name: 'Deutsch' }).click();
    const dialog = await asked;
    assert.equal(dialog.type(), 'beforeunload');
    await dialog.dismiss();
    await pressed;
    const isChecked = page.waitForResponse((response) => response.request().method() === 'HEAD');
    await back();
    await isChecked;
    await saved(page);
    // It would have been left by the time that this call comes back.
    await page.evaluate(`fetch(location.href, { method: 'HEAD' }).then((reply) => reply.text())`);
    assert.equal(await isFirst(), true);
    await send(page);
    await thanked(page);
    assert.deepEqual(await textsOf(survey.id), ['Ada', 'It was long.']);
    await page.context().close();
  });

  const keepsNothing = (page: Page) =>
    page.getByRole('status').filter({ hasText: 'This browser keeps nothing' }).waitFor();
  const nameIs = (page: Page, text: string) =>
    eventually(async () => assert.equal(await page.getByLabel('Your name?').inputValue(), text));

  it('a full disk locks nobody out of a private survey whose page is loaded anew', async () => {
    const survey = await publishedSurvey(admin, { title: 'Full and private', visibility: 'PRIVATE' }, twoTexts);
    const { accessToken } = await admin.get(`/surveys/${survey.id}`);
    const page = await open(`${survey.id}?surveyToken=${accessToken}`);
    await page.getByLabel('Your name?').fill('Ada');
    await saved(page);
    await page.evaluate(fullDisk);
    await page.addInitScript(fullDisk);
    await page.getByLabel('Your story?').fill('It was long.');
    await keepsNothing(page);
    await page.reload();
    await storyIs(page, 'It was long.');
    await send(page);
    await thanked(page);
    assert.deepEqual(await textsOf(survey.id), ['Ada', 'It was long.']);
    browser.forgive(/status of 403/);
    await page.context().close();
  });

  it('a full disk that does not take the draft of one survey still gives that of another', async () => {
    const [survey, other] = [
      await publishedSurvey(admin, { title: 'Kept before' }, twoTexts),
      await publishedSurvey(admin, { title: 'Not taken' }, twoTexts),
    ];
    const page = await open(survey.id);
    await page.getByLabel('Your name?').fill('Ada');
    await saved(page);
    await page.goto(`${service.origin}/s/${other.id}`);
    await page.evaluate(fullDisk);
    await page.addInitScript(fullDisk);
    await page.getByLabel('Your story?').fill('It was long.');
    await keepsNothing(page);
    await page.goto(`${service.origin}/s/${survey.id}`);
    await nameIs(page, 'Ada');
    await send(page);
    await thanked(page);
    assert.deepEqual(await textsOf(survey.id), ['Ada']);
    await page.context().close();
  });

  it('a draft that the database takes over too late stays in use', async () => {
    const { survey, page, back } = await openWithFullDisk('Taken too late', fullDisk);
    await page.clock.install();
    await page.addInitScript(heldIn('readwrite'));
    await page.reload();
    await eventually(async () => assert.ok(await page.evaluate('window.isHeld')));
    await page.clock.fastForward(15_000);
    await storyIs(page, 'It was long.');
    await page.evaluate('window.goesOn = true');
    await eventually(async () => assert.match(JSON.stringify(await keptOn(page)), /It was long/));
    assert.match(await page.evaluate<string>("sessionStorage.getItem('survey-answers') ?? ''"), /It was long/);
    await back();
    await send(page);
    await thanked(page);
    assert.deepEqual(await textsOf(survey.id), ['Ada', 'It was long.']);
    await page.context().close();
  });

  it('a response that ends in another tab does not come back in one that has lost its database', async () => {
    const survey = await publishedSurvey(admin, { title: 'Ended elsewhere' }, twoTexts);
    const page = await open(survey.id);
    await page.getByLabel('Your name?').fill('Ada');
    await saved(page);
    await page.evaluate(fullDisk);
    await page.getByLabel('Your story?').fill('It was long.');
    await keepsNothing(page);
    await saved(page);
    const other = await page.context().newPage();
    await other.goto(`${service.origin}/s/${survey.id}`);
    await nameIs(other, 'Ada');
    await send(other);
    await Promise.all([thanked(other), thanked(page)]);
    await eventually(async () => assert.equal(await page.evaluate('sessionStorage.length'), 0));
    await page.reload();
    await page.getByText('Loading …').waitFor({ state: 'detached' });
    assert.deepEqual(await keptOn(page), []);
    await nameIs(page, '');
    await storedResponses(admin, survey.id, 1);
    await page.context().close();
  });

  /** Two tabs with one draft; the first has lost its database since. */
  const openTwice = async (title: string) => {
    const survey = await publishedSurvey(admin, { title }, twoTexts);
    const link = `${survey.id}?metadata.source=poster`;
    const page = await open(link);
    await page.getByLabel('Your name?').fill('Ada');
    await saved(page);
    await page.evaluate(fullDisk);
    const openAgain = async () => {
      await keepsNothing(page);
      const other = await page.context().newPage();
      await other.goto(`${service.origin}/s/${link}`);
      await nameIs(other, 'Ada');
      return other;
    };
    return { page, openAgain };
  };

  it('what two tabs have entered comes together when the disk has room again', async () => {
    const { page, openAgain } = await openTwice('Two halves');
    await page.getByLabel('Your story?').fill('It was long.');
    const other = await openAgain();
    await other.getByLabel('Your name?').fill('Ada Lovelace');
    await saved(other);
    await page.reload();
    await nameIs(page, 'Ada Lovelace');
    await storyIs(page, 'It was long.');
    await page.context().close();
  });

  it('what one of two tabs changed later counts, though the other one went on longer', async () => {
    const { page, openAgain } = await openTwice('Two rounds');
    await page.getByLabel('Your story?').fill('It was long.');
    const other = await openAgain();
    await other.getByLabel('Your name?').fill('Ada Lovelace');
    await saved(other);
    await page.getByLabel('Your story?').fill('It was very long.');
    await page.reload();
    await storyIs(page, 'It was very long.');
    await nameIs(page, 'Ada Lovelace');
    await page.context().close();
  });

  it('what a tab with a database has entered is sent after what one without, which was left, had sent', async () => {
    const survey = await publishedSurvey(admin, { title: 'Two halves sent' }, twoTexts);
    const context = await browser.context();
    const textsAre = (texts: string[][]) =>
      eventually(async () => assert.deepEqual(await textsOfAll(admin, survey.id), texts));
    const page = await openTab(service, context, survey.id);
    await page.getByLabel('Your name?').fill('Ada');
    await saved(page);
    const other = await openTab(service, context, survey.id);
    await nameIs(other, 'Ada');
    for (const tab of [page, other]) await pauseClock(tab);
    await page.evaluate(fullDisk);
    await page.getByLabel('Your story?').fill('It was long.');
    await keepsNothing(page);
    await other.getByLabel('Your name?').fill('Ada Lovelace');
    await eventually(async () => assert.match(JSON.stringify(await keptOn(other)), /Ada Lovelace/));
    await page.goto('about:blank');
    await textsAre([['Ada', 'It was long.']]);
    await other.clock.resume();
    await textsAre([['Ada Lovelace', 'It was long.']]);
    await context.close();
  });

  it('a link that is opened again, and says nothing new, makes what was kept no newer', async () => {
    const { page, openAgain } = await openTwice('Opened again');
    await page.getByLabel('Your name?').fill('Ada L.');
    await openAgain();
    await page.reload();
    await nameIs(page, 'Ada L.');
    await page.context().close();
  });

  it('a browser that blocks storage sends all the same, and says that the page must stay open', async () => {
    const survey = await publishedSurvey(admin, { title: 'Cookies blocked' }, twoTexts);
    const page = await open(survey.id, blockedStorage);
    await page.getByLabel('Your name?').fill('Ada');
    await saved(page);
    await page.getByLabel('Your story?').fill('It was long.');
    let isAway = true;
    await page.route('**/submit', (route) => (isAway ? route.abort('connectionrefused') : route.continue()));
    await send(page);
    await page.getByText('Please leave this page open').waitFor();
    assert.equal(await page.getByText('You may close this page').count(), 0);
    isAway = false;
    await thanked(page);
    assert.deepEqual(await textsOf(survey.id), ['Ada', 'It was long.']);
    browser.forgive(/ERR_CONNECTION_REFUSED/);
    await page.context().close();
  });
});
