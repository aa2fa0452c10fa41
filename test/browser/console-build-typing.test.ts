import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page, Request } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

interface Question {
  type: string;
  text: string;
  options: { text: string }[];
}

const questionCalls = /\/api\/v1\/surveys\/questions\/[^/]+$/;

describe('what is typed in Build', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const fieldOf = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true });
  const saveState = (page: Page, text: RegExp) => page.getByRole('status').filter({ hasText: text }).first();
  const isSaved = (page: Page) => saveState(page, /^Saved$/).waitFor();
  const noConflict = async (page: Page) => assert.equal(await page.getByRole('alert', { name: 'Conflict' }).count(), 0);
  const read = (id: string) => admin.get(`/surveys/${id}`);

  /** Build with the only question of a survey. */
  const opened = async (question: object, title = 'Typed') => {
    const { id } = await admin.create('/surveys', { title });
    const { id: questionId } = await admin.create(`/surveys/${id}/questions`, question);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${questionId}` });
    await fieldOf(page, 'Text').waitFor();
    const question0 = async () => (await read(id)).questions[0];
    return { id: id as string, page, stored: question0 };
  };
  const named = { type: 'NPS', text: 'Likely?' };

  /** Lets the next save be stored, and its reply be lost; what comes before `again` is called is lost whole. */
  const loseReply = async (page: Page, address: RegExp) => {
    let isStored = false;
    let isAgain = false;
    await page.route(address, async (route) => {
      if (isAgain || route.request().method() !== 'PUT') return route.continue();
      if (!isStored) {
        isStored = true;
        await route.fetch();
      }
      await route.abort('connectionreset');
    });
    return { again: () => (isAgain = true) };
  };

  it('stays there as it is typed, a blank before the next word too, while it is saved', async () => {
    const options = [{ text: 'Apple' }, { text: 'Pear' }];
    const { id, page, stored } = await opened({ type: 'MULTIPLE_CHOICE', text: 'Fruit?', options });
    const typeInTwo = async (name: string, parts: [string, string], wordingOf: () => Promise<string>) => {
      const field = fieldOf(page, name);
      await field.fill(parts[0]);
      await eventually(async () => assert.equal(await wordingOf(), parts[0].trim()));
      await isSaved(page);
      assert.equal(await field.inputValue(), parts[0]);
      await field.press('End');
      await page.keyboard.type(parts[1]);
      await eventually(async () => assert.equal(await wordingOf(), parts.join('')));
    };
    await typeInTwo('Text', ['Which of the dishes ', 'do you like?'], async () => (await stored()).text);
    await typeInTwo('Option 1', ['Tomato ', 'soup'], async () => (await stored()).options[0].text);
    await page.getByRole('list', { name: 'Outline' }).getByText('Typed', { exact: true }).click();
    await typeInTwo('Title', ['Lunch ', 'today'], async () => (await read(id)).title);
    await page.context().close();
  });

  it('is no conflict with itself for the blank at its end, where the reply of its save is lost', async () => {
    const { page, stored } = await opened(named);
    const { again } = await loseReply(page, questionCalls);
    await fieldOf(page, 'Text').fill('A new text ');
    await eventually(async () => assert.equal((await stored()).text, 'A new text'));
    again();
    await eventually(async () => {
      await noConflict(page);
      assert.equal(await saveState(page, /^Saved$/).count(), 1);
    });
    browser.forgive(/ERR_CONNECTION_RESET|409/);
    await page.context().close();
  });

  it('is taken back from the service too, where the reply of its save was lost', async () => {
    const { page, stored } = await opened({ type: 'NPS', text: 'Which dish?' });
    const { again } = await loseReply(page, questionCalls);
    await page.routeWebSocket(/\/api\/v1\/live/, (socket) => socket.close());
    await page.reload();
    const text = fieldOf(page, 'Text');
    await text.fill('A wrong text');
    const problem = page.getByRole('alert', { name: 'Not saved' });
    await problem.waitFor();
    assert.equal((await stored()).text, 'A wrong text');
    again();
    await problem.getByRole('button', { name: 'Take my change back' }).click();
    await isSaved(page);
    assert.deepEqual([await text.inputValue(), (await stored()).text], ['Which dish?', 'Which dish?']);
    browser.forgive(/ERR_CONNECTION_RESET|409|WebSocket/);
    await page.context().close();
  });

  it('is the title of the survey, though the survey could not be read after the save', async () => {
    const { id, page } = await opened(named);
    await page.getByRole('list', { name: 'Outline' }).getByText('Typed', { exact: true }).click();
    const title = fieldOf(page, 'Title');
    await title.waitFor();
    await page.route(new RegExp(`/api/v1/surveys/${id}(\\?|$)`), (route) =>
      route.request().method() === 'GET' ? route.fulfill({ status: 404, body: 'no survey' }) : route.continue(),
    );
    await title.fill('Typed anew');
    await eventually(async () => assert.equal((await read(id)).title, 'Typed anew'));
    await isSaved(page);
    assert.equal(await title.inputValue(), 'Typed anew');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    browser.forgive(/status of 404/);
    await page.context().close();
  });

  const checkboxes = {
    type: 'CHECKBOXES',
    text: 'Dishes?',
    options: [{ text: 'Soup' }, { text: 'Pasta' }],
    settings: { minSelections: 1 },
  };
  const chooseType = async (page: Page, from: RegExp, to: string) => {
    await page.getByRole('button', { name: from }).click();
    await page.getByRole('option', { name: to, exact: true }).click();
  };
  const hasOptions = (stored: () => Promise<Question>, type: string, texts: readonly string[]) =>
    eventually(async () => {
      const question = await stored();
      assert.deepEqual([question.type, question.options.map(({ text }) => text)], [type, texts]);
    });

  const hasSettings = (stored: () => Promise<Question & { settings: object }>, type: string, settings: object) =>
    eventually(async () => {
      const question = await stored();
      assert.deepEqual([question.type, question.settings], [type, settings]);
    });

  it('is saved with another type, of whose settings none is sent that the new one does not have', async () => {
    for (const isHeld of [false, true]) {
      const { page, stored } = await opened(checkboxes);
      const held = await holdCalls(page, questionCalls);
      if (!isHeld) held.release();
      await chooseType(page, /Checkboxes/, 'Multiple choice');
      if (isHeld) await eventually(() => assert.equal(held.count(), 1));
      await page.getByText('Offer “Other” with a text').click();
      held.release();
      await eventually(async () => {
        const { type, settings } = await stored();
        assert.deepEqual([type, settings.allowOther], ['MULTIPLE_CHOICE', true]);
      });
      await isSaved(page);
      await page.context().close();
    }
  });

  it('is saved with another type, though a setting of the former one was changed just before', async () => {
    const { page, stored } = await opened({ type: 'NUMBER', text: 'Since when?', settings: { max: 2000 } });
    const held = await holdCalls(page, questionCalls);
    await fieldOf(page, 'Text').fill('From when on?');
    await eventually(() => assert.equal(held.count(), 1));
    await fieldOf(page, 'Smallest').fill('5');
    await fieldOf(page, 'Smallest').blur();
    await chooseType(page, /Number/, 'Date');
    await page.getByLabel('Latest').fill('2030-12-31');
    held.release();
    await hasSettings(stored, 'DATE', { max: '2030-12-31' });
    await isSaved(page);
    await page.context().close();
  });

  it('is saved with another type, though an option was edited just before', async () => {
    for (const [title, type, texts] of [
      ['Multiple choice', 'MULTIPLE_CHOICE', ['Tomato soup', 'Pasta']],
      ['Number', 'NUMBER', []],
    ] as const) {
      const { page, stored } = await opened(checkboxes);
      const held = await holdCalls(page, questionCalls);
      await fieldOf(page, 'Text').fill('Which dishes?');
      await eventually(() => assert.equal(held.count(), 1));
      await fieldOf(page, 'Option 1').fill('Tomato soup');
      await chooseType(page, /Checkboxes/, title);
      held.release();
      await hasOptions(stored, type, texts);
      await isSaved(page);
      await page.context().close();
    }
  });

  it('is saved in an option of a question whose type is being saved, and goes on to be', async () => {
    const { page, stored } = await opened(checkboxes);
    const held = await holdCalls(page, questionCalls);
    await chooseType(page, /Checkboxes/, 'Multiple choice');
    await eventually(() => assert.equal(held.count(), 1));
    const option = fieldOf(page, 'Option 1');
    await option.fill('Tomato soup');
    held.release();
    await hasOptions(stored, 'MULTIPLE_CHOICE', ['Tomato soup', 'Pasta']);
    await isSaved(page);
    await page.keyboard.type(', hot');
    await hasOptions(stored, 'MULTIPLE_CHOICE', ['Tomato soup, hot', 'Pasta']);
    await page.context().close();
  });

  it('is saved under a second type that is chosen while the first one is being saved', async () => {
    const { page, stored } = await opened({ type: 'NUMBER', text: 'Since when?' });
    const held = await holdCalls(page, questionCalls);
    await chooseType(page, /Number/, 'Slider');
    await eventually(() => assert.equal(held.count(), 1));
    await chooseType(page, /Slider/, 'Date');
    await page.getByLabel('Latest').fill('2030-12-31');
    held.release();
    await hasSettings(stored, 'DATE', { max: '2030-12-31' });
    await isSaved(page);
    await page.context().close();
  });

  it('is taken back with the type, options and settings that a save without a reply took away', async () => {
    const { page, stored } = await opened(checkboxes);
    const { again } = await loseReply(page, questionCalls);
    await page.routeWebSocket(/\/api\/v1\/live/, (socket) => socket.close());
    await page.reload();
    await chooseType(page, /Checkboxes/, 'Number');
    const problem = page.getByRole('alert', { name: 'Not saved' });
    await problem.waitFor();
    assert.equal((await stored()).type, 'NUMBER');
    again();
    await problem.getByRole('button', { name: 'Take my change back' }).click();
    await hasOptions(stored, 'CHECKBOXES', ['Soup', 'Pasta']);
    await isSaved(page);
    assert.equal((await stored()).settings.minSelections, 1);
    browser.forgive(/ERR_CONNECTION_RESET|409|WebSocket/);
    await page.context().close();
  });

  it('is taken back without a conflict where it was never stored, and somebody else has changed the same', async () => {
    const { page, stored } = await opened(named);
    const { id: questionId } = await stored();
    await page.routeWebSocket(/\/api\/v1\/live/, (socket) => socket.close());
    await page.reload();
    await page.route(questionCalls, (route) => route.abort('connectionreset'));
    await fieldOf(page, 'Text').fill('How likely?');
    const problem = page.getByRole('alert', { name: 'Not saved' });
    await problem.waitFor();
    await admin.put(`/surveys/questions/${questionId}`, { text: 'Theirs?' });
    await page.unroute(questionCalls);
    await problem.getByRole('button', { name: 'Take my change back' }).click();
    await isSaved(page);
    await noConflict(page);
    assert.deepEqual([await fieldOf(page, 'Text').inputValue(), (await stored()).text], ['Theirs?', 'Theirs?']);
    browser.forgive(/ERR_CONNECTION_RESET|409|WebSocket/);
    await page.context().close();
  });

  it('is known to a view that is opened while it is being saved', async () => {
    const { id, page, stored } = await opened(named);
    const { id: questionId } = await stored();
    await admin.put(`/surveys/${id}/translations/de`, {
      title: 'Getippt',
      questions: [{ id: questionId, text: 'Wahrscheinlich?' }],
    });
    const held = await holdCalls(page, questionCalls);
    await fieldOf(page, 'Text').fill('How likely?');
    await page.getByRole('link', { name: 'Languages' }).first().click();
    const row = page.getByRole('table', { name: 'Languages' }).getByRole('row', { name: /German/ });
    await row.filter({ hasText: 'Complete' }).waitFor();
    assert.equal(held.count(), 1);
    held.release();
    await row.filter({ hasText: '1 out of date' }).waitFor();
    await page.context().close();
  });

  const isOfApi = (request: Request) => request.url().includes('/api/v1/');

  it('makes two calls a save, though the service tells everybody of it', async () => {
    const { id, page, stored } = await opened({ type: 'SHORT_TEXT', text: 'Your name?' });
    await page.frameLocator('iframe').getByText('Your name?').waitFor();
    await page.waitForLoadState('networkidle');
    // On a slow machine the survey would be read once more, since somebody else may have changed it.
    await page.evaluate(`{
      const later = setTimeout;
      globalThis.setTimeout = (run, ms, ...rest) => later(run, ms === 1500 ? 2 ** 30 : ms, ...rest);
    }`);
    const calls: string[] = [];
    page.on('request', (request) => {
      if (isOfApi(request)) calls.push(`${request.method()} ${new URL(request.url()).pathname.slice(7)}`);
    });
    const { id: questionId } = await stored();
    const texts = ['Your own name?', 'Your first name?', 'Your last name?'];
    for (const text of texts) {
      await fieldOf(page, 'Text').fill(text);
      await eventually(async () => assert.equal((await stored()).text, text));
      await isSaved(page);
    }
    const save = [`PUT /surveys/questions/${questionId}`, `GET /surveys/${id}`];
    assert.deepEqual(
      calls,
      texts.flatMap(() => save),
    );
    await page.context().close();
  });

  it('makes far fewer calls in a minute than a user has, in whatever pauses it is typed', async () => {
    const { page, stored } = await opened({ type: 'SHORT_TEXT', text: 'Your name?' });
    await page.frameLocator('iframe').getByText('Your name?').waitFor();
    await page.waitForLoadState('networkidle');
    await page.clock.install();
    let calls = 0;
    const open = new Set<Request>();
    page.on('request', (request) => {
      if (!isOfApi(request)) return;
      calls += 1;
      open.add(request);
    });
    const ended = (request: Request) => void open.delete(request);
    page.on('requestfinished', ended).on('requestfailed', ended);
    const minutes = async () => Number(await page.evaluate('Date.now()')) / 60_000;
    const begin = await minutes();
    for (let second = 1; second <= 60; second += 1) {
      await fieldOf(page, 'Text').fill(`Your name, ${second}?`);
      await page.clock.runFor(1000);
      // A call takes hardly any time of the page's clock, however slow the machine is.
      await eventually(() => assert.equal(open.size, 0));
    }
    const callsPerMinute = calls / ((await minutes()) - begin);
    assert.ok(callsPerMinute <= 60, `${callsPerMinute} calls a minute`);
    await page.clock.runFor(5000);
    await eventually(async () => assert.equal((await stored()).text, 'Your name, 60?'));
    await page.context().close();
  });

  /** Refuses saves of questions for a minute. */
  const refuse = async (page: Page) => {
    let refusals = 0;
    await page.route(questionCalls, (route) => {
      refusals += 1;
      const json = { success: false, code: 'RATE_LIMITED', message: 'Too many', requestId: 'r' };
      return route.fulfill({ status: 429, headers: { 'retry-after': '60' }, json });
    });
    browser.forgive(/status of 429/);
    return { count: () => refusals };
  };

  it('is sent again no sooner than the service says, though it is typed on', async () => {
    const { page, stored } = await opened(named);
    const refusals = await refuse(page);
    // The clock of a frame that is still being loaded would be set, but not installed.
    await page.frameLocator('iframe[title=Preview]').getByText('Likely?').waitFor();
    await page.clock.install();
    await fieldOf(page, 'Text').fill('How likely?');
    await page.clock.runFor(1000);
    await page.getByRole('alert', { name: 'Not saved' }).waitFor();
    await page.clock.runFor(20_000);
    assert.equal(refusals.count(), 1);
    for (const text of ['How likely is', 'How likely is it?']) {
      await fieldOf(page, 'Text').fill(text);
      await page.clock.runFor(5000);
      assert.equal(refusals.count(), 1);
    }
    await page.unroute(questionCalls);
    await page.clock.runFor(35_000);
    await eventually(async () => assert.equal((await stored()).text, 'How likely is it?'));
    await page.context().close();
  });

  it('is taken back at once where the service has refused it', async () => {
    const { page } = await opened(named);
    const refusals = await refuse(page);
    await fieldOf(page, 'Text').fill('How likely?');
    const problem = page.getByRole('alert', { name: 'Not saved' });
    await problem.getByRole('button', { name: 'Take my change back' }).click();
    await isSaved(page);
    assert.deepEqual([await fieldOf(page, 'Text').inputValue(), refusals.count()], ['Likely?', 1]);
    await page.context().close();
  });
});
