import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { keptOn, openSurvey, publishedSurvey, questionAt, storedResponses, thanked } from '../support/page-fixture.ts';
import { png } from '../support/pictures.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

const labelled = (...values: string[]) => values.map((value) => ({ text: value, value }));
const dishes = labelled('Soup', 'Pasta', 'Cake');

describe('what counts of that which was entered', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));
  const open = (link: string): Promise<Page> => openSurvey(browser, service, { link });
  const press = (page: Page, name: string) => page.getByRole('button', { name }).click();

  it('a slider that nobody moves has no answer, and a moved one keeps its own when the page comes anew', async () => {
    const survey = await publishedSurvey(admin, { title: 'Sliders' }, [
      { type: 'SLIDER', text: 'How warm?' },
      { type: 'SLIDER', text: 'How loud?' },
    ]);
    const page = await open(survey.id);
    await page.getByLabel('How loud?').fill('80');
    await page.locator('.status[data-status=saved]').waitFor({ state: 'attached' });
    await page.reload();
    await eventually(async () => {
      assert.deepEqual(await page.locator('output').allTextContents(), ['–', '80']);
    });
    await press(page, 'Send');
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.deepEqual(stored?.answers, [{ questionId: survey.questions[1]?.id, numberValue: 80 }]);
    await page.context().close();
  });

  it('a slider is not answered by an Enter that was pressed elsewhere, nor by one that goes on', async () => {
    const survey = await publishedSurvey(admin, { title: 'Sliders' }, [
      { type: 'SLIDER', text: 'How warm?', isRequired: true },
      { type: 'SLIDER', text: 'How loud?' },
      { type: 'SHORT_TEXT', text: 'Your name?' },
    ]);
    const page = await open(survey.id);
    await page.getByLabel('Your name?').fill('Ada');
    // It is pressed in the field, and comes up on the slider that must be answered first.
    await page.keyboard.press('Enter', { delay: 100 });
    await questionAt(page, 'How warm?').getByText('Please answer this question.').waitFor();
    assert.deepEqual(await page.locator('output').allTextContents(), ['–', '–']);
    await page.keyboard.press('Space');
    await page.getByLabel('How loud?').press('Enter', { delay: 100 });
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.deepEqual(
      stored?.answers.map(({ numberValue, textValue }) => numberValue ?? textValue),
      [50, 'Ada'],
    );
    await page.context().close();
  });

  it('an answer that is not offered any more is left out, and counts again when it is offered again', async () => {
    const { id } = await admin.create('/surveys', { title: 'Dishes' });
    const ask = (body: object) => admin.create(`/surveys/${id}/questions`, body);
    const had = await ask({ type: 'CHECKBOXES', text: 'What did you have?', options: dishes });
    const { id: sectionId } = await admin.create(`/surveys/${id}/sections`, { title: 'Afterwards' });
    const optionsFrom = { questionId: had.id, which: 'selected' };
    const follow = (type: string, fields: object = { options: dishes }) =>
      ask({ type, text: type, sectionId, optionsFrom, ...fields });
    const best = await follow('MULTIPLE_CHOICE');
    const worst = await follow('DROPDOWN');
    const again = await follow('CHECKBOXES', { options: dishes, settings: { maxSelections: 2 } });
    const order = await follow('RANKING');
    const rated = await follow('MATRIX', { options: labelled('Good', 'Bad'), settings: { rows: dishes } });
    await admin.post(`/surveys/${id}/publish`);
    const page = await open(id);
    const dish = (name: string) => page.getByRole('checkbox', { name });
    const group = (type: string) => questionAt(page, type);
    for (const name of ['Soup', 'Pasta', 'Cake']) await dish(name).check();
    await press(page, 'Next');
    await group('MULTIPLE_CHOICE').getByRole('radio', { name: 'Pasta' }).check();
    await group('DROPDOWN').getByRole('combobox').selectOption('Soup');
    for (const name of ['Soup', 'Pasta']) await group('CHECKBOXES').getByRole('checkbox', { name }).check();
    for (let count = 0; count < 3; count += 1) await group('RANKING').locator('.unranked-item').first().click();
    for (const row of [0, 1, 2]) await group('MATRIX').getByRole('radio', { name: 'Good' }).nth(row).check();
    await page.locator('.status[data-status=saved]').waitFor({ state: 'attached' });
    await press(page, 'Back');
    for (const name of ['Soup', 'Pasta']) await dish(name).uncheck();
    await dish('Pasta').check();
    await press(page, 'Next');
    assert.ok(await group('MULTIPLE_CHOICE').getByRole('radio', { name: 'Pasta' }).isChecked());
    await press(page, 'Send');
    await thanked(page);
    const [stored] = await storedResponses(admin, id, 1);
    const answersTo = (question: { id: string }) =>
      stored?.answers.flatMap(({ questionId, ...answer }) => (questionId === question.id ? [answer] : []));
    const idIn = (items: { id: string; value: string }[], value: string) =>
      items.find((item) => item.value === value)?.id;
    assert.deepEqual(answersTo(best), [{ optionId: idIn(best.options, 'Pasta') }]);
    assert.deepEqual(answersTo(worst), []);
    assert.deepEqual(answersTo(again), [{ optionId: idIn(again.options, 'Pasta') }]);
    assert.deepEqual(answersTo(order), [
      { optionId: idIn(order.options, 'Pasta'), rank: 1 },
      { optionId: idIn(order.options, 'Cake'), rank: 2 },
    ]);
    const good = idIn(rated.options, 'Good');
    assert.deepEqual(
      answersTo(rated),
      ['Pasta', 'Cake'].map((value) => ({ rowId: idIn(rated.settings.rows, value), optionId: good })),
    );
    await page.context().close();
  });

  it('a question about answers that are not all offered any more is asked as soon as the service asks it', async () => {
    const { id } = await admin.create('/surveys', { title: 'Dishes' });
    const ask = (body: object) => admin.create(`/surveys/${id}/questions`, body);
    const had = await ask({ type: 'CHECKBOXES', text: 'What did you have?', options: dishes });
    const best = await ask({
      type: 'CHECKBOXES',
      text: 'What was best?',
      options: dishes,
      optionsFrom: { questionId: had.id, which: 'selected' },
      settings: { maxSelections: 2 },
    });
    const visibleIf = { questionId: best.id, operator: 'answered' };
    const why = await ask({ type: 'SHORT_TEXT', text: 'Why?', isRequired: true, visibleIf });
    await admin.post(`/surveys/${id}/publish`);
    const page = await open(id);
    const answers: { questionId: string; optionId: string }[] = [];
    const check = async (question: { id: string; text: string; options: { id: string; text: string }[] }) => {
      for (const { id: optionId, text } of question.options) {
        await questionAt(page, question.text).getByRole('checkbox', { name: text }).check();
        answers.push({ questionId: question.id, optionId });
      }
    };
    await check(had);
    await check(best);
    // Three are too many, until one of them is not offered any more.
    assert.equal(await page.getByLabel('Why?').count(), 0);
    await questionAt(page, had.text).getByRole('checkbox', { name: 'Cake' }).uncheck();
    const sent = answers.filter(({ optionId }) => ![had, best].some(({ options }) => options[2].id === optionId));
    const path = await admin.post(`/public/surveys/${id}/path`, { answers: sent });
    assert.deepEqual(
      path.sections.flatMap((section: any) => section.questions.map((question: any) => question.id)),
      [had.id, best.id, why.id],
    );
    await page.getByLabel('Why?').fill('It was sweet.');
    await press(page, 'Send');
    await thanked(page);
    const [stored] = await storedResponses(admin, id, 1);
    assert.deepEqual(stored?.answers, [...sent, { questionId: why.id, textValue: 'It was sweet.' }]);
    await page.context().close();
  });

  it('metadata of the link counts also where the survey is opened again without it, or with more', async () => {
    const { id } = await admin.create('/surveys', { title: 'Waves' });
    const ask = (body: object) => admin.create(`/surveys/${id}/questions`, body);
    await ask({ type: 'SHORT_TEXT', text: 'Your name?' });
    const visibleIf = { metadata: 'wave', operator: 'equalsText', value: '1' };
    await ask({ type: 'SHORT_TEXT', text: 'What is new since {{metadata:wave}}?', isRequired: true, visibleIf });
    await admin.post(`/surveys/${id}/publish`);
    const first = await open(`${id}?metadata.wave=1`);
    await first.getByLabel('Your name?').fill('Ada');
    await first.locator('.status[data-status=saved]').waitFor({ state: 'attached' });
    const context = first.context();
    await first.close();
    for (const query of ['', '?metadata.source=poster', '']) {
      const page = await context.newPage();
      await page.goto(`${service.origin}/s/${id}${query}`);
      await page.getByLabel('What is new since 1?').waitFor();
      await page.close();
    }
    const page = await context.newPage();
    await page.goto(`${service.origin}/s/${id}`);
    await page.getByLabel('What is new since 1?').fill('Nothing');
    await press(page, 'Send');
    await thanked(page);
    const [stored] = await storedResponses(admin, id, 1);
    assert.deepEqual(stored?.metadata, { wave: '1', source: 'poster' });
    assert.equal(stored?.answers.length, 2);
    await context.close();
  });

  it('metadata of several links comes to at most 20 pairs, those of the last link first', async () => {
    const survey = await publishedSurvey(admin, { title: 'Many links' }, [{ type: 'SHORT_TEXT', text: 'Your name?' }]);
    const pairs = (name: string) => Array.from({ length: 15 }, (_, index) => `metadata.${name}${index}=${name}`);
    const first = await open(`${survey.id}?${pairs('a').join('&')}`);
    await first.getByLabel('Your name?').fill('Ada');
    await eventually(async () => assert.match(JSON.stringify(await keptOn(first)), /Ada/));
    const page = await first.context().newPage();
    await first.close();
    await page.goto(`${service.origin}/s/${survey.id}?${pairs('b').join('&')}`);
    await eventually(async () => assert.equal(await page.getByLabel('Your name?').inputValue(), 'Ada'));
    await press(page, 'Send');
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.equal(Object.values(stored?.metadata ?? {}).filter((value) => value === 'b').length, 15);
    await page.context().close();
  });

  it('a date or time that is entered by half is asked for, not left out', async () => {
    const survey = await publishedSurvey(admin, { title: 'Half' }, [
      { type: 'DATE', text: 'Which day?' },
      { type: 'TIME', text: 'What time?' },
    ]);
    const page = await open(survey.id);
    await page.getByLabel('Which day?').focus();
    await page.keyboard.type('0229');
    await page.getByLabel('What time?').focus();
    await page.keyboard.type('11');
    await press(page, 'Send');
    await questionAt(page, 'Which day?').getByText('Please enter a date.').waitFor();
    await questionAt(page, 'What time?').getByText('Please enter a time.').waitFor();
    await page.getByLabel('Which day?').fill('2024-02-29');
    await page.getByLabel('What time?').fill('11:30');
    await press(page, 'Send');
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.deepEqual(
      stored?.answers.map(({ textValue }) => textValue),
      ['2024-02-29', '11:30'],
    );
    await page.context().close();
  });

  it('a file that the service does not have any more keeps no other answer from being saved', async () => {
    const survey = await publishedSurvey(admin, { title: 'Gone' }, [
      { type: 'FILE_UPLOAD', text: 'Your picture?' },
      { type: 'LONG_TEXT', text: 'Your story?' },
    ]);
    const page = await open(survey.id);
    // As if the file had been deleted, since no answer named it in time.
    await page.route('**/api/v1/uploads/**', async (route) => {
      const reply = await route.fetch();
      const gone = crypto.randomUUID();
      await route.fulfill({ response: reply, json: { data: { ...(await reply.json()).data, uploadId: gone } } });
    });
    const choose = () =>
      page
        .locator('input[type=file]')
        .setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: Buffer.from(png) });
    await choose();
    await page.getByRole('button', { name: 'Remove' }).waitFor();
    await page.getByLabel('Your story?').pressSequentially('It was long.');
    await questionAt(page, 'Your picture?').getByText('This file is not uploaded.').waitFor();
    await page.locator('.status[data-status=saved]').waitFor({ state: 'attached' });
    assert.match(await page.evaluate<string>('document.activeElement.tagName'), /TEXTAREA/);
    await eventually(async () => {
      const found = await admin.get(`/responses/surveys/${survey.id}?isComplete=false`);
      assert.equal(found[0]?.answers[0]?.textValue, 'It was long.');
    });
    // It is not left out without a word either.
    await press(page, 'Send');
    await page.getByText('Please look at the marked answers.').waitFor();
    await page.unroute('**/api/v1/uploads/**');
    await press(page, 'Remove');
    await choose();
    await page.getByRole('button', { name: 'Remove' }).waitFor();
    await press(page, 'Send');
    await thanked(page);
    assert.equal((await storedResponses(admin, survey.id, 1))[0]?.answers.length, 2);
    browser.forgive(/status of 400/);
    await page.context().close();
  });

  it('a press counts that leaves a field with something wrong, though its error moves what is pressed', async () => {
    const survey = await publishedSurvey(admin, { title: 'Pressed' }, [
      { type: 'EMAIL', text: 'Your e-mail?' },
      { type: 'MULTIPLE_CHOICE', text: 'Which dish?', options: dishes },
    ]);
    const page = await open(survey.id);
    await page.getByLabel('Your e-mail?').fill('nobody');
    const pasta = page.getByRole('radio', { name: 'Pasta' });
    await pasta.click({ delay: 200 });
    await questionAt(page, 'Your e-mail?').getByText('Please enter an e-mail address').waitFor();
    assert.ok(await pasta.isChecked());
    assert.equal(await page.locator('input:checked').count(), 1);
    await page.context().close();
  });

  it('what is typed right after a page has changed goes into the field that the respondent chose', async () => {
    const survey = await publishedSurvey(admin, { title: 'Typed at once', appearance: { pageMode: 'QUESTION' } }, [
      { type: 'SHORT_TEXT', text: 'Your name?' },
      { type: 'SHORT_TEXT', text: 'Your town?' },
    ]);
    const page = await browser.open();
    // Frames and timers come late, as on a slow device.
    await page.addInitScript(`
      requestAnimationFrame = () => 0;
      const inTime = setTimeout;
      setTimeout = (work, delayMs, ...given) => inTime(work, (delayMs ?? 0) + 1000, ...given);
    `);
    await page.goto(`${service.origin}/s/${survey.id}`);
    await page.getByLabel('Your name?').fill('Ada');
    await page.keyboard.press('Enter');
    const town = page.getByLabel('Your town?');
    await town.focus();
    await town.pressSequentially('London', { delay: 400 });
    assert.equal(await town.inputValue(), 'London');
    await page.context().close();
  });

  it('a tab in which somebody types stays on its page when another one has gone on', async () => {
    const survey = await publishedSurvey(admin, { title: 'Two tabs', appearance: { pageMode: 'QUESTION' } }, [
      { type: 'LONG_TEXT', text: 'Your story?' },
      { type: 'SHORT_TEXT', text: 'Your name?' },
    ]);
    const other = await open(survey.id);
    const page = await other.context().newPage();
    await page.goto(`${service.origin}/s/${survey.id}`);
    await other.getByLabel('Your story?').fill('It was');
    await eventually(async () => assert.equal(await page.getByLabel('Your story?').inputValue(), 'It was'));
    await press(other, 'Next');
    await other.getByLabel('Your name?').waitFor();
    await page.bringToFront();
    await page.getByLabel('Your story?').fill('It was long');
    await eventually(async () => {
      const found = await admin.get(`/responses/surveys/${survey.id}?isComplete=false`);
      assert.equal(found[0]?.answers[0]?.textValue, 'It was long');
    });
    assert.equal(await page.getByLabel('Your story?').count(), 1);
    assert.equal(await page.getByLabel('Your story?').inputValue(), 'It was long');
    await page.context().close();
  });

  it('a file whose network falls silent can be sent again', async () => {
    const survey = await publishedSurvey(admin, { title: 'Silent' }, [{ type: 'FILE_UPLOAD', text: 'Your picture?' }]);
    const page = await browser.open();
    let isSilent = true;
    await page.route('**/api/v1/uploads/**', (route) => (isSilent ? undefined : route.continue()));
    await page.clock.install();
    await page.goto(`${service.origin}/s/${survey.id}`);
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: Buffer.from(png) });
    await page.getByRole('button', { name: 'Cancel' }).waitFor();
    await page.clock.fastForward(90_000);
    isSilent = false;
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('button', { name: 'Remove' }).waitFor();
    await press(page, 'Send');
    await thanked(page);
    assert.equal((await storedResponses(admin, survey.id, 1))[0]?.answers.length, 1);
    await page.context().close();
  });

  it('a number that was entered in another language is shown as this one writes it', async () => {
    const survey = await publishedSurvey(admin, { title: 'Zahlen', language: 'de' }, [
      { type: 'NUMBER', text: 'Wie weit?' },
      { type: 'NUMBER', text: 'Wie viele?' },
    ]);
    await admin.put(`/surveys/${survey.id}/translations/en`, { title: 'Numbers' });
    const page = await open(survey.id);
    const fields = page.locator('.question input');
    await fields.nth(0).fill('1,234');
    await fields.nth(1).fill('1.500');
    await page.getByRole('link', { name: 'English' }).click();
    await eventually(async () => {
      assert.equal(await page.getAttribute('html', 'lang'), 'en');
      assert.deepEqual([await fields.nth(0).inputValue(), await fields.nth(1).inputValue()], ['1.234', '1,500']);
    });
    await press(page, 'Send');
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.deepEqual(
      stored?.answers.map(({ numberValue }) => numberValue),
      [1.234, 1500],
    );
    await page.context().close();
  });

  it('a number that was unclear in another language counts as this one reads it', async () => {
    const survey = await publishedSurvey(admin, { title: 'Nombres', language: 'fr' }, [
      { type: 'NUMBER', text: 'Combien ?' },
    ]);
    await admin.put(`/surveys/${survey.id}/translations/de`, { title: 'Zahlen' });
    const page = await open(survey.id);
    const field = page.locator('.question input');
    await field.fill('1.500');
    await field.blur();
    await questionAt(page, 'Combien ?').getByText('Veuillez saisir un nombre').waitFor();
    await page.getByRole('link', { name: 'Deutsch' }).click();
    await eventually(async () => {
      assert.equal(await page.getAttribute('html', 'lang'), 'de');
      assert.equal(await field.inputValue(), '1.500');
    });
    await press(page, 'Absenden');
    await page.locator('[data-notice="thanks"]').waitFor();
    assert.equal((await storedResponses(admin, survey.id, 1))[0]?.answers[0]?.['numberValue'], 1500);
    await page.context().close();
  });
});
