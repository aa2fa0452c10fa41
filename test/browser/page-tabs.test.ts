import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BrowserContext, Page, Route } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import {
  isWritten,
  openTab,
  pauseClock,
  publishedSurvey,
  statusOf,
  storedResponses,
  textsOf,
  thanked,
  twoTexts,
} from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { heldIn } from '../support/slow-database.ts';
import { useService } from '../support/use-service.ts';

const submitCalls = '**/submit';
/** Longer than a tab waits before it saves what another one has entered. */
const followedMs = 6000;

/** A browser on a plain connection, which has no locks. */
const withoutLocks = `Object.defineProperty(Navigator.prototype, 'locks', { get: () => undefined });`;
/** Lets a call arrive, but not its reply. */
const loseReply = async (route: Route) => {
  await route.fetch();
  await route.abort('connectionreset');
};

const refuse = (route: Route, status: number, body: object, headers: Record<string, string> = {}) =>
  route.fulfill({
    status,
    headers,
    contentType: 'application/json',
    body: JSON.stringify({ success: false, message: 'Not now', ...body }),
  });
const refuseAsPaused = (route: Route) =>
  refuse(route, 409, { code: 'CONFLICT', details: { reason: 'SURVEY_NOT_ACTIVE', state: 'PAUSED' } });

