import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import type { AiFixture } from '../support/ai-fixture.ts';
import type { SeenCall } from '../support/ai-provider.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import { assertAccessible, openNewSurvey, signedInPage } from '../support/console.ts';
import { draftQuestion } from '../support/draft-question.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import { useAi } from '../support/use-ai.ts';

const question = (text: string, fields: object = {}) =>
  draftQuestion('MULTIPLE_CHOICE', text, { options: ['Good', 'Poor'], ...fields });

/** A first draft as large as asked for, then a question more with every turn; with a text that looks like markup. */
function spoken({ user }: SeenCall): unknown {
  const { draft, message, questionCount } = JSON.parse(user[0] ?? '{}');
  const texts: string[] = draft
    ? [...draft.questions.map(({ text }: any) => text), message]
    : ['Was the <img src=x onerror=alert(1)> soup hot?', 'Why not?', 'Which dish?', 'How long?', 'Who?'].slice(
        0,
        questionCount,
      );
  return {
    message: `The draft has ${texts.length} questions. Shall I ask about the price?`,
    title: 'Lunch in the canteen',
    description: 'Two minutes.',
    sections: [],
    questions: texts.map((text, index) =>
      question(text, index === 1 ? { onlyIfQuestion: 0, onlyIfOptions: ['Poor'] } : {}),
    ),
  };
}

