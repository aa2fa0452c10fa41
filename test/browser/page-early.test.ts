import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { axeFindings } from '../support/axe-findings.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import { makeInvitations } from '../support/invitations.ts';
import {
  type AskedQuestion,
  publishedSurvey,
  questionAt,
  statusOf,
  storedResponses,
  thanked,
  twoTexts,
} from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { heldIn } from '../support/slow-database.ts';
import { useService } from '../support/use-service.ts';

describe('what is entered before the respondent’s page is ready', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const send = (page: Page) => page.getByRole('button', { name: 'Send' }).click();

  /** The page as the service made it: its script does not come before `release`. */
  const openWithoutScript = async (link: string, opened?: Page) => {
    const page = opened ?? (await browser.open());
    const held = await holdCalls(page, '**/*.js');
    await page.goto(`${service.origin}/s/${link}`, { waitUntil: 'commit' });
    return { page, release: held.release };
  };

  it('a language that is chosen before the script has come keeps invitation and metadata', async () => {
    const survey = await publishedSurvey(admin, { title: 'Invited early' }, twoTexts);
    await admin.put(`/surveys/${survey.id}/translations/de`, { title: 'Früh eingeladen' });
    const collector = await admin.create(`/surveys/${survey.id}/collectors`, { kind: 'INVITATION', name: 'Panel' });
    const [invitation] = await makeInvitations(service, admin, collector.id, [{}]);
    const query = `invitation=${invitation?.token}&metadata.source=poster`;
    const { page, release } = await openWithoutScript(`${survey.id}?${query}`);
    await page.getByRole('link', { name: 'Deutsch' }).click();
    await page.getByRole('heading', { name: 'Früh eingeladen' }).waitFor();
    release();
    await page.getByLabel('Your name?').fill('Ada');
    await page.getByRole('button', { name: 'Senden' }).click();
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.equal(stored?.metadata['source'], 'poster');
    assert.doesNotMatch(page.url(), /invitation/);
    await page.context().close();
  });

  it('a ranking takes no press before the script has come', async () => {
    const options = ['Soup', 'Pasta'].map((text) => ({ text }));
    const survey = await publishedSurvey(admin, { title: 'Early rank' }, [
      { type: 'RANKING', text: 'Which first?', options },
    ]);
    const { page, release } = await openWithoutScript(survey.id);
    const soup = page.getByRole('button', { name: 'Soup' });
    assert.ok(await soup.isDisabled());
    release();
    await soup.click();
    await page.getByRole('button', { name: 'Move up: Soup' }).waitFor();
    await page.context().close();
  });

  it('what is entered before the script has come counts', async () => {
    const survey = await publishedSurvey(admin, { title: 'Slow network' }, [
      ...twoTexts,
      { type: 'YES_NO', text: 'Hungry?' },
      { type: 'CHECKBOXES', text: 'Which dishes?', options: ['Soup', 'Pasta', 'Rice'].map((text) => ({ text })) },
      { type: 'DROPDOWN', text: 'Which drink?', options: ['Tea', 'Water'].map((text) => ({ text })) },
    ]);
    const { page, release } = await openWithoutScript(survey.id);
    await page.getByLabel('Your name?').fill('Ada');
    await page.getByRole('radio', { name: 'Yes' }).check();
    for (const name of ['Soup', 'Rice']) await page.getByRole('checkbox', { name }).check();
    await page.getByLabel('Which drink?').selectOption('Water');
    release();
    await statusOf(page, 'saved');
    assert.ok(await page.getByRole('checkbox', { name: 'Soup' }).isChecked());
    await send(page);
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    const [name, , hungry, dishes, drink] = survey.questions;
    assert.deepEqual(stored?.answers, [
      { questionId: name?.id, textValue: 'Ada' },
      { questionId: hungry?.id, optionId: hungry?.options[0]?.id },
      { questionId: dishes?.id, optionId: dishes?.options[0]?.id },
      { questionId: dishes?.id, optionId: dishes?.options[2]?.id },
      { questionId: drink?.id, optionId: drink?.options[1]?.id },
    ]);
    await page.context().close();
  });

  for (const late of ['the script has come', 'the database has been read'] as const)
    it(`what is entered before ${late} adds to what was kept`, async () => {
      const options = ['Soup', 'Pasta', 'Rice', 'Cake', 'Fish'].map((text) => ({ text }));
      const rows = ['Room', 'Bed', 'Bath', 'View', 'Price', 'Noise'].map((text) => ({ text }));
      const degrees = ['Good', 'Bad'].map((text) => ({ text }));
      const survey = await publishedSurvey(admin, { title: 'Late' }, [
        { type: 'CHECKBOXES', text: 'Which dishes?', options },
        { type: 'CHECKBOXES', text: 'Best two?', options, settings: { maxSelections: 2 } },
        { type: 'MATRIX', text: 'How were they?', options: degrees, settings: { rows } },
        { type: 'MATRIX', text: 'What was there?', options: degrees, settings: { rows, multiple: true } },
        { type: 'LONG_TEXT', text: 'Your story?' },
        { type: 'SHORT_TEXT', text: 'Your name?' },
        { type: 'NUMBER', text: 'Your age?' },
        { type: 'NUMBER', text: 'Your size?' },
        { type: 'YES_NO', text: 'Hungry?' },
        { type: 'MULTIPLE_CHOICE', text: 'Which drink?', options: degrees, settings: { allowOther: true } },
      ]);
      const [dishes, best, single, multiple, story, name, age, size, hungry, drink] = survey.questions;
      const tick = async (page: Page, text: string, ...names: string[]) => {
        for (const label of names) await questionAt(page, text).getByRole('checkbox', { name: label }).check();
      };
      const mark = (page: Page, text: string, row: string, column: string) =>
        questionAt(page, text).locator('.matrix-row', { hasText: row }).getByLabel(column).check();
      const context = await browser.context();
      const first = await context.newPage();
      await first.goto(`${service.origin}/s/${survey.id}`);
      await tick(first, 'Which dishes?', 'Soup', 'Pasta', 'Rice', 'Cake');
      await tick(first, 'Best two?', 'Soup', 'Rice');
      for (const { text } of rows.slice(0, 5)) await mark(first, 'How were they?', text, 'Good');
      await mark(first, 'What was there?', 'Bed', 'Good');
      await mark(first, 'What was there?', 'Bath', 'Good');
      for (const [label, text] of [
        ['Your story?', 'It was long.'],
        ['Your name?', 'Ada'],
        ['Your age?', '36'],
        ['Your size?', '170'],
      ] as const)
        await first.getByLabel(label).fill(text);
      await questionAt(first, 'Hungry?').getByRole('radio', { name: 'Yes' }).check();
      await questionAt(first, 'Which drink?').getByRole('radio', { name: 'Other' }).check();
      await first.getByLabel('Your own answer').fill('Milk');
      await statusOf(first, 'saved');
      await first.close();

      const page = await context.newPage();
      let release = async (): Promise<void> => undefined;
      if (late === 'the script has come') {
        const opened = await openWithoutScript(survey.id, page);
        release = async () => opened.release();
      } else {
        await page.addInitScript(heldIn('readonly'));
        await page.goto(`${service.origin}/s/${survey.id}`);
        release = () => page.evaluate('window.goesOn = true');
        await eventually(async () => assert.ok(await page.evaluate('window.isHeld')));
      }
      await tick(page, 'Which dishes?', 'Soup', 'Fish');
      await tick(page, 'Best two?', 'Cake');
      await mark(page, 'How were they?', 'Room', 'Bad');
      await mark(page, 'How were they?', 'Noise', 'Bad');
      await mark(page, 'What was there?', 'Bed', 'Bad');
      for (const [label, text] of [
        ['Your story?', 'PS'],
        ['Your name?', 'Bob'],
        ['Your age?', '37'],
        ['Your size?', 'one'],
      ] as const)
        await page.getByLabel(label).fill(text);
      await questionAt(page, 'Hungry?').getByRole('radio', { name: 'No' }).check();
      await questionAt(page, 'Which drink?').getByRole('radio', { name: 'Other' }).check();
      await release();
      await eventually(async () => assert.equal(await page.getByLabel('Your story?').inputValue(), 'It was long.\nPS'));
      await statusOf(page, 'saved');
      await send(page);
      await thanked(page);
      const [stored] = await storedResponses(admin, survey.id, 1);
      const chosen = (question: AskedQuestion | undefined, ...places: number[]) =>
        places.map((place) => ({ questionId: question?.id, optionId: question?.options[place]?.id }));
      const marked = (question: AskedQuestion | undefined, ...cells: [row: number, option: number][]) =>
        cells.map(([row, option]) => ({
          questionId: question?.id,
          rowId: question?.settings.rows?.[row]?.id,
          optionId: question?.options[option]?.id,
        }));
      assert.deepEqual(stored?.answers, [
        ...chosen(dishes, 0, 1, 2, 3, 4),
        ...chosen(best, 0, 2),
        ...marked(single, [0, 1], [1, 0], [2, 0], [3, 0], [4, 0], [5, 1]),
        ...marked(multiple, [1, 0], [1, 1], [2, 0]),
        { questionId: story?.id, textValue: 'It was long.\nPS' },
        { questionId: name?.id, textValue: 'Ada Bob' },
        { questionId: age?.id, numberValue: 37 },
        { questionId: size?.id, numberValue: 170 },
        ...chosen(hungry, 1),
        { questionId: drink?.id, textValue: 'Milk' },
      ]);
      await context.close();
    });

  it('a page on which something is entered before the script has come stays, with what was kept', async () => {
    const survey = await publishedSurvey(admin, { title: 'Late', appearance: { pageMode: 'QUESTION' } }, [
      { type: 'CHECKBOXES', text: 'Which dishes?', options: ['Soup', 'Pasta', 'Rice'].map((text) => ({ text })) },
      ...twoTexts,
    ]);
    const context = await browser.context();
    const first = await context.newPage();
    await first.goto(`${service.origin}/s/${survey.id}`);
    for (const name of ['Soup', 'Pasta']) await first.getByRole('checkbox', { name }).check();
    await first.getByRole('button', { name: 'Next' }).click();
    await first.getByLabel('Your name?').fill('Ada');
    await first.getByRole('button', { name: 'Next' }).click();
    await statusOf(first, 'saved');
    await first.close();
    const { page, release } = await openWithoutScript(survey.id, await context.newPage());
    await page.getByRole('checkbox', { name: 'Rice' }).check();
    release();
    await statusOf(page, 'saved');
    for (const name of ['Soup', 'Pasta', 'Rice']) assert.ok(await page.getByRole('checkbox', { name }).isChecked());
    for (const label of ['Your name?', 'Your story?']) {
      await page.getByRole('button', { name: 'Next' }).click();
      await page.getByLabel(label).waitFor();
    }
    await send(page);
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.equal(stored?.answers.length, 4);
    await context.close();
  });

  it('options that are ranked before the database has been read follow those that were ranked', async () => {
    const options = ['Soup', 'Pasta', 'Rice', 'Cake'].map((text) => ({ text }));
    const survey = await publishedSurvey(admin, { title: 'Late rank' }, [
      { type: 'RANKING', text: 'Which first?', options, settings: { maxRanked: 3 } },
    ]);
    const context = await browser.context();
    const rank = async (page: Page, ...names: string[]) => {
      for (const name of names) await page.locator('.unranked-item', { hasText: name }).click();
    };
    const first = await context.newPage();
    await first.goto(`${service.origin}/s/${survey.id}`);
    await rank(first, 'Cake', 'Rice');
    await statusOf(first, 'saved');
    await first.close();
    const page = await context.newPage();
    await page.addInitScript(heldIn('readonly'));
    await page.goto(`${service.origin}/s/${survey.id}`);
    await rank(page, 'Soup', 'Rice', 'Pasta');
    await page.evaluate('window.goesOn = true');
    await eventually(async () =>
      assert.deepEqual(await page.locator('.ranked-text').allTextContents(), ['Cake', 'Rice', 'Soup']),
    );
    await send(page);
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.deepEqual(
      stored?.answers.map(({ optionId }) => survey.questions[0]?.options.findIndex(({ id }) => id === optionId)),
      [3, 2, 0],
    );
    await context.close();
  });

  it('Send takes no press before the script has come, and says that the page is being loaded', async () => {
    const survey = await publishedSurvey(admin, { title: 'Pressed early' }, twoTexts);
    const { page, release } = await openWithoutScript(survey.id);
    await page.getByText('Loading …').waitFor();
    const button = page.getByRole('button', { name: 'Send' });
    assert.ok(await button.isDisabled());
    assert.deepEqual(await axeFindings(page), []);
    await page.getByLabel('Your name?').fill('Ada');
    // The browser would send the form by itself, which the page's policy forbids: a fault in the console.
    await page.keyboard.press('Enter');
    await button.click({ force: true });
    release();
    await page.getByText('Loading …').waitFor({ state: 'detached' });
    await button.click();
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.deepEqual(
      stored?.answers.map(({ textValue }) => textValue),
      ['Ada'],
    );
    await page.context().close();
  });
});
