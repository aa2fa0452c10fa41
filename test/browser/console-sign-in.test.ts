import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, fillSignIn, goTo, isLive, newConsoleUser, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { publishedSurvey } from '../support/page-fixture.ts';
import { adminEmail, adminPassword, type RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('signing in to the console', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  it('says the same for an unknown address and a wrong password, and lets the right one in', async () => {
    const page = await browser.open();
    await page.goto(`${service.origin}/surveys?status=DRAFT`);
    await page.getByRole('heading', { name: 'Sign in to Surveys' }).waitFor();
    const refusals = [];
    for (const email of [adminEmail, 'nobody@example.org']) {
      const reply = page.waitForResponse(/auth\/login/);
      await fillSignIn(page, { email, password: 'wrong' });
      assert.equal((await reply).status(), 401);
      refusals.push(await page.getByRole('alert').textContent());
    }
    assert.deepEqual(refusals, ['E-mail or password is wrong.', 'E-mail or password is wrong.']);
    await fillSignIn(page);
    await page.getByRole('heading', { name: 'Surveys', exact: true }).waitFor();
    assert.equal(new URL(page.url()).search, '?status=DRAFT', 'the address asked for at first is shown');
    browser.forgive(/status of 401/);
  });

  it('says that it needs JavaScript where that is switched off', async () => {
    // Chromium under test parses as if scripts ran, so that it would not show this.
    const document = await (await fetch(`${service.origin}/surveys`)).text();
    assert.match(document, /<noscript>\s*<p>Please switch JavaScript on in your browser to use the console\.<\/p>/);
  });

  it('leads to no other host, whatever the link asked for', async () => {
    for (const next of [
      '//elsewhere.invalid/',
      '/\t/elsewhere.invalid/',
      '/\\elsewhere.invalid',
      '/.//elsewhere.invalid',
    ]) {
      const page = await browser.open();
      await page.goto(`${service.origin}/sign-in?next=${encodeURIComponent(JSON.stringify(next))}`);
      await fillSignIn(page);
      await page.getByRole('heading', { name: 'Surveys', exact: true }).waitFor();
      assert.equal(new URL(page.url()).origin, service.origin);
    }
  });

  it('works with the keyboard alone', async () => {
    const page = await browser.open();
    await page.goto(`${service.origin}/sign-in`);
    // The field is seen a moment before it has the focus.
    await page.getByLabel('E-mail').and(page.locator(':focus')).waitFor();
    await page.keyboard.type(adminEmail);
    await page.keyboard.press('Tab');
    await page.keyboard.type(adminPassword);
    await page.keyboard.press('Enter');
    await page.getByRole('navigation', { name: 'Console' }).waitFor();
  });

  it('keeps the session over a reload and ends it everywhere when the user signs out', async () => {
    const page = await signedInPage(browser, service);
    await page.reload();
    await page.getByRole('heading', { name: 'Surveys', exact: true }).waitFor();
    const stored = await page.evaluate<string>(
      'JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie',
    );
    assert.doesNotMatch(stored, /eyJ/, 'no token is stored where a script can read it');
    await page.getByRole('button', { name: adminEmail }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Surveys' }).waitFor();
    await page.goto(`${service.origin}/surveys`);
    await page.getByRole('heading', { name: 'Sign in to Surveys' }).waitFor();
  });

  it('takes neither too many reloads nor the reply of a proxy for the end of a session', async () => {
    const page = await browser.open({ viewport: { width: 1440, height: 900 } });
    await page.clock.install();
    await page.goto(`${service.origin}/sign-in?next=/surveys?status=DRAFT`);
    await fillSignIn(page);
    await page.getByRole('heading', { name: 'Surveys', exact: true }).waitFor();
    const json = { success: false, code: 'RATE_LIMITED', message: 'Too many requests', requestId: 'r' };
    const refusal = { status: 429, headers: { 'retry-after': '40' }, json };
    await page.route('**/auth/refresh', (route) => route.fulfill(refusal), { times: 1 });
    await page.reload();
    await page.getByText('That was too much in a short time. It goes on in a moment.').waitFor();
    await assertAccessible(page);
    await page.clock.fastForward(41_000);
    await page.getByRole('heading', { name: 'Surveys', exact: true }).waitFor();
    assert.equal(new URL(page.url()).search, '?status=DRAFT');

    const ofProxy = { status: 404, contentType: 'text/html', body: 'Not here' };
    await page.route('**/auth/refresh', (route) => route.fulfill(ofProxy), { times: 1 });
    await page.reload();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Surveys', exact: true }).waitFor();
    browser.forgive(/status of (404|429)|SurveyApiError/);
    await page.context().close();
  });

  it('does not renew before each call a token that lasts for half a minute', async () => {
    const page = await signedInPage(browser, service, { path: '/account' });
    await page.route('**/auth/refresh', async (route) => {
      const reply = await route.fetch();
      const json = await reply.json();
      await route.fulfill({ response: reply, json: { ...json, data: { ...json.data, expiresIn: 30 } } });
    });
    const begunMs = performance.now();
    let renewals = 0;
    page.on('request', (request) => (renewals += request.url().endsWith('/auth/refresh') ? 1 : 0));
    await page.goto(`${service.origin}/surveys`);
    await page.getByRole('heading', { name: 'Surveys', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByRole('table', { name: 'Events' }).waitFor();
    // One for each 20 s that a slow machine takes.
    assert.ok(renewals <= 1 + (performance.now() - begunMs) / 20_000, `${renewals} renewals`);
    await page.context().close();
  });

  it('asks again after a second at the earliest, and never when it is to wait for weeks', async () => {
    const page = await signedInPage(browser, service);
    const isPutOff = page.getByText('That was too much in a short time. It goes on in a moment.');
    const json = { success: false, code: 'RATE_LIMITED', message: 'Too many requests', requestId: 'r' };
    let retryAfter = '';
    await page.route('**/auth/refresh', (route) =>
      route.fulfill({ status: 429, headers: { 'retry-after': retryAfter }, json }),
    );
    // By the clock of the page: calls may come late to the test.
    await page.addInitScript(`{
      globalThis.askedAtMs = [];
      const { fetch: send } = globalThis;
      globalThis.fetch = (target, init) => {
        if (String(target.url ?? target).includes('/auth/refresh')) askedAtMs.push(performance.now());
        return send(target, init);
      };
    }`);
    const askedAtMs = () => page.evaluate<number[]>('askedAtMs');
    for (const [value, wanted] of [
      ['0', 3],
      [new Date(0).toUTCString(), 3],
      [String(30 * 24 * 3600), 1],
    ] as const) {
      retryAfter = value;
      await page.goto(`${service.origin}/surveys`);
      await isPutOff.waitFor();
      await eventually(async () => assert.ok((await askedAtMs()).length >= wanted));
      await page.evaluate(`(async () => {
        for (let frame = 0; frame < 5; frame += 1) await new Promise(requestAnimationFrame);
      })()`);
      const times = await askedAtMs();
      if (wanted === 1) assert.equal(times.length, 1);
      for (const [n, ms] of times.slice(1).entries()) assert.ok(ms - (times[n] ?? 0) >= 990, `${times}`);
    }
    browser.forgive(/status of 429|SurveyApiError/);
    await page.context().close();
  });

  it('says of a session that could not be ended that it goes on, and ends it at the next try', async () => {
    for (const [reason, fail] of [
      [/is away at the moment/, (call: Route) => call.fulfill({ status: 503, json: { code: 'SERVICE_UNAVAILABLE' } })],
      [/cannot be reached/, (call: Route) => call.abort('connectionrefused')],
      [/cannot be reached/, 'no reply'],
    ] as const) {
      const page = await signedInPage(browser, service);
      const calls = '**/auth/logout';
      await page.route(calls, (call) => (fail === 'no reply' ? undefined : fail(call)));
      await page.clock.install();
      const asked = page.waitForRequest(calls);
      await page.getByRole('button', { name: adminEmail }).click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
      await asked;
      if (fail === 'no reply') await page.clock.fastForward(31_000);
      const dialog = page.getByRole('alertdialog', { name: 'You are still signed in' });
      await dialog.getByText(reason).waitFor();
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      await assertAccessible(page);
      await dialog.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('heading', { name: 'Sign in to Surveys' }).waitFor();
      // The page asks for the session of its cookie then, whatever it remembers.
      await page.evaluate(`localStorage.setItem('has-session', '1')`);
      await page.goto(`${service.origin}/surveys`);
      await page.getByRole('heading', { name: 'Sign in to Surveys' }).waitFor();
      await page.context().close();
    }
    browser.forgive(/status of (401|503)|ERR_CONNECTION_REFUSED/);
  });

  it('asks for the password over the view when the session ends, and keeps what was typed', async () => {
    const page = await signedInPage(browser, service);
    const list = page.getByRole('table', { name: 'Surveys' });
    await list.or(page.getByRole('heading', { name: 'No surveys yet' })).waitFor();
    await page.route('**/api/v1/surveys?**', (route) => route.fulfill({ status: 401, json: { code: 'UNAUTHORIZED' } }));
    await page.getByLabel('Search surveys').fill('lunch');
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    await page.unroute('**/api/v1/surveys?**');
    await dialog.getByLabel('Password').fill(adminPassword);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.equal(await page.getByLabel('Search surveys').inputValue(), 'lunch');
    browser.forgive(/status of 401/);
  });

  it('sends what Build could not save as soon as the user has signed in again', async () => {
    const { id } = await admin.create('/surveys', { title: 'Over the end' });
    const question = await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'Your name?' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${question.id}` });
    const calls = '**/api/v1/surveys/questions/*';
    await page.route(calls, (route) => route.fulfill({ status: 401, json: { code: 'UNAUTHORIZED' } }));
    await page.getByRole('textbox', { name: 'Text', exact: true }).fill('Your full name?');
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    await page.unroute(calls);
    await dialog.getByLabel('Password').fill(adminPassword);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await page
      .getByRole('status')
      .filter({ hasText: /^Saved$/ })
      .waitFor();
    assert.equal((await admin.get(`/surveys/${id}`)).questions[0].text, 'Your full name?');
    browser.forgive(/status of 401/);
  });

  it('is accessible in light, in dark and from right to left', async () => {
    const page = await browser.open();
    await page.goto(`${service.origin}/sign-in`);
    await page.getByLabel('E-mail').waitFor();
    await assertAccessible(page);
  });

  it('begins a session that another tab with a former one does not end', async () => {
    const [one, other] = [await newConsoleUser(service, admin, 'ADMIN'), await newConsoleUser(service, admin, 'ADMIN')];
    const ended = (page: Page) => page.getByRole('dialog', { name: 'Your session has ended' });
    const first = await signedInPage(browser, service, { as: one });
    const second = await first.context().newPage();
    const signInThere = async (as: typeof one) => {
      await second.goto(`${service.origin}/sign-in`);
      await fillSignIn(second, as);
      await second.getByRole('navigation', { name: 'Console' }).waitFor();
    };
    const goesOn = async () => {
      await second.reload();
      await second.getByRole('heading', { name: 'Surveys', exact: true }).waitFor();
    };
    await signInThere(one);
    await goTo(first, '/audit');
    await first.getByRole('table', { name: 'Events' }).waitFor();
    assert.equal(await ended(first).count(), 0);
    await goesOn();
    await signInThere(other);
    await goTo(first, '/people');
    await ended(first).waitFor();
    await goesOn();
    await first.context().close();

    const third = await signedInPage(browser, service, { as: one });
    const fourth = await third.context().newPage();
    await fourth.goto(`${service.origin}/sign-in`);
    await fillSignIn(fourth, other);
    await fourth.getByRole('navigation', { name: 'Console' }).waitFor();
    await third.getByRole('button', { name: one.email }).click();
    await third.getByRole('menuitem', { name: 'Sign out' }).click();
    await third.getByRole('heading', { name: 'Sign in to Surveys' }).waitFor();
    await fourth.reload();
    await fourth.getByRole('heading', { name: 'Surveys', exact: true }).waitFor();
    browser.forgive(/status of 401/);
    await third.context().close();
  });

  it('asks for no session in a tab whose user another tab has replaced, until somebody signs in there', async () => {
    const [one, other] = [await newConsoleUser(service, admin, 'ADMIN'), await newConsoleUser(service, admin, 'ADMIN')];
    const { id } = await publishedSurvey(admin, { title: 'Replaced' }, [{ type: 'NPS', text: 'Likely?' }]);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/results`, as: one });
    await isLive(page);
    const second = await page.context().newPage();
    await second.goto(`${service.origin}/sign-in`);
    await fillSignIn(second, other);
    await second.getByRole('navigation', { name: 'Console' }).waitFor();
    await second.close();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    await page.clock.install();
    let renewals = 0;
    page.on('request', (request) => {
      if (request.url().endsWith('/auth/refresh')) renewals += 1;
    });
    for (let minute = 0; minute < 5; minute += 1) {
      await page.clock.fastForward(60_000);
      await page.getByText('Not up to date').waitFor();
    }
    assert.equal(renewals, 0);
    await dialog.getByLabel('Password').fill(one.password);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.waitFor({ state: 'detached' });
    await isLive(page);
    browser.forgive(/status of 401/);
    await page.context().close();
  });
});
