import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import type { AiFixture } from '../support/ai-fixture.ts';
import type { SeenCall } from '../support/ai-provider.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import { signedInPage } from '../support/console.ts';
import { draftQuestion } from '../support/draft-question.ts';
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
});
