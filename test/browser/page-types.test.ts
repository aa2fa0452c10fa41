import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { axeFindings } from '../support/axe-findings.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { createFullSurvey, type FullSurvey } from '../support/every-type.ts';
import { publishedSurvey, questionAt, storedResponses, thanked } from '../support/page-fixture.ts';
import { png } from '../support/pictures.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

/** Answers every question as a thumb would, by the controls of its type. */
async function answerAll(page: Page, { questions }: FullSurvey): Promise<void> {
  const at = (type: keyof FullSurvey['questions']) => page.locator(`[id="q-${questions[type].id}"]`);
  await at('MULTIPLE_CHOICE').getByRole('radio').nth(3).check();
  await at('MULTIPLE_CHOICE').getByRole('textbox').fill('Violet');
  await at('CHECKBOXES').getByRole('checkbox').nth(0).check();
  await at('CHECKBOXES').getByRole('checkbox').nth(2).check();
  await at('DROPDOWN').getByRole('combobox').selectOption({ index: 2 });
  await at('RATING_SCALE').getByRole('radio').nth(3).check();
  await at('NPS').getByRole('radio').nth(9).check();
  await at('MATRIX').getByRole('radiogroup').nth(0).getByRole('radio').nth(1).check();
  await at('MATRIX').getByRole('radiogroup').nth(1).getByRole('radio').nth(0).check();
  for (const place of [2, 0, 0]) await at('RANKING').locator('.unranked-item').nth(place).tap();
  await at('SHORT_TEXT').getByRole('textbox').fill('Zoë “1” 😀');
  await at('LONG_TEXT').getByRole('textbox').fill('It was\na long day.');
  await at('EMAIL').getByRole('textbox').fill('person@example.org');
  await at('NUMBER').getByRole('textbox').fill('42');
  await at('DATE').locator('input').fill('2024-02-29');
  await at('TIME').locator('input').fill('23:59');
  await at('FILE_UPLOAD')
    .locator('input')
    .setInputFiles({ name: 'a picture.png', mimeType: 'image/png', buffer: Buffer.from(png) });
  await at('FILE_UPLOAD').getByText('a picture.png', { exact: true }).waitFor();
  await at('SLIDER').getByRole('slider').fill('70');
  await at('YES_NO').getByRole('radio').nth(1).check();
  await at('LIKERT_SCALE').getByRole('radio').nth(4).check();
}

function expectedAnswers({ questions }: FullSurvey, uploadId: unknown): Record<string, unknown>[] {
  const option = (type: keyof FullSurvey['questions'], index: number) => ({
    questionId: questions[type].id,
    optionId: questions[type].options[index]?.id,
  });
  const of = (type: keyof FullSurvey['questions']) => ({ questionId: questions[type].id });
  const rows = questions.MATRIX.settings.rows ?? [];
  return [
    { ...of('MULTIPLE_CHOICE'), textValue: 'Violet' },
    option('CHECKBOXES', 0),
    option('CHECKBOXES', 2),
    option('DROPDOWN', 1),
    { ...of('RATING_SCALE'), numberValue: 4 },
    { ...of('NPS'), numberValue: 9 },
    { ...option('MATRIX', 1), rowId: rows[0]?.id },
    { ...option('MATRIX', 0), rowId: rows[1]?.id },
    { ...option('RANKING', 2), rank: 1 },
    { ...option('RANKING', 0), rank: 2 },
    { ...option('RANKING', 1), rank: 3 },
    { ...of('SHORT_TEXT'), textValue: 'Zoë “1” 😀' },
    { ...of('LONG_TEXT'), textValue: 'It was\na long day.' },
    { ...of('EMAIL'), textValue: 'person@example.org' },
    { ...of('NUMBER'), numberValue: 42 },
    { ...of('DATE'), textValue: '2024-02-29' },
    { ...of('TIME'), textValue: '23:59' },
    { ...of('FILE_UPLOAD'), textValue: uploadId },
    { ...of('SLIDER'), numberValue: 70 },
    option('YES_NO', 1),
    option('LIKERT_SCALE', 4),
  ];
}

