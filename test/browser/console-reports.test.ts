import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { type AiFixture, openSurvey } from '../support/ai-fixture.ts';
import type { SeenCall } from '../support/ai-provider.ts';
import { resultOfWork } from '../support/ai-work.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import { assertAccessible, goTo, newConsoleUser, signedInPage, signOutFor } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import { useAi } from '../support/use-ai.ts';

/** In the language asked for; with a text that would be markup if it were not shown as it is. */
function written({ user, schema }: SeenCall): unknown {
  const { language } = JSON.parse(user[0] ?? '{}');
  return {
    title: `What guests think (${language})`,
    sections: [
      {
        heading: 'Meals',
        text: 'Two of three liked the <img src=x onerror=alert(1)> soup.\n\nOne did not.',
        questions: [1],
      },
    ],
    ...('recommendations' in schema.properties && { recommendations: ['Offer more soup.'] }),
  };
}

describe('the reports of a survey', { skip: withoutBrowser }, () => {
  let scene: AiFixture;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useAi((started) => (scene = started), { answer: written });

  it('are asked for, read and saved as a PDF file', async () => {
    const { service, admin } = scene;
    const { id, questionId } = await openSurvey(admin, ['good', 'bad', 'good']);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/reports` });
    await page.getByRole('heading', { name: 'No reports yet' }).waitFor();
    await assertAccessible(page);
    await page.getByRole('button', { name: 'New report' }).click();
    const dialog = page.getByRole('dialog', { name: 'New report' });
    await assertAccessible(page);
    const language = dialog.getByRole('combobox', { name: 'Language' });
    await language.fill('German');
    await page.getByRole('option', { name: 'German' }).click();
    await dialog.getByRole('switch', { name: 'With recommendations' }).press('Space');
    await dialog.getByRole('button', { name: 'Write the report' }).click();
    const report = page.getByRole('article', { name: 'What guests think (de)' });
    await report.waitFor();
    await dialog.waitFor({ state: 'detached' });
    await page.waitForURL(/report=/);
    await report.getByText('Two of three liked the <img src=x onerror=alert(1)> soup.').waitFor();
    await report.getByRole('link', { name: 'What do you think?' }).waitFor();
    assert.equal(await report.getByRole('heading', { name: 'Recommendations' }).count(), 0);
    await page.getByRole('region', { name: 'Long work' }).getByText('Done', { exact: true }).waitFor();
    await assertAccessible(page);

    const saving = page.waitForEvent('download');
    await report.getByRole('button', { name: 'PDF' }).click();
    const file = await saving;
    assert.equal(file.suggestedFilename(), 'What guests think (de).pdf');
    assert.equal((await readFile(await file.path())).subarray(0, 5).toString(), '%PDF-');

    await admin.put(`/surveys/questions/${questionId}`, { text: 'What do you think, {{metadata:name|guest}}?' });
    await report.getByRole('link', { name: 'What do you think, guest?' }).waitFor();
  });

  it('go on when their dialog is closed, and the tray leads to them', async () => {
    const { service, admin, ai } = scene;
    const { id } = await openSurvey(admin, ['good']);
    let release = () => {};
    ai.holdUntil = new Promise<void>((resolve) => {
      release = resolve;
    });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/reports` });
    await page.getByRole('button', { name: 'New report' }).click();
    await page.getByRole('button', { name: 'Write the report' }).click();
    await page.getByRole('button', { name: 'Go on in the background' }).click();
    const tray = page.getByRole('region', { name: 'Long work' });
    await tray.getByText('1 running').waitFor();
    await page.getByRole('link', { name: 'Surveys' }).first().click();
    release();
    await tray.getByRole('link', { name: 'Open' }).click();
    await page.getByRole('article', { name: 'What guests think (en)' }).waitFor();
    await page.getByRole('heading', { name: 'Recommendations' }).waitFor();
  });

  it('leave the dialog of a new one alone when the first comes from somebody else', async () => {
    const { service, admin } = scene;
    const { id } = await openSurvey(admin, ['good']);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/reports` });
    await page.clock.install();
    await page.getByRole('button', { name: 'New report' }).click();
    const recommendations = page.getByRole('switch', { name: 'With recommendations' });
    await recommendations.press('Space');
    await resultOfWork(admin, `/ai/surveys/${id}/report`, { language: 'fr' });
    // Whoever comes back to the page after a while sees the list as it is.
    await page.clock.fastForward(11_000);
    await page.evaluate(`dispatchEvent(new Event('visibilitychange'))`);
    await page.locator('nav[aria-label=Reports] a', { hasText: '(fr)' }).waitFor();
    assert.equal(await recommendations.isChecked(), false, 'what was chosen in the dialog');
    await page.context().close();
  });

  it('are listed as somebody else has them written', async () => {
    const { service, admin } = scene;
    const { id } = await openSurvey(admin, ['good']);
    await resultOfWork(admin, `/ai/surveys/${id}/report`, { language: 'fr' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/reports` });
    const list = page.getByRole('navigation', { name: 'Reports' });
    const shown = list.locator('[aria-current]');
    await shown.filter({ hasText: '(fr)' }).waitFor();
    await resultOfWork(admin, `/ai/surveys/${id}/report`, { language: 'ar' });
    await list.getByRole('link', { name: /\(ar\)/ }).waitFor();
    assert.match((await shown.textContent()) ?? '', /\(fr\)/, 'what is being read stays');
    await page.context().close();
  });

  it('are read by readers, who cannot ask for any', async () => {
    const { service, admin } = scene;
    const { id } = await openSurvey(admin, ['good']);
    for (const language of ['fr', 'ar']) await resultOfWork(admin, `/ai/surveys/${id}/report`, { language });
    const viewer = await newConsoleUser(service, admin, 'VIEWER');
    await admin.put(`/surveys/${id}/members/${viewer.id}`, { role: 'VIEWER' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/reports`, as: viewer });
    await page.getByRole('article', { name: 'What guests think (ar)' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'New report' }).count(), 0);
    await page
      .getByRole('navigation', { name: 'Reports' })
      .getByRole('link', { name: /\(fr\)/ })
      .click();
    await page.getByRole('article', { name: 'What guests think (fr)' }).waitFor();
    await page.reload();
    await page.getByRole('article', { name: 'What guests think (fr)' }).waitFor();
  });

  it('say why they cannot be written', async () => {
    const { service, admin } = scene;
    const { id } = await admin.create('/surveys', { title: 'Nobody came' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/reports` });
    await page.getByRole('button', { name: 'New report' }).click();
    await page.getByRole('button', { name: 'Write the report' }).click();
    await page.getByText(/has no responses to report on/).waitFor();
    browser.forgive(/status of 409/);
    await admin.put(`/surveys/${id}`, { aiEnabled: false });
    await page.reload();
    await page.getByText('AI is switched off for this survey').waitFor();
    await eventually(async () =>
      assert.equal(await page.getByRole('button', { name: 'New report' }).isDisabled(), true),
    );
  });

  it('are not in the tray again once they were removed from it', async () => {
    const { service, admin } = scene;
    const { id } = await openSurvey(admin, ['good']);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/reports` });
    const held = await holdCalls(page, '**/ai/surveys/*/report', {
      answer: async (route, isReleased) => {
        await isReleased;
        await route.fulfill({ json: { success: true, data: { reportId: randomUUID(), title: 'Late', sections: [] } } });
      },
    });
    await page.getByRole('button', { name: 'New report' }).click();
    await page.getByRole('button', { name: 'Write the report' }).click();
    await page.getByRole('button', { name: 'Go on in the background' }).click();
    const tray = page.getByRole('region', { name: 'Long work' });
    await tray.getByRole('button', { name: 'Remove Report on Canteen' }).click();
    await tray.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Surveys' }).first().click();
    // The list is read anew when the tray has been told.
    await goTo(page, `/surveys/${id}/reports`);
    await page.getByRole('heading', { name: 'No reports yet' }).waitFor();
    const listed = page.waitForResponse('**/ai/surveys/*/reports?*');
    held.release();
    await listed;
    assert.equal(await tray.count(), 0);
    await page.context().close();
  });

  it('are followed for nobody else who signs in while they are written', async () => {
    const { service, admin } = scene;
    const [one, other] = [
      await newConsoleUser(service, admin, 'EDITOR'),
      await newConsoleUser(service, admin, 'ADMIN'),
    ];
    const { id } = await openSurvey(one.client, ['good']);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/reports`, as: one });
    await page.route('**/ai/surveys/*/report', (route) =>
      route.fulfill({ status: 202, json: { success: true, data: { jobId: 'job', progress: 0 } } }),
    );
    let reads = 0;
    await page.route('**/ai/jobs/*', (route) => {
      reads += 1;
      return route.fulfill({ json: { success: true, data: { status: 'PROCESSING', progress: 0.5 } } });
    });
    await page.getByRole('button', { name: 'New report' }).click();
    await page.getByRole('button', { name: 'Write the report' }).click();
    await page.getByRole('button', { name: 'Go on in the background' }).click();
    await eventually(() => assert.ok(reads > 0));
    await page.clock.install();
    await signOutFor(page, one, other);
    const before = reads;
    await page.clock.runFor(20_000);
    assert.equal(reads, before);
    assert.equal(await page.getByRole('region', { name: 'Long work' }).count(), 0);
    await page.context().close();
  });
});
