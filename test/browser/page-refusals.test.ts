import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import { makeInvitations } from '../support/invitations.ts';
import { openSurvey, publishedSurvey, questionAt, storedResponses, thanked } from '../support/page-fixture.ts';
import { png } from '../support/pictures.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('what the service refuses and the respondent’s page does not show', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));
  const open = (link: string): Promise<Page> => openSurvey(browser, service, { link });
  const press = (page: Page, name: string) => page.getByRole('button', { name }).click();

  for (const [change, isHungry] of [
    ['is answered', true],
    ['is not needed any more', false],
  ] as const)
    it(`a question that follows from answers on another device is asked once Send was refused, until it ${change}`, async () => {
      const { id } = await admin.create('/surveys', { title: 'Two devices' });
      const ask = (body: object) => admin.create(`/surveys/${id}/questions`, body);
      const hungry = await ask({ type: 'YES_NO', text: 'Hungry?' });
      const visibleIf = { questionId: hungry.id, operator: 'isAnyOf', optionIds: [hungry.options[0].id] };
      const dish = await ask({ type: 'SHORT_TEXT', text: 'Which dish?', isRequired: true, visibleIf });
      const name = await ask({ type: 'SHORT_TEXT', text: 'Your name?' });
      await admin.post(`/surveys/${id}/publish`);
      const { id: collectorId } = await admin.create(`/surveys/${id}/collectors`, {
        kind: 'INVITATION',
        name: 'Panel',
      });
      const [invitation] = await makeInvitations(service, admin, collectorId, [{}]);
      const link = `${id}?invitation=${invitation?.token}`;
      const first = await open(link);
      await first.getByRole('radio', { name: 'Yes' }).check();
      await first.locator('.status[data-status=saved]').waitFor({ state: 'attached' });
      await first.context().close();
      const page = await open(link);
      await page.getByLabel('Your name?').fill('Ada');
      await press(page, 'Send');
      const asked = questionAt(page, 'Which dish?');
      await asked.getByText('Please answer this question.').waitFor();
      assert.deepEqual(await page.locator('.question-text').allTextContents(), [
        'Hungry?',
        'Which dish?',
        'Your name?',
      ]);
      // It is not forgotten, and the service says again that it needs it.
      await page.getByLabel('Your name?').fill('Ada L.');
      await press(page, 'Send');
      await asked.getByText('Please answer this question.').waitFor();
      if (isHungry) await page.getByLabel('Which dish?').fill('Soup');
      else await page.getByRole('radio', { name: 'No' }).check();
      await press(page, 'Send');
      await thanked(page);
      const [stored] = await storedResponses(admin, id, 1);
      assert.deepEqual(stored?.answers, [
        { questionId: hungry.id, optionId: hungry.options[isHungry ? 0 : 1].id },
        ...(isHungry ? [{ questionId: dish.id, textValue: 'Soup' }] : []),
        { questionId: name.id, textValue: 'Ada L.' },
      ]);
      browser.forgive(/status of 400/);
      await page.context().close();
    });

  it('rows and options that follow from answers on another device are offered once Send was refused', async () => {
    const { id } = await admin.create('/surveys', { title: 'Two devices' });
    const ask = (body: object) => admin.create(`/surveys/${id}/questions`, body);
    const labelled = (...texts: string[]) => texts.map((text) => ({ text, value: text }));
    const hungry = await ask({ type: 'YES_NO', text: 'Hungry?' });
    const isHungry = { questionId: hungry.id, operator: 'isAnyOf', optionIds: [hungry.options[0].id] };
    const dishes = await ask({
      type: 'CHECKBOXES',
      text: 'Which do you know?',
      options: labelled('Soup', 'Stew', 'Pie'),
    });
    const grid = await ask({
      type: 'MATRIX',
      text: 'How was it?',
      isRequired: true,
      options: labelled('Good', 'Bad'),
      settings: { rows: [...labelled('Room'), ...labelled('Meal').map((row) => ({ ...row, visibleIf: isHungry }))] },
    });
    const liked = await ask({
      type: 'CHECKBOXES',
      text: 'Which do you like?',
      isRequired: true,
      options: [...labelled('Soup', 'Stew', 'Pie'), { text: 'None', value: 'None', isAnchored: true }],
      settings: { minSelections: 3 },
      optionsFrom: { questionId: dishes.id, which: 'selected' },
    });
    await admin.post(`/surveys/${id}/publish`);
    const { id: collectorId } = await admin.create(`/surveys/${id}/collectors`, { kind: 'INVITATION', name: 'Panel' });
    const [invitation] = await makeInvitations(service, admin, collectorId, [{}]);
    const known = dishes.options.slice(0, 1).map((option: { id: string }) => ({
      questionId: dishes.id,
      optionId: option.id,
    }));
    const answers = [{ questionId: hungry.id, optionId: hungry.options[0].id }, ...known];
    await admin.submit(id, { answers, invitation: invitation?.token, isComplete: false });
    const page = await open(`${id}?invitation=${invitation?.token}`);
    const row = (text: string) => questionAt(page, 'How was it?').getByRole('radiogroup', { name: text });
    await row('Room').getByRole('radio').first().check();
    assert.equal(await row('Meal').count(), 0);
    const like = (text: string) => questionAt(page, 'Which do you like?').getByRole('checkbox', { name: text });
    await like('None').check();
    await press(page, 'Send');
    await row('Meal').getByRole('radio').first().check();
    await like('Soup').check();
    await press(page, 'Send');
    await thanked(page);
    const [stored] = await storedResponses(admin, id, 1);
    assert.deepEqual(stored?.answers, [
      ...answers,
      ...grid.settings.rows.map((item: { id: string }) => ({
        questionId: grid.id,
        rowId: item.id,
        optionId: grid.options[0].id,
      })),
      ...[0, 3].map((index) => ({ questionId: liked.id, optionId: liked.options[index].id })),
    ]);
    browser.forgive(/status of 400/);
    await page.context().close();
  });

  it('an answer that the service refuses when its page was left is marked once Send leads to it, not before', async () => {
    const survey = await publishedSurvey(admin, { title: 'Codes' }, [
      { type: 'SHORT_TEXT', text: 'Your code?', settings: { pattern: '[0-9]{4}' } },
      { type: 'SHORT_TEXT', text: 'Your name?', isRequired: true },
    ]);
    await admin.put(`/surveys/${survey.id}`, { status: 'PAUSED' });
    const { id: sectionId } = await admin.create(`/surveys/${survey.id}/sections`, { title: 'Afterwards' });
    await admin.create(`/surveys/${survey.id}/questions`, { type: 'LONG_TEXT', text: 'Your story?', sectionId });
    await admin.put(`/surveys/${survey.id}`, { status: 'ACTIVE' });
    const page = await open(survey.id);
    const held = await holdCalls(page, '**/submit');
    const marked = page.getByText('Please look at the marked answers.');
    await press(page, 'Next');
    await marked.waitFor();
    await page.getByLabel('Your code?').fill('ABCD');
    await page.getByLabel('Your name?').fill('Ada');
    await press(page, 'Next');
    const refused = page.waitForResponse((reply) => reply.url().endsWith('/submit') && reply.status() === 400);
    held.release();
    await refused;
    await page.getByLabel('Your story?').fill('It was long.');
    await page.locator('.status[data-status=saved]').waitFor({ state: 'attached' });
    assert.equal(await marked.count(), 0);
    await press(page, 'Send');
    await questionAt(page, 'Your code?').getByText('This answer cannot be taken as it is.').waitFor();
    assert.equal(await marked.count(), 1);
    await page.getByLabel('Your code?').fill('1234');
    await press(page, 'Next');
    await press(page, 'Send');
    await thanked(page);
    assert.equal((await storedResponses(admin, survey.id, 1))[0]?.answers.length, 3);
    browser.forgive(/status of 400/);
    await page.context().close();
  });

  it('a file that is gone before its answer is sent is said to be missing, and can be chosen again', async () => {
    const survey = await publishedSurvey(admin, { title: 'Files', isAnonymous: true }, [
      { type: 'FILE_UPLOAD', text: 'Your photo?' },
    ]);
    const list = await admin.create(`/surveys/${survey.id}/collectors`, { name: 'List', kind: 'INVITATION' });
    const [own, other] = await makeInvitations(service, admin, list.id, [{}, {}]);
    const page = await open(`${list.linkId}?invitation=${own?.token}`);
    const choose = async () => {
      const uploaded = page.waitForResponse('**/api/v1/uploads/**');
      const file = { name: 'me.png', mimeType: 'image/png', buffer: Buffer.from(png) };
      await questionAt(page, 'Your photo?').locator('input').setInputFiles(file);
      return (await (await uploaded).json()).data.uploadId as string;
    };
    const answers = [{ questionId: survey.questions[0]?.id, textValue: await choose() }];
    // As after an hour, the upload is not free any more.
    await admin.submit(survey.id, { answers, invitation: other?.token });
    await press(page, 'Send');
    await questionAt(page, 'Your photo?').getByText('This file is not uploaded.').waitFor();
    await press(page, 'Remove');
    await choose();
    await press(page, 'Send');
    await thanked(page);
    browser.forgive(/status of 400/);
    await page.context().close();
  });

  it('a survey that is made private while it is answered gets one response, once it is public again', async () => {
    const survey = await publishedSurvey(admin, { title: 'Private for a while' }, [
      { type: 'SHORT_TEXT', text: 'Your name?' },
    ]);
    const page = await open(survey.id);
    await page.getByLabel('Your name?').fill('Ada');
    await page.locator('.status[data-status=saved]').waitFor({ state: 'attached' });
    await admin.put(`/surveys/${survey.id}`, { visibility: 'PRIVATE' });
    await page.getByLabel('Your name?').fill('Ada L.');
    await page.locator('[data-notice="private"]').waitFor();
    await admin.put(`/surveys/${survey.id}`, { visibility: 'PUBLIC' });
    await page.reload();
    await eventually(async () => assert.equal(await page.getByLabel('Your name?').inputValue(), 'Ada L.'));
    await press(page, 'Send');
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.equal(stored?.answers[0]?.['textValue'], 'Ada L.');
    browser.forgive(/status of 403/);
    await page.context().close();
  });

  it('a survey that is made private is called that, also by the page of an invitation, which still counts', async () => {
    const survey = await publishedSurvey(admin, { title: 'Private for the invited' }, [
      { type: 'SHORT_TEXT', text: 'Your name?' },
    ]);
    const list = await admin.create(`/surveys/${survey.id}/collectors`, { kind: 'INVITATION', name: 'Panel' });
    const [invitation] = await makeInvitations(service, admin, list.id, [{}]);
    const page = await open(`${list.linkId}?invitation=${invitation?.token}`);
    await page.getByLabel('Your name?').fill('Ada');
    await page.locator('.status[data-status=saved]').waitFor({ state: 'attached' });
    await admin.put(`/surveys/${survey.id}`, { visibility: 'PRIVATE' });
    await page.getByLabel('Your name?').fill('Ada L.');
    const notice = page.locator('[data-notice]');
    await notice.waitFor();
    assert.equal(await notice.getAttribute('data-notice'), 'private');
    await admin.put(`/surveys/${survey.id}`, { visibility: 'PUBLIC' });
    await page.reload();
    await eventually(async () => assert.equal(await page.getByLabel('Your name?').inputValue(), 'Ada L.'));
    await press(page, 'Send');
    await thanked(page);
    await storedResponses(admin, survey.id, 1);
    browser.forgive(/status of 403/);
    await page.context().close();
  });
});
