import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, goTo, signedInPage } from '../support/console.ts';
import { publishedSurvey } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('the collectors of a survey', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  // The browser is closed before the service: pages would report that they cannot reconnect.
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const newSurvey = (title: string) => publishedSurvey(admin, { title }, [{ type: 'YES_NO', text: 'Which dish?' }]);
  const open = (id: string) => signedInPage(browser, service, { path: `/surveys/${id}/publish` });
  const confirm = (page: Page, action: string) =>
    page.getByRole('alertdialog').getByRole('button', { name: action }).click();

  it('makes a collector for invited people, refuses a bad line of a file, and gives links that open', async () => {
    const { id } = await newSurvey('For members');
    const page = await open(id);
    await page.getByRole('button', { name: 'New collector' }).click();
    const form = page.getByRole('dialog', { name: 'New collector' });
    await form.getByLabel('Name').fill('Members');
    await form.getByText('Invited people').click();
    await form.getByRole('button', { name: 'Create the collector' }).click();
    await form.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Actions of Members' }).click();
    await page.getByRole('menuitem', { name: 'Change' }).click();
    const change = page.getByRole('dialog', { name: 'Change the collector' });
    await change.getByRole('textbox', { name: 'Complete responses at most' }).fill('40');
    await change.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /Members.* of 40/ }).waitFor();

    await page.getByRole('button', { name: 'Actions of Members' }).click();
    await page.getByRole('menuitem', { name: 'Invitations' }).click();
    const dialog = page.getByRole('dialog', { name: 'Invitations of “Members”' });
    const upload = async (csv: string) => {
      const [chooser] = await Promise.all([
        page.waitForEvent('filechooser'),
        dialog.getByRole('button', { name: 'Upload a CSV' }).click(),
      ]);
      await chooser.setFiles({ name: 'members.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
    };
    await upload('reference,expiresAt\nanna,\nbert,someday\n');
    await dialog.getByText(/^Line 3, expiresAt /).waitFor();
    assert.doesNotMatch((await dialog.textContent()) ?? '', /lines\.3/i);
    await dialog.getByText('No invitations yet').waitFor();
    browser.forgive(/status of 400/);

    await upload('reference;language\nanna;de\nbert;en\n');
    await dialog.getByText(/^2 invitations are made\./).waitFor();
    await dialog.getByRole('table', { name: 'Invitations' }).getByText('bert').waitFor();
    await assertAccessible(page);
    await upload('reference\ncarla\n');
    await dialog.getByText(/^3 invitations are made\./).waitFor();
    await page.keyboard.press('Escape');
    await page.mouse.click(5, 5);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      dialog.getByRole('button', { name: 'Download the links' }).click(),
    ]);
    const [head, anna, ...others] = readFileSync(await download.path(), 'utf8').split('\r\n');
    assert.equal(head, '\ufeffreference,token,link');
    const references = others.map((line) => line.split(',')[0]);
    assert.deepEqual(references, ['bert', 'carla', ''], 'the links of every file since the last download');
    const theirs = await browser.open();
    await theirs.goto(anna?.split(',')[2] ?? '');
    await theirs.getByRole('radio', { name: 'Yes' }).waitFor();

    await dialog.getByRole('button', { name: 'Revoke bert' }).press('Enter');
    await page.getByRole('button', { name: 'Revoke the invitation' }).press('Enter');
    await dialog
      .getByRole('row', { name: /bert.*Revoked/ })
      .and(page.locator(':focus'))
      .waitFor();
    await upload('reference,language\n=1+1,\n＝1+1,\na;=HYPERLINK(1),\n"a\n""=2+2",\n');
    await dialog.getByText(/^4 invitations are made\./).waitFor();
    const [guarded] = await Promise.all([
      page.waitForEvent('download'),
      dialog.getByRole('button', { name: 'Download the links' }).click(),
    ]);
    const cells = readFileSync(await guarded.path(), 'utf8').replaceAll(/,[\w-]{22},http\S+/g, '');
    assert.deepEqual(
      cells.split('\r\n').slice(1),
      ["'=1+1", "'＝1+1", "a;'=HYPERLINK(1)", '"a\n\'""=2+2"', ''],
      'no reference is a formula',
    );
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await dialog.getByText(/^10 invitations are made\./).waitFor();
    await dialog.getByText('0 of 17 completed').waitFor();
    await dialog.getByRole('button', { name: 'Download the links' }).click();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  it('lists invitations that were made although no reply came', async () => {
    const { id } = await newSurvey('Lost reply');
    await admin.create(`/surveys/${id}/collectors`, { name: 'Panel', kind: 'INVITATION' });
    const page = await open(id);
    await page.getByRole('button', { name: 'Actions of Panel' }).click();
    await page.getByRole('menuitem', { name: 'Invitations' }).click();
    const dialog = page.getByRole('dialog', { name: 'Invitations of “Panel”' });
    await dialog.getByText('No invitations yet').waitFor();
    await page.route('**/invitations', (route) => route.fetch().then(() => route.abort()));
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await dialog.getByText('The service cannot be reached.').waitFor();
    await dialog.getByText('0 of 10 completed').waitFor();
    browser.forgive(/ERR_FAILED/);
    await page.context().close();
  });

  it('pauses and deletes collectors', async () => {
    const { id } = await newSurvey('By two ways');
    const { id: poster } = await admin.create(`/surveys/${id}/collectors`, { name: 'Poster' });
    const page = await open(id);
    const row = page.getByRole('table', { name: 'Collectors' }).getByRole('row').filter({ hasText: 'Poster' });
    await row.getByRole('button', { name: 'Actions of Poster' }).click();
    await page.getByRole('menuitem', { name: 'Pause' }).click();
    await row.getByText('Paused').waitFor();
    await row.getByRole('button', { name: 'Actions of Poster' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await confirm(page, 'Delete the collector');
    await row.waitFor({ state: 'detached' });
    assert.equal((await admin.call('GET', `/collectors/${poster}`)).status, 404);
  });

  it('gives a collector a language of the survey', async () => {
    const { id } = await newSurvey('In two languages');
    await admin.put(`/surveys/${id}/translations/de`, { title: 'In zwei Sprachen' });
    const { id: poster } = await admin.create(`/surveys/${id}/collectors`, { name: 'Poster' });
    const page = await open(id);
    for (const [name, language] of [
      ['German', 'de'],
      ['As the browser of the respondent asks', null],
    ] as const) {
      await page.getByRole('button', { name: 'Actions of Poster' }).click();
      await page.getByRole('menuitem', { name: 'Change' }).click();
      const dialog = page.getByRole('dialog', { name: 'Change the collector' });
      await dialog.getByRole('button', { name: 'Language' }).click();
      await page.getByRole('option', { name }).click();
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.waitFor({ state: 'detached' });
      assert.equal((await admin.get(`/collectors/${poster}`)).language, language);
    }
  });

  it('shows the last page of collectors that there is when the shown one has none any more', async () => {
    const { id } = await newSurvey('By many ways');
    for (let n = 10; n < 30; n += 1) await admin.create(`/surveys/${id}/collectors`, { name: `Poster ${n}` });
    const page = await open(id);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('button', { name: 'Actions of Poster 29' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await confirm(page, 'Delete the collector');
    await page.getByRole('row').filter({ hasText: 'Poster 28' }).waitFor();
    await page.context().close();
  });

  it('leaves the focus in the content when a collector or a quota was deleted from its menu', async () => {
    const { id, questions } = await publishedSurvey(admin, { title: 'Deleted' }, [
      { type: 'MULTIPLE_CHOICE', text: 'Dish?', options: [{ text: 'Soup' }, { text: 'Pasta' }] },
    ]);
    await admin.create(`/surveys/${id}/collectors`, { name: 'Posters' });
    await admin.create(`/surveys/${id}/quotas/grid`, { questionIds: [questions[0]?.id], limit: 5 });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/publish` });
    for (const [view, name] of [
      ['publish', 'Posters'],
      ['quotas', 'Soup'],
    ] as const) {
      await goTo(page, `/surveys/${id}/${view}`);
      await page.getByRole('button', { name: `Actions of ${name}` }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('menuitem', { name: 'Delete' }).click();
      const dialog = page.getByRole('alertdialog');
      await dialog.getByRole('button', { name: 'Delete the' }).focus();
      await page.keyboard.press('Enter');
      await dialog.waitFor({ state: 'detached' });
      await page.getByRole('main').and(page.locator(':focus')).waitFor();
    }
    await page.context().close();
  });
});
