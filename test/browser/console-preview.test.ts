import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { hotelSurvey } from '../support/hotel-survey.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('the preview beside the editor', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));
  const hotel = () => hotelSurvey(admin, { title: 'Your stay' });

  it('shows what is typed before it is saved, leaves the focus, and follows the selection both ways', async () => {
    const { id, questions } = await hotel();
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${questions.why.id}` });
    const preview = page.frameLocator('iframe[title=Preview]');
    await preview.locator(`.edited#q-${questions.why.id}`).waitFor();
    assert.equal(await page.evaluate('scrollY'), 0, 'the console itself does not scroll');
    await page.route('**/api/v1/surveys/questions/*', (route) => route.abort());
    const text = page.getByRole('textbox', { name: 'Text', exact: true });
    await text.click();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('What was wrong with it?');
    await preview.getByText('What was wrong with it?').waitFor();
    assert.equal(await text.inputValue(), 'What was wrong with it?');
    await text.and(page.locator(':focus')).waitFor();
    assert.notEqual((await admin.get(`/surveys/${id}`)).questions.at(-2).text, 'What was wrong with it?');
    await page.unroute('**/api/v1/surveys/questions/*');

    // On another page, and only shown after another answer.
    await page
      .getByRole('list', { name: 'Outline' })
      .getByRole('button', { name: /What did you have/ })
      .click();
    await preview.locator(`.edited#q-${questions.dishes.id}`).waitFor();
    await preview.getByRole('group', { name: 'How were these?' }).click();
    await page.waitForURL(new RegExp(`item=${questions.rooms.id}`));
    await preview.locator(`.edited#q-${questions.rooms.id}`).waitFor();
    await assertAccessible(page);
    browser.forgive(/ERR_FAILED/);
  });

  it('is walked as respondents walk it, and stores nothing', async () => {
    const { id } = await hotel();
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build` });
    const calls: string[] = [];
    page.on('request', (request) => {
      if (request.method() !== 'GET' && !request.url().includes('/live/')) calls.push(request.url());
    });
    const preview = page.frameLocator('iframe[title=Preview]');
    await page.getByRole('button', { name: 'Try it out' }).click();
    await preview.getByLabel('Your name?').fill('Ada');
    await preview.getByRole('button', { name: 'Next' }).click();
    const breakfast = preview.getByRole('group', { name: 'Did you have breakfast?' });
    await breakfast.waitFor();
    assert.equal(await preview.getByText('What did you have').count(), 0, 'its condition does not hold yet');
    await preview.getByRole('button', { name: 'Next' }).click();
    await preview.getByText('Please answer').first().waitFor();
    await breakfast.getByRole('radio', { name: 'Yes' }).check();
    await preview.getByRole('group', { name: 'What did you have, Ada?' }).getByLabel('Eggs').check();
    await preview.getByRole('button', { name: 'Next' }).click();
    await preview.getByLabel(/^Why Eggs/).waitFor();
    await preview.getByRole('button', { name: 'Send' }).click();
    await preview.locator('[data-notice="screenedOut"]').waitFor();
    await page.getByRole('status').filter({ hasText: 'The path has ended.' }).waitFor();
    await page.getByRole('button', { name: 'Start again' }).click();
    await preview.getByLabel('Your name?').waitFor();
    assert.equal(await preview.getByLabel('Your name?').inputValue(), '');
    assert.deepEqual(calls, []);
    const databases = await page.evaluate('indexedDB.databases().then((all) => all.map(({ name }) => name))');
    assert.deepEqual(databases, []);
    await page.getByRole('button', { name: 'End trial' }).click();
    await preview.locator('.edited').waitFor();
  });

  it('speaks the languages of the survey, and takes files without sending them', async () => {
    const { id } = await admin.create('/surveys', { title: 'Your photo' });
    const question = await admin.create(`/surveys/${id}/questions`, { type: 'FILE_UPLOAD', text: 'Show it to us' });
    await admin.put(`/surveys/${id}/translations/ar`, {
      title: 'صورتك',
      questions: [{ id: question.id, text: 'أرنا إياها' }],
    });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build` });
    const preview = page.frameLocator('iframe[title=Preview]');
    await preview.getByText('Show it to us').waitFor();
    await preview
      .locator('input[type=file]')
      .setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: Buffer.from('no picture') });
    await preview.getByText('me.png', { exact: true }).waitFor();
    await page.getByRole('button', { name: /Language/ }).click();
    await page.getByRole('option', { name: 'Arabic' }).click();
    await preview.getByText('أرنا إياها').waitFor();
    await preview.getByRole('button', { name: 'إرسال' }).waitFor();
    assert.equal(await preview.locator('html').getAttribute('dir'), 'rtl');
    await page.getByRole('button', { name: 'Show as on a desktop' }).click();
    await eventually(async () => assert.equal(await preview.locator('html').evaluate('innerWidth'), 1024));
  });

  it('counts a file that was chosen as an answer, so that a trial goes on as a response would', async () => {
    const { id } = await admin.create('/surveys', { title: 'Your photo' });
    const ask = (body: object) => admin.create(`/surveys/${id}/questions`, body);
    const photo = await ask({ type: 'FILE_UPLOAD', text: 'Show it to us' });
    await ask({
      type: 'SHORT_TEXT',
      text: 'Who took it?',
      visibleIf: { questionId: photo.id, operator: 'answered' },
    });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build` });
    const preview = page.frameLocator('iframe[title=Preview]');
    await page.getByRole('button', { name: 'Try it out' }).click();
    await preview
      .locator('input[type=file]')
      .setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: Buffer.from('no picture') });
    await preview.getByText('me.png', { exact: true }).waitFor();
    await preview.getByLabel('Who took it?').waitFor();
  });

  it('can be framed by the console alone, and may call nothing', async () => {
    const reply = await fetch(`${service.origin}/s/preview?lang=de`);
    const policy = reply.headers.get('content-security-policy') ?? '';
    assert.match(policy, /connect-src 'none'/);
    assert.match(policy, /frame-ancestors 'self'(;|$)/);
    assert.match(await reply.text(), /<html lang="de"/);
  });

  it('leaves the history of the browser alone when its language changes', async () => {
    const { id } = await admin.create('/surveys', { title: 'Lunch' });
    await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Likely?' });
    assert.equal(
      (await admin.call('PUT', `/surveys/${id}/translations/de`, { body: { title: 'Mittag' } })).status,
      200,
    );
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build` });
    const preview = page.frameLocator('iframe[title=Preview]');
    await preview.getByText('Lunch').waitFor();
    const before = await page.evaluate('history.length');
    await page.getByRole('button', { name: /Language/ }).click();
    await page.getByRole('option', { name: 'German' }).click();
    await preview.getByText('Mittag').waitFor();
    assert.equal(await page.evaluate('history.length'), before);
    await page.context().close();
  });
});
