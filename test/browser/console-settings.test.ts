import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { newId } from '../../src/platform/ids.ts';
import type { Stores } from '../../src/stores/stores.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, newConsoleUser, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls, holdNextCall } from '../support/held-calls.ts';
import { publishedSurvey } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useServiceAndStores } from '../support/use-service.ts';

/** A PNG of one pixel. */
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** A card of the settings. */
const card = (page: Page, title: string) =>
  page.locator('section').filter({ has: page.getByRole('heading', { name: title, exact: true }) });

describe('the settings of a survey', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let stores: Stores;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useServiceAndStores((served) => ({ service, admin, stores } = served));

  const survey = async (title: string): Promise<string> => (await admin.create('/surveys', { title })).id;
  const read = (id: string) => admin.get(`/surveys/${id}`);

  it('saves look and end, and takes no colours that cannot be read', async () => {
    const id = await survey('Lunch');
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings` });
    const look = card(page, 'Look and end');
    await look.waitFor();
    await assertAccessible(page);
    await look.getByLabel('Colour of buttons and marks', { exact: true }).fill('#ffff00');
    await look.getByText(/has a contrast of 1\.\d+:1 to it/).waitFor();
    await assertAccessible(page);
    await look.getByRole('button', { name: 'Save' }).click();
    assert.equal((await read(id)).appearance.primaryColor, null, 'what cannot be read is not sent');
    await look.getByLabel('Colour of buttons and marks', { exact: true }).fill('#0b6e4f');
    await look.getByText(/Contrast 6\.\d:1 with the white text on it/).waitFor();
    await look.getByText('A question', { exact: true }).click();
    await look.getByRole('textbox', { name: 'Closing text' }).fill('Thank you <b>very</b> much');
    await look.getByLabel('Then lead to').fill('javascript:alert(1)');
    await look.getByRole('button', { name: 'Save' }).click();
    await look.getByText(/Must be an http or https address/).waitFor();
    await look.getByLabel('Then lead to').fill('https://www.example.org/thanks');
    await look.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The settings are saved.').waitFor();
    await look.getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' });
    const { appearance } = await read(id);
    assert.deepEqual(
      { ...appearance, logo: null },
      {
        pageMode: 'QUESTION',
        primaryColor: '#0b6e4f',
        backgroundColor: null,
        closingText: 'Thank you <b>very</b> much',
        redirectUrl: 'https://www.example.org/thanks',
        allowedOrigins: [],
        logo: null,
      },
    );
    browser.forgive(/status of 400/);
  });

  it('sets, refuses and removes the logo', async () => {
    const id = await survey('With a logo');
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings` });
    const logo = card(page, 'Logo');
    await logo.locator('input[type=file]').setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: png });
    await logo.getByAltText('Logo, 1 × 1 pixels').waitFor();
    await eventually(async () => assert.equal(await page.evaluate(`document.querySelector('img').naturalWidth`), 1));
    const text = { name: 'a.png', mimeType: 'image/png', buffer: Buffer.from('no picture') };
    await logo.locator('input[type=file]').setInputFiles(text);
    await logo.getByText('This kind of file is not taken.').waitFor();
    await logo.locator('input[type=file]').setInputFiles({ ...text, buffer: Buffer.alloc(300_000) });
    await logo.getByText('The picture has more than 256 KiB.').waitFor();
    await assertAccessible(page);
    await logo.getByRole('button', { name: 'Remove' }).click();
    await logo.getByText('No logo').waitFor();
    assert.equal((await read(id)).appearance.logo, null);
    browser.forgive(/status of 415/);
  });

  it('asks for no other logo while one is being sent', async () => {
    const id = await survey('With one logo');
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings` });
    const held = await holdCalls(page, `**/surveys/${id}/logo`);
    const logo = card(page, 'Logo');
    let choosers = 0;
    page.on('filechooser', () => (choosers += 1));
    const first = page.waitForEvent('filechooser');
    await logo.getByRole('button', { name: 'Choose a picture' }).click();
    await (await first).setFiles({ name: 'a.png', mimeType: 'image/png', buffer: png });
    await eventually(() => assert.equal(held.count(), 1));
    const pending = logo.getByRole('button', { name: 'Choose a picture', disabled: true });
    await pending.click({ force: true });
    await pending.press('Enter');
    held.release();
    await logo.getByAltText('Logo, 1 × 1 pixels').waitFor();
    // Choosers open in the order of the presses.
    const next = page.waitForEvent('filechooser');
    await logo.getByRole('button', { name: 'Replace' }).click();
    await (await next).setFiles({ name: 'a.png', mimeType: 'image/png', buffer: png });
    await eventually(() => assert.equal(held.count(), 2));
    assert.equal(choosers, 2);
    await page.context().close();
  });

  it('saves embedding and limits, and keeps what was typed while the view is left', async () => {
    const id = await survey('With limits');
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings` });
    const responses = card(page, 'Responses');
    await responses.getByRole('textbox', { name: 'Complete responses wanted' }).fill('250');
    await responses.getByRole('textbox', { name: 'Days that responses are kept' }).fill('90');
    await responses.getByText('AI for this survey').click();
    await responses.getByText('Anonymous', { exact: true }).click();
    await page.getByRole('navigation', { name: 'Survey' }).getByRole('link', { name: 'Build' }).click();
    await page.waitForURL(/\/build/);
    await page.goBack();
    assert.equal(await responses.getByRole('textbox', { name: 'Complete responses wanted' }).inputValue(), '250');
    await responses.getByRole('button', { name: 'Save' }).click();
    await responses.getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' });
    const { responseQuota, retentionDays, aiEnabled, isAnonymous } = await read(id);
    assert.deepEqual([responseQuota, retentionDays, aiEnabled, isAnonymous], [250, 90, false, true]);

    const embedding = card(page, 'Embedding');
    await embedding.getByLabel('Origins').fill('https://www.example.org\nnot an origin');
    await embedding.getByRole('button', { name: 'Save' }).click();
    await embedding.getByText(/not: Must be an origin/).waitFor();
    await embedding.getByLabel('Origins').fill('https://www.example.org\nhttps://shop.example.org');
    await embedding.getByRole('button', { name: 'Save' }).click();
    await embedding.getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' });
    assert.deepEqual((await read(id)).appearance.allowedOrigins, [
      'https://www.example.org',
      'https://shop.example.org',
    ]);
    browser.forgive(/status of 400/);
  });

  it('is shared by its owner, an EDITOR, by the address of a user', async () => {
    const [owner, colleague] = [
      await newConsoleUser(service, admin, 'EDITOR'),
      await newConsoleUser(service, admin, 'EDITOR'),
    ];
    const { id } = await owner.client.create('/surveys', { title: 'Shared' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings`, as: owner });
    const sharing = card(page, 'Sharing');
    await sharing.getByText('Only the owner and every ADMIN see this survey.').waitFor();
    await sharing.getByLabel('Share with').fill('nobody@example.org');
    await sharing.getByRole('button', { name: 'Share', exact: true }).click();
    await sharing.getByText('Is not the address of a user.').waitFor();
    await sharing.getByLabel('Share with').fill(colleague.email);
    await page.keyboard.press('Enter');
    await sharing.getByRole('row', { name: new RegExp(colleague.email) }).waitFor();
    await assertAccessible(page);

    const theirs = await signedInPage(browser, service, { path: `/surveys/${id}/settings`, as: colleague });
    await card(theirs, 'Leave').waitFor();
    await theirs.getByText('You may read this survey, and change none of its settings').waitFor();
    const rights = [owner.client, colleague.client, admin].map(
      async (client) => (await client.get(`/surveys/${id}`)).right,
    );
    assert.deepEqual(await Promise.all(rights), ['own', 'read', 'own']);
    assert.equal(await card(theirs, 'Sharing').count(), 0, 'only the owner shares');
    assert.equal(await card(theirs, 'Delete').count(), 0, 'only the owner deletes');

    await sharing.getByRole('button', { name: `Actions of ${colleague.email}` }).click();
    await page.getByRole('menuitem', { name: /Make the owner/ }).click();
    await page.getByRole('button', { name: 'Hand it over' }).click();
    await card(page, 'Leave').waitFor();
    assert.equal((await read(id)).ownerId, colleague.id);
    await page.getByRole('button', { name: 'Leave the survey' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Leave the survey' }).click();
    await page.getByText('You have left “Shared”.').waitFor();
    browser.forgive(/status of 400/);
  });

  it('lists all members, also those after the first hundred', async () => {
    const id = await survey('Shared with many');
    const { sql } = stores;
    const users = Array.from({ length: 100 }, () => newId()).map((user) => ({
      id: user,
      email: `${user}@example.org`,
      email_key: `${user}@example.org`,
      password_hash: '-',
      role: 'VIEWER',
    }));
    await sql`INSERT INTO users ${sql(users)}`;
    await sql`INSERT INTO survey_members ${sql(users.map((user) => ({ survey_id: id, user_id: user.id, role: 'VIEWER' })))}`;
    const last = await newConsoleUser(service, admin, 'VIEWER');
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings` });
    const sharing = card(page, 'Sharing');
    await sharing.getByLabel('Share with').fill(last.email);
    await page.keyboard.press('Enter');
    await page.getByText(`The survey is shared with ${last.email}.`).waitFor();
    await sharing.getByText('1–20 of 101').waitFor();
    for (const range of ['21–40', '41–60', '61–80', '81–100', '101–101']) {
      await sharing.getByRole('button', { name: 'Next' }).click();
      await sharing.getByText(`${range} of 101`).waitFor();
    }
    await sharing.getByRole('button', { name: `Actions of ${last.email}` }).click();
    await page.getByRole('menuitem', { name: 'End the sharing' }).click();
    await sharing.getByText('81–100 of 100').waitFor();
    await page.context().close();
  });

  it('shows a VIEWER what is set, and lets nothing be changed', async () => {
    const viewer = await newConsoleUser(service, admin, 'VIEWER');
    const id = await survey('For readers');
    await admin.put(`/surveys/${id}/members/${viewer.id}`, { role: 'EDITOR' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings`, as: viewer });
    await page.getByText('You may read this survey, and change none of its settings').waitFor();
    assert.equal(await page.getByRole('textbox', { name: 'Closing text' }).getAttribute('readonly'), '');
    assert.equal(await page.getByRole('textbox', { name: 'Submissions a minute' }).isDisabled(), true);
    assert.equal(await page.getByRole('button', { name: /Save|Choose a picture|Share|Delete/ }).count(), 0);
    await assertAccessible(page);
  });

  it('shows what somebody else saved in the same field meanwhile, and merges other fields', async () => {
    const id = await survey('Two authors');
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings` });
    const look = card(page, 'Look and end');
    await look.getByRole('textbox', { name: 'Closing text' }).fill('Mine');
    await admin.put(`/surveys/${id}`, {
      appearance: { closingText: 'Theirs', redirectUrl: 'https://www.example.org/theirs' },
    });
    await look.getByRole('button', { name: 'Save' }).click();
    const conflict = look.getByRole('alert', { name: 'Conflict' });
    await conflict.getByText('Theirs', { exact: true }).waitFor();
    await assertAccessible(page);
    assert.equal((await read(id)).appearance.closingText, 'Theirs');
    await conflict.getByRole('button', { name: 'Keep mine' }).click();
    await look.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The settings are saved.').waitFor();
    const { closingText, redirectUrl } = (await read(id)).appearance;
    assert.deepEqual(
      { closingText, redirectUrl },
      { closingText: 'Mine', redirectUrl: 'https://www.example.org/theirs' },
    );
  });

  it('keeps what is typed back to what was stored while the form is being saved', async () => {
    const { id } = await admin.create('/surveys', { title: 'Typed back', appearance: { closingText: 'First' } });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings` });
    const held = await holdCalls(page, `**/surveys/${id}`, {
      answer: async (route, isReleased) => {
        if (route.request().method() === 'PUT') await isReleased;
        await route.continue();
      },
    });
    const text = page.getByRole('textbox', { name: 'Closing text' });
    await text.fill('Second');
    const save = page.getByRole('button', { name: 'Save', exact: true });
    const saving = page.waitForRequest((request) => request.method() === 'PUT');
    await save.click();
    await saving;
    await text.fill('First');
    held.release();
    await page.getByText('The settings are saved.').waitFor();
    assert.equal(await text.inputValue(), 'First');
    await save.click();
    await eventually(async () => assert.equal((await admin.get(`/surveys/${id}`)).appearance.closingText, 'First'));
    await save.waitFor({ state: 'detached' });
  });

  it('calls nothing unsaved that is typed back to what is stored while the service refuses it', async () => {
    const { id } = await admin.create('/surveys', { title: 'Refused', appearance: { closingText: 'First' } });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings` });
    const held: Route[] = [];
    await page.route(`**/surveys/${id}`, (route) =>
      route.request().method() === 'PUT' ? void held.push(route) : route.continue(),
    );
    const text = page.getByRole('textbox', { name: 'Closing text' });
    const save = page.getByRole('button', { name: 'Save', exact: true });
    for (const [status, code, said] of [
      [503, 'SERVICE_UNAVAILABLE', /is away at the moment/],
      [400, 'VALIDATION_ERROR', /cannot be taken/],
    ] as const) {
      await text.fill('Second');
      await save.click();
      await eventually(() => assert.equal(held.length, 1));
      await text.fill('First');
      await held.pop()?.fulfill({ status, json: { success: false, code, message: 'no', requestId: 'r' } });
      await page.getByText(said).waitFor();
      // The service may have stored what it has not refused.
      if (status === 503) await save.waitFor();
    }
    await save.waitFor({ state: 'detached' });
    assert.equal(await text.inputValue(), 'First');
    browser.forgive(/status of (400|503)/);
  });

  it('keeps what was typed when the session ends', async () => {
    const editor = await newConsoleUser(service, admin, 'EDITOR');
    const { id } = await editor.client.create('/surveys', { title: 'Typed before the end' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings`, as: editor });
    const look = card(page, 'Look and end');
    await look.getByRole('textbox', { name: 'Closing text' }).fill('Typed before the end');
    await editor.client.post('/auth/logout', { everywhere: true });
    await look.getByRole('button', { name: 'Save' }).click();
    const again = page.getByRole('dialog', { name: 'Your session has ended' });
    await again.getByLabel('Password').fill(editor.password);
    await again.getByRole('button', { name: 'Sign in' }).click();
    await again.waitFor({ state: 'detached' });
    assert.equal(await look.getByRole('textbox', { name: 'Closing text' }).inputValue(), 'Typed before the end');
    await look.getByRole('button', { name: 'Save' }).click();
    await look.getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' });
    assert.equal((await read(id)).appearance.closingText, 'Typed before the end');
    browser.forgive(/status of 401/);
  });

  it('shows no button below a list before the list is there, which would move it', async () => {
    const id = await survey('Members come late');
    const page = await signedInPage(browser, service, { path: '/account' });
    const loading = await holdNextCall(page, '**/members?*');
    await page.goto(`${service.origin}/surveys/${id}/settings`);
    const route = await loading.made();
    const sharing = card(page, 'Sharing');
    await sharing.waitFor();
    const buttons = [
      sharing.getByRole('button', { name: 'Share', exact: true }),
      page.getByRole('button', { name: 'Delete the survey' }),
    ];
    for (const button of buttons) assert.equal(await button.count(), 0);
    await route.continue();
    for (const button of buttons) await button.waitFor();
    await page.context().close();
  });

  it('names as many responses as are deleted, those too that came while the view was open', async () => {
    const { id, questions } = await publishedSurvey(admin, { title: 'Answered meanwhile' }, [
      { type: 'YES_NO', text: 'Again?' },
    ]);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings` });
    const button = page.getByRole('button', { name: 'Delete the survey' });
    await button.waitFor();
    const answers = [{ questionId: questions[0]?.id, optionId: questions[0]?.options[0]?.id }];
    for (let count = 1; count <= 3; count += 1) assert.equal((await admin.submit(id, { answers })).status, 201);
    await eventually(async () => assert.equal((await read(id)).responseCount, 3));
    await button.click();
    await page.getByRole('alertdialog').getByText('Its 3 responses are deleted with it.').waitFor();
    await page.context().close();
  });

  it('deletes the survey after a question', async () => {
    const id = await survey('No longer needed');
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings` });
    await page.getByRole('button', { name: 'Delete the survey' }).click();
    const dialog = page.getByRole('alertdialog', { name: 'Delete “No longer needed”?' });
    await dialog.getByText('It has no responses.').waitFor();
    await assertAccessible(page);
    await dialog.getByRole('button', { name: 'Delete the survey' }).click();
    await page.getByText('“No longer needed” is deleted.').waitFor();
    assert.equal((await admin.call('GET', `/surveys/${id}`)).status, 404);
  });
});
