import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AiFixture } from '../support/ai-fixture.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import { assertAccessible, newConsoleUser, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import { useAi } from '../support/use-ai.ts';
import { type ServiceFixture, useService } from '../support/use-service.ts';

const suggested = () => ({
  suggestions: [
    {
      aspect: 'bias',
      problem: 'It praises <b>the soup</b>.',
      text: 'How was our soup?',
      options: [
        { value: 'good', text: 'Good' },
        { value: 'great', text: 'Bad' },
      ],
    },
    { aspect: 'length', problem: 'It is long.', text: 'Our great soup?', options: [] },
  ],
});

const newSurvey = async (admin: AiFixture['admin'], fields: object = {}) => {
  const { id } = await admin.create('/surveys', { title: 'Canteen', ...fields });
  const question = await admin.create(`/surveys/${id}/questions`, {
    type: 'MULTIPLE_CHOICE',
    text: 'How was our great soup?',
    options: [{ text: 'Good' }, { text: 'Great' }],
  });
  return { id, question };
};

describe('suggestions for the wording of a question', { skip: withoutBrowser }, () => {
  let scene: AiFixture;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useAi((started) => (scene = started), { answer: suggested });

  it('are shown as differences, and each is accepted, undone or rejected', async () => {
    const { service, admin } = scene;
    const { id, question } = await newSurvey(admin);
    const page = await signedInPage(browser, service, {
      path: `/surveys/${id}/build?item=${question.id}&pane=wording`,
    });
    await page.getByRole('button', { name: 'Review the wording' }).click();
    const items = page.getByRole('list', { name: 'Suggestions' }).locator(':scope > li');
    const first = items.filter({ hasText: 'It praises <b>the soup</b>.' });
    await first.waitFor();
    assert.equal(await items.count(), 2);
    assert.deepEqual(
      [await first.locator('del').allTextContents(), await first.locator('ins').allTextContents()],
      [['great ', 'Great'], ['Bad']],
    );
    await assertAccessible(page);

    await first.getByRole('button', { name: 'Accept' }).click();
    await first.getByText('Accepted').waitFor();
    const text = page.getByLabel('Text', { exact: true });
    await eventually(async () => assert.equal(await text.inputValue(), 'How was our soup?'));
    const stored = async () => {
      const { questions } = await admin.get(`/surveys/${id}`);
      return [questions[0].text, questions[0].options.map((option: any) => option.text)];
    };
    assert.deepEqual(await stored(), ['How was our soup?', ['Good', 'Bad']]);
    await assertAccessible(page);

    // The other was made for another wording.
    const second = items.filter({ hasText: 'It is long.' });
    await second.getByRole('button', { name: 'Accept' }).click();
    await second
      .getByRole('alert')
      .getByText(/reworded after the suggestion was made/)
      .waitFor();
    await first.getByRole('button', { name: 'Undo' }).click();
    await first.getByRole('button', { name: 'Accept' }).waitFor();
    await eventually(async () => assert.equal(await text.inputValue(), 'How was our great soup?'));
    assert.deepEqual(await stored(), ['How was our great soup?', ['Good', 'Great']]);
    await second.getByRole('button', { name: 'Reject' }).click();
    await second.waitFor({ state: 'detached' });
    const { suggestions } = await admin.get(`/ai/questions/${question.id}/suggestions`);
    assert.deepEqual(suggestions.map(({ status }: any) => status).sort(), ['PENDING', 'REJECTED']);
    browser.forgive(/status of 409/);
  });

  it('are not said to be none when every one was rejected', async () => {
    const { service, admin } = scene;
    const { id } = await newSurvey(admin);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?pane=wording` });
    await page.getByRole('button', { name: 'Review the wording' }).click();
    const rejects = page.getByRole('button', { name: 'Reject' });
    for (const left of [1, 0]) {
      await rejects.first().click();
      await eventually(async () => assert.equal(await rejects.count(), left));
    }
    assert.equal(await page.getByText('Nothing to improve was found').count(), 0);
    await page.context().close();
  });

  it('stay decided though a read that began before comes afterwards', async () => {
    const { service, admin } = scene;
    const { id, question } = await newSurvey(admin);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?pane=wording` });
    await page.getByRole('button', { name: 'Review the wording' }).click();
    const rejects = page.getByRole('button', { name: 'Reject' });
    await eventually(async () => assert.equal(await rejects.count(), 2));
    const old = await admin.get(`/ai/questions/${question.id}/suggestions`);
    const calls = `**/api/v1/ai/questions/${question.id}/suggestions`;
    const held = await holdCalls(page, calls, {
      answer: async (route, isReleased) => {
        await isReleased;
        await route.fulfill({ json: { success: true, data: old } }).catch(() => undefined);
      },
      times: 1,
    });
    // What was read is old by now.
    await page.evaluate(`{
      const { now } = Date;
      Date.now = () => now() + 60_000;
      dispatchEvent(new Event('visibilitychange'));
    }`);
    await eventually(() => assert.equal(held.count(), 1));
    const reply = page.waitForResponse(calls);
    await rejects.first().click();
    await eventually(async () => assert.equal(await rejects.count(), 1));
    held.release();
    await (await reply).finished();
    await page.evaluate(`(async () => {
      for (let frame = 0; frame < 5; frame += 1) await new Promise(requestAnimationFrame);
    })()`);
    assert.equal(await rejects.count(), 1);
    await page.context().close();
  });

  it('are none for a good question, and none where AI is off or for readers', async () => {
    const { service, admin, ai } = scene;
    ai.answer = () => ({ suggestions: [] });
    const { id, question } = await newSurvey(admin);
    const path = (survey: string) => `/surveys/${survey}/build?pane=wording`;
    const page = await signedInPage(browser, service, { path: path(id) });
    await page.getByRole('button', { name: 'Review the wording' }).click();
    await page.getByText('Nothing to improve was found in this question.').waitFor();
    const off = await newSurvey(admin, { aiEnabled: false });
    await page.goto(`${service.origin}${path(off.id)}`);
    await page.getByText('AI is switched off for this survey, in its settings.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Review the wording' }).count(), 0);
    const viewer = await newConsoleUser(service, admin, 'VIEWER');
    await admin.put(`/surveys/${id}/members/${viewer.id}`, { role: 'VIEWER' });
    const theirs = await signedInPage(browser, service, { path: `${path(id)}&item=${question.id}`, as: viewer });
    await theirs.getByRole('tab', { name: 'Versions' }).waitFor();
    assert.equal(await theirs.getByRole('tab', { name: 'Wording' }).count(), 0);
  });
});

describe('suggestions for the wording where no provider is set up', { skip: withoutBrowser }, () => {
  let served: ServiceFixture;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((started) => (served = started));

  it('lead an ADMIN to the settings', async () => {
    const { service, admin } = served;
    const { id } = await newSurvey(admin);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?pane=wording` });
    await page.getByRole('button', { name: 'Review the wording' }).click();
    await page
      .getByRole('alert')
      .getByText(/No AI provider is set up yet/)
      .waitFor();
    await assertAccessible(page);
    await page.getByRole('link', { name: 'Open AI settings' }).click();
    await page.waitForURL(/\/ai$/);
    browser.forgive(/status of 503/);
  });
});
