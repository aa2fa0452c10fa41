import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Page, WebSocketRoute } from 'playwright-core';
import { blockedStorage } from '../support/blocked-storage.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import {
  assertAccessible,
  fillSignIn,
  goTo,
  isLive,
  newConsoleUser,
  signedInPage,
  surveyWithReasons,
} from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import { publishedSurvey } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('the console, interrupted', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  let surveyId: string;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));
  before(async () => {
    surveyId = await answeredSurvey('Lunch', 1);
  });

  const answeredSurvey = (title: string, count: number) => surveyWithReasons(admin, title, count);

  it('opens in a browser that blocks storage', async () => {
    const page = await browser.open({ viewport: { width: 1440, height: 900 } });
    await page.addInitScript(blockedStorage);
    await page.goto(`${service.origin}/surveys/${surveyId}/results`);
    await fillSignIn(page);
    await isLive(page);
    await page.getByRole('link', { name: 'Texts' }).click();
    await page.getByText('Because of Lunch').waitFor();
    await page.context().close();
  });

  it('says that the user could not be read, and opens when asked again', async () => {
    const page = await browser.open({ viewport: { width: 1440, height: 900 } });
    const calls = '**/api/v1/auth/me';
    let count = 0;
    await page.route(calls, (route) => {
      count += 1;
      const json = { success: false, code: 'SERVICE_UNAVAILABLE', message: 'Away', requestId: 'r' };
      return route.fulfill({ status: 503, headers: { 'retry-after': '0' }, json });
    });
    await page.goto(`${service.origin}/sign-in`);
    await fillSignIn(page);
    await page.getByRole('heading', { name: 'This could not be loaded' }).waitFor();
    assert.ok(count >= 4, `${count} tries`);
    await assertAccessible(page);
    await page.unroute(calls);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'People' }).waitFor();
    await page.getByRole('heading', { name: 'Surveys', level: 1 }).waitFor();
    browser.forgive(/status of 503/);
    await page.context().close();
  });

  it('asks once who the user is where a proxy refuses that', async () => {
    const page = await signedInPage(browser, service);
    await page.getByRole('link', { name: 'Lunch' }).first().waitFor();
    let count = 0;
    await page.route('**/api/v1/auth/me', (route) => {
      count += 1;
      return route.fulfill({ status: 403, contentType: 'text/plain', body: 'Forbidden' });
    });
    const refused = page.waitForResponse('**/api/v1/auth/me');
    await page.evaluate(`{
      const { now } = Date;
      Date.now = () => now() + 6 * 60_000;
      dispatchEvent(new Event('visibilitychange'));
    }`);
    await refused;
    await goTo(page, '/audit');
    await page.getByRole('table', { name: 'Events' }).waitFor();
    assert.equal(count, 1);
    browser.forgive(/status of 403/);
    await page.context().close();
  });

  it('follows a job no more that is not there any more', async () => {
    const page = await signedInPage(browser, service, { path: `/surveys/${surveyId}/exports` });
    let reads = 0;
    await page.route(/\/exports\/[0-9a-f-]{36}$/, async (route) => {
      if (route.request().resourceType() === 'document') return route.fallback();
      reads += 1;
      const body = { success: false, message: 'There is no such export', code: 'NOT_FOUND', requestId: 'r' };
      await route.fulfill({ status: 404, json: body });
    });
    await page.getByRole('button', { name: 'Make the file' }).click();
    await page.getByRole('region', { name: 'Long work' }).getByText('It is not there any more.').waitFor();
    await page.waitForTimeout(2500);
    assert.equal(reads, 1);
    browser.forgive(/404/);
    await page.context().close();
  });

  it('follows a job no more, nor lists what is being made, once it has no right to', async () => {
    const page = await signedInPage(browser, service, { path: `/surveys/${surveyId}/exports` });
    let [reads, refusals] = [0, 0];
    const refusal = { success: false, message: 'Your rights do not allow this', code: 'FORBIDDEN', requestId: 'r' };
    await page.route(/\/api\/v1\/exports\/[0-9a-f-]{36}$/, async (route) => {
      reads += 1;
      await route.fulfill({ status: 403, json: refusal });
    });
    let isListed = false;
    await page.route('**/api/v1/exports?*', async (route) => {
      if (isListed) {
        refusals += 1;
        return route.fulfill({ status: 403, json: refusal });
      }
      const response = await route.fetch();
      const body = await response.json();
      // It is being made for as long as anybody looks.
      for (const one of body.data) one.status = 'PROCESSING';
      isListed = body.data.length > 0;
      return route.fulfill({ response, json: body });
    });
    await page.getByRole('button', { name: 'Make the file' }).click();
    const tray = page.getByRole('region', { name: 'Long work' });
    await tray.getByText('You do not have the right to do this.').waitFor();
    await eventually(() => assert.ok(refusals > 0));
    await page.waitForTimeout(1500);
    const before = [reads, refusals];
    await page.waitForTimeout(3000);
    assert.deepEqual([reads, refusals], before);
    assert.equal(reads, 1);
    browser.forgive(/403/);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.context().close();
  });

  it('does not show work again that was removed while it is done', async () => {
    const page = await signedInPage(browser, service, { path: `/surveys/${surveyId}/exports` });
    let reads = 0;
    await page.route(/\/api\/v1\/exports\/[0-9a-f-]{36}$/, async (route) => {
      reads += 1;
      const response = await route.fetch();
      const body = await response.json();
      body.data.status = 'PROCESSING';
      await route.fulfill({ response, json: body });
    });
    await page.getByRole('button', { name: 'Make the file' }).click();
    const tray = page.getByRole('region', { name: 'Long work' });
    await eventually(() => assert.ok(reads > 0));
    await tray.getByRole('button', { name: /^Remove / }).click();
    const before = reads;
    await eventually(() => assert.ok(reads > before + 1));
    assert.equal(await tray.count(), 0);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.context().close();
  });

  it('asks no more once its session is over, and is live again right after the next sign-in', async () => {
    const user = await newConsoleUser(service, admin, 'ADMIN');
    const page = await signedInPage(browser, service, { path: `/surveys/${surveyId}/results`, as: user });
    await isLive(page);
    await page.clock.install();
    await user.client.call('POST', '/auth/logout', { body: { everywhere: true } });
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    let renewals = 0;
    page.on('request', (request) => {
      if (request.url().endsWith('/auth/refresh')) renewals += 1;
    });
    for (let minute = 0; minute < 5; minute += 1) {
      await page.clock.fastForward(60_000);
      await page.getByText('Not up to date').waitFor();
    }
    assert.equal(renewals, 0);
    await dialog.getByLabel('Password').fill(user.password);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('Live', { exact: true }).waitFor();
    browser.forgive(/401/);
    await page.context().close();
  });

  it('gives a live connection up that has become silent', async () => {
    const page = await browser.open({ viewport: { width: 1440, height: 900 } });
    const sockets: WebSocketRoute[] = [];
    let replies = 0;
    let isSilent = false;
    await page.routeWebSocket(/\/api\/v1\/live/, (socket) => {
      sockets.push(socket);
      const server = socket.connectToServer();
      socket.onMessage((message) => isSilent || server.send(message));
      server.onMessage((message) => {
        if (isSilent) return;
        socket.send(message);
        if (String(message).includes('"pong"')) replies += 1;
      });
    });
    await page.clock.install();
    await page.goto(`${service.origin}/sign-in?next=/surveys/${surveyId}/results`);
    await fillSignIn(page);
    await isLive(page);
    // As long as there are replies, it stays.
    for (let count = 1; count <= 4; count += 1) {
      await page.clock.fastForward(21_000);
      await eventually(() => assert.ok(replies >= count));
    }
    assert.equal(sockets.length, 1);
    isSilent = true;
    await page.clock.fastForward(21_000);
    await page.clock.fastForward(21_000);
    isSilent = false;
    await eventually(() => assert.equal(sockets.length, 2));
    await isLive(page);
    await page.context().close();
  });

  it('asks again for a stream that the service could not begin, and is not live before', async () => {
    const page = await browser.open({ viewport: { width: 1440, height: 900 } });
    let refusals = 0;
    let isAway = false;
    let cut: () => Promise<void> = async () => undefined;
    await page.routeWebSocket(/\/api\/v1\/live/, (socket) => {
      const server = socket.connectToServer();
      cut = () => socket.close();
      socket.onMessage((message) => {
        if (!isAway || !String(message).includes('"subscribe"')) return server.send(message);
        refusals += 1;
        const problem = { type: 'error', surveyId, code: 'SERVICE_UNAVAILABLE', message: 'Please try again' };
        return socket.send(JSON.stringify(problem));
      });
    });
    await page.goto(`${service.origin}/sign-in?next=/surveys/${surveyId}/results`);
    await fillSignIn(page);
    await isLive(page);
    isAway = true;
    await cut();
    await eventually(() => assert.ok(refusals > 0));
    await page.getByText('Connecting', { exact: true }).waitFor();
    isAway = false;
    await isLive(page);
    await page.context().close();
  });

  it('never shows what was counted for one survey or question under the name of another', async () => {
    const [seven, two] = [await answeredSurvey('Seven', 7), await answeredSurvey('Two', 2)];
    const page = await signedInPage(browser, service, { path: `/surveys/${two}/results` });
    await isLive(page);
    await goTo(page, `/surveys/${seven}/results`);
    const responses = page.getByRole('definition').first();
    await eventually(async () => assert.match((await responses.textContent()) ?? '', /^7\s*$/));
    const held = await holdCalls(page, '**/api/v1/analytics/**');
    await goTo(page, `/surveys/${two}/results?from=2020-01-01`);
    await page.getByRole('heading', { name: 'Two', exact: true }).waitFor();
    await page.getByText('Counting', { exact: true }).waitFor({ state: 'attached' });
    assert.equal(await responses.count(), 0);
    held.release();
    await eventually(async () => assert.match((await responses.textContent()) ?? '', /^2\s*$/));

    await page.getByRole('link', { name: 'Texts' }).click();
    await page.getByText('Because of Two').first().waitFor();
    const heldTexts = await holdCalls(page, '**/texts?*');
    const { questions } = await admin.get(`/surveys/${two}`);
    await goTo(page, `/surveys/${two}/texts?question=${questions[1].id}`);
    await page.getByText('2. Why not?').first().waitFor();
    await page.getByText('Because of Two').first().waitFor({ state: 'detached' });
    heldTexts.release();
    await page.getByRole('heading', { name: 'No answers yet' }).waitFor();
    await page.context().close();
  });

  it('does not say that no response fits before it was counted', async () => {
    const page = await signedInPage(browser, service, { path: `/surveys/${surveyId}/results?to=2020-01-01` });
    await page.getByRole('heading', { name: 'No response fits' }).waitFor();
    const held = await holdCalls(page, '**/api/v1/analytics/**');
    await goTo(page, `/surveys/${surveyId}/results?from=2020-01-01`);
    await page.getByText('Counting', { exact: true }).waitFor({ state: 'attached' });
    assert.equal(await page.getByRole('heading', { name: /No response/ }).count(), 0);
    held.release();
    await page.getByRole('definition').first().waitFor();
    await page.context().close();
  });

  it('never shows lists of one survey under the name of another', async () => {
    const [one, other] = [await answeredSurvey('One', 1), await answeredSurvey('Other', 1)];
    await admin.create(`/surveys/${one}/collectors`, { name: 'Posters of One' });
    await admin.call('POST', `/exports/surveys/${one}`, { body: { format: 'CSV' } });
    const page = await signedInPage(browser, service, { path: `/surveys/${one}/publish` });
    for (const [view, calls, shown] of [
      ['publish', '**/collectors?*', 'Posters of One'],
      ['exports', '**/exports?*', 'CSV'],
    ] as const) {
      await goTo(page, `/surveys/${one}/${view}`);
      const row = page.getByRole('row').filter({ hasText: shown }).first();
      await row.waitFor();
      const held = await holdCalls(page, calls);
      await goTo(page, `/surveys/${other}/${view}`);
      await page.getByRole('heading', { name: 'Other', exact: true }).waitFor();
      await new Promise((resolve) => setTimeout(resolve, 500));
      assert.equal(await row.count(), 0, view);
      held.release();
      await page.unrouteAll({ behavior: 'ignoreErrors' });
    }
    await page.context().close();
  });

  it('says of a list that it is still that of another filter', async () => {
    const page = await signedInPage(browser, service, { path: '/audit' });
    const [list, nothing] = [page.getByRole('region', { name: 'Events' }), page.getByText('No event fits')];
    const isBusy = (value: string) =>
      eventually(async () => assert.equal(await list.getAttribute('aria-busy'), value, `busy: ${value}`));
    await isBusy('false');
    const heldFew = await holdCalls(page, '**/audit?*');
    await goTo(page, '/audit?action=survey.created');
    await isBusy('true');
    heldFew.release();
    await isBusy('false');
    // Other files share the stores, and with them the events: before this day there are none.
    await goTo(page, '/audit?to=2001-01-01');
    await nothing.waitFor();
    const heldAll = await holdCalls(page, '**/audit?*');
    await goTo(page, '/audit?action=survey.published');
    await nothing.waitFor({ state: 'detached' });
    heldAll.release();
    await isBusy('false');
    await page.context().close();
  });

  describe('by a clock that is set back', () => {
    const withClock = `
      const { now } = Date;
      globalThis.setBackMs = 0;
      Date.now = () => now() - setBackMs;`;
    const setBack = (page: Page) => page.evaluate('globalThis.setBackMs = 3 * 3600 * 1000');
    const opened = async (path: string): Promise<Page> => {
      const page = await browser.open({ viewport: { width: 1440, height: 900 } });
      await page.addInitScript(withClock);
      await page.goto(`${service.origin}/sign-in?next=${encodeURIComponent(path)}`);
      return page;
    };

    it('renews the session before it ends', async () => {
      const page = await browser.open({ viewport: { width: 1440, height: 900 } });
      await page.clock.install();
      await page.addInitScript(withClock);
      await page.goto(`${service.origin}/sign-in?next=/surveys`);
      await page.route('**/auth/login', async (route) => {
        const response = await route.fetch();
        const body = await response.json();
        body.data.expiresIn = 3600;
        await route.fulfill({ response, json: body });
      });
      await fillSignIn(page);
      await page.getByRole('navigation', { name: 'Console' }).waitFor();
      await setBack(page);
      const renewed = page.waitForRequest('**/auth/refresh');
      await page.clock.fastForward(3_580_000);
      await goTo(page, `/surveys/${surveyId}/exports`);
      await renewed;
      await page.context().close();
    });

    it('goes on counting what is filtered', async () => {
      const id = await answeredSurvey('Clock', 1);
      const { questions } = await admin.get(`/surveys/${id}`);
      const answers = [{ questionId: questions[0].id, textValue: 'Again' }];
      const page = await opened(`/surveys/${id}/results?from=2020-01-01`);
      await fillSignIn(page);
      const responses = page.getByRole('definition').first();
      const shows = (count: RegExp) =>
        eventually(async () => assert.match((await responses.textContent()) ?? '', count));
      await isLive(page);
      await admin.submit(id, { answers });
      await shows(/^2\s*$/);
      await setBack(page);
      await admin.submit(id, { answers });
      await shows(/^3\s*$/);
      await page.context().close();
    });

    it('reads anew what was read long ago', async () => {
      const page = await opened('/surveys');
      await fillSignIn(page);
      await page.getByRole('link', { name: 'Lunch' }).first().waitFor();
      await setBack(page);
      await publishedSurvey(admin, { title: 'Made meanwhile' }, []).catch(() => undefined);
      await goTo(page, `/surveys/${surveyId}/exports`);
      await page.getByRole('heading', { name: 'Lunch', exact: true }).waitFor();
      await new Promise((resolve) => setTimeout(resolve, 11_000));
      await page.goBack();
      await page.getByRole('link', { name: 'Made meanwhile' }).first().waitFor();
      await page.context().close();
    });
  });
});
