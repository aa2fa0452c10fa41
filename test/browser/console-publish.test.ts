import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import jsqr from 'jsqr';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, newConsoleUser, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

const decodeQr = jsqr as unknown as typeof jsqr.default;

describe('the screen Publish', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  // The browser is closed before the service: pages would report that they cannot reconnect.
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const newSurvey = async (title: string, texts: readonly string[] = ['Which dish?']) => {
    const { id } = await admin.create('/surveys', { title });
    const questions: { id: string }[] = [];
    for (const text of texts) questions.push(await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text }));
    return { id: id as string, questions };
  };
  const open = (id: string) => signedInPage(browser, service, { path: `/surveys/${id}/publish` });
  const confirm = (page: Page, action: string) =>
    page.getByRole('alertdialog').getByRole('button', { name: action }).click();

  it('gives the link of a private survey with its token, which can be replaced', async () => {
    const { id } = await newSurvey('Members only');
    await admin.put(`/surveys/${id}`, { visibility: 'PRIVATE', status: 'ACTIVE' });
    const page = await open(id);
    const link = page.getByText(`${service.origin}/s/${id}?surveyToken=`);
    const before = (await link.textContent()) ?? '';
    await page.getByText('It is written in English.').getByRole('link', { name: 'Change or translate' }).waitFor();
    const theirs = await browser.open();
    await theirs.goto(before);
    await theirs.getByRole('radio', { name: 'Yes' }).waitFor();

    await page.getByRole('button', { name: 'Replace the token' }).click();
    await confirm(page, 'Replace');
    await eventually(async () => assert.notEqual(await link.textContent(), before));
    await theirs.goto((await link.textContent()) ?? '');
    await theirs.getByRole('radio', { name: 'Yes' }).waitFor();
    const stranger = await browser.open();
    await stranger.goto(before);
    await stranger.locator('[data-notice]').waitFor();
    assert.equal(await stranger.getByRole('radio').count(), 0);
    browser.forgive(/status of 40[134]/);
  });

  it('makes a survey private, with links that have its token, and public again', async () => {
    const { id } = await newSurvey('Members alone');
    await admin.put(`/surveys/${id}`, { status: 'ACTIVE' });
    await admin.create(`/surveys/${id}/collectors`, { name: 'Poster' });
    const permissions = ['clipboard-read', 'clipboard-write'];
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings`, permissions });
    const setAccess = async (who: string, visibility: string) => {
      await page.getByText(who).click();
      await page.getByRole('button', { name: 'Save' }).click();
      await eventually(async () => assert.equal((await admin.get(`/surveys/${id}`)).visibility, visibility));
    };
    await setAccess('Only those whose link has the survey’s token', 'PRIVATE');
    const theirs = await browser.open();
    await theirs.goto(`${service.origin}/s/${id}`);
    await theirs.locator('[data-notice="private"]').waitFor();
    await page.getByRole('link', { name: 'Publish' }).click();
    await page.getByRole('button', { name: 'Actions of Poster' }).click();
    await page.getByRole('menuitem', { name: 'Copy the link' }).click();
    await page.getByText('The link is copied.').waitFor();
    await theirs.goto(await page.evaluate<string>('navigator.clipboard.readText()'));
    await theirs.getByRole('radio', { name: 'Yes' }).waitFor();

    await page.getByRole('link', { name: 'Change who can answer' }).click();
    await setAccess('Everybody who has the address', 'PUBLIC');
    const stranger = await browser.open();
    await stranger.goto(`${service.origin}/s/${id}`);
    await stranger.getByRole('radio', { name: 'Yes' }).waitFor();
    browser.forgive(/status of 40[134]/);
  });

  it('publishes, pauses, resumes and closes a survey, whose link answers accordingly', async () => {
    const { id } = await newSurvey('Lunch');
    const page = await open(id);
    await page.getByText('Nothing is missing.').waitFor();
    await assertAccessible(page);
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    await confirm(page, 'Publish');
    await page.getByText('Published: it takes responses.').waitFor();

    const link = await page.getByText(`${service.origin}/s/${id}`, { exact: true }).textContent();
    const theirs = await browser.open();
    await theirs.goto(link ?? '');
    await theirs.getByRole('radio', { name: 'Yes' }).check();
    const sent = theirs.waitForResponse((reply) => reply.url().endsWith('/submit') && reply.status() === 201);
    await theirs.getByRole('button', { name: 'Send' }).click();
    await sent;
    await eventually(async () => assert.equal((await admin.get(`/responses/surveys/${id}`)).length, 1));

    await page.getByRole('button', { name: 'Pause' }).click();
    await confirm(page, 'Pause');
    await page.getByText('Paused: it takes no responses at the moment.').waitFor();
    assert.equal((await admin.get(`/surveys/${id}`)).status, 'PAUSED');
    await page.getByRole('button', { name: 'Resume' }).click();
    await confirm(page, 'Resume');
    await page.getByRole('button', { name: 'Close the survey' }).click();
    await confirm(page, 'Close the survey');
    await page.getByText('Closed: it takes no responses.').waitFor();
    assert.equal((await admin.get(`/surveys/${id}`)).status, 'CLOSED');
  });

  it('asks once where a button is double-clicked', async () => {
    const { id } = await newSurvey('Clicked twice');
    const page = await open(id);
    for (const [action, status] of [
      ['Publish', 'ACTIVE'],
      ['Pause', 'PAUSED'],
    ] as const) {
      await page.getByRole('button', { name: action, exact: true }).dblclick();
      await confirm(page, action);
      await page.getByRole('alertdialog').waitFor({ state: 'detached' });
      assert.equal((await admin.get(`/surveys/${id}`)).status, status);
    }
  });

  it('takes the second click of a double-click for no answer, however late a slow device comes to it', async () => {
    const { id } = await newSurvey('Clicked slowly');
    const page = await open(id);
    const dialog = page.getByRole('alertdialog');
    const publish = page.getByRole('button', { name: 'Publish', exact: true });
    const isOpenAfterSecondClick = async (place: { x: number; y: number; width: number; height: number } | null) => {
      assert.ok(place);
      await page.clock.fastForward(2000);
      await page.mouse.move(place.x + place.width / 2, place.y + place.height / 2);
      for (const action of ['down', 'up'] as const) await page.mouse[action]({ clickCount: 2 });
      await page.clock.fastForward(2000);
      assert.equal(await dialog.count(), 1);
      assert.equal((await admin.get(`/surveys/${id}`)).status, 'DRAFT');
    };
    await publish.waitFor();
    await page.clock.install();
    const outside = await publish.boundingBox();
    await publish.click();
    await dialog.waitFor();
    await isOpenAfterSecondClick(outside);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    await publish.click();
    await isOpenAfterSecondClick(await dialog.getByRole('button', { name: 'Publish' }).boundingBox());
    await confirm(page, 'Publish');
    await dialog.waitFor({ state: 'detached' });
    assert.equal((await admin.get(`/surveys/${id}`)).status, 'ACTIVE');
  });

  it('lets the question be left when no reply comes for half a minute', async () => {
    const { id } = await newSurvey('Cut off');
    const page = await open(id);
    const held = await holdCalls(page, `**/api/v1/surveys/${id}/publish`);
    const dialog = page.getByRole('alertdialog');
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    await page.clock.install();
    await confirm(page, 'Publish');
    await eventually(() => assert.equal(held.count(), 1));
    assert.equal(await dialog.getByRole('button', { name: 'Cancel' }).isDisabled(), true);
    await page.clock.fastForward(31_000);
    await dialog.getByText('The service has not replied so far.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    held.release();
    await page.getByText('The survey is published.').waitFor();
    assert.equal(await dialog.count(), 1);
    await page.context().close();
  });

  it('names what is to be mended, and leads there', async () => {
    const { id, questions } = await newSurvey('To mend', ['First', 'Second']);
    const [first, second] = questions;
    const about = (operator: string) => ({ questionId: first?.id, operator });
    await admin.put(`/surveys/questions/${second?.id}`, {
      visibleIf: { all: [about('answered'), about('notAnswered')] },
    });
    await admin.create(`/surveys/${id}/quotas`, { name: 'Nobody', limit: 0, where: about('answered') });
    await admin.put(`/surveys/${id}/translations/de`, { title: 'Zu bessern' });
    const page = await open(id);
    const findings = page.getByRole('list', { name: 'To mend' });
    await findings.getByText('The quota “Nobody” has no seats.').waitFor();
    await findings.getByText(/^German: \d+ texts are not translated\.$/).waitFor();
    await assertAccessible(page);
    await findings.getByRole('listitem').filter({ hasText: '“Second” cannot be reached' }).getByRole('link').click();
    await page.waitForURL(`**/surveys/${id}/build?item=${second?.id}*`);
  });

  it('keeps a schedule that is not saved yet while its view is left, and asks before it is lost', async () => {
    const { id } = await newSurvey('Not saved yet');
    const page = await open(id);
    await page.getByLabel('Start').fill('2099-01-02T08:00');
    await page.getByRole('link', { name: 'Quotas' }).click();
    await page.getByRole('heading', { name: 'No quotas' }).waitFor();
    await page.getByRole('link', { name: 'Publish' }).click();
    await page.getByLabel('Start').waitFor();
    assert.equal(await page.getByLabel('Start').inputValue(), '2099-01-02T08:00');
    const asked = page.waitForEvent('dialog');
    void page.reload().catch(() => undefined);
    const question = await asked;
    assert.equal(question.type(), 'beforeunload');
    await question.dismiss();

    await admin.put(`/surveys/${id}`, { startsAt: '2098-01-01T00:00:00Z' });
    await page.getByRole('button', { name: 'Save the schedule' }).click();
    await page.getByRole('alert', { name: 'Conflict' }).getByRole('button', { name: 'Keep mine' }).click();
    await page.getByRole('button', { name: 'Save the schedule' }).click();
    await page.getByText('The schedule is saved.').waitFor();
    const { startsAt } = await admin.get(`/surveys/${id}`);
    const shown = await page.evaluate(`new Date('2099-01-02T08:00').toISOString()`);
    assert.equal(new Date(startsAt).toISOString(), shown);
    await page.context().close();
  });

  it('does not publish while a schedule or settings are typed and not saved, and names them', async () => {
    const { id } = await newSurvey('Typed only');
    const page = await open(id);
    const dialog = page.getByRole('alertdialog');
    await page.getByLabel('Start').fill('2099-01-02T08:00');
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByText('Only those whose link has the survey’s token').click();
    await page.getByRole('link', { name: 'Publish' }).click();
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    await confirm(page, 'Publish');
    await dialog.getByText('Not saved yet: the schedule (Publish), Access (Settings).').waitFor();
    assert.equal((await admin.get(`/surveys/${id}`)).status, 'DRAFT');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Save the schedule' }).click();
    await page.getByText('The schedule is saved.').waitFor();
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('link', { name: 'Publish' }).click();
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    await confirm(page, 'Publish');
    await page.getByText(/^Published: it takes responses from/).waitFor();
    assert.equal((await admin.get(`/surveys/${id}`)).visibility, 'PUBLIC');
    await page.context().close();
  });

  it('lets a schedule be discarded that is typed and not saved, also by who may not change it any more', async () => {
    const { id } = await newSurvey('Typed in vain');
    const editor = await newConsoleUser(service, admin, 'EDITOR');
    const share = (role: 'EDITOR' | 'VIEWER') => admin.put(`/surveys/${id}/members/${editor.id}`, { role });
    await share('EDITOR');
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/publish`, as: editor });
    const start = page.getByLabel('Start');
    await start.fill('2099-01-02T08:00');
    await share('VIEWER');
    await admin.put(`/surveys/${id}`, { title: 'Typed in vain by an editor' });
    await page.locator('input:disabled').first().waitFor();
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('button', { name: 'Discard' }).waitFor({ state: 'detached' });
    assert.equal(await start.inputValue(), '');
    await page.context().close();
  });

  it('shows a start in a year of five digits beside the one that somebody else has set', async () => {
    const { id } = await newSurvey('Far ahead');
    const page = await open(id);
    await page.getByLabel('Start').fill('12026-01-01T10:00');
    await admin.put(`/surveys/${id}`, { startsAt: '2098-01-01T00:00:00Z', title: 'Far' });
    const conflict = page.getByRole('alert', { name: 'Conflict' });
    await conflict.getByText('12026-01-01T10:00').waitFor();
    await conflict.getByRole('button', { name: 'Take theirs' }).click();
    await conflict.waitFor({ state: 'detached' });
    assert.match(await page.getByLabel('Start').inputValue(), /^209[78]-/);
    await page.context().close();
  });

  it('keeps a schedule', async () => {
    const { id } = await newSurvey('Scheduled');
    const page = await open(id);
    await page.getByLabel('Start').fill('2099-01-02T08:00');
    await page.getByLabel('End').fill('2099-01-01T08:00');
    await page.getByRole('button', { name: 'Save the schedule' }).click();
    await page.getByText('The end must be after the start.').waitFor();
    await page.getByLabel('End').fill('2099-01-03T08:00');
    await page.getByRole('button', { name: 'Save the schedule' }).click();
    await page.getByText('The schedule is saved.').waitFor();
    const { startsAt, endsAt } = await admin.get(`/surveys/${id}`);
    assert.equal(Date.parse(endsAt) - Date.parse(startsAt), 24 * 3_600_000);
  });

  it('shows the link as a QR code that readers decode', async () => {
    const { id } = await newSurvey('In a picture');
    const page = await open(id);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download PNG' }).click(),
    ]);
    assert.equal(download.suggestedFilename(), 'survey-qr.png');
    const picture = readFileSync(await download.path()).toString('base64');
    const { pixels, size } = (await page.evaluate(`(async () => {
      const picture = new Image();
      picture.src = 'data:image/png;base64,${picture}';
      await picture.decode();
      const canvas = document.createElement('canvas');
      // Four pixels a module of the sixteen are enough.
      const size = picture.width / 4;
      canvas.width = canvas.height = size;
      const context = canvas.getContext('2d');
      context.imageSmoothingEnabled = false;
      context.drawImage(picture, 0, 0, size, size);
      return { size, pixels: [...context.getImageData(0, 0, size, size).data] };
    })()`)) as { pixels: number[]; size: number };
    assert.equal(decodeQr(Uint8ClampedArray.from(pixels), size, size)?.data, `${service.origin}/s/${id}`);
  });

  it('moves nothing from under a pointer that presses while the checks are being read', async () => {
    const { id } = await newSurvey('Slowly checked');
    const page = await signedInPage(browser, service);
    const held = await holdCalls(page, `**/api/v1/surveys/${id}/quotas*`);
    await page.goto(`${service.origin}/surveys/${id}/publish`);
    await eventually(() => assert.ok(held.count() > 0));
    await page.getByRole('heading', { name: 'Slowly checked' }).waitFor();
    const button = page.getByRole('button', { name: 'Download SVG' });
    const before = (await button.isVisible()) ? await button.boundingBox() : undefined;
    held.release();
    await page.getByText('Nothing is missing.').waitFor();
    const after = await button.boundingBox();
    assert.deepEqual(before ?? after, after);
    await page.context().close();
  });

  it('shows a VIEWER the link and changes nothing', async () => {
    const { id } = await newSurvey('Seen only');
    const viewer = await newConsoleUser(service, admin, 'VIEWER');
    await admin.put(`/surveys/${id}/members/${viewer.id}`, { role: 'VIEWER' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/publish`, as: viewer });
    await page.getByRole('img', { name: /^QR code/ }).waitFor();
    assert.equal(await page.getByRole('button', { name: /^(Publish|New collector)$/ }).count(), 0);
  });
});
