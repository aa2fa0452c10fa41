import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page, Route } from 'playwright-core';
import type { AiFixture } from '../support/ai-fixture.ts';
import type { SeenCall } from '../support/ai-provider.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import { goTo, signedInPage } from '../support/console.ts';
import { draftQuestion } from '../support/draft-question.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import { useAi } from '../support/use-ai.ts';

/** A first draft about a canteen, then another one. */
function spoken({ user }: SeenCall): unknown {
  const { draft } = JSON.parse(user[0] ?? '{}');
  const texts = draft
    ? ['Your home address?', 'Your salary?', 'Your age?', 'Your weight?', 'Your height?']
    : ['Soup?', 'Salad?', 'Bread?', 'Tea?', 'Cake?'];
  return {
    message: 'Here it is.',
    title: 'Lunch',
    description: null,
    sections: [],
    questions: texts.map((text) => draftQuestion('NPS', text)),
  };
}

describe('a draft of a survey', { skip: withoutBrowser }, () => {
  let scene: AiFixture;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useAi((started) => (scene = started), { answer: spoken });

  const ordered = async (page: Page): Promise<void> => {
    await page.getByLabel('Topic').fill('Our canteen');
    const count = page.getByRole('textbox', { name: 'Questions', exact: true });
    await count.fill('5');
    // The list of languages would open with the focus and hide the rest from roles.
    await count.blur();
    await page.getByRole('button', { name: 'Write the draft' }).click();
  };

  it('keeps its language when it is opened from the tray', async () => {
    const { service, admin, ai } = scene;
    const page = await signedInPage(browser, service, { path: '/surveys/new?language=de' });
    const tray = page.getByRole('region', { name: 'Long work' });
    let goOn = (): void => undefined;
    ai.midway = new Promise((resolve) => {
      goOn = resolve;
    });
    await ordered(page);
    await tray.getByRole('progressbar', { name: 'Draft of a survey' }).waitFor();
    await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Keys' }).click();
    await page.waitForURL(/\/keys$/);
    goOn();
    await tray.getByRole('link', { name: 'Open' }).click();
    await page.waitForURL(/conversation=/);
    await page.getByRole('button', { name: 'Make the survey' }).click();
    await page.waitForURL(/\/surveys\/[^/]+\/build/);
    assert.equal((await admin.get(`/surveys/${page.url().split('/')[4]}`)).language, 'de');
    await page.context().close();
  });

  it('is made of no other questions than those that are shown', async () => {
    const { service, admin } = scene;
    const page = await signedInPage(browser, service, { path: '/surveys/new' });
    await ordered(page);
    const draft = page.getByRole('region', { name: 'Draft' });
    await draft.getByText('5 of 5 questions').waitFor();
    await page.waitForURL(/conversation=/);
    const id = new URL(page.url()).searchParams.get('conversation');
    for (const place of [3, 4, 5])
      await draft.getByRole('checkbox', { name: `Take question ${place}:` }).press('Space');
    await admin.post(`/ai/conversations/${id}/messages`, { message: 'Ask for more' });
    await draft.getByRole('button', { name: 'Make it of 2 questions' }).click();
    await draft.getByRole('alert').getByText('The conversation went on meanwhile').waitFor();
    await draft.getByText('1. Your home address?').waitFor();
    assert.equal((await admin.get(`/ai/conversations/${id}`)).surveyId, null);
    browser.forgive(/status of 409/);
    await page.context().close();
  });

  /** Lets the assistant write one half of its next reply, and the other one when the result is called. */
  const holdReply = (): (() => void) => {
    let goOn = (): void => undefined;
    scene.ai.midway = new Promise((resolve) => {
      goOn = resolve;
    });
    return goOn;
  };

  /** Cuts the connection of a message once the assistant writes: the service goes on with the turn. */
  const cut = async (route: Route): Promise<void> => {
    const calls = scene.ai.calls.length;
    route.fetch().catch(() => undefined);
    await eventually(() => assert.equal(scene.ai.calls.length, calls + 1));
    await route.abort('connectionreset');
  };

  /** A first draft, and the id of its conversation. */
  const begun = async (page: Page) => {
    await ordered(page);
    const draft = page.getByRole('region', { name: 'Draft' });
    await draft.getByRole('button', { name: 'Make the survey', disabled: false }).waitFor();
    const id = new URL(page.url()).searchParams.get('conversation');
    return { draft, id, field: page.getByLabel('What should change?') };
  };

  it('has a turn whose connection is cut while it is written, which is waited for', async () => {
    const { service, admin, ai } = scene;
    const page = await signedInPage(browser, service, { path: '/surveys/new' });
    const { draft, id, field } = await begun(page);
    await page.route('**/ai/conversations/*/messages', cut, { times: 1 });
    const goOn = holdReply();
    const read = page.waitForResponse(`**/ai/conversations/${id}`);
    await field.fill('Ask for more');
    await page.keyboard.press('Enter');
    await (await read).finished();
    goOn();
    await draft.getByText('1. Your home address?').waitFor();
    await draft.getByRole('button', { name: 'Make the survey', disabled: false }).waitFor();
    assert.equal(await field.inputValue(), '');
    assert.equal(await page.getByRole('alert').count(), 0);
    assert.equal((await admin.get(`/ai/conversations/${id}`)).turns.length, 4);
    assert.equal(ai.calls.length, 2);
    browser.forgive(/ERR_CONNECTION_RESET/);
    await page.context().close();
  });

  it('has a turn once that is stored after its message was told as failed, though that is sent again', async () => {
    const { service, admin, ai } = scene;
    const page = await signedInPage(browser, service, { path: '/surveys/new' });
    const { draft, id, field } = await begun(page);
    await page.route('**/ai/conversations/*/messages', cut, { times: 1 });
    // Nor can the service be reached to see how the turn went on.
    await page.route(`**/ai/conversations/${id}`, (route) => route.abort('connectionreset'), { times: 1 });
    const goOn = holdReply();
    await field.fill('Ask for more');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await eventually(async () => assert.equal(await field.inputValue(), 'Ask for more'));
    goOn();
    await eventually(async () => assert.equal((await admin.get(`/ai/conversations/${id}`)).turns.length, 4));
    // The view reads what is stored when it is looked at again.
    await page.evaluate(`{
      const { now } = Date;
      Date.now = () => now() + 60_000;
      dispatchEvent(new Event('visibilitychange'));
    }`);
    await draft.getByText('1. Your home address?').waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    await eventually(async () => assert.equal(await field.inputValue(), ''));
    await page.getByRole('alert').waitFor({ state: 'detached' });
    assert.equal((await admin.get(`/ai/conversations/${id}`)).turns.length, 4);
    assert.equal(ai.calls.length, 2);
    browser.forgive(/ERR_CONNECTION_RESET|status of 409/);
    await page.context().close();
  });

  /** Cuts the connection of the next message, which does not reach the service, once something else has happened. */
  const cutAfter = (page: Page, happen: () => Promise<unknown>): Promise<unknown> =>
    page.route(
      '**/ai/conversations/*/messages',
      async (route) => {
        await happen();
        await route.abort('connectionreset');
      },
      { times: 1 },
    );

  it('has a message that another turn has overtaken as soon as it is sent again', async () => {
    const { service, admin, ai } = scene;
    const page = await signedInPage(browser, service, { path: '/surveys/new' });
    const { draft, id, field } = await begun(page);
    await cutAfter(page, () => admin.post(`/ai/conversations/${id}/messages`, { message: 'Theirs' }));
    await field.fill('Mine');
    await page.keyboard.press('Enter');
    await draft.getByText('1. Your home address?').waitFor();
    await page.getByRole('alert').waitFor();
    await eventually(async () => assert.equal(await field.inputValue(), 'Mine'));
    await page.getByRole('button', { name: 'Send' }).click();
    await eventually(async () => assert.equal((await admin.get(`/ai/conversations/${id}`)).turns.length, 6));
    await page.getByRole('alert').waitFor({ state: 'detached' });
    assert.equal(await field.inputValue(), '');
    assert.equal(ai.calls.length, 3);
    browser.forgive(/ERR_CONNECTION_RESET/);
    await page.context().close();
  });

  it('has a turn whose reply was lost also where another one was stored after it', async () => {
    const { service, admin, ai } = scene;
    const page = await signedInPage(browser, service, { path: '/surveys/new' });
    const { draft, id, field } = await begun(page);
    await cutAfter(page, async () => {
      for (const message of ['Mine', 'Theirs']) await admin.post(`/ai/conversations/${id}/messages`, { message });
    });
    await field.fill('Mine');
    await page.keyboard.press('Enter');
    await draft.getByText('1. Your home address?').waitFor();
    await draft.getByRole('button', { name: 'Make the survey', disabled: false }).waitFor();
    assert.equal(await field.inputValue(), '');
    assert.equal(await page.getByRole('alert').count(), 0);
    assert.equal(ai.calls.length, 3);
    browser.forgive(/ERR_CONNECTION_RESET/);
    await page.context().close();
  });

  it('has no turn that is waited for once it was saved elsewhere', async () => {
    const { service, admin } = scene;
    const page = await signedInPage(browser, service, { path: '/surveys/new' });
    const { id, field } = await begun(page);
    await cutAfter(page, () => admin.create(`/ai/conversations/${id}/save`));
    await field.fill('Too late');
    await page.keyboard.press('Enter');
    await page.getByText('The draft is saved as a survey.').waitFor();
    await page.getByRole('progressbar', { name: 'The draft is being written' }).waitFor({ state: 'detached' });
    await page.getByRole('alert').waitFor();
    browser.forgive(/ERR_CONNECTION_RESET/);
    await page.context().close();
  });

  it('has a turn whose connection is dropped without a word, once no turn takes longer', async () => {
    const { service, admin, ai } = scene;
    const page = await signedInPage(browser, service);
    await page.clock.install();
    await goTo(page, '/surveys/new');
    const { draft, id, field } = await begun(page);
    const held = await holdCalls(page, '**/ai/conversations/*/messages', {
      answer: async (route, isReleased) => {
        await route.fetch();
        await isReleased;
        // The page has given the call up.
        await route.abort().catch(() => undefined);
      },
    });
    await field.fill('Ask for more');
    await page.keyboard.press('Enter');
    await eventually(async () => assert.equal((await admin.get(`/ai/conversations/${id}`)).turns.length, 4));
    await page.clock.fastForward(125_000);
    await draft.getByText('1. Your home address?').waitFor();
    assert.equal(await field.inputValue(), '');
    assert.equal(await page.getByRole('alert').count(), 0);
    assert.deepEqual([ai.calls.length, held.count()], [2, 1]);
    held.release();
    await page.context().close();
  });

  it('has nothing of the turn of another one that is written meanwhile, and is not left when that ends', async () => {
    const { service } = scene;
    const page = await signedInPage(browser, service, { path: '/surveys/new' });
    const tray = page.getByRole('region', { name: 'Long work' });
    const console = page.getByRole('navigation', { name: 'Console' });
    const goOnWithFirst = holdReply();
    await ordered(page);
    await tray.getByText('1 running').waitFor();
    await console.getByRole('link', { name: 'Keys' }).click();
    await page.waitForURL(/\/keys$/);
    goOnWithFirst();
    await tray.getByText('Done', { exact: true }).waitFor();
    await page.goBack();
    const goOnWithSecond = holdReply();
    await ordered(page);
    await tray.getByText('1 running').waitFor();
    await tray.getByRole('link', { name: 'Open' }).click();
    await page.waitForURL(/conversation=/);
    const first = page.url();
    const talk = page.getByRole('region', { name: 'Conversation' });
    await page.getByRole('button', { name: 'Make the survey', disabled: false }).waitFor();
    await talk.getByRole('button', { name: 'Send', disabled: false }).waitFor();
    assert.equal(await talk.getByRole('listitem').count(), 2);
    assert.equal(await talk.getByRole('progressbar').count(), 0);

    // What is being written is there again where it was asked for.
    await page.goBack();
    await talk.getByRole('progressbar', { name: 'The draft is being written' }).waitFor();
    await page.goForward();
    await page.getByRole('button', { name: 'Make the survey', disabled: false }).waitFor();
    goOnWithSecond();
    const done = tray.getByRole('listitem').filter({ hasText: 'Done' });
    await eventually(async () => assert.equal(await done.count(), 2));
    assert.equal(page.url(), first);
    await done.last().getByRole('link', { name: 'Open' }).click();
    await page.waitForURL((url) => url.href !== first);
    await page.getByRole('button', { name: 'Make the survey', disabled: false }).waitFor();
    await page.context().close();
  });
});