describe('a new survey with AI', { skip: withoutBrowser }, () => {
  let scene: AiFixture;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useAi((started) => (scene = started), { answer: spoken });

  const ordered = async (page: Page, topic: string): Promise<void> => {
    await page.getByLabel('Topic').fill(topic);
    const count = page.getByRole('textbox', { name: 'Questions', exact: true });
    await count.fill('5');
    // The list of languages would open with the focus and hide the rest from roles.
    await count.blur();
    await page.getByRole('button', { name: 'Write the draft' }).click();
  };

  /** A turn is over a little after its draft is shown; before, Enter sends nothing. */
  const isOver = (page: Page) =>
    page.getByRole('progressbar', { name: 'The draft is being written' }).waitFor({ state: 'detached' });

  it('is drafted with AI, talked about while the draft stands beside it, and taken question by question', async () => {
    const { service, admin, ai } = scene;
    const page = await signedInPage(browser, service);
    const dialog = await openNewSurvey(page, 'With AI');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await page.waitForURL(/\/surveys\/new$/);
    await page.getByRole('heading', { name: 'The draft appears here' }).waitFor();
    await assertAccessible(page);
    await page.getByRole('button', { name: 'Write the draft' }).click();
    await page.getByText('Please say what the survey is about.').waitFor();
    await page.getByLabel('Audience').fill('Employees');
    await page.getByRole('combobox', { name: 'Language' }).fill('German');
    await page.getByRole('option', { name: 'German' }).click();

    // Half of the reply stands there while the other half is not written yet.
    let goOn = (): void => undefined;
    ai.midway = new Promise((resolve) => {
      goOn = resolve;
    });
    await ordered(page, 'Our canteen');
    const talk = page.getByRole('region', { name: 'Conversation' });
    await talk.getByText('The draft has 5 questions.').waitFor();
    await talk.getByRole('progressbar', { name: 'The draft is being written' }).waitFor();
    const draft = page.getByRole('region', { name: 'Draft' });
    assert.equal(await draft.getByRole('checkbox').count(), 0);
    await assertAccessible(page);
    goOn();
    await draft.getByText('5 of 5 questions').waitFor();
    await page.waitForURL(/conversation=/);
    await draft.getByText('1. Was the <img src=x onerror=alert(1)> soup hot?').waitFor();
    await draft.getByText('Multiple choice · Only if 1 is Poor').waitFor();
    const [asked] = ai.calls;
    const { message } = JSON.parse(asked?.user[0] ?? '{}');
    assert.equal(message, 'Our canteen\n\nRespondents: Employees\n\nLanguage of the survey: German');
    await assertAccessible(page);

    await isOver(page);
    await talk.getByLabel('What should change?').fill('And the price?');
    await page.keyboard.press('Enter');
    await draft.getByText('6. And the price?').waitFor();
    await draft.getByText('6 of 6 questions').waitFor();
    // The address names the conversation.
    await page.reload();
    await talk.getByText('And the price?', { exact: true }).waitFor();
    for (const place of [2, 4]) await draft.getByRole('checkbox', { name: `Take question ${place}:` }).press('Space');
    await draft.getByText('4 of 6 questions').waitFor();
    await draft.getByRole('button', { name: 'Make it of 4 questions' }).click();
    await page.waitForURL(/\/surveys\/[^/]+\/build/);
    const survey = await admin.get(`/surveys/${page.url().split('/')[4]}`);
    assert.deepEqual(
      [survey.language, survey.questions.map(({ text }: any) => text)],
      ['de', ['Was the <img src=x onerror=alert(1)> soup hot?', 'Which dish?', 'Who?', 'And the price?']],
    );
    await page.goBack();
    await page.getByRole('link', { name: 'Open the survey' }).waitFor();
    await assertAccessible(page);
  });

  it('keeps what was written when the provider fails, and the draft when a turn does', async () => {
    const { service, ai } = scene;
    ai.faults.push({ status: 401 });
    const page = await signedInPage(browser, service, { path: '/surveys/new' });
    await ordered(page, 'Our shop');
    await page.getByRole('alert').getByText('The AI provider refused the key').waitFor();
    assert.equal(await page.getByLabel('Topic').inputValue(), 'Our shop');
    await page.getByRole('button', { name: 'Write the draft' }).click();
    const draft = page.getByRole('region', { name: 'Draft' });
    await draft.getByText('5 of 5 questions').waitFor();
    ai.faults.push({ cut: true });
    const field = page.getByLabel('What should change?');
    await field.fill('Shorter');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('alert').waitFor();
    await eventually(async () => assert.equal(await field.inputValue(), 'Shorter'));
    await draft.getByText('5 of 5 questions').waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    await draft.getByText('6 of 6 questions').waitFor();
    browser.forgive(/status of 50[23]/);
  });

  it('keeps a message that fails while the next one is typed', async () => {
    const { service } = scene;
    const page = await signedInPage(browser, service, { path: '/surveys/new' });
    await ordered(page, 'Our pool');
    const draft = page.getByRole('region', { name: 'Draft' });
    await draft.getByText('5 of 5 questions').waitFor();
    await isOver(page);
    const held = await holdCalls(page, '**/ai/conversations/*/messages', {
      answer: async (route, isReleased) => {
        await isReleased;
        await route.fulfill({ status: 503, json: { code: 'SERVICE_UNAVAILABLE', message: 'Away' } });
      },
    });
    const field = page.getByLabel('What should change?');
    await field.fill('And the price?');
    await page.keyboard.press('Enter');
    await eventually(async () => assert.equal(await field.inputValue(), ''));
    await field.fill('And the opening hours?');
    held.release();
    await page.getByRole('alert').waitFor();
    await eventually(async () => assert.equal(await field.inputValue(), 'And the price?\nAnd the opening hours?'));
    browser.forgive(/status of 503/);
    await page.context().close();
  });

  it('keeps a message that is not sent while its view is left', async () => {
    const { service } = scene;
    const page = await signedInPage(browser, service, { path: '/surveys/new' });
    await ordered(page, 'Our library');
    await page.getByRole('region', { name: 'Draft' }).getByText('5 of 5 questions').waitFor();
    await isOver(page);
    const field = page.getByLabel('What should change?');
    await field.fill('And the opening hours?');
    await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Keys' }).click();
    await page.waitForURL(/\/keys$/);
    await page.goBack();
    await eventually(async () => assert.equal(await field.inputValue(), 'And the opening hours?'));
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('region', { name: 'Draft' }).getByText('6. And the opening hours?').waitFor();
    assert.equal(await field.inputValue(), '');
    await page.context().close();
  });

  it('leaves nothing unsaved of a message that is not sent, once it is made here or elsewhere', async () => {
    const { service, admin } = scene;
    for (const place of ['here', 'elsewhere']) {
      const page = await signedInPage(browser, service, { path: '/surveys/new' });
      await ordered(page, 'Our museum');
      await isOver(page);
      await page.getByLabel('What should change?').fill('And the tickets?');
      if (place === 'here') await page.getByRole('button', { name: 'Make the survey' }).click();
      else {
        await page.waitForURL(/conversation=/);
        await admin.create(`/ai/conversations/${new URL(page.url()).searchParams.get('conversation')}/save`, {});
        await page.getByRole('button', { name: 'Send' }).click();
        await page.getByRole('link', { name: 'Open the survey' }).click();
      }
      await page.waitForURL(/\/surveys\/[^/]+\/build/);
      await page.getByRole('button', { name: 'admin@localhost' }).click();
      await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click();
      await page.getByRole('heading', { name: 'Sign in to Surveys' }).waitFor();
      await page.context().close();
    }
    browser.forgive(/status of 409/);
  });

  it('is drafted to the end when its view is left, where the tray leads and nothing else', async () => {
    const { service, ai } = scene;
    const page = await signedInPage(browser, service, { path: '/surveys/new' });
    const tray = page.getByRole('region', { name: 'Long work' });
    const leave = async () => {
      await tray.getByRole('progressbar', { name: 'Draft of a survey' }).waitFor();
      await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Keys' }).click();
      await page.waitForURL(/\/keys$/);
    };
    let goOn = (): void => undefined;
    ai.midway = new Promise((resolve) => {
      goOn = resolve;
    });
    await ordered(page, 'Our garden');
    await leave();
    goOn();
    await tray.getByText('Done', { exact: true }).waitFor();
    assert.equal(new URL(page.url()).pathname, '/keys');
    await tray.getByRole('link', { name: 'Open' }).click();
    await page.waitForURL(/conversation=/);
    const draft = page.getByRole('region', { name: 'Draft' });
    await draft.getByText('5 of 5 questions').waitFor();
    await tray.getByRole('button', { name: 'Remove Draft of a survey' }).click();

    // What is seen as it comes stands in no list of things to be seen.
    await page.getByLabel('What should change?').fill('And the price?');
    await page.keyboard.press('Enter');
    await draft.getByText('6 of 6 questions').waitFor();
    await tray.waitFor({ state: 'detached' });

    const held = await holdCalls(page, '**/ai/conversations/*/messages', {
      answer: async (route, isReleased) => {
        await isReleased;
        await route.fulfill({ status: 503, json: { code: 'SERVICE_UNAVAILABLE', message: 'Away' } });
      },
    });
    await page.getByLabel('What should change?').fill('And the time?');
    await page.keyboard.press('Enter');
    await leave();
    held.release();
    await tray.getByText(/is away at the moment/).waitFor();
    browser.forgive(/status of 503/);
    await page.context().close();
  });

  it('is drafted and talked about where a proxy sends chunked requests, whose replies come as a whole', async () => {
    const { service, ai } = scene;
    const page = await signedInPage(browser, service, { path: '/surveys/new' });
    // The service replies to such requests as to those that ask for JSON.
    await page.route(/\/ai\/conversations(?:\/[^/]+\/messages)?$/, async (route) => {
      const headers = { ...(await route.request().allHeaders()), accept: 'application/json' };
      await route.fulfill({ response: await route.fetch({ headers }) });
    });
    await ordered(page, 'Our kiosk');
    const draft = page.getByRole('region', { name: 'Draft' });
    await draft.getByText('5 of 5 questions').waitFor();
    await isOver(page);
    await page.getByLabel('What should change?').fill('And the price?');
    await page.keyboard.press('Enter');
    await draft.getByText('6 of 6 questions').waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
    assert.equal(ai.calls.length, 2);
    await page.context().close();
  });

  it('has a turn, and is made, once though the reply of the service is lost on the way', async () => {
    const { service, ai } = scene;
    const page = await signedInPage(browser, service, { path: '/surveys/new' });
    await ordered(page, 'Our bar');
    const draft = page.getByRole('region', { name: 'Draft' });
    await draft.getByText('5 of 5 questions').waitFor();
    const lose = async (address: string) =>
      page.route(
        address,
        async (route) => {
          await route.fetch();
          await route.abort('connectionreset');
        },
        { times: 1 },
      );
    await lose('**/ai/conversations/*/messages');
    await isOver(page);
    const field = page.getByLabel('What should change?');
    await field.fill('And the price?');
    await page.keyboard.press('Enter');
    await draft.getByText('6 of 6 questions').waitFor();
    assert.equal(await field.inputValue(), '');
    assert.equal(await page.getByRole('alert').count(), 0);
    assert.equal(ai.calls.length, 2);
    await lose('**/ai/conversations/*/save');
    await draft.getByRole('button', { name: 'Make the survey' }).click();
    await page.getByRole('link', { name: 'Open the survey' }).click();
    await page.waitForURL(/\/surveys\/[^/]+\/build/);
    browser.forgive(/ERR_CONNECTION_RESET/);
    await page.context().close();
  });
});
