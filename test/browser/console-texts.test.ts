import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type AiFixture, openSurvey } from '../support/ai-fixture.ts';
import type { SeenCall } from '../support/ai-provider.ts';
import { resultOfWork } from '../support/ai-work.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import { assertAccessible, goTo, newConsoleUser, signedInPage, signOutFor } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls, holdNextCall } from '../support/held-calls.ts';
import { useAi } from '../support/use-ai.ts';
import { useService } from '../support/use-service.ts';

const answers = ['The soup is good', 'Bad queue, <b>really</b>', 'Good soup, bad queue', 'Nothing'];

/** Answers about soup and queues, judged by their words. */
function judged({ user, schema }: SeenCall): unknown {
  const data = JSON.parse(user[0] ?? '{}');
  if ('note' in schema.properties) return { note: 'Guests like the soup.' };
  if ('insights' in schema.properties)
    return { summary: 'They like the soup.', insights: ['Queues are long'], recommendations: ['More soup'] };
  if (!('answers' in schema.properties)) return { same: [] };
  return {
    answers: data.answers.map(({ n, text }: any) => ({
      n,
      sentiment: /bad/i.test(text)
        ? /good/i.test(text)
          ? 'mixed'
          : 'negative'
        : /good/i.test(text)
          ? 'positive'
          : 'neutral',
      ...('themes' in schema.properties.answers.items.properties && {
        themes: [...(/soup/i.test(text) ? ['Soup'] : []), ...(/queue/i.test(text) ? ['Waiting time'] : [])],
      }),
    })),
  };
}

const shown = async (page: Page): Promise<string[]> =>
  page.getByRole('region', { name: 'Answers' }).locator('li > p').allTextContents();

