import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { pageOpenedAtMs, pageResponseId } from '../../src/domain/submission/page-response-id.ts';
import { asctimeOf } from '../support/asctime.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { forgetResponseId } from '../support/intake.ts';
import {
  type AskedQuestion,
  alternatingQuestions,
  answerAlternating,
  fillAndSend,
  keptOn,
  openTab,
  publishedSurvey,
  statusOf,
  storedResponses,
  thanked,
} from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

const questionCount = 4;
const submitCalls = '**/submit';

describe('a network that is cut while a survey is answered', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  let survey: { id: string; questions: AskedQuestion[] };
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));
  before(async () => {
    survey = await publishedSurvey(admin, { title: 'Four questions' }, alternatingQuestions(questionCount));
  });

  it('is said calmly, and the answers are sent after the browser was closed and opened again', async () => {
    const offline = await publishedSurvey(admin, { title: 'Offline' }, [
      { type: 'SHORT_TEXT', text: 'Your name?', isRequired: true },
      { type: 'NUMBER', text: 'Your age?' },
    ]);
    const context = await browser.context();
    const page = await context.newPage();
    await page.goto(`${service.origin}/s/${offline.id}`);
    await context.setOffline(true);
    await page.getByLabel('Your name?').fill('Ada');
    await page.getByLabel('Your age?').fill('36');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Sending your answers').and(page.locator(':focus')).waitFor();
    await page.getByRole('status').filter({ hasText: 'No connection' }).waitFor();
    assert.equal(await page.locator('[data-notice]').count(), 0);
    await page.close();
    await context.setOffline(false);

    const later = await context.newPage();
    await later.goto(`${service.origin}/s/${offline.id}`);
    await thanked(later);
    const [stored] = await storedResponses(admin, offline.id, 1);
    assert.deepEqual(
      stored?.answers.map(({ textValue, numberValue }) => textValue ?? numberValue),
      ['Ada', 36],
    );
    assert.deepEqual(await keptOn(later), []);
    browser.forgive(/ERR_INTERNET_DISCONNECTED/);
    await context.close();
  });

  it('is read out while the answers are being sent, as its words come after their place', async () => {
    const spoken = await publishedSurvey(admin, { title: 'Read out' }, [{ type: 'SHORT_TEXT', text: 'First?' }]);
    const page = await browser.open();
    await page.route(submitCalls, (route) => route.abort('connectionrefused'));
    await page.goto(`${service.origin}/s/${spoken.id}`);
    await page.getByLabel('First?').fill('one');
    const cut = page.getByRole('status').filter({ hasText: 'No connection' });
    await cut.waitFor();
    await page.evaluate(`
      window.drawn = [];
      new MutationObserver((changes) => {
        for (const node of changes.flatMap(({ addedNodes }) => [...addedNodes]))
          if (node.matches?.('main')) drawn.push(node.querySelector('[role=status]').textContent);
      }).observe(document.body, { childList: true, subtree: true });`);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Sending your answers').waitFor();
    await cut.waitFor();
    assert.deepEqual(await page.evaluate('drawn'), ['']);
    assert.equal(await page.locator('[aria-busy]').count(), 0);
    browser.forgive(/ERR_CONNECTION_REFUSED/);
    await page.context().close();
  });

  it('is none in a browser without AbortSignal.timeout', async () => {
    const { id } = await publishedSurvey(admin, { title: 'Old' }, [{ type: 'SHORT_TEXT', text: 'First?' }]);
    const page = await browser.open();
    await page.addInitScript('delete AbortSignal.timeout');
    await page.goto(`${service.origin}/s/${id}`);
    await page.getByLabel('First?').fill('one');
    await page.getByRole('button', { name: 'Send' }).click();
    await thanked(page);
    await page.close();
  });

  it('is waited for no longer once another tab has saved', async () => {
    const two = await publishedSurvey(admin, { title: 'Back again' }, [{ type: 'SHORT_TEXT', text: 'First?' }]);
    const context = await browser.context();
    let isAway = true;
    let calls = 0;
    await context.route(submitCalls, (route) => {
      calls += 1;
      return isAway ? route.fulfill({ status: 502, body: 'Bad gateway' }) : route.continue();
    });
    const page = await context.newPage();
    await page.clock.install();
    await page.goto(`${service.origin}/s/${two.id}`);
    await page.getByLabel('First?').fill('one');
    // By then it waits for half a minute at least.
    await eventually(async () => {
      await page.clock.runFor(10_000);
      assert.ok(calls >= 7, `${calls} calls`);
    });
    await eventually(async () => page.clock.pauseAt((await page.evaluate<number>('Date.now()')) + 4000));
    isAway = false;
    const other = await context.newPage();
    await other.goto(`${service.origin}/s/${two.id}`);
    await page.locator('.status[data-status=saved]').waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Send' }).click();
    await thanked(page);
    await storedResponses(admin, two.id, 1);
    browser.forgive(/status of 502/);
    await context.close();
  });

  it('ends when a clock is set back meanwhile', async () => {
    const page = await browser.open();
    await page.addInitScript(`
      const { now } = Date;
      Date.now = () => now() + 24 * 3600 * 1000;
      globalThis.setBack = () => (Date.now = now);`);
    await page.goto(`${service.origin}/s/${survey.id}`);
    let isAway = true;
    await page.route(submitCalls, (route) => (isAway ? route.abort('connectionrefused') : route.continue()));
    for (const index of [0, 1, 2, 3]) await answerAlternating(page, index, 'clock');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('status').filter({ hasText: 'No connection' }).waitFor();
    await page.evaluate('setBack()');
    isAway = false;
    await thanked(page);
    browser.forgive(/ERR_CONNECTION_REFUSED/);
    await page.context().close();
  });

  it('counts a response once whose reply was lost, also days later', async () => {
    const lost = await publishedSurvey(admin, { title: 'Lost' }, [{ type: 'SHORT_TEXT', text: 'Your name?' }]);
    const responseId = pageResponseId(randomUUID(), Date.now() - 3 * 86_400_000);
    const context = await browser.context();
    // A page that was opened three days ago.
    await context.route(`**/s/${lost.id}`, async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace(/"responseId":"[^"]+"/, `"responseId":"${responseId}"`);
      await route.fulfill({ response, body });
    });
    const page = await context.newPage();
    await page.route(submitCalls, async (route) => {
      await route.fetch();
      await route.abort('connectionreset');
    });
    await page.goto(`${service.origin}/s/${lost.id}`);
    await fillAndSend(page, 'Your name?', 'Ada');
    await page.getByRole('status').filter({ hasText: 'No connection' }).waitFor();
    await page.close();
    await storedResponses(admin, lost.id, 1);
    await forgetResponseId(responseId);
    const later = await context.newPage();
    await later.goto(`${service.origin}/s/${lost.id}`);
    await thanked(later);
    assert.equal((await admin.get(`/surveys/${lost.id}`)).responseCount, 1);
    assert.equal((await storedResponses(admin, lost.id, 1))[0]?.id, responseId);
    browser.forgive(/ERR_CONNECTION_RESET|status of 409/);
    await context.close();
  });

  it('begins another response, where it must, by the clock of the service', async () => {
    const survey = await publishedSurvey(admin, { title: 'Ahead' }, [{ type: 'SHORT_TEXT', text: 'Your name?' }]);
    const page = await browser.open();
    await page.addInitScript(`
      const { now } = Date;
      Date.now = () => now() + 3 * 24 * 3600 * 1000;`);
    const ids: string[] = [];
    await page.route(submitCalls, (route) => {
      ids.push(route.request().postDataJSON().responseId);
      if (ids.length > 1) return route.continue();
      return route.fulfill({
        status: 404,
        contentType: 'application/json',
        body: JSON.stringify({
          success: false,
          code: 'NOT_FOUND',
          message: 'There is no such response to continue',
          details: { reason: 'RESPONSE_NOT_FOUND' },
        }),
      });
    });
    await page.goto(`${service.origin}/s/${survey.id}`);
    await fillAndSend(page, 'Your name?', 'Ada');
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.notEqual(stored?.id, ids[0]);
    const openedAtMs = pageOpenedAtMs(stored?.id ?? '');
    assert.ok(openedAtMs !== undefined && openedAtMs <= Date.now(), String(openedAtMs));
    browser.forgive(/status of 404/);
    await page.context().close();
  });

  it('keeps half a survey on the device, where it goes on as it was left', async () => {
    const context = await browser.context();
    const page = await context.newPage();
    await page.goto(`${service.origin}/s/${survey.id}`);
    for (const index of [0, 1, 2]) await answerAlternating(page, index, 'half');
    await eventually(async () => assert.match(JSON.stringify(await keptOn(page)), /half says 2/));
    await page.close({ runBeforeUnload: false });
    const later = await context.newPage();
    await later.goto(`${service.origin}/s/${survey.id}`);
    await eventually(async () => {
      assert.equal(await later.locator('.question').nth(2).getByRole('textbox').inputValue(), 'half says 2');
      assert.ok(await later.locator('.question').nth(1).getByRole('radio').first().isChecked());
    });
    await context.close();
  });

  it('or a service that is busy is asked again no earlier than it wants', async () => {
    const page = await browser.open();
    const calls: number[] = [];
    await page.route(submitCalls, async (route) => {
      calls.push(Date.now());
      if (calls.length > 1) return route.continue();
      return route.fulfill({
        status: 429,
        headers: { 'retry-after': '3' },
        contentType: 'application/json',
        body: JSON.stringify({ success: false, code: 'RATE_LIMITED', message: 'Too many requests' }),
      });
    });
    const busy = await publishedSurvey(admin, { title: 'Busy' }, [{ type: 'SHORT_TEXT', text: 'Your name?' }]);
    await page.goto(`${service.origin}/s/${busy.id}`);
    // The words stand there no longer than the service asks for.
    await Promise.all([
      page.getByRole('status').filter({ hasText: 'The service is busy' }).waitFor(),
      fillAndSend(page, 'Your name?', 'Ada'),
    ]);
    // Neither impatience nor a network that came back changes that.
    await page.evaluate("dispatchEvent(new Event('online'))");
    await thanked(page);
    assert.equal(calls.length, 2);
    assert.ok(Number(calls[1]) - Number(calls[0]) >= 3000, String(calls));
    await storedResponses(admin, busy.id, 1);
    browser.forgive(/status of 429/);
    await page.context().close();
  });

  it('or a service that names a date is asked again then, in the time zone of any device', async () => {
    for (const timezoneId of ['America/New_York', 'Asia/Tokyo']) {
      const busy = await publishedSurvey(admin, { title: 'Busy until' }, [{ type: 'SHORT_TEXT', text: 'Your name?' }]);
      const context = await browser.context({ timezoneId });
      let calls = 0;
      await context.route(submitCalls, (route) => {
        calls += 1;
        if (calls > 1) return route.continue();
        return route.fulfill({ status: 503, headers: { 'retry-after': asctimeOf(Date.now() + 30 * 60_000) } });
      });
      const page = await openTab(service, context, busy.id);
      await page.getByLabel('Your name?').fill('Ada');
      await statusOf(page, 'busy');
      await page.clock.fastForward(20 * 60_000);
      assert.equal(calls, 1);
      await page.clock.fastForward(11 * 60_000);
      await statusOf(page, 'saved');
      assert.equal(calls, 2);
      browser.forgive(/status of 503/);
      await context.close();
    }
  });

  it('never makes two tabs fight: they show one draft and send one response', async () => {
    const two = await publishedSurvey(admin, { title: 'Two tabs' }, [
      { type: 'SHORT_TEXT', text: 'First?' },
      { type: 'SHORT_TEXT', text: 'Second?' },
    ]);
    const context = await browser.context();
    const [one, other] = [await context.newPage(), await context.newPage()];
    for (const page of [one, other]) await page.goto(`${service.origin}/s/${two.id}`);
    await one.getByLabel('First?').fill('from one');
    await other.getByLabel('Second?').fill('from the other');
    await eventually(async () => {
      assert.equal(await other.getByLabel('First?').inputValue(), 'from one');
      assert.equal(await one.getByLabel('Second?').inputValue(), 'from the other');
    });
    // Both save by themselves, and one sends.
    await other.getByRole('button', { name: 'Send' }).click();
    await Promise.all([thanked(one), thanked(other)]);
    const [stored] = await storedResponses(admin, two.id, 1);
    assert.deepEqual(
      stored?.answers.map(({ textValue }) => textValue),
      ['from one', 'from the other'],
    );
    await context.close();
  });

  it('a tab goes on with what another one, that was closed, was to send', async () => {
    const two = await publishedSurvey(admin, { title: 'Closed tab' }, [{ type: 'SHORT_TEXT', text: 'First?' }]);
    const context = await browser.context();
    let isAway = true;
    await context.route(submitCalls, (route) => (isAway ? route.abort('connectionrefused') : route.continue()));
    const [one, other] = [await context.newPage(), await context.newPage()];
    await other.clock.install();
    for (const page of [one, other]) await page.goto(`${service.origin}/s/${two.id}`);
    await one.getByLabel('First?').fill('from one');
    await eventually(async () => assert.equal(await other.getByLabel('First?').inputValue(), 'from one'));
    await one.getByRole('button', { name: 'Send' }).click();
    await one.getByRole('status').filter({ hasText: 'No connection' }).waitFor();
    await other.getByText('Sending your answers').waitFor();
    await one.close();
    isAway = false;
    await other.clock.fastForward(70_000);
    await thanked(other);
    await storedResponses(admin, two.id, 1);
    browser.forgive(/ERR_CONNECTION_REFUSED/);
    await context.close();
  });

  it('a tab saves what was entered in another one that was closed, and does not say before that it is saved', async () => {
    const shared = await publishedSurvey(admin, { title: 'Two tabs' }, [
      { type: 'SHORT_TEXT', text: 'Your name?' },
      { type: 'LONG_TEXT', text: 'Your story?' },
    ]);
    const context = await browser.context();
    const [one, other] = [await context.newPage(), await context.newPage()];
    for (const page of [one, other]) await page.goto(`${service.origin}/s/${shared.id}`);
    const statusOf = (status: string) => one.locator(`.status[data-status=${status}]`).waitFor({ state: 'attached' });
    await one.getByLabel('Your name?').fill('Ada');
    await statusOf('saved');
    await eventually(async () => assert.equal(await other.getByLabel('Your name?').inputValue(), 'Ada'));
    // The first save of the other tab does not arrive before that is closed.
    await other.route(submitCalls, () => undefined);
    await other.getByLabel('Your story?').fill('It was long.');
    await statusOf('kept');
    await other.close();
    await statusOf('saved');
    await eventually(async () => {
      const [stored] = await admin.get(`/responses/surveys/${shared.id}?limit=10`);
      assert.deepEqual(
        stored?.answers.map(({ textValue }: { textValue: string }) => textValue),
        ['Ada', 'It was long.'],
      );
    });
    await context.close();
  });

  it('a tab does not go on sending what another one was refused', async () => {
    const two = await publishedSurvey(admin, { title: 'Paused' }, [{ type: 'SHORT_TEXT', text: 'First?' }]);
    const context = await browser.context();
    const [one, other] = [await context.newPage(), await context.newPage()];
    for (const page of [one, other]) await page.goto(`${service.origin}/s/${two.id}`);
    await one.getByLabel('First?').fill('from one');
    await eventually(async () => assert.equal(await other.getByLabel('First?').inputValue(), 'from one'));
    // Then nothing is sent but by Send.
    await one.locator('.status[data-status=saved]').waitFor();
    await admin.put(`/surveys/${two.id}`, { status: 'PAUSED' });
    await one.getByRole('button', { name: 'Send' }).click();
    await one.locator('[data-notice="paused"]').waitFor();
    browser.forgive(/status of 409/);
    assert.equal(await other.getByLabel('First?').inputValue(), 'from one');
    await context.close();
  });

  it('an answer that is taken back after it was saved is not stored', async () => {
    const page = await browser.open();
    const back = await publishedSurvey(admin, { title: 'Back' }, [
      { type: 'YES_NO', text: 'Sure?' },
      { type: 'SHORT_TEXT', text: 'Why?' },
    ]);
    await page.goto(`${service.origin}/s/${back.id}`);
    await page.getByRole('radio', { name: 'Yes' }).check();
    await page.getByLabel('Why?').fill('because');
    await page.locator('.status[data-status=saved]').waitFor();
    await page.getByRole('button', { name: 'Clear answer' }).click();
    await page.getByRole('button', { name: 'Send' }).click();
    await thanked(page);
    const [stored] = await storedResponses(admin, back.id, 1);
    assert.deepEqual(stored?.answers, [{ questionId: back.questions[1]?.id, textValue: 'because' }]);
    await page.context().close();
  });
});