describe('all question types on the respondent’s page', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  let surveys: Record<'en' | 'ar', FullSurvey>;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));
  before(async () => {
    surveys = {
      en: await createFullSurvey(admin),
      ar: await createFullSurvey(admin, { title: 'كل الأنواع', language: 'ar' }),
    };
  });

  for (const [language, direction] of [
    ['en', 'ltr'],
    ['ar', 'rtl'],
  ] as const)
    it(`are answered on a phone of 360 px, ${direction}`, async () => {
      const survey = surveys[language];
      const page = await browser.open(phone);
      await page.goto(`${service.origin}/s/${survey.id}`);
      const html = page.locator('html');
      assert.deepEqual([await html.getAttribute('lang'), await html.getAttribute('dir')], [language, direction]);
      await answerAll(page, survey);
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      assert.ok(width <= 360, `the page is ${width} px wide`);
      await page.locator('button[type=submit]').tap();
      await thanked(page);
      const [stored] = await storedResponses(admin, survey.id, 1);
      const upload = stored?.answers.find(({ questionId }) => questionId === survey.questions.FILE_UPLOAD.id);
      assert.deepEqual(stored?.answers, expectedAnswers(survey, upload?.['textValue']));
      assert.equal(stored?.language, language);
      await page.context().close();
    });

  for (const [what, language, options] of [
    ['in light', 'en', { colorScheme: 'light' }],
    ['in the dark', 'en', { colorScheme: 'dark' }],
    ['from right to left', 'ar', { colorScheme: 'light', ...phone }],
  ] as const)
    it(`have no finding of axe-core ${what}, before and with errors`, async () => {
      const page = await browser.open(options);
      await page.goto(`${service.origin}/s/${surveys[language].id}`);
      await page.locator('.question').first().waitFor();
      assert.deepEqual(await axeFindings(page), []);
      const at = (type: keyof FullSurvey['questions']) =>
        page.locator(`[id="q-${surveys[language].questions[type].id}"]`);
      await at('EMAIL').getByRole('textbox').fill('nobody');
      await at('RANKING').locator('.unranked-item').first().click();
      await at('NPS').getByRole('radio').nth(3).check();
      await page.locator('button[type=submit]').click();
      await page.locator('.error').first().waitFor();
      assert.deepEqual(await axeFindings(page), []);
      await page.context().close();
    });

  for (const [language, readable, unreadable, example] of [
    [
      'de',
      {
        '1.500': 1500,
        '1.5': 1.5,
        '3,5': 3.5,
        '1.234,5': 1234.5,
        '-1.234.567': -1_234_567,
        '0.500': 0.5,
        '1 500': 1500,
      },
      ['1,234.5', '1.50.000', '1.500 000'],
      '12.345,6',
    ],
    ['en', { '1,500': 1500, '1.500': 1.5, '3,5': 3.5, '1,234.5': 1234.5, '1’500': 1500 }, ['1.234,5'], '12,345.6'],
    ['fr', { '1 500,5': 1500.5, '1,500': 1.5, '1.5': 1.5 }, ['1.500'], '12\u202f345,6'],
    ['ar', { '١٬٥٠٠': 1500, '١٫٥': 1.5 }, ['1,50,0'], '12,345.6'],
    ['fa', { '۱۲٬۳۴۵٫۶': 12_345.6, '\u200e\u2212۱٫۵': -1.5, '۱,۵۰۰': 1500, '1.5': 1.5 }, ['۱٬۵۰٬۰'], '۱۲٬۳۴۵٫۶'],
    ['bn', { '১২,৩৪,৫৬৭.৫': 1_234_567.5, '১২,৩৪৫.৬': 12_345.6, '1,234,567': 1_234_567 }, ['১,২,৩'], '১২,৩৪৫.৬'],
    ['hi', { '12,34,567.5': 1_234_567.5, '१२,३४५.६': 12_345.6, '-1,500': -1500 }, ['1,2,345'], '12,345.6'],
    ['mr', { '१२,३४५.६': 12_345.6, '၁၂,၃၄၅.၆': 12_345.6, '𞥑𞥒.𞥕': 12.5 }, ['१,२,३४५'], '१२,३४५.६'],
  ] as const)
    it(`read numbers as they are written in the language of the page: ${language}`, async () => {
      const asked = Object.keys(readable).map((text) => ({ type: 'NUMBER', text: `Number ${text}` }));
      const survey = await publishedSurvey(admin, { title: 'Numbers', language }, asked);
      const page = await browser.open();
      await page.goto(`${service.origin}/s/${survey.id}`);
      const fields = page.locator('.question input');
      for (const text of unreadable) {
        await fields.first().fill(text);
        await fields.first().blur();
        assert.ok((await page.locator('.error').textContent())?.includes(example), text);
      }
      for (const [index, text] of Object.keys(readable).entries()) await fields.nth(index).fill(text);
      await page.locator('button[type=submit]').click();
      await thanked(page);
      const [stored] = await storedResponses(admin, survey.id, 1);
      assert.deepEqual(
        stored?.answers.map(({ numberValue }) => numberValue),
        Object.values(readable),
      );
      await page.context().close();
    });

  for (const [language, direction, limit] of [
    ['fa', 'rtl', '۳ مهٔ ۲۰۲۶'],
    ['th', 'ltr', '3 พฤษภาคม ค.ศ. 2026'],
  ] as const)
    it(`name dates of the calendar of their fields in a language beyond those of the page: ${language}`, async () => {
      const survey = await publishedSurvey(admin, { title: 'Dates', language }, [
        { type: 'DATE', text: 'Which day?', settings: { max: '2026-05-03' } },
      ]);
      const page = await browser.open();
      await page.goto(`${service.origin}/s/${survey.id}`);
      const html = page.locator('html');
      assert.deepEqual([await html.getAttribute('lang'), await html.getAttribute('dir')], [language, direction]);
      await page.getByLabel('Which day?').fill('2026-05-04');
      await page.getByLabel('Which day?').blur();
      assert.equal(await page.locator('.error').textContent(), `Not after ${limit}, please.`);
      await page.context().close();
    });

  it('show limits, points and answers with every digit', async () => {
    const fine = { min: 0, max: 0.002, step: 0.0005 };
    const survey = await publishedSurvey(admin, { title: 'Digits' }, [
      { type: 'NUMBER', text: 'How much?', settings: { min: 0.0001, max: 0.0004 } },
      { type: 'RATING_SCALE', text: 'How fine?', settings: fine },
      { type: 'SLIDER', text: 'How fast?', settings: { ...fine, min: 0.0005 } },
    ]);
    const page = await browser.open();
    await page.goto(`${service.origin}/s/${survey.id}`);
    await questionAt(page, 'How much?').getByText('A number from 0.0001 to 0.0004.').waitFor();
    await page.getByLabel('How much?').fill('0.00005');
    await page.getByLabel('How much?').blur();
    await questionAt(page, 'How much?').getByText('Please enter 0.0001 or more.').waitFor();
    const points = await questionAt(page, 'How fine?').locator('.point-text').allTextContents();
    assert.deepEqual(points, ['0', '0.0005', '0.001', '0.0015', '0.002']);
    const slider = questionAt(page, 'How fast?');
    assert.deepEqual(await slider.locator('.ends span').allTextContents(), ['0.0005', '0.002']);
    await slider.getByRole('slider').fill('2');
    assert.equal(await slider.getByRole('status').textContent(), '0.0015');
    assert.equal(await slider.getByRole('slider').getAttribute('aria-valuetext'), '0.0015');
    await page.context().close();
  });

  it('are printed with every column of a MATRIX, however many it has', async () => {
    const columnCounts = [5, 7, 8, 11, 40];
    const matrices = columnCounts.map((count) => ({
      type: 'MATRIX',
      text: `Of ${count} columns?`,
      options: Array.from({ length: count }, (_, index) => ({ text: `Column ${index + 1}` })),
      settings: { rows: [{ text: 'The first row' }, { text: 'The second row' }] },
    }));
    const survey = await publishedSurvey(admin, { title: 'Printed' }, matrices);
    const page = await browser.open();
    await page.goto(`${service.origin}/s/${survey.id}`);
    await page.emulateMedia({ media: 'print' });
    // The width of A4 in CSS pixels, without margins of 10 and of 20 mm.
    for (const width of [718, 642]) {
      await page.setViewportSize({ width, height: 1000 });
      const whole = await page.locator('.matrix').evaluateAll((grids: any[]) =>
        grids.map((grid) => {
          const { left, right } = grid.getBoundingClientRect();
          const wholeOnes = (selector: string) =>
            [...grid.querySelectorAll(selector)].filter((element) => {
              const box = element.getBoundingClientRect();
              return box.width > 1 && box.left >= left - 1 && box.right <= right + 1;
            });
          const texts = wholeOnes('.matrix-column, .matrix-text').map(({ textContent }) => textContent);
          return { texts: new Set(texts).size, marks: wholeOnes('.choice-mark').length };
        }),
      );
      const wanted = columnCounts.map((count) => ({ texts: count, marks: 2 * count }));
      assert.deepEqual(whole, wanted, `on ${width} px`);
    }
    await page.context().close();
  });

  it('are printed with the colours that show what is chosen, which browsers leave out by themselves', async () => {
    const page = await browser.open();
    await page.goto(`${service.origin}/s/${surveys.en.id}`);
    await page.emulateMedia({ media: 'print' });
    const at = (type: keyof FullSurvey['questions']) => page.locator(`[id="q-${surveys.en.questions[type].id}"]`);
    await at('MULTIPLE_CHOICE').getByRole('radio').first().check();
    await at('NPS').getByRole('radio').first().check();
    await at('RANKING').locator('.unranked-item').first().click();
    for (const [type, mark] of [
      ['MULTIPLE_CHOICE', '.choice-mark'],
      ['NPS', '.point'],
      ['RANKING', '.ranked-place'],
    ] as const) {
      const chosen = at(type).locator(mark).first();
      const adjusted = await chosen.evaluate(
        (element) => (globalThis as any).getComputedStyle(element).printColorAdjust,
      );
      assert.equal(adjusted, 'exact', type);
    }
    await page.context().close();
  });

  for (const language of ['en', 'ar'] as const)
    it(`fit into 320 pixels with text of twice the size, in ${language}`, async () => {
      const survey = surveys[language];
      const page = await browser.open({ viewport: { width: 320, height: 640 } });
      await page.goto(`${service.origin}/s/${survey.id}`);
      const ranking = page.locator(`[id="q-${survey.questions.RANKING.id}"]`);
      for (let item = 0; item < 2; item += 1) await ranking.locator('.unranked-item').first().click();
      await page.evaluate("document.documentElement.style.fontSize = '200%'");
      assert.deepEqual(
        await page.evaluate(`[...document.querySelectorAll('.ranking *')]
          .map((element) => [element.className, element.getBoundingClientRect()])
          .filter(([, { left, right, width }]) => width > 0 && (left < 0 || right > innerWidth))
          .map(([name, { left, right }]) => [name, left, right].join(' '))`),
        [],
      );
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320);
      // The text of an item keeps a place beside its handle.
      const text = await ranking.locator('.ranked-text').first().boundingBox();
      assert.ok((text?.width ?? 0) >= 100, `${text?.width}`);
      await page.context().close();
    });

  it('say that an empty file is empty, and offer no second attempt', async () => {
    const page = await browser.open();
    await page.goto(`${service.origin}/s/${surveys.en.id}`);
    const upload = page.locator(`[id="q-${surveys.en.questions.FILE_UPLOAD.id}"]`);
    const file = { name: 'a picture.png', mimeType: 'image/png', buffer: Buffer.alloc(0) };
    await upload.locator('input').setInputFiles(file);
    assert.equal((await upload.getByRole('alert').textContent())?.trim(), 'This file is empty.');
    assert.equal(await upload.getByRole('button', { name: 'Try again' }).count(), 0);
    await page.context().close();
  });

  it('say which kinds of files are taken, also when one is refused', async () => {
    const survey = await publishedSurvey(admin, { title: 'Receipts' }, [
      { type: 'FILE_UPLOAD', text: 'Your receipt?', settings: { mimeTypes: ['image/*', 'application/pdf'] } },
    ]);
    const page = await browser.open();
    await page.goto(`${service.origin}/s/${survey.id}`);
    const question = questionAt(page, 'Your receipt?');
    const kinds = 'Kinds of files taken: JPG, PNG, HEIC, …, PDF';
    await question.getByText(`At most 25 MB. ${kinds}`, { exact: true }).waitFor();
    browser.forgive(/status of 415/);
    const notes = { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Milk, bread') };
    await question.locator('input').setInputFiles(notes);
    await question.getByRole('button', { name: 'Remove: notes.txt' }).waitFor();
    const failure = question.getByRole('alert');
    assert.equal((await failure.textContent())?.trim(), `Files of this kind are not taken here. ${kinds}`);
    const describedBy = (await question.locator('input').getAttribute('aria-describedby'))?.split(' ') ?? [];
    assert.ok(describedBy.includes((await failure.getAttribute('id')) ?? ''), `${describedBy}`);
    await page.context().close();
  });

  it('keep a ranking that is changed by drag, buttons and keys', async () => {
    const survey = surveys.en;
    const page = await browser.open();
    await page.goto(`${service.origin}/s/${survey.id}`);
    const ranking = page.locator(`[id="q-${survey.questions.RANKING.id}"]`);
    const order = () => ranking.locator('.ranked-text').allTextContents();
    for (let item = 0; item < 3; item += 1) await ranking.locator('.unranked-item').first().click();
    assert.deepEqual(await order(), ['One', 'Two', 'Three']);
    await ranking.getByRole('button', { name: 'Move up: Three' }).click();
    assert.deepEqual(await order(), ['One', 'Three', 'Two']);
    await ranking.getByRole('button', { name: '1. Move: One' }).press('ArrowDown');
    assert.deepEqual(await order(), ['Three', 'One', 'Two']);
    const handle = await ranking.getByRole('button', { name: '3. Move: Two' }).boundingBox();
    const target = await ranking.getByRole('button', { name: '1. Move: Three' }).boundingBox();
    assert.ok(handle && target);
    await page.mouse.move(handle.x + 10, handle.y + 10);
    await page.mouse.down();
    await page.mouse.move(target.x + 10, target.y + 4, { steps: 8 });
    await page.mouse.up();
    assert.deepEqual(await order(), ['Two', 'Three', 'One']);
    await ranking.getByRole('button', { name: 'Remove: Three' }).click();
    assert.deepEqual(await order(), ['Two', 'One']);
    await page.context().close();
  });
});