describe('tabs with the same survey', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const visit = (context: BrowserContext, link: string) => openTab(service, context, link);
  const shows = (page: Page, label: string, text: string) =>
    eventually(async () => assert.equal(await page.getByLabel(label).inputValue(), text));
  const textsAt = (surveyId: string) => textsOf(admin, surveyId);

  it('both say that all is saved once the network is back, whichever of them saves', async () => {
    const survey = await publishedSurvey(admin, { title: 'Cut in two tabs' }, twoTexts);
    const context = await browser.context();
    const [one, other] = [await visit(context, survey.id), await visit(context, survey.id)];
    await context.setOffline(true);
    await one.getByLabel('Your name?').fill('Ada');
    await statusOf(one, 'offline');
    await shows(other, 'Your name?', 'Ada');
    await other.clock.fastForward(followedMs);
    await statusOf(other, 'offline');
    await context.setOffline(false);
    await eventually(async () => assert.deepEqual(await textsAt(survey.id), [['Ada']]));
    await Promise.all([statusOf(one, 'saved'), statusOf(other, 'saved')]);
    browser.forgive(/ERR_INTERNET_DISCONNECTED/);
    await context.close();
  });

  for (const [ending, end] of [
    ['was left', (other: Page) => other.goto('about:blank')],
    [
      'was refused',
      async (other: Page) => {
        await other.route(submitCalls, refuseAsPaused);
        await other.getByLabel('Your story?').fill('It was long.');
        await other.clock.fastForward(2000);
        await other.locator('[data-notice="paused"]').waitFor();
      },
    ],
  ] as const)
    it(`one is left right after a change, when the other ${ending}: the service has it`, async () => {
      const survey = await publishedSurvey(admin, { title: 'Alone again' }, twoTexts);
      const context = await browser.context();
      const [one, other] = [await visit(context, survey.id), await visit(context, survey.id)];
      await other.getByLabel('Your name?').fill('Ada');
      await shows(one, 'Your name?', 'Ada');
      await statusOf(other, 'saved');
      await end(other);
      await one.getByLabel('Your name?').fill('Ada Lovelace');
      await eventually(async () => assert.deepEqual(await one.evaluate('Object.keys(localStorage)'), []));
      await one.goto('about:blank');
      await eventually(async () => assert.equal((await textsAt(survey.id))[0]?.[0], 'Ada Lovelace'));
      browser.forgive(/status of 409/);
      await context.close();
    });

  it('neither asks a busy service again before it wants that', async () => {
    const survey = await publishedSurvey(admin, { title: 'Busy' }, twoTexts);
    const context = await browser.context();
    let calls = 0;
    let isBusy = true;
    await context.route(submitCalls, (route) => {
      calls += 1;
      return isBusy ? refuse(route, 429, { code: 'RATE_LIMITED' }, { 'retry-after': '60' }) : route.continue();
    });
    const [one, other] = [await visit(context, survey.id), await visit(context, survey.id)];
    await one.getByLabel('Your name?').fill('Ada');
    await statusOf(one, 'busy');
    await shows(other, 'Your name?', 'Ada');
    await other.clock.fastForward(followedMs);
    await statusOf(other, 'busy');
    await one.reload();
    await statusOf(one, 'busy');
    assert.equal(calls, 1);
    isBusy = false;
    await other.clock.fastForward(66_000);
    await Promise.all([statusOf(one, 'saved'), statusOf(other, 'saved')]);
    await eventually(async () => assert.deepEqual(await textsAt(survey.id), [['Ada']]));
    browser.forgive(/status of 429/);
    await context.close();
  });

  it('one does not send once more what the other was refused', async () => {
    const survey = await publishedSurvey(admin, { title: 'Refused' }, twoTexts);
    const context = await browser.context();
    const bodies: string[] = [];
    await context.route(submitCalls, (route) => {
      bodies.push(route.request().postData() ?? '');
      return bodies.length === 1 ? refuseAsPaused(route) : route.continue();
    });
    const [one, other] = [await visit(context, survey.id), await visit(context, survey.id)];
    await one.getByLabel('Your name?').fill('Ada');
    await shows(other, 'Your name?', 'Ada');
    await one.locator('[data-notice="paused"]').waitFor();
    await other.clock.fastForward(followedMs);
    await other.getByLabel('Your story?').fill('It was long.');
    await other.clock.fastForward(2000);
    await statusOf(other, 'saved');
    assert.equal(bodies.length, 2);
    assert.match(bodies[1] ?? '', /Ada.*It was long\./);
    browser.forgive(/status of 409/);
    await context.close();
  });

  it('one that sends before it has read what the other entered sends that too', async () => {
    const survey = await publishedSurvey(admin, { title: 'Sent at once' }, twoTexts);
    const context = await browser.context();
    const [one, other] = [await visit(context, survey.id), await visit(context, survey.id)];
    await one.getByLabel('Your name?').fill('Ada');
    await statusOf(one, 'saved');
    await shows(other, 'Your name?', 'Ada');
    await pauseClock(other);
    await other.evaluate(heldIn('readonly'));
    await one.getByLabel('Your story?').fill('It was long.');
    await eventually(async () => assert.ok(await other.evaluate('window.isHeld')));
    await other.getByRole('button', { name: 'Send' }).click();
    await other.getByText('Sending your answers').waitFor();
    await other.evaluate('window.goesOn = true');
    await thanked(other);
    await storedResponses(admin, survey.id, 1);
    assert.deepEqual(await textsAt(survey.id), [['Ada', 'It was long.']]);
    await context.close();
  });

  it('one in another language leaves what was entered to one in the same', async () => {
    const survey = await publishedSurvey(admin, { title: 'Two languages' }, [
      { type: 'SHORT_TEXT', text: 'Your name?' },
      { type: 'SHORT_TEXT', text: 'Your county?', visibleIf: { language: ['en'] } },
    ]);
    await admin.put(`/surveys/${survey.id}/translations/de`, { title: 'Zwei Sprachen' });
    const context = await browser.context();
    const [one, german, english] = [
      await visit(context, `${survey.id}?lang=en`),
      await visit(context, `${survey.id}?lang=de`),
      await visit(context, `${survey.id}?lang=en`),
    ];
    await english.getByLabel('Your county?').fill('Kent');
    await statusOf(english, 'saved');
    await shows(one, 'Your county?', 'Kent');
    assert.equal(await german.getByLabel('Your county?').count(), 0);
    // It is closed before it saves.
    await pauseClock(one);
    await one.getByLabel('Your name?').fill('Ada');
    for (const page of [german, english]) await shows(page, 'Your name?', 'Ada');
    await statusOf(english, 'kept');
    const sentInGerman: string[] = [];
    german.on('request', (request) => {
      const body = request.postData() ?? '';
      // What the closed one has sent may be sent again as it was.
      if (!body.includes('"language":"en"')) sentInGerman.push(body);
    });
    await one.close();
    await german.clock.fastForward(followedMs);
    await english.clock.fastForward(followedMs);
    await statusOf(english, 'saved');
    assert.deepEqual(sentInGerman, []);
    await eventually(async () => assert.deepEqual(await textsAt(survey.id), [['Ada', 'Kent']]));
    await context.close();
  });

  it('one does not call saved what is typed while it reads that the other has saved', async () => {
    const survey = await publishedSurvey(admin, { title: 'Typed meanwhile' }, twoTexts);
    const context = await browser.context();
    const [one, other] = [await visit(context, survey.id), await visit(context, survey.id)];
    await one.getByLabel('Your name?').fill('Ada');
    await statusOf(one, 'saved');
    await shows(other, 'Your name?', 'Ada');
    await other.evaluate(`
      window.statuses = [];
      new MutationObserver(() => statuses.push(document.querySelector('.status').dataset.status))
        .observe(document.body, { subtree: true, attributeFilter: ['data-status'] });`);
    await other.evaluate(heldIn('readonly'));
    // The other tab says it again, when nothing holds its own writing up.
    await one.evaluate(`
      new Promise((resolve) => {
        indexedDB.open('survey-answers').onsuccess = ({ target: { result } }) => {
          result.transaction('drafts').objectStore('drafts').getAllKeys().onsuccess = ({ target }) => {
            new BroadcastChannel('survey-answers:' + target.result[0]).postMessage({ kind: 'changed' });
            resolve();
          };
        };
      })`);
    await eventually(async () => assert.ok(await other.evaluate('window.isHeld')));
    await other.getByLabel('Your story?').fill('It was long.');
    await statusOf(other, 'kept');
    await other.evaluate('window.goesOn = true');
    await statusOf(other, 'saved');
    assert.deepEqual(await other.evaluate('statuses'), ['kept', 'saving', 'saved']);
    await eventually(async () => assert.deepEqual(await textsAt(survey.id), [['Ada', 'It was long.']]));
    await context.close();
  });

  it('one without locks sends nothing beside its request that is on its way', async () => {
    const survey = await publishedSurvey(admin, { title: 'On its way' }, twoTexts);
    const context = await browser.context();
    await context.addInitScript(withoutLocks);
    const page = await visit(context, survey.id);
    await page.getByLabel('Your name?').fill('Ada');
    await statusOf(page, 'saved');
    await pauseClock(page);
    const bodies: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/submit')) bodies.push(request.postData() ?? '');
    });
    const calls = await holdCalls(page, submitCalls, { times: 1 });
    await page.getByLabel('Your name?').fill('Ada Lovelace');
    await isWritten(page);
    await page.clock.fastForward(2000);
    await eventually(async () => assert.equal(calls.count(), 1));
    await page.getByLabel('Your story?').fill('It was long.');
    await isWritten(page);
    await page.clock.fastForward(2000);
    await isWritten(page);
    calls.release();
    await eventually(async () => assert.deepEqual(await textsAt(survey.id), [['Ada Lovelace', 'It was long.']]));
    await statusOf(page, 'saved');
    assert.deepEqual(
      bodies.map((body) => JSON.parse(body).answers.length),
      [1, 2],
    );
    await context.close();
  });

  it('without locks keep the next request of one when a former one gets a second reply', async () => {
    const survey = await publishedSurvey(admin, { title: 'Withdrawn' }, twoTexts);
    const context = await browser.context();
    await context.addInitScript(withoutLocks);
    const [one, other] = [await visit(context, survey.id), await visit(context, survey.id)];
    await one.getByLabel('Your name?').fill('Ada');
    await statusOf(one, 'saved');
    await shows(other, 'Your name?', 'Ada');
    await pauseClock(one);
    await one.route(submitCalls, loseReply);
    const sent = await holdCalls(one, submitCalls, { times: 1 });
    const sentAgain = await holdCalls(other, submitCalls);
    await one.getByLabel('Your name?').fill('Ada Lovelace');
    await shows(other, 'Your name?', 'Ada Lovelace');
    await one.clock.fastForward(2000);
    await eventually(async () => assert.equal(sent.count(), 1));
    await other.clock.fastForward(followedMs);
    await eventually(async () => assert.equal(sentAgain.count(), 1));
    sent.release();
    await statusOf(one, 'saved');
    await one.getByLabel('Your story?').fill('It was long.');
    await isWritten(one);
    await one.clock.fastForward(2000);
    await statusOf(one, 'offline');
    await eventually(async () => assert.deepEqual(await textsAt(survey.id), [['Ada Lovelace', 'It was long.']]));
    await one.getByLabel('Your story?').fill('');
    await isWritten(one);
    sentAgain.release();
    await statusOf(other, 'saved');
    await other.getByRole('button', { name: 'Send' }).click();
    await thanked(other);
    await storedResponses(admin, survey.id, 1);
    assert.deepEqual(await textsAt(survey.id), [['Ada Lovelace']]);
    browser.forgive(/ERR_CONNECTION_RESET/);
    await context.close();
  });

  it('without locks stay finished when a request from before Send is refused a second time', async () => {
    const survey = await publishedSurvey(admin, { title: 'Refused twice' }, twoTexts);
    const context = await browser.context();
    await context.addInitScript(withoutLocks);
    const [one, other] = [await visit(context, survey.id), await visit(context, survey.id)];
    await one.getByLabel('Your name?').fill('Ada');
    await statusOf(one, 'saved');
    await shows(other, 'Your name?', 'Ada');
    await pauseClock(one);
    let isCut = true;
    await one.route(submitCalls, (route) => (isCut ? route.abort() : route.continue()));
    const holdOnce = (page: Page, answer: (route: Route) => Promise<void>) =>
      holdCalls(page, submitCalls, {
        answer: async (route, isReleased) => {
          await isReleased;
          await answer(route);
        },
        times: 1,
      });
    const sent = await holdOnce(one, (route) =>
      refuse(route, 400, { code: 'VALIDATION_ERROR', details: [{ path: 'answers.0' }] }),
    );
    const sentAgain = await holdOnce(other, refuseAsPaused);
    await one.getByLabel('Your name?').fill('Ada Lovelace');
    await shows(other, 'Your name?', 'Ada Lovelace');
    await one.clock.fastForward(2000);
    await eventually(async () => assert.equal(sent.count(), 1));
    await other.clock.fastForward(followedMs);
    await eventually(async () => assert.equal(sentAgain.count(), 1));
    sent.release();
    await one.locator('.error', { hasText: 'This answer cannot be taken as it is.' }).waitFor();
    // What goes on without that answer reaches nobody.
    await statusOf(one, 'offline');
    await one.getByLabel('Your name?').fill('Ada L.');
    await one.getByRole('button', { name: 'Send' }).click();
    await other.getByText('Sending your answers').waitFor();
    sentAgain.release();
    await other.locator('[data-notice="paused"]').waitFor();
    isCut = false;
    await one.clock.fastForward(66_000);
    await thanked(one);
    await storedResponses(admin, survey.id, 1);
    assert.deepEqual(await textsAt(survey.id), [['Ada L.']]);
    browser.forgive(/status of 40[09]|ERR_FAILED/);
    await context.close();
  });
});
