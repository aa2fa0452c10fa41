import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { goodReply } from '../support/ai-features.ts';
import type { AiFixture } from '../support/ai-fixture.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import { assertAccessible, goTo, keepMessages, newConsoleUser, signedInPage, signOutFor } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { surveyOfFourTexts, translationOf } from '../support/four-texts.ts';
import { holdCalls } from '../support/held-calls.ts';
import { useAi } from '../support/use-ai.ts';

describe('the languages of a survey', { skip: withoutBrowser }, () => {
  let scene: AiFixture;
  let browser: BrowserFixture;
  const take = (started: AiFixture) => {
    scene = started;
  };
  useBrowser((opened) => (browser = opened));
  useAi(take, { answer: goodReply });

  const survey = (title: string) => surveyOfFourTexts(scene.admin, title);
  const translation = (id: string, language: string) => translationOf(scene.admin, id, language);

  it('are added and edited beside the original, with what is missing or out of date', async () => {
    const { id, question } = await survey('Lunch');
    const page = await signedInPage(browser, scene.service, { path: `/surveys/${id}/languages` });
    await page.getByRole('heading', { name: 'Only in English so far' }).waitFor();
    await assertAccessible(page);
    await page.getByRole('button', { name: 'Add a language' }).first().click();
    await page.getByRole('menuitem', { name: 'Arabic' }).click();
    await page.waitForURL(/language=ar/);
    await page.getByLabel('Survey, Title, in Arabic').fill('غداء');
    await page.getByLabel('Question 1, Text, in Arabic').fill('أي طبق؟');
    await page.getByLabel('Question 1, Option 1, in Arabic').fill('حساء');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Arabic is saved.').waitFor();
    const row = page.getByRole('table', { name: 'Languages' }).getByRole('row', { name: /Arabic/ });
    await row.getByText('1 missing').waitFor();
    const stored = await translation(id, 'ar');
    assert.deepEqual(
      [stored.title, stored.questions[0].text, stored.questions[0].options.length],
      ['غداء', 'أي طبق؟', 1],
    );

    await scene.admin.put(`/surveys/questions/${question.id}`, { text: 'Which dish did you take?' });
    await page.reload();
    await row.getByText('1 out of date').waitFor();
    await page.getByText('Only what is missing or out of date').click();
    await page.waitForURL(/show=open/);
    await page.getByLabel('Survey, Title, in Arabic').waitFor({ state: 'detached' });
    await page.getByText('Out of date: the original has changed').waitFor();
    await page.getByLabel('Question 1, Text, in Arabic').fill('أي طبق أخذت؟');
    await page.getByLabel('Question 1, Option 2, in Arabic').fill('سلطة');
    await page.getByRole('button', { name: 'Save' }).click();
    await row.getByText('Complete').waitFor();
    await page.getByText('Every text is translated and up to date.').waitFor();
  });

  it('are not added by blanks', async () => {
    const { id } = await survey('Blank');
    const page = await signedInPage(browser, scene.service, { path: `/surveys/${id}/languages?language=nl` });
    await page.getByLabel('Survey, Title, in Dutch').fill(' ');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' });
    assert.equal(await page.getByText('Dutch is saved.').count(), 0);
    assert.equal((await scene.admin.call('GET', `/surveys/${id}/translations/nl`)).status, 404);
  });

  it('stand beside each other, and are deleted after a question', async () => {
    const { id } = await survey('Side by side');
    for (const [language, title] of Object.entries({ de: 'Nebeneinander', fr: 'Côte à côte' }))
      await scene.admin.put(`/surveys/${id}/translations/${language}`, { title });
    const page = await signedInPage(browser, scene.service, { path: `/surveys/${id}/languages?language=de` });
    await page.getByRole('button', { name: /Beside it/ }).click();
    await page.getByRole('option', { name: 'Beside French' }).click();
    await page.getByText('Côte à côte').waitFor();
    await page.reload();
    await page.getByText('Côte à côte').waitFor();
    assert.equal(await page.getByLabel('Survey, Title, in German').inputValue(), 'Nebeneinander');
    await assertAccessible(page);
    await page.getByRole('button', { name: 'Delete the translation to German' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete the translation' }).click();
    await page.getByRole('row', { name: /German/ }).waitFor({ state: 'detached' });
    assert.equal((await scene.admin.call('GET', `/surveys/${id}/translations/de`)).status, 404);
  });

  it('are translated with AI, which the tray shows wherever the user goes', async () => {
    const { id } = await survey('With AI');
    let release = () => {};
    scene.ai.holdUntil = new Promise<void>((resolve) => {
      release = resolve;
    });
    const page = await signedInPage(browser, scene.service, { path: `/surveys/${id}/languages` });
    await keepMessages(page);
    await page.getByRole('button', { name: 'Translate with AI' }).click();
    const dialog = page.getByRole('dialog', { name: 'Translate with AI' });
    assert.equal(await dialog.getByRole('button', { name: 'Translate' }).isDisabled(), true, 'no language is chosen');
    await dialog.getByText('German', { exact: true }).click();
    await dialog.getByText('Japanese', { exact: true }).click();
    await assertAccessible(page);
    await dialog.getByRole('button', { name: 'Translate' }).click();
    const tray = page.getByRole('region', { name: 'Long work' });
    await tray.getByText('1 running').waitFor();
    await page.getByRole('link', { name: 'Surveys', exact: true }).click();
    await page.getByRole('heading', { name: 'Surveys', exact: true }).waitFor();
    await tray.getByText('Translation of “With AI”').waitFor();
    release();
    await tray.getByText('Done', { exact: true }).waitFor();
    await page.getByText('Texts translated: 8. Please read them over.').waitFor();
    await tray.getByRole('link', { name: 'Open' }).click();
    await page.getByRole('row', { name: /German.*Complete/ }).waitFor();
    await page.getByRole('row', { name: /Japanese.*Complete/ }).waitFor();
    await eventually(async () => assert.deepEqual((await translation(id, 'de')).missing, []));
  });

  it('are translated with AI for nobody else who signs in before the translation has come', async () => {
    const [one, other] = [
      await newConsoleUser(scene.service, scene.admin, 'EDITOR'),
      await newConsoleUser(scene.service, scene.admin, 'ADMIN'),
    ];
    const { id } = await one.client.create('/surveys', { title: 'For one' });
    const page = await signedInPage(browser, scene.service, { path: `/surveys/${id}/languages`, as: one });
    const held = await holdCalls(page, '**/translate', {
      answer: async (route, isReleased) => {
        await isReleased;
        await route.fulfill({ json: { success: true, data: { translations: [] } } });
      },
    });
    await page.getByRole('button', { name: 'Translate with AI' }).click();
    const dialog = page.getByRole('dialog', { name: 'Translate with AI' });
    await dialog.getByText('German', { exact: true }).click();
    await dialog.getByRole('button', { name: 'Translate' }).click();
    await eventually(() => assert.equal(held.count(), 1));
    await signOutFor(page, one, other);
    const came = page.waitForResponse('**/translate');
    held.release();
    await (await came).finished();
    await goTo(page, `/surveys/${id}/languages`);
    await page.getByRole('heading', { name: 'Only in English so far' }).waitFor();
    assert.equal(await page.getByRole('status', { name: 'Messages' }).textContent(), '');
    await page.context().close();
  });

  it('are translated with AI only where the survey allows it, and the original may be in another', async () => {
    const { id } = await survey('Without AI');
    await scene.admin.put(`/surveys/${id}`, { aiEnabled: false });
    const page = await signedInPage(browser, scene.service, { path: `/surveys/${id}/languages` });
    assert.equal(await page.getByRole('button', { name: 'AI is off for this survey' }).isDisabled(), true);
    await page.getByRole('button', { name: /Written in/ }).click();
    await page.getByRole('option', { name: 'Dutch (nl)' }).click();
    await page.getByRole('heading', { name: 'Only in Dutch so far' }).waitFor();
    assert.equal((await scene.admin.get(`/surveys/${id}`)).language, 'nl');
  });

  it('may be any others, of which the original is in one that is found by its name or its tag', async () => {
    const { id } = await survey('Written elsewhere');
    const page = await signedInPage(browser, scene.service, { path: `/surveys/${id}/languages` });
    const original = page.getByRole('combobox', { name: 'Written in' });
    // Browsers know names of some languages only.
    for (const [typed, language] of [
      ['it', 'it'],
      ['Persian', 'fa'],
      ['gsw-at', 'gsw-AT'],
    ] as const) {
      await original.fill(typed);
      await page.getByRole('option', { name: `(${language})` }).click();
      await eventually(async () => assert.equal((await scene.admin.get(`/surveys/${id}`)).language, language));
      await eventually(async () => {
        const shown = await original.inputValue();
        assert.ok(shown.endsWith(`(${language})`), `${typed}: ${shown}`);
      });
    }
    await page.context().close();
  });

  it('leave what was typed in one of them to be read and discarded where that becomes the original', async () => {
    const { id } = await survey('Original');
    const page = await signedInPage(browser, scene.service, { path: `/surveys/${id}/languages?language=de` });
    await page.getByLabel('Survey, Title, in German').fill('Getippt');
    await page.getByRole('button', { name: /Written in/ }).click();
    await page.getByRole('option', { name: 'German (de)' }).click();
    const panel = page.getByRole('alert', { name: 'No translation any more' });
    await panel.getByText('Getippt', { exact: true }).waitFor();
    await assertAccessible(page);
    await panel.getByRole('button', { name: 'Discard' }).click();
    await panel.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'admin@localhost' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Surveys' }).waitFor();
    await page.context().close();
  });

  it('are marked where the service refuses one of them, and not where nothing is left of it', async () => {
    const { id } = await survey('Refused');
    const page = await signedInPage(browser, scene.service, { path: `/surveys/${id}/languages?language=de` });
    const option = page.getByLabel('Question 1, Option 2, in German');
    await page.getByLabel('Survey, Title, in German').fill('Abgelehnt');
    await page.getByLabel('Question 1, Option 1, in German').fill('Suppe');
    await option.fill('S'.repeat(501));
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Please correct what is marked.').waitFor();
    assert.equal(await option.getAttribute('aria-invalid'), 'true');
    assert.equal(await page.locator('textarea[aria-invalid]').count(), 1);
    await option.fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('German is saved.').waitFor();
    await option.fill('Salat');
    await option.fill('');
    await page.getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' });
    browser.forgive(/status of 400/);
  });

  it('keep what was typed when the session ends', async () => {
    const editor = await newConsoleUser(scene.service, scene.admin, 'EDITOR');
    const { id } = await editor.client.create('/surveys', { title: 'Typed' });
    const page = await signedInPage(browser, scene.service, {
      path: `/surveys/${id}/languages?language=de`,
      as: editor,
    });
    await page.getByLabel('Survey, Title, in German').fill('Getippt');
    await editor.client.post('/auth/logout', { everywhere: true });
    await page.getByRole('button', { name: 'Save' }).click();
    const again = page.getByRole('dialog', { name: 'Your session has ended' });
    await again.getByLabel('Password').fill(editor.password);
    await again.getByRole('button', { name: 'Sign in' }).click();
    await again.waitFor({ state: 'detached' });
    assert.equal(await page.getByLabel('Survey, Title, in German').inputValue(), 'Getippt');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('German is saved.').waitFor();
    assert.equal((await translation(id, 'de')).title, 'Getippt');
    browser.forgive(/status of 401/);
  });

  it('that are typed and not saved are named when the author comes back, and can be gone on with', async () => {
    const { id } = await survey('Left');
    const page = await signedInPage(browser, scene.service, { path: `/surveys/${id}/languages?language=nl` });
    const title = page.getByLabel('Survey, Title, in Dutch');
    await title.fill('Verlaten');
    await page.getByRole('link', { name: 'Settings', exact: true }).first().click();
    await page.getByRole('link', { name: 'Languages', exact: true }).click();
    await page.getByText('What was typed in Dutch is not saved yet.').waitFor();
    await page.getByRole('button', { name: 'Go on' }).click();
    assert.equal(await title.inputValue(), 'Verlaten');
    assert.equal(await page.getByText('What was typed in Dutch is not saved yet.').count(), 0);
  });

  it('are read by a VIEWER, who changes nothing', async () => {
    const viewer = await newConsoleUser(scene.service, scene.admin, 'VIEWER');
    const { id } = await survey('For readers');
    await scene.admin.put(`/surveys/${id}/translations/de`, { title: 'Für Leser' });
    await scene.admin.put(`/surveys/${id}/members/${viewer.id}`, { role: 'VIEWER' });
    const page = await signedInPage(browser, scene.service, {
      path: `/surveys/${id}/languages?language=de`,
      as: viewer,
    });
    const title = page.getByLabel('Survey, Title, in German');
    await title.waitFor();
    assert.deepEqual([await title.inputValue(), await title.getAttribute('readonly')], ['Für Leser', '']);
    assert.equal(await page.getByRole('button', { name: /Add a language|Translate with AI|Delete/ }).count(), 0);
    await assertAccessible(page);
  });
});
