import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type AiFixture, openSurvey } from '../support/ai-fixture.ts';
import type { SeenCall } from '../support/ai-provider.ts';
import { resultOfWork } from '../support/ai-work.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import { assertAccessible, goTo, isLive, keepMessages, newConsoleUser, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { useAi } from '../support/use-ai.ts';

const answers = ['good|Soup', 'bad|Queue', 'good|Soup|Slow service', 'so so|Slow service|Queue'];

/** Answers name their themes between bars. */
function judged({ user, schema }: SeenCall): unknown {
  if (!('answers' in schema.properties)) return { same: [] };
  const isThemes = JSON.stringify(schema).includes('themes');
  return {
    answers: JSON.parse(user[0] ?? '{}').answers.map(({ n, text }: { n: number; text: string }) => ({
      n,
      sentiment: text.startsWith('good') ? 'positive' : text.startsWith('bad') ? 'negative' : 'neutral',
      ...(isThemes && { themes: text.split('|').slice(1) }),
    })),
  };
}

describe('the themes of a survey', { skip: withoutBrowser }, () => {
  let scene: AiFixture;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useAi((started) => (scene = started), { answer: judged });

  const analysed = async () => {
    const survey = await openSurvey(scene.admin, answers);
    for (const analysisType of ['themes', 'sentiment'])
      await resultOfWork(scene.admin, `/ai/surveys/${survey.id}/analyze`, { analysisType });
    return survey;
  };
  const bars = (page: Page) => page.getByRole('complementary', { name: 'Analyses' });
  const themes = async (page: Page): Promise<string[]> =>
    (await bars(page).locator('[data-value]').allTextContents()).filter((text) => !/^(Pos|Neg|Neu|Mix)/.test(text));
  const assertThemes = (page: Page, ...expected: string[]) =>
    eventually(async () => assert.deepEqual(await themes(page), expected));

  it('are renamed in place, by keyboard, and a name is taken back', async () => {
    const { id } = await analysed();
    const page = await signedInPage(browser, scene.service, { path: `/surveys/${id}/texts?theme=Soup` });
    await keepMessages(page);
    await assertThemes(page, 'Queue2', 'Slow service2', 'Soup2');
    await bars(page).getByRole('button', { name: 'Actions for Soup' }).focus();
    await page.keyboard.press('Enter');
    // The menu is seen a moment before it has the focus.
    await page.locator('[role=menuitem]:focus').waitFor();
    await page.keyboard.press('End');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    const field = page.getByLabel('New name of Soup');
    await page.locator('input:focus').waitFor();
    assert.equal(await page.locator('input:focus').inputValue(), 'Soup');
    await assertAccessible(page);
    await page.keyboard.press('Escape');
    await field.waitFor({ state: 'detached' });
    await bars(page).locator('[data-value=Soup]:focus').waitFor();

    await bars(page).getByRole('button', { name: 'Actions for Soup' }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await field.fill('   ');
    await page.keyboard.press('Enter');
    await page.getByText('Please enter a name.').waitFor();
    await field.fill('Broth');
    await page.keyboard.press('Enter');
    await assertThemes(page, 'Broth2', 'Queue2', 'Slow service2');
    // What the answers are narrowed to goes along.
    await page.waitForURL(/theme=Broth/);
    await page.getByRole('button', { name: 'Remove the filter Broth' }).waitFor();
    await page.getByRole('status', { name: 'Messages' }).getByText('“Soup” is now “Broth”.').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await assertThemes(page, 'Queue2', 'Slow service2', 'Soup2');
    await page.waitForURL(/theme=Soup/);
  });

  it('are merged under a name, and the answers have it', async () => {
    const { id } = await analysed();
    const page = await signedInPage(browser, scene.service, { path: `/surveys/${id}/texts` });
    await keepMessages(page);
    await bars(page).getByRole('button', { name: 'Actions for Queue' }).click();
    await page.getByRole('menuitem', { name: 'Merge with others' }).click();
    const merge = bars(page).getByRole('button', { name: /^Merge/ });
    assert.ok(await merge.isDisabled());
    await bars(page).locator('input[type=checkbox]:checked:focus').waitFor();
    await bars(page).getByText('Slow service (2)').click();
    assert.equal(await bars(page).getByLabel('Name').inputValue(), 'Queue');
    await bars(page).getByLabel('Name').fill('Waiting');
    await assertAccessible(page);
    await bars(page).getByRole('button', { name: 'Merge 2 themes' }).click();
    await assertThemes(page, 'Waiting3', 'Soup2');
    await page.getByText('2 themes are now “Waiting”.').waitFor();
    await eventually(async () =>
      assert.equal(
        await page.getByRole('region', { name: 'Answers' }).getByRole('button', { name: 'Waiting' }).count(),
        3,
      ),
    );
    // A name that another theme has merges them too, and the field says so.
    await bars(page).getByRole('button', { name: 'Actions for Soup' }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByLabel('New name of Soup').fill('waiting');
    await page.getByText('There is a theme of this name').waitFor();
    await bars(page).getByRole('button', { name: 'Merge', exact: true }).click();
    await assertThemes(page, 'Waiting4');
    // Long afterwards they are taken apart, also when the answers are narrowed to them.
    await page.reload();
    await keepMessages(page);
    await bars(page).locator('[data-value=Waiting]').click();
    await page.waitForURL(/theme=Waiting/);
    await bars(page).getByRole('button', { name: 'Actions for Waiting' }).click();
    await page.getByRole('menuitem', { name: 'Restore 3 former themes' }).click();
    await assertThemes(page, 'Queue2', 'Slow service2', 'Soup2');
    await page.waitForURL((url) => !url.search.includes('theme'));
    await page.getByRole('status', { name: 'Messages' }).getByRole('button', { name: 'Undo' }).last().click();
    await assertThemes(page, 'Waiting4');
  });

  it('lead to the results and the crosstab of those who name them', async () => {
    const { id } = await analysed();
    const page = await signedInPage(browser, scene.service, { path: `/surveys/${id}/texts` });
    await bars(page).getByRole('button', { name: 'Actions for Queue' }).click();
    await page.getByRole('menuitem', { name: 'Show in Results' }).click();
    await page.waitForURL(/\/results\?.*theme/);
    const filter = page.getByRole('button', { name: /^Remove the filter .*Queue$/ });
    await filter.waitFor();
    await assertAccessible(page);
    await page.reload();
    await filter.click();
    await page.waitForURL((url) => !url.href.includes('theme'));

    for (const view of ['Crosstab', 'Responses']) {
      await page.goto(`${new URL(page.url()).origin}/surveys/${id}/texts`);
      await bars(page).getByRole('button', { name: 'Actions for Queue' }).click();
      await page.getByRole('menuitem', { name: `Show in ${view}` }).click();
      await filter.waitFor();
    }
    const table = page.getByRole('table', { name: 'Responses' });
    await table.getByText('bad|Queue').waitFor();
    await page.getByText('2 responses').waitFor();
    await assertAccessible(page);
    await filter.click();
    await page.getByText('4 responses').waitFor();

    await page.goto(`${new URL(page.url()).origin}/surveys/${id}/texts?theme=Soup&sentiment=positive`);
    const elsewhere = page.getByRole('navigation', { name: 'These responses in other views' });
    await elsewhere.getByRole('link', { name: 'Results' }).click();
    await page.getByRole('button', { name: /^Remove the filter .*Soup$/ }).waitFor();
    await page.getByRole('button', { name: /^Remove the filter .*positive$/ }).waitFor();
  });

  it('are counted anew in results when an analysis ends', async () => {
    const { service, admin, ai } = scene;
    const { id, questionId } = await analysed();
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/texts` });
    await assertThemes(page, 'Queue2', 'Slow service2', 'Soup2');
    const submitted = await admin.submit(id, { answers: [{ questionId, textValue: 'good|Soup' }] });
    assert.equal(submitted.status, 201);
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 5));
    let release = () => {};
    ai.holdUntil = new Promise<void>((resolve) => (release = resolve));
    await bars(page).getByRole('button', { name: 'Analyse anew: themes' }).click();
    await page.getByRole('region', { name: 'Long work' }).getByText('1 running').waitFor();
    const filter = encodeURIComponent(JSON.stringify([`theme:${questionId}:Soup`]));
    await goTo(page, `/surveys/${id}/results?filter=${filter}`);
    await isLive(page);
    await page.getByText(/^2 answered of 2 asked/).waitFor();
    release();
    await page.getByText(/^3 answered of 3 asked/).waitFor();
    await page.context().close();
  });

  it('are offered as filters of a crosstab, as the sentiments are', async () => {
    const { id } = await analysed();
    const columns = encodeURIComponent('["theme"]');
    const page = await signedInPage(browser, scene.service, {
      path: `/surveys/${id}/crosstab?rows=sentiment&columns=${columns}`,
    });
    const base = page.getByRole('table', { name: 'Crosstab' }).locator('[data-base]').first();
    await eventually(async () => assert.equal(await base.textContent(), 'n 4'));
    const add = async (variable: string, value: string) => {
      await page.getByRole('button', { name: 'Add filter' }).click();
      const dialog = page.getByRole('dialog', { name: 'Add filter' });
      await dialog.getByRole('combobox', { name: 'Question' }).fill(variable);
      await page.getByRole('option', { name: variable, exact: true }).click();
      await dialog.getByRole('button', { name: /Answer/ }).click();
      await page.getByRole('option', { name: value, exact: true }).click();
      await dialog.getByRole('button', { name: 'Add', exact: true }).click();
      await page.getByRole('button', { name: `Remove the filter ${variable}: ${value}` }).waitFor();
    };
    await add('Theme', 'Queue');
    await eventually(async () => assert.equal(await base.textContent(), 'n 2'));
    await add('Sentiment', 'negative');
    await eventually(async () => assert.equal(await base.textContent(), 'n 1'));
  });

  it('are not named by readers, and a failure is told', async () => {
    const { service, admin } = scene;
    const { id } = await analysed();
    const viewer = await newConsoleUser(service, admin, 'VIEWER');
    await admin.put(`/surveys/${id}/members/${viewer.id}`, { role: 'VIEWER' });
    const reader = await signedInPage(browser, service, { path: `/surveys/${id}/texts`, as: viewer });
    await bars(reader).getByRole('button', { name: 'Actions for Soup' }).click();
    await reader.getByRole('menuitem', { name: 'Show in Results' }).waitFor();
    assert.equal(await reader.getByRole('menuitem', { name: 'Rename' }).count(), 0);

    const page = await signedInPage(browser, service, { path: `/surveys/${id}/texts` });
    await page.route('**/theme-names', (route) => route.abort());
    await bars(page).getByRole('button', { name: 'Actions for Soup' }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByLabel('New name of Soup').fill('Broth');
    await page.keyboard.press('Enter');
    await page.getByText('The service cannot be reached.').waitFor();
    assert.equal(await page.getByLabel('New name of Soup').inputValue(), 'Broth');
    // The names of before are tried again for some seconds.
    await page.context().close();
    browser.forgive(/ERR_FAILED/);
  });
});
