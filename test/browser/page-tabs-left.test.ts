import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BrowserContext, Page, Route } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import {
  isWritten,
  keptOn,
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
/** Longer than a tab waits before it goes on with a response that another one was to send. */
const takenOverMs = 66_000;
const hidden = `
  Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));`;
const fullStorage = `
  const { setItem } = Storage.prototype;
  Storage.prototype.setItem = function (...given) {
    if (this === localStorage) throw new DOMException('full', 'QuotaExceededError');
    setItem.apply(this, given);
  };`;

describe('a tab that is left beside another one', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const visit = (context: BrowserContext, link: string) => openTab(service, context, link);
  const inTwoLanguages = async (questions: readonly Record<string, unknown>[]) => {
    const survey = await publishedSurvey(admin, { title: 'Two languages' }, questions);
    await admin.put(`/surveys/${survey.id}/translations/de`, { title: 'Zwei Sprachen' });
    return survey;
  };
  const send = (page: Page) => page.getByRole('button', { name: /send/i }).click();
  const textsAre = (surveyId: string, texts: string[][]) =>
    eventually(async () => assert.deepEqual(await textsOf(admin, surveyId), texts));
  /** One tab sends its change; the other one is told of it, and waits for its database to read it. */
  const sendsUnread = async (sender: Page, told: Page, calls: { count(): number }): Promise<void> => {
    await told.evaluate(heldIn('readonly'));
    await sender.clock.fastForward(2000);
    await eventually(async () => assert.equal(calls.count(), 1));
    await eventually(async () => assert.ok(await told.evaluate('window.isHeld')));
  };
  /** The languages of the bodies that a tab sends from now on. */
  const sentLanguages = (page: Page): Set<string> => {
    const found = new Set<string>();
    page.on('request', (request) => {
      const body = request.url().endsWith('/submit') ? request.postDataJSON() : undefined;
      if (body) found.add(body.language);
    });
    return found;
  };

  for (const when of ['after its change', 'while its change'] as const)
    it(`${when} is written has its answers in the same response, where the other one had said nothing`, async () => {
      const survey = await publishedSurvey(admin, { title: 'Idle' }, twoTexts);
      const context = await browser.context();
      const [idle, left] = [await visit(context, survey.id), await visit(context, survey.id)];
      await pauseClock(left);
      if (when === 'while its change') await left.evaluate(heldIn('readwrite'));
      await left.getByLabel('Your name?').fill('Ada');
      if (when === 'after its change') await isWritten(left);
      await left.goto('about:blank');
      await textsAre(survey.id, [['Ada']]);
      await idle.getByLabel('Your story?').fill('It was long.');
      await idle.clock.fastForward(2000);
      await statusOf(idle, 'saved');
      await textsAre(survey.id, [['Ada', 'It was long.']]);
      await send(idle);
      await thanked(idle);
      await storedResponses(admin, survey.id, 1);
      assert.deepEqual(await idle.evaluate('Object.keys(localStorage)'), []);
      await context.close();
    });

  it('while its change is written gives way to what is entered at the same question in the other one later', async () => {
    const survey = await publishedSurvey(admin, { title: 'Later' }, twoTexts);
    const context = await browser.context();
    const [other, left] = [await visit(context, survey.id), await visit(context, survey.id)];
    await pauseClock(left);
    await left.evaluate(heldIn('readwrite'));
    await left.getByLabel('Your name?').fill('Ada');
    await left.goto('about:blank');
    await textsAre(survey.id, [['Ada']]);
    await other.clock.fastForward(takenOverMs);
    await other.getByLabel('Your name?').fill('Bob');
    await other.clock.fastForward(2000);
    await textsAre(survey.id, [['Bob']]);
    assert.equal(await other.getByLabel('Your name?').inputValue(), 'Bob');
    await send(other);
    await thanked(other);
    await storedResponses(admin, survey.id, 1);
    await context.close();
  });

  it('has its answers in the same response, where the first save of the other one comes second', async () => {
    const survey = await publishedSurvey(admin, { title: 'Overtaken' }, twoTexts);
    const context = await browser.context();
    const [other, left] = [await visit(context, survey.id), await visit(context, survey.id)];
    const calls = await holdCalls(other, submitCalls);
    await other.getByLabel('Your story?').fill('It was long.');
    await eventually(async () => assert.equal(await left.getByLabel('Your story?').inputValue(), 'It was long.'));
    // It learns nothing of the request of the other one, and can write nothing.
    await left.evaluate(heldIn('readonly'));
    await pauseClock(left);
    await other.clock.fastForward(2000);
    await eventually(async () => assert.equal(calls.count(), 1));
    await left.evaluate(heldIn('readwrite'));
    await left.getByLabel('Your name?').fill('Ada');
    await left.goto('about:blank');
    await textsAre(survey.id, [['Ada', 'It was long.']]);
    calls.release();
    await statusOf(other, 'saved');
    await other.getByLabel('Your story?').fill('It was very long.');
    await other.clock.fastForward(2000);
    await textsAre(survey.id, [['Ada', 'It was very long.']]);
    await send(other);
    await thanked(other);
    await storedResponses(admin, survey.id, 1);
    browser.forgive(/status of 409/);
    await context.close();
  });

  it('sends its last change once more, where a request of the other one came to the service after it', async () => {
    const survey = await publishedSurvey(admin, { title: 'Overtaken again' }, twoTexts);
    const context = await browser.context();
    const [other, left] = [await visit(context, survey.id), await visit(context, survey.id)];
    await left.getByLabel('Your name?').fill('Ada');
    await statusOf(left, 'saved');
    await pauseClock(left);
    const calls = await holdCalls(other, submitCalls, { times: 1 });
    await other.getByLabel('Your story?').fill('It was long.');
    await eventually(async () => assert.equal(await left.getByLabel('Your story?').inputValue(), 'It was long.'));
    await sendsUnread(other, left, calls);
    await left.getByLabel('Your story?').fill('It was very long.');
    await left.evaluate(hidden);
    await textsAre(survey.id, [['Ada', 'It was very long.']]);
    // Its next step begins when that of the other one ends.
    await left.clock.fastForward(1);
    calls.release();
    await textsAre(survey.id, [['Ada', 'It was long.']]);
    await left.evaluate('window.goesOn = true');
    await Promise.all([statusOf(other, 'saved'), statusOf(left, 'saved')]);
    await textsAre(survey.id, [['Ada', 'It was very long.']]);
    await context.close();
  });

  it('has what it sent last taken back by the complete response, where that was overtaken and withdrawn since', async () => {
    const survey = await publishedSurvey(admin, { title: 'Withdrawn' }, twoTexts);
    const context = await browser.context();
    const [other, left] = [await visit(context, survey.id), await visit(context, survey.id)];
    const shows = (page: Page, label: string, text: string) =>
      eventually(async () => assert.equal(await page.getByLabel(label).inputValue(), text));
    await left.getByLabel('Your name?').fill('Ada');
    await statusOf(left, 'saved');
    await pauseClock(left);
    const calls = await holdCalls(other, submitCalls, { times: 1 });
    await other.getByLabel('Your name?').fill('Ada Lovelace');
    await shows(left, 'Your name?', 'Ada Lovelace');
    await sendsUnread(other, left, calls);
    await left.getByLabel('Your story?').fill('It was long.');
    await left.evaluate(hidden);
    await textsAre(survey.id, [['Ada Lovelace', 'It was long.']]);
    await left.evaluate('window.goesOn = true');
    await left.getByLabel('Your story?').fill('');
    await shows(other, 'Your story?', '');
    calls.release();
    await statusOf(other, 'saved');
    await send(left);
    await thanked(left);
    await storedResponses(admin, survey.id, 1);
    await textsAre(survey.id, [['Ada Lovelace']]);
    await context.close();
  });

  it('has what it sent last, and could not write, in the complete response, where that was overtaken', async () => {
    const survey = await publishedSurvey(admin, { title: 'Unwritten' }, twoTexts);
    const context = await browser.context();
    const [other, left] = [await visit(context, survey.id), await visit(context, survey.id)];
    await left.getByLabel('Your name?').fill('Ada');
    await statusOf(left, 'saved');
    await pauseClock(left);
    const calls = await holdCalls(other, submitCalls, { times: 1 });
    await other.getByLabel('Your name?').fill('Ada Lovelace');
    await eventually(async () => assert.equal(await left.getByLabel('Your name?').inputValue(), 'Ada Lovelace'));
    await sendsUnread(other, left, calls);
    // It writes nothing more either.
    await left.evaluate(heldIn('readwrite'));
    await left.getByLabel('Your story?').fill('It was long.');
    await left.goto('about:blank');
    await textsAre(survey.id, [['Ada Lovelace', 'It was long.']]);
    calls.release();
    await statusOf(other, 'saved');
    await send(other);
    await thanked(other);
    await storedResponses(admin, survey.id, 1);
    await textsAre(survey.id, [['Ada Lovelace', 'It was long.']]);
    await context.close();
  });

  for (const [step, mode] of [
    ['writes that', 'readwrite'],
    ['reads what it sends', 'readonly'],
  ] as const)
    it(`right after Send, while it ${step}, has ended the response for one in another language too`, async () => {
      const survey = await inTwoLanguages(twoTexts);
      const context = await browser.context();
      const [german, left] = [
        await visit(context, `${survey.id}?lang=de`),
        await visit(context, `${survey.id}?lang=en`),
      ];
      await pauseClock(left);
      await left.getByLabel('Your name?').fill('Ada');
      await isWritten(left);
      await left.evaluate(heldIn(mode));
      await send(left);
      await eventually(async () => assert.ok(await left.evaluate('window.isHeld')));
      await left.goto('about:blank');
      await storedResponses(admin, survey.id, 1);
      if (mode === 'readwrite') await german.getByLabel('Your story?').fill('Es war lang.');
      await german.clock.fastForward(takenOverMs);
      await thanked(german);
      await storedResponses(admin, survey.id, 1);
      assert.deepEqual(await keptOn(german), []);
      await context.close();
    });

  it('after Send, while the service is busy, loses no answer to one in another language', async () => {
    const survey = await inTwoLanguages([
      { type: 'SHORT_TEXT', text: 'Your name?' },
      { type: 'SHORT_TEXT', text: 'Your county?', visibleIf: { language: ['en'] } },
    ]);
    const context = await browser.context();
    let isBusy = true;
    await context.route(submitCalls, (route) =>
      isBusy
        ? route.fulfill({
            status: 503,
            headers: { 'retry-after': '20' },
            contentType: 'application/json',
            body: JSON.stringify({ success: false, code: 'SERVICE_UNAVAILABLE', message: 'Busy' }),
          })
        : route.continue(),
    );
    const [german, left] = [await visit(context, `${survey.id}?lang=de`), await visit(context, `${survey.id}?lang=en`)];
    const languages = sentLanguages(german);
    await left.getByLabel('Your name?').fill('Ada');
    await left.getByLabel('Your county?').fill('Kent');
    await statusOf(left, 'busy');
    await send(left);
    await german.getByText('Ihre Antworten werden gesendet').waitFor();
    await left.close();
    isBusy = false;
    await german.evaluate(hidden);
    await german.clock.fastForward(takenOverMs);
    await thanked(german);
    assert.equal(new URL(german.url()).search, '?lang=en');
    assert.deepEqual([...languages], ['en']);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.deepEqual(
      stored?.answers.map(({ textValue }) => textValue),
      ['Ada', 'Kent'],
    );
    browser.forgive(/status of 503/);
    await context.close();
  });

  it('while the other one sends has its request forgotten once that is refused', async () => {
    const survey = await publishedSurvey(admin, { title: 'Refused' }, twoTexts);
    const context = await browser.context();
    const [other, left] = [await visit(context, survey.id), await visit(context, survey.id)];
    await other.getByLabel('Your name?').fill('Ada');
    await statusOf(other, 'saved');
    const refuse = (route: Route) =>
      route.fulfill({
        status: 400,
        contentType: 'application/json',
        body: JSON.stringify({ success: false, code: 'VALIDATION_ERROR', details: [{ path: 'answers.0' }] }),
      });
    const [sent, sentAgain] = [
      await holdCalls(other, submitCalls, {
        answer: async (route, isReleased) => {
          await isReleased;
          await refuse(route);
        },
        times: 1,
      }),
      await holdCalls(left, submitCalls, { answer: refuse }),
    ];
    await send(other);
    await eventually(async () => assert.equal(sent.count(), 1));
    await left.getByText('Sending your answers').waitFor();
    await left.evaluate(hidden);
    await eventually(async () => assert.equal(sentAgain.count(), 1));
    await left.close();
    sent.release();
    await other.getByText('This answer cannot be taken as it is.').waitFor();
    await other.getByLabel('Your name?').fill('Ada Lovelace');
    await other.clock.fastForward(2000);
    await textsAre(survey.id, [['Ada Lovelace']]);
    await send(other);
    await thanked(other);
    await storedResponses(admin, survey.id, 1);
    browser.forgive(/status of 400/);
    await context.close();
  });

  it('after the last reply has told the other one so, before it has forgotten the response', async () => {
    const survey = await publishedSurvey(admin, { title: 'Ended' }, twoTexts);
    const context = await browser.context();
    const [other, left] = [await visit(context, survey.id), await visit(context, survey.id)];
    await left.getByLabel('Your name?').fill('Ada');
    await statusOf(left, 'saved');
    await left.evaluate(`
      IDBObjectStore.prototype.delete = function () {
        window.isHeld = true;
        const wait = () => (this.count().onsuccess = wait);
        wait();
      };`);
    await send(left);
    await eventually(async () => assert.ok(await left.evaluate('window.isHeld')));
    await left.close();
    await thanked(other);
    await storedResponses(admin, survey.id, 1);
    await context.close();
  });

  it('a moment too late does not begin a response anew that has ended', async () => {
    const survey = await publishedSurvey(admin, { title: 'Too late' }, twoTexts);
    const context = await browser.context();
    const left = await visit(context, survey.id);
    await left.getByLabel('Your name?').fill('Ada');
    await statusOf(left, 'saved');
    await pauseClock(left);
    await left.getByLabel('Your story?').fill('It was long.');
    await isWritten(left);
    await left.evaluate(`${hidden}; window.left = { ...localStorage };`);
    await left.clock.resume();
    await statusOf(left, 'saved');
    await send(left);
    await thanked(left);
    await eventually(async () => assert.deepEqual(await keptOn(left), []));
    await left.evaluate('Object.assign(localStorage, window.left)');
    assert.equal(await left.evaluate('localStorage.length'), 1);
    await left.close();
    const later = await visit(context, survey.id);
    await eventually(async () => assert.equal(await later.evaluate('localStorage.length'), 0));
    await later.getByLabel('Your name?').fill('Bob');
    await statusOf(later, 'saved');
    await textsAre(survey.id, [['Bob'], ['Ada', 'It was long.']]);
    await context.close();
  });

  it('sends nothing that the next visit would not know of, where localStorage is full', async () => {
    const survey = await inTwoLanguages(twoTexts);
    const context = await browser.context();
    const left = await context.newPage();
    await left.clock.install();
    await left.addInitScript(fullStorage);
    await left.goto(`${service.origin}/s/${survey.id}?lang=en`);
    await pauseClock(left);
    await left.getByLabel('Your name?').fill('Ada');
    await isWritten(left);
    await left.goto('about:blank');
    const later = await visit(context, `${survey.id}?lang=de`);
    await statusOf(later, 'saved');
    await send(later);
    await thanked(later);
    await storedResponses(admin, survey.id, 1);
    await context.close();
  });
});
