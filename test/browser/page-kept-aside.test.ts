import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import {
  driversOnly,
  isWritten,
  keptOn,
  openTab,
  pauseClock,
  publishedSurvey,
  statusOf,
  textsOf,
  thanked,
  twoTexts,
} from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

/** Pages of a context with this hear nothing of others while `isAside` is set, as those that the browser keeps aside. */
const canBeAside = `{
  const { BroadcastChannel: Channel } = globalThis;
  globalThis.BroadcastChannel = class extends Channel {
    addEventListener(kind, heard) {
      super.addEventListener(kind, (event) => globalThis.isAside || heard(event));
    }
  };
}`;
const keptAside = 'globalThis.isAside = true';
const broughtBack = `dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`;

describe('a page that the browser kept aside and shows again', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const visit = (context: BrowserContext, link: string) => openTab(service, context, link);
  const send = (page: Page) => page.getByRole('button', { name: 'Send' }).click();
  const textsAre = (surveyId: string, texts: string[][]) =>
    eventually(async () => assert.deepEqual(await textsOf(admin, surveyId), texts));

  it('goes on with the form without a network', async () => {
    const survey = await publishedSurvey(admin, { title: 'Kept aside' }, twoTexts);
    const context = await browser.context();
    const page = await visit(context, survey.id);
    await page.getByLabel('Your name?').fill('Ada');
    await statusOf(page, 'saved');
    await context.setOffline(true);
    const asked = page.waitForEvent('requestfailed');
    await page.evaluate(broughtBack);
    await asked;
    await page.getByLabel('Your name?').fill('Ada Lovelace');
    await statusOf(page, 'offline');
    await context.setOffline(false);
    await textsAre(survey.id, [['Ada Lovelace']]);
    browser.forgive(/ERR_INTERNET_DISCONNECTED/);
    await context.close();
  });

  /** The other tab sends the response; this one is brought back without a network, and sends nothing. */
  const endsUnsent = async (page: Page, other: Page, surveyId: string) => {
    const context = page.context();
    await send(other);
    await thanked(other);
    await context.setOffline(true);
    await page.evaluate(broughtBack);
    await thanked(page);
    await context.setOffline(false);
    await textsAre(surveyId, [['Ada']]);
    browser.forgive(/ERR_INTERNET_DISCONNECTED/);
    await context.close();
  };

  it('is not sent once more, without a network, after another one was', async () => {
    const survey = await publishedSurvey(admin, { title: 'Sent meanwhile' }, twoTexts);
    const context = await browser.context();
    await context.addInitScript(canBeAside);
    const page = await visit(context, survey.id);
    await page.getByLabel('Your name?').fill('Ada');
    await statusOf(page, 'saved');
    await page.evaluate(keptAside);
    const other = await visit(context, survey.id);
    await endsUnsent(page, other, survey.id);
  });

  it('is not sent once more either where another one sent its first part too', async () => {
    const survey = await publishedSurvey(admin, { title: 'Taken over' }, twoTexts);
    const context = await browser.context();
    await context.addInitScript(canBeAside);
    const page = await visit(context, survey.id);
    await pauseClock(page);
    await page.getByLabel('Your name?').fill('Ada');
    await isWritten(page);
    await page.evaluate(keptAside);
    const other = await visit(context, survey.id);
    await statusOf(other, 'saved');
    await endsUnsent(page, other, survey.id);
  });

  it('leads nowhere after another one was screened out', async () => {
    const survey = await driversOnly(admin, { appearance: { redirectUrl: `${service.origin}/s/completed` } });
    const context = await browser.context();
    await context.addInitScript(canBeAside);
    const page = await visit(context, survey.id);
    await page.getByRole('radio', { name: 'No' }).check();
    await statusOf(page, 'saved');
    await page.evaluate(keptAside);
    const other = await visit(context, survey.id);
    await send(other);
    await other.locator('[data-notice="screenedOut"]').waitFor();
    await page.evaluate('globalThis.isOld = true');
    await page.evaluate(broughtBack);
    await thanked(page);
    // It would have been left by the time that this call comes back.
    await page.evaluate(`fetch(location.href, { method: 'HEAD' }).then((reply) => reply.text())`);
    assert.equal(await page.evaluate('isOld'), true);
    await context.close();
  });

  it('has not ended where what it kept was removed by its age', async () => {
    const [survey, another] = [
      await publishedSurvey(admin, { title: 'Kept for long' }, twoTexts),
      await publishedSurvey(admin, { title: 'Opened later' }, twoTexts),
    ];
    const context = await browser.context();
    await context.addInitScript(canBeAside);
    const page = await visit(context, survey.id);
    await page.getByLabel('Your name?').fill('Ada');
    await statusOf(page, 'saved');
    await page.evaluate(keptAside);
    const later = Date.now() + 31 * 24 * 3600 * 1000;
    const other = await context.newPage();
    await other.clock.install({ time: later });
    await other.goto(`${service.origin}/s/${another.id}`);
    await eventually(async () => assert.deepEqual(await keptOn(other), []));
    await page.clock.setSystemTime(later);
    await context.setOffline(true);
    const asked = page.waitForEvent('requestfailed');
    await page.evaluate(broughtBack);
    await asked;
    assert.equal(await page.getByLabel('Your name?').inputValue(), 'Ada');
    await context.setOffline(false);
    browser.forgive(/ERR_INTERNET_DISCONNECTED/);
    await context.close();
  });

  it('keeps its form while the service is away', async () => {
    const survey = await publishedSurvey(admin, { title: 'Kept aside' }, twoTexts);
    const context = await browser.context();
    const page = await visit(context, survey.id);
    await page.getByLabel('Your name?').fill('Ada');
    await statusOf(page, 'saved');
    const away = { status: 503, headers: { 'x-page-build': 'any' } };
    await page.route(`**/s/${survey.id}*`, (route) => route.fulfill(away));
    await page.evaluate(`globalThis.isOld = true`);
    const asked = page.waitForResponse((reply) => reply.status() === 503);
    await page.evaluate(broughtBack);
    await asked;
    await page.getByLabel('Your name?').fill('Ada Lovelace');
    await textsAre(survey.id, [['Ada Lovelace']]);
    assert.equal(await page.evaluate('isOld'), true);
    browser.forgive(/status of 503/);
    await context.close();
  });

  it('shows what another one has entered since', async () => {
    const survey = await publishedSurvey(admin, { title: 'Kept aside' }, twoTexts);
    const context = await browser.context();
    await context.addInitScript(canBeAside);
    const [other, page] = [await visit(context, survey.id), await visit(context, survey.id)];
    await page.evaluate(keptAside);
    await other.getByLabel('Your name?').fill('Ada');
    await statusOf(other, 'saved');
    const isAnew = page.waitForEvent('domcontentloaded');
    await page.evaluate(broughtBack);
    await isAnew;
    await eventually(async () => assert.equal(await page.getByLabel('Your name?').inputValue(), 'Ada'));
    await context.close();
  });
});
