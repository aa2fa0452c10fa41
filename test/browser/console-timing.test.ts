import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { fillSignIn, goTo, keepMessages, newConsoleUser, signedInPage, userPassword } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { startFreezingProxy } from '../support/freezing-proxy.ts';
import { holdCalls } from '../support/held-calls.ts';
import { publishedSurvey } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('what comes late or crosswise in the console', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  /** Holds the next PUT of an address back; the function that it gives waits for it and lets it go. */
  const holdChange = async (page: Page, address: string): Promise<() => Promise<void>> => {
    const held: Route[] = [];
    await page.route(address, (route) => {
      if (route.request().method() !== 'PUT' || held.length > 0) return route.continue();
      held.push(route);
      return undefined;
    });
    return async () => {
      await eventually(() => assert.equal(held.length, 1));
      await held[0]?.continue();
    };
  };

  it('what is typed into settings while they are saved stays, and is saved next', async () => {
    const { id } = await admin.create('/surveys', { title: 'Typed on' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings` });
    const closing = page.getByRole('textbox', { name: 'Closing text' });
    const release = await holdChange(page, `**/api/v1/surveys/${id}`);
    const save = page.locator('form', { has: closing }).getByRole('button', { name: 'Save' });
    await closing.fill('Thanks');
    await save.click();
    await closing.fill('Thanks to all of you');
    await release();
    await page.getByText('The settings are saved.').waitFor();
    assert.equal(await closing.inputValue(), 'Thanks to all of you');
    assert.equal(await page.getByRole('alert', { name: 'Conflict' }).count(), 0);
    await save.click();
    await eventually(async () => {
      assert.equal((await admin.get(`/surveys/${id}`)).appearance.closingText, 'Thanks to all of you');
    });
    await save.waitFor({ state: 'detached' });
    await page.context().close();
  });

  it('a read that began before a save does not take the save back', async () => {
    const { id } = await admin.create('/surveys', { title: 'Before' });
    const page = await signedInPage(browser, service);
    let isTold = true;
    await page.routeWebSocket(/\/api\/v1\/live/, (socket) => {
      const server = socket.connectToServer();
      server.onMessage((message) => isTold && socket.send(message));
    });
    await goTo(page, `/surveys/${id}/settings`);
    const closing = page.getByRole('textbox', { name: 'Closing text' });
    await closing.fill('Thanks');
    const release = await holdChange(page, `**/api/v1/surveys/${id}`);
    const saving = page.waitForRequest((request) => request.method() === 'PUT');
    await page.locator('form', { has: closing }).getByRole('button', { name: 'Save' }).click();
    await saving;
    // What others change begins a read, whose reply comes after that of the save.
    let old: unknown;
    const held = await holdCalls(page, `**/api/v1/surveys/${id}`, {
      answer: async (route, isReleased) => {
        if (route.request().method() !== 'GET' || !isTold) return route.fallback();
        isTold = false;
        await isReleased;
        await route.fulfill({ json: { success: true, data: old } }).catch(() => undefined);
      },
    });
    old = await admin.put(`/surveys/${id}`, { title: 'Renamed' });
    await eventually(() => assert.equal(isTold, false));
    const reply = page.waitForResponse((one) => one.url().endsWith(id) && one.request().method() === 'GET');
    await release();
    await page.getByText('The settings are saved.').waitFor();
    held.release();
    await (await reply).finished();
    await page.evaluate(`(async () => {
      for (let frame = 0; frame < 5; frame += 1) await new Promise(requestAnimationFrame);
    })()`);
    assert.equal(await closing.inputValue(), 'Thanks');
    await page.context().close();
  });

  it('what is typed into a translation while it is saved stays', async () => {
    const { id } = await admin.create('/surveys', { title: 'Lunch', description: 'In the canteen' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/languages?language=de` });
    const [title, description] = ['Title', 'Description'].map((part) => page.getByLabel(`Survey, ${part}, in German`));
    const release = await holdChange(page, `**/api/v1/surveys/${id}/translations/de?*`);
    await title?.fill('Mittagessen');
    await page.getByRole('button', { name: 'Save' }).click();
    await description?.fill('In der Kantine');
    await release();
    await page.getByText('German is saved.').waitFor();
    assert.equal(await description?.inputValue(), 'In der Kantine');
    await page.getByRole('button', { name: 'Save' }).click();
    await eventually(async () => {
      const stored = await admin.get(`/surveys/${id}/translations/de`);
      assert.deepEqual([stored.title, stored.description], ['Mittagessen', 'In der Kantine']);
    });
    await page.context().close();
  });

  it('what was typed just before a question was deleted comes back with it', async () => {
    const { id } = await admin.create('/surveys', { title: 'Undone' });
    const { id: question } = await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'Name?' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${question}` });
    await keepMessages(page);
    await page.getByRole('textbox', { name: 'Text', exact: true }).fill('Your full name?');
    await page.getByRole('button', { name: 'Delete the question' }).click();
    await page.getByRole('button', { name: 'Undo', exact: true }).click();
    await page.getByRole('list', { name: 'Outline' }).getByText('Your full name?').waitFor();
    await eventually(async () => {
      assert.equal((await admin.get(`/surveys/${id}`)).questions[0].text, 'Your full name?');
    });
    await page.context().close();
  });

  it('the field of a search follows the address that a link leads to', async () => {
    const page = await signedInPage(browser, service);
    const search = page.getByLabel('Search surveys');
    await search.pressSequentially('lunch', { delay: 100 });
    await page.waitForURL(/search=lunch/);
    assert.equal(await search.inputValue(), 'lunch');
    await page.getByRole('navigation', { name: 'Console' }).getByText('Surveys').click();
    await page.waitForURL(/\/surveys$/);
    await eventually(async () => assert.equal(await search.inputValue(), ''));
    // Longer than the pause after which a search begins.
    await new Promise((resolve) => setTimeout(resolve, 600));
    assert.match(page.url(), /\/surveys$/);
    await page.context().close();
  });

  it('a live connection that is given up while it begins is not opened beside the next', async () => {
    const { id } = await admin.create('/surveys', { title: 'Back and forth' });
    const page = await signedInPage(browser, service);
    const open = new Set<unknown>();
    page.on('websocket', (socket) => {
      open.add(socket);
      socket.on('close', () => open.delete(socket));
    });
    const enter = () => goTo(page, `/surveys/${id}/settings`);
    const leave = async () => {
      await goTo(page, '/surveys');
      await page.getByRole('navigation', { name: 'Survey' }).waitFor({ state: 'detached' });
    };
    await enter();
    await page.getByRole('heading', { name: 'Look and end' }).waitFor();
    await leave();
    const held: Route[] = [];
    let isHeld = true;
    await page.route('**/live/tickets', (route) => (isHeld ? void held.push(route) : route.continue()));
    for (let round = 1; round <= 3; round += 1) {
      await enter();
      await eventually(() => assert.equal(held.length, round));
      await leave();
    }
    isHeld = false;
    await enter();
    for (const route of held) await route.continue();
    await eventually(() => assert.equal(open.size, 1));
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assert.equal(open.size, 1);
    await page.context().close();
  });

  it('nobody acts in the name of somebody else who has signed in in another tab', async () => {
    const [one, other] = [
      await newConsoleUser(service, admin, 'ADMIN'),
      await newConsoleUser(service, admin, 'VIEWER'),
    ];
    const { id } = await one.client.create('/surveys', { title: 'Whose' });
    const { id: question } = await one.client.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Likely?' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${question}`, as: one });
    await page.getByRole('textbox', { name: 'Text', exact: true }).waitFor();
    const second = await page.context().newPage();
    await page.context().clearCookies();
    await second.goto(`${service.origin}/sign-in`);
    await fillSignIn(second, other);
    await second.getByRole('navigation', { name: 'Console' }).waitFor();
    const users = new Set<string>();
    page.on('request', (request) => {
      const [, payload = ''] = (request.headers()['authorization'] ?? '').split('.');
      if (payload !== '') users.add((JSON.parse(atob(payload)) as { sub: string }).sub);
    });
    // The access token has expired.
    await page.evaluate('{ const { now } = Date; Date.now = () => now() + 86_400_000; }');
    await page.getByRole('textbox', { name: 'Text', exact: true }).fill('How likely?');
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.getByLabel('Password').fill(userPassword);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.waitFor({ state: 'detached' });
    await eventually(async () => assert.equal((await admin.get(`/surveys/${id}`)).questions[0].text, 'How likely?'));
    assert.deepEqual([...users], [one.id]);
    await page.context().close();
  });

  it('what one user could not save is forgotten, and not sent, when another signs in', async () => {
    const [one, other] = [await newConsoleUser(service, admin, 'ADMIN'), await newConsoleUser(service, admin, 'ADMIN')];
    const { id } = await one.client.create('/surveys', { title: 'Left behind' });
    await one.client.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Likely?' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings`, as: one });
    await page.getByRole('textbox', { name: 'Closing text' }).fill('Thanks from one');
    const views = page.getByRole('navigation', { name: 'Survey' });
    await views.getByText('Build').click();
    const text = page.getByRole('textbox', { name: 'Text', exact: true });
    const calls = '**/api/v1/surveys/questions/*';
    await page.route(calls, (route) => route.abort());
    await text.fill('How likely?');
    await page.getByText('Not saved:').waitFor();
    await page.getByRole('button', { name: one.email }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(/sign-in/);
    await page.unroute(calls);
    let changes = 0;
    page.on('request', (request) => {
      if (request.method() === 'PUT') changes += 1;
    });
    await fillSignIn(page, other);
    await page.getByRole('link', { name: 'Left behind' }).first().click();
    await views.getByText('Build').click();
    await page.getByRole('list', { name: 'Outline' }).getByText('Likely?').click();
    assert.equal(await text.inputValue(), 'Likely?');
    await views.getByText('Settings').click();
    assert.equal(await page.getByRole('textbox', { name: 'Closing text' }).inputValue(), '');
    // Longer than the pause after which Build tries again.
    await new Promise((resolve) => setTimeout(resolve, 5500));
    assert.equal(changes, 0);
    assert.equal((await admin.get(`/surveys/${id}`)).questions[0].text, 'Likely?');
    browser.forgive(/ERR_FAILED/);
    await page.context().close();
  });

  it('a save whose reply is lost is no conflict with oneself, whatever is typed next', async () => {
    const { id } = await admin.create('/surveys', { title: 'Lost replies' });
    const { id: question } = await admin.create(`/surveys/${id}/questions`, {
      type: 'MULTIPLE_CHOICE',
      text: 'Dish?',
      options: [{ text: 'Soup' }, { text: 'Pasta' }],
    });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${question}` });
    const [text, salad] = ['Text', 'Option 3'].map((name) => page.getByRole('textbox', { name, exact: true }));
    let isLost = false;
    // The first save is stored, but its reply and the save after it get lost.
    let lost = 0;
    await page.route('**/api/v1/surveys/questions/*', async (route) => {
      if (!isLost || lost === 2) return route.continue();
      lost += 1;
      if (lost === 1) await route.fetch();
      await route.abort('connectionreset');
    });
    await page.getByRole('button', { name: 'Add option' }).click();
    isLost = true;
    await salad?.fill('Salad');
    await text?.fill('Which dish?');
    // A busy machine may lose the second one by now.
    await eventually(() => assert.ok(lost >= 1));
    await salad?.fill('Salad bowl');
    await eventually(() => assert.equal(lost, 2));
    await text?.fill('Which one?');
    await eventually(async () => {
      const [stored] = (await admin.get(`/surveys/${id}`)).questions;
      const options = stored.options.map((option: { text: string }) => option.text);
      assert.deepEqual([stored.text, ...options], ['Which one?', 'Soup', 'Pasta', 'Salad bowl']);
    });
    await page
      .getByRole('status')
      .filter({ hasText: /^Saved$/ })
      .waitFor();
    assert.equal(await page.getByRole('alert', { name: 'Conflict' }).count(), 0);
    browser.forgive(/ERR_CONNECTION_RESET|409/);
    await page.context().close();
  });

  it('a save over a connection that fell silent is given up and made again', async (t) => {
    const { id } = await admin.create('/surveys', { title: 'Silent' });
    const { id: question } = await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Likely?' });
    const proxy = await startFreezingProxy(service.origin);
    t.after(() => proxy.stop());
    const { origin } = new URL(proxy.url);
    const page = await signedInPage(browser, { origin }, { path: `/surveys/${id}/build?item=${question}` });
    const text = page.getByRole('textbox', { name: 'Text', exact: true });
    await text.waitFor();
    // The clock of a frame that is still being loaded would be set, but not installed.
    await page.frameLocator('iframe[title=Preview]').getByText('Likely?').waitFor();
    await page.clock.install();
    const sent = page.waitForRequest((request) => request.method() === 'PUT');
    proxy.freezeOpen();
    await text.fill('How likely?');
    await page.clock.runFor(1000);
    await sent;
    await eventually(async () => {
      await page.clock.runFor(10_000);
      assert.equal((await admin.get(`/surveys/${id}`)).questions[0].text, 'How likely?');
    });
    browser.forgive(/ERR_|WebSocket|409/);
    await page.context().close();
  });

  it('a count that comes late does not take the place of a newer one', async () => {
    const { id } = await admin.create('/surveys', { title: 'Late count', status: 'ACTIVE' });
    const { id: questionId, options } = await admin.create(`/surveys/${id}/questions`, {
      type: 'MULTIPLE_CHOICE',
      text: 'Which dish?',
      options: [{ text: 'Soup' }, { text: 'Pasta' }],
    });
    const submit = (index: number) =>
      admin.submit(id, { answers: [{ questionId, optionId: options[index].id }] }).then(() => undefined);
    await submit(0);
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 1));
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/results` });
    await page.getByRole('row', { name: /^Soup 100.0 % 1$/ }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    // What the stream tells first, the statistics at its beginning, has come before this one.
    await submit(0);
    await page.getByRole('row', { name: /^Soup 100.0 % 2$/ }).waitFor();
    const late: (() => Promise<void>)[] = [];
    await page.route(`**/api/v1/analytics/surveys/${id}`, async (route) => {
      const response = await route.fetch();
      late.push(() => route.fulfill({ response }).catch(() => undefined));
    });
    // The window comes to the front when what it shows is a while old.
    await page.evaluate(`{
      const { now } = Date;
      Date.now = () => now() + 20_000;
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
    }`);
    await eventually(() => assert.equal(late.length, 1));
    await submit(1);
    const moved = page.getByRole('row', { name: /^Pasta 33.3 % 1$/ });
    await moved.waitFor();
    await late[0]?.();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    assert.equal(await moved.count(), 1);
    await page.context().close();
  });

  it('moves of a question count in the order in which they were made', async () => {
    const { id } = await admin.create('/surveys', { title: 'Moved on' });
    for (const text of ['A', 'B', 'C', 'D', 'E']) await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build` });
    const outline = page.getByRole('list', { name: 'Outline' });
    const placed = (number: number) => outline.getByRole('button', { name: new RegExp(`^${number}\\s*A$`) });
    await placed(1).focus();
    let [moves, done] = [0, 0];
    await page.route('**/api/v1/surveys/questions/*', async (route) => {
      moves += 1;
      if (moves === 1) await new Promise((resolve) => setTimeout(resolve, 4000));
      const response = await route.fetch();
      done += 1;
      await route.fulfill({ response });
    });
    for (const place of [2, 3, 4]) {
      await page.keyboard.press('Alt+ArrowDown');
      await placed(place).and(page.locator(':focus')).waitFor();
    }
    await eventually(() => assert.deepEqual({ moves, done }, { moves: 3, done: 3 }));
    await eventually(async () => {
      const { questions } = await admin.get(`/surveys/${id}`);
      assert.equal(questions.map(({ text }: { text: string }) => text).join(''), 'BCDAE');
    });
    await placed(4).waitFor();
    await page.context().close();
  });

  it('a crosstab over a connection that fell silent is asked for again', async () => {
    const { id, questions } = await publishedSurvey(admin, { title: 'Silent' }, [{ type: 'YES_NO', text: 'Again?' }]);
    const answers = [{ questionId: questions[0]?.id, optionId: questions[0]?.options[0]?.id }];
    assert.equal((await admin.submit(id, { answers })).status, 201);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/results` });
    await page.getByRole('row', { name: 'Yes 100.0 % 1' }).waitFor();
    let asked = 0;
    await page.route('**/crosstab', (route) => {
      asked += 1;
      return asked === 1 ? undefined : route.continue();
    });
    await page.clock.install();
    const columns = encodeURIComponent(JSON.stringify([questions[0]?.id]));
    await goTo(page, `/surveys/${id}/crosstab?rows=${questions[0]?.id}&columns=${columns}`);
    await eventually(() => assert.equal(asked, 1));
    // No further, or the next one would run out of time as well.
    await eventually(async () => {
      await page.clock.runFor(10_000);
      assert.equal(asked, 2);
    });
    await page.getByRole('table').first().waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.context().close();
  });
});
