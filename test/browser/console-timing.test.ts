import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { goTo, keepMessages, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls, holdNextCall } from '../support/held-calls.ts';
import { adminEmail, type RunningService } from '../support/service.ts';
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

  describe('menus and dialogs that are loaded when they are used', () => {
    /** Menus that bring a button of their own when they have been loaded: file, button, and one of their items. */
    const lateMenus = (page: Page, title: string) =>
      [
        ['survey-actions', page.locator(`button[aria-label="Actions of ${title}"]`), 'Save as a file'],
        ['user-menu', page.locator('button', { hasText: adminEmail }), 'Sign out'],
      ] as const;
    /** The next request for a script of this name, which waits. */
    const nextLoad = (page: Page, file: string) => holdNextCall(page, new RegExp(`/${file}-(?!button)[^/]*[.]js$`));
    const ofMenu = '[aria-haspopup]';

    it('opens menus that are loaded while their buttons are being pressed', async () => {
      const title = `Pressed ${randomUUID()}`;
      await admin.create('/surveys', { title });
      const page = await signedInPage(browser, service, { path: '/account' });
      for (const [file, button, item] of lateMenus(page, title)) {
        const loading = await nextLoad(page, file);
        await page.goto(`${service.origin}/surveys?search=${title}`);
        await button.hover();
        await page.mouse.down();
        await (await loading.made()).continue();
        await button.and(page.locator(ofMenu)).waitFor();
        await page.mouse.up();
        await page.getByRole('menuitem', { name: item }).waitFor();
        await page.keyboard.press('Escape');
      }
      await page.context().close();
    });

    it('keeps the focus on the buttons of menus that are loaded while they have it', async () => {
      const title = `Focused ${randomUUID()}`;
      await admin.create('/surveys', { title });
      const page = await signedInPage(browser, service, { path: '/account' });
      for (const [file, button, item] of lateMenus(page, title))
        for (const isPressed of [false, true]) {
          const loading = await nextLoad(page, file);
          await page.goto(`${service.origin}/surveys?search=${title}`);
          await button.focus();
          if (isPressed) await page.keyboard.press('Enter');
          await (await loading.made()).continue();
          await button.and(page.locator(ofMenu)).waitFor();
          if (isPressed) {
            await page.getByRole('menuitem', { name: item }).waitFor();
            await page.keyboard.press('Escape');
          }
          await button.and(page.locator(`${ofMenu}:focus`)).waitFor();
        }
      await page.context().close();
    });

    it('takes what is typed while a dialog is being loaded for no command', async () => {
      const page = await signedInPage(browser, service, { path: `/surveys?search=${randomUUID()}` });
      const dialogs = page.locator('[role=dialog]');
      for (const [file, key, other, name] of [
        ['command-palette', 'Control+k', '?', 'Go to'],
        ['new-survey', 'n', '?', 'New survey'],
        ['key-list', '?', 'n', 'Keys'],
      ] as const) {
        const loading = await nextLoad(page, file);
        await page.getByRole('heading', { name: 'No survey fits' }).waitFor();
        await page.keyboard.press(key);
        const route = await loading.made();
        await page.keyboard.press(other);
        await route.continue();
        await page.getByRole('dialog', { name, exact: true }).waitFor();
        assert.equal(await dialogs.count(), 1, name);
        await page.keyboard.press('Escape');
        await dialogs.waitFor({ state: 'detached' });
      }
      await page.context().close();
    });
  });
});