describe('the open answers of a survey', { skip: withoutBrowser }, () => {
  let scene: AiFixture;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useAi((started) => (scene = started), { answer: judged });

  it('are shown from the first on, which arrives while the list is open', async () => {
    const { service, admin } = scene;
    const { id, questionId } = await openSurvey(admin, []);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/texts` });
    await page.getByRole('heading', { name: 'No answers yet' }).waitFor();
    assert.equal((await admin.submit(id, { answers: [{ questionId, textValue: 'Soup' }] })).status, 201);
    await page.getByRole('region', { name: 'Answers' }).getByText('Soup').waitFor();
    await page.context().close();
  });

  it('are listed and searched, and the address keeps it', async () => {
    const { service, admin } = scene;
    const { id } = await openSurvey(admin, answers);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/texts` });
    await eventually(async () => assert.deepEqual(await shown(page), answers.toReversed()));
    await assertAccessible(page);
    await page.keyboard.press('/');
    await page.keyboard.type('BAD queue');
    await page.waitForURL(/search=BAD/);
    const found = ['Good soup, bad queue', 'Bad queue, <b>really</b>'];
    await eventually(async () => assert.deepEqual(await shown(page), found));
    assert.deepEqual(await page.locator('mark').allTextContents(), ['bad queue', 'Bad queue']);
    await page.reload();
    await eventually(async () => assert.deepEqual(await shown(page), found));
    await page.getByLabel('Search answers').fill('nowhere');
    await page.getByRole('heading', { name: 'No answer fits' }).waitFor();
    await assertAccessible(page);
  });

  it('are those of the last page where the address names a later one', async () => {
    const { service, admin } = scene;
    const { id } = await openSurvey(admin, answers);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/texts?page=9` });
    await eventually(async () => assert.deepEqual(await shown(page), answers.toReversed()));
    await page.context().close();
  });

  it('are analysed, and what was found narrows them', async () => {
    const { service, admin } = scene;
    const { id } = await openSurvey(admin, answers);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/texts` });
    await page.getByRole('button', { name: 'Analyse: sentiment' }).click();
    await page.getByRole('button', { name: 'Analyse anew: sentiment' }).waitFor();
    await page.getByRole('button', { name: 'Analyse: themes' }).click();
    const tray = page.getByRole('region', { name: 'Long work' });
    await tray.getByText('Themes of Canteen').waitFor();
    const panel = page.getByRole('complementary', { name: 'Analyses' });
    const soup = panel.getByRole('button', { name: 'Soup 2' });
    await soup.waitFor();
    await panel.getByRole('button', { name: 'Waiting time 2' }).waitFor();
    for (const [name, count] of [
      ['Positive', 1],
      ['Neutral', 1],
      ['Mixed', 1],
      ['Negative', 1],
    ])
      await panel.getByRole('button', { name: `${name} ${count}` }).waitFor();
    await assertAccessible(page);
    await soup.click();
    await page.waitForURL(/theme=Soup/);
    await eventually(async () => assert.deepEqual(await shown(page), ['Good soup, bad queue', 'The soup is good']));
    await panel.getByRole('button', { name: 'Mixed 1' }).click();
    await eventually(async () => assert.deepEqual(await shown(page), ['Good soup, bad queue']));
    await page.getByRole('button', { name: 'Remove the filter Soup' }).click();
    await page.getByRole('button', { name: 'Remove the filter Mixed' }).click();
    await eventually(async () => assert.deepEqual(await shown(page), answers.toReversed()));
    // A theme of an answer narrows the list too.
    await page
      .getByRole('listitem')
      .filter({ hasText: '<b>really</b>' })
      .getByRole('button', { name: 'Waiting time' })
      .click();
    await page.waitForURL(/theme=Waiting/);

    await page.getByRole('button', { name: 'Analyse: summary' }).click();
    await panel.getByText('They like the soup.').waitFor();
    await panel.getByText('Queues are long').waitFor();
  });

  it('have a summary that stays as long as the page, however long nobody looks at it', async () => {
    const { service, admin } = scene;
    const { id } = await openSurvey(admin, answers);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/texts` });
    const panel = page.getByRole('complementary', { name: 'Analyses' });
    await panel.getByRole('button', { name: 'Analyse: summary' }).click();
    await panel.getByText('They like the soup.').waitFor();
    await page.clock.install();
    await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Keys' }).click();
    await page.getByRole('heading', { name: 'Keys' }).first().waitFor();
    await page.clock.fastForward(6 * 60_000);
    await page.getByRole('region', { name: 'Long work' }).getByRole('link', { name: 'Open' }).click();
    await panel.getByRole('button', { name: /^Analyse( anew)?: summary$/ }).waitFor();
    await panel.getByText('They like the soup.').waitFor();
    await page.context().close();
  });

  it('have a summary that is shown to nobody else who signs in before it has come', async () => {
    const { service, admin } = scene;
    const [one, other] = [
      await newConsoleUser(service, admin, 'EDITOR'),
      await newConsoleUser(service, admin, 'ADMIN'),
    ];
    const { id } = await openSurvey(one.client, answers);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/texts`, as: one });
    const data = { summary: 'They like the soup.', insights: [], recommendations: [] };
    const held = await holdCalls(page, '**/analyze?*', {
      answer: async (route, isReleased) => {
        await isReleased;
        await route.fulfill({ json: { success: true, data } });
      },
    });
    const analyse = page.getByRole('button', { name: 'Analyse: summary' });
    await analyse.click();
    await eventually(() => assert.equal(held.count(), 1));
    await signOutFor(page, one, other);
    const came = page.waitForResponse('**/analyze?*');
    held.release();
    await (await came).finished();
    await goTo(page, `/surveys/${id}/texts`);
    await analyse.waitFor();
    assert.equal(await page.getByText(data.summary).count(), 0);
    assert.equal(await page.getByRole('region', { name: 'Long work' }).count(), 0);
    await page.context().close();
  });

  it('have buttons that nothing moves: neither the figures above them nor the progress of an analysis', async () => {
    const { service, admin, ai } = scene;
    const { id } = await openSurvey(admin, answers);
    const page = await signedInPage(browser, service, { path: '/account' });
    const loading = await holdNextCall(page, '**/annotations');
    await page.goto(`${service.origin}/surveys/${id}/texts`);
    const route = await loading.made();
    await eventually(async () => assert.deepEqual(await shown(page), answers.toReversed()));
    const themes = page.getByRole('button', { name: 'Analyse: themes' });
    assert.equal(await themes.count(), 0, 'what is found above it may move it');
    await route.continue();
    await themes.waitFor();
    let release = () => {};
    ai.holdUntil = new Promise<void>((resolve) => (release = resolve));
    const place = await themes.boundingBox();
    await page.getByRole('button', { name: 'Analyse: sentiment' }).click();
    await page.getByRole('progressbar', { name: 'Answers are being analysed' }).waitFor();
    assert.deepEqual(await themes.boundingBox(), place);
    release();
    await page.getByRole('button', { name: 'Analyse anew: sentiment' }).waitFor();
    await page.context().close();
  });

  it('show readers what was found, and no buttons', async () => {
    const { service, admin } = scene;
    const { id } = await openSurvey(admin, answers);
    await resultOfWork(admin, `/ai/surveys/${id}/analyze`, { analysisType: 'themes' });
    const viewer = await newConsoleUser(service, admin, 'VIEWER');
    await admin.put(`/surveys/${id}/members/${viewer.id}`, { role: 'VIEWER' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/texts`, as: viewer });
    await page.getByRole('button', { name: 'Soup 2' }).waitFor();
    assert.equal(await page.getByRole('button', { name: /^Analyse/ }).count(), 0);
  });

  it('say that a survey has no open questions', async () => {
    const { service, admin } = scene;
    const { id } = await admin.create('/surveys', { title: 'Closed questions' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/texts` });
    await page.getByRole('heading', { name: 'No open questions' }).waitFor();
    await assertAccessible(page);
  });
});

describe('open answers without AI', { skip: withoutBrowser }, () => {
  let service: Parameters<typeof signedInPage>[1];
  let admin: AiFixture['admin'];
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  it('are read all the same, and an administrator is led to the settings', async () => {
    const { id } = await openSurvey(admin, answers);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/texts` });
    await eventually(async () => assert.deepEqual(await shown(page), answers.toReversed()));
    await page.getByRole('button', { name: 'Analyse: themes' }).click();
    const alert = page.getByRole('alert').filter({ hasText: 'No AI provider is set up yet' });
    await alert.getByRole('link', { name: 'Open AI settings' }).waitFor();
    await assertAccessible(page);
    browser.forgive(/status of (?:409|503|400)/);
  });
});
