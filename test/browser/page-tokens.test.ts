import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import { makeInvitations } from '../support/invitations.ts';
import { publishedSurvey, storedResponses, thanked } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

const name = 'Your name?';
const twoTexts = [
  { type: 'SHORT_TEXT', text: name },
  { type: 'LONG_TEXT', text: 'Your story?' },
];
const days = 24 * 3600 * 1000;

describe('the tokens of a link, which leave the address', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const invite = async (...references: string[]) => {
    const survey = await publishedSurvey(admin, { title: 'Members' }, twoTexts);
    const list = await admin.create(`/surveys/${survey.id}/collectors`, { name: 'List', kind: 'INVITATION' });
    const rows = references.map((reference) => ({ reference }));
    const invited = await makeInvitations(service, admin, list.id, rows);
    return { survey, linkId: list.linkId as string, tokens: invited.map(({ token }) => token) };
  };
  const goTo = (page: Page, link: string) => page.goto(`${service.origin}/s/${link}`);
  const visit = async (context: BrowserContext, link: string): Promise<Page> => {
    const page = await context.newPage();
    await goTo(page, link);
    return page;
  };
  const answer = async (page: Page, text: string) => {
    await page.getByLabel(name).fill(text);
    await page.locator('.status[data-status=saved]').waitFor({ state: 'attached' });
    await eventually(async () => assert.equal(new URL(page.url()).search, ''));
  };
  const nameIs = (page: Page, text: string) =>
    eventually(async () => assert.equal(await page.getByLabel(name).inputValue(), text));

  it('stay those of a page that is loaded anew where the link also opens without', async () => {
    const { survey, tokens } = await invite('anna');
    const context = await browser.context();
    const page = await visit(context, `${survey.id}?invitation=${tokens[0]}`);
    await answer(page, 'Ada');
    await page.reload();
    await nameIs(page, 'Ada');
    await eventually(async () => assert.equal(page.url(), `${service.origin}/s/${survey.id}`));
    // Whoever opens the link itself is not invited. Going where one is already would be a reload.
    await page.goto('about:blank');
    await goTo(page, survey.id);
    await page.getByText('Loading …').waitFor({ state: 'detached' });
    await nameIs(page, '');
    await page.goBack();
    await page.goBack();
    await nameIs(page, 'Ada');
    await page.getByRole('button', { name: 'Send' }).click();
    await thanked(page);
    assert.equal(await page.evaluate('sessionStorage.length'), 0);
    await storedResponses(admin, survey.id, 1);
    await context.close();
  });

  it('stay those of a page that is loaded anew, with what was entered before its script came', async () => {
    const { survey, tokens } = await invite('anna');
    const context = await browser.context();
    const page = await visit(context, `${survey.id}?invitation=${tokens[0]}`);
    await answer(page, 'Ada');
    const scripts = await holdCalls(page, '**/assets/*.js*');
    await page.reload({ waitUntil: 'commit' });
    await eventually(async () => assert.ok(scripts.count() > 0));
    await page.getByLabel('Your story?').fill('It was long.');
    scripts.release();
    await nameIs(page, 'Ada');
    await eventually(async () => assert.equal(await page.getByLabel('Your story?').inputValue(), 'It was long.'));
    await page.getByRole('button', { name: 'Send' }).click();
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.deepEqual(
      stored?.answers.map(({ textValue }) => textValue),
      ['Ada', 'It was long.'],
    );
    await context.close();
  });

  for (const [means, press] of [
    ['a key', (link: Locator) => link.click({ modifiers: ['ControlOrMeta'] })],
    ['the middle button', (link: Locator) => link.click({ button: 'middle' })],
  ] as const)
    it(`come along where another language is opened in a tab of its own, by ${means}`, async () => {
      const { survey, tokens } = await invite('anna');
      await admin.put(`/surveys/${survey.id}/translations/de`, { title: 'Mitglieder' });
      const context = await browser.context();
      const page = await visit(context, `${survey.id}?invitation=${tokens[0]}`);
      await answer(page, 'Ada');
      const opened = context.waitForEvent('page');
      const link = page.getByRole('link', { name: 'Deutsch' });
      await press(link);
      const german = await opened;
      await german.getByRole('heading', { name: 'Mitglieder' }).waitFor();
      await nameIs(german, 'Ada');
      await eventually(async () => assert.equal(await link.getAttribute('href'), '?lang=de'));
      await german.getByRole('button', { name: 'Senden' }).click();
      await Promise.all([thanked(german), thanked(page)]);
      assert.equal(page.url(), `${service.origin}/s/${survey.id}`);
      await storedResponses(admin, survey.id, 1);
      await context.close();
    });

  for (const [when, keys, isOpened] of [
    ['after it was pressed twice at once with a key held', ['ctrlKey', 'shiftKey'], true],
    ['that Alt saves', ['altKey'], false],
  ] as const)
    it(`stand in no link ${when}`, async () => {
      const { survey, tokens } = await invite('anna');
      await admin.put(`/surveys/${survey.id}/translations/de`, { title: 'Mitglieder' });
      const context = await browser.context();
      const page = await visit(context, `${survey.id}?invitation=${tokens[0]}`);
      await answer(page, 'Ada');
      const link = page.getByRole('link', { name: 'Deutsch' });
      const shown = '?lang=de';
      await eventually(async () => assert.equal(await link.getAttribute('href'), shown));
      // The browser itself does nothing here.
      const { ledTo, later } = await link.evaluate(async (element: any, held) => {
        const { document, MouseEvent, setTimeout } = globalThis as any;
        const found: string[] = [];
        document.addEventListener('click', (event: any) => {
          found.push(event.defaultPrevented ? 'nowhere' : element.getAttribute('href'));
          event.preventDefault();
        });
        for (const key of held)
          element.dispatchEvent(new MouseEvent('click', { [key]: true, bubbles: true, cancelable: true }));
        await new Promise((resolve) => setTimeout(resolve));
        return { ledTo: found, later: element.getAttribute('href') };
      }, keys);
      const opened = `${service.origin}/s/${survey.id}?invitation=${tokens[0]}&lang=de`;
      assert.deepEqual(
        ledTo,
        keys.map(() => (isOpened ? opened : shown)),
      );
      assert.equal(later, shown);
      await context.close();
    });

  it('are told apart where two people use one link in one browser', async () => {
    const { survey, linkId, tokens } = await invite('anna', 'bert');
    const context = await browser.context();
    const anna = await visit(context, `${linkId}?invitation=${tokens[0]}`);
    await answer(anna, 'Anna');
    const bert = await visit(context, `${linkId}?invitation=${tokens[1]}`);
    await answer(bert, 'Bert');
    await anna.reload();
    await nameIs(anna, 'Anna');
    await bert.reload();
    await nameIs(bert, 'Bert');
    await anna.getByRole('button', { name: 'Send' }).click();
    await thanked(anna);
    // What Anna's end forgets is not Bert's.
    const again = await visit(context, linkId);
    await nameIs(again, 'Bert');
    await again.getByRole('button', { name: 'Send' }).click();
    await Promise.all([thanked(again), thanked(bert)]);
    const stored = await storedResponses(admin, survey.id, 2);
    assert.deepEqual(stored.map(({ answers }) => answers[0]?.['textValue']).sort(), ['Anna', 'Bert']);
    browser.forgive(/status of 403/);
    await context.close();
  });

  for (const [fault, linkOf] of [
    ['is given twice', (token: string) => `invitation=${token}&invitation=${token}`],
    ['is too long', () => `invitation=${'x'.repeat(201)}`],
  ] as const)
    it(`are those that the service took: one that ${fault} is ignored by both, and the answers count`, async () => {
      const { survey, tokens } = await invite('anna');
      const context = await browser.context();
      const page = await visit(context, `${survey.id}?${linkOf(tokens[0] ?? '')}`);
      await page.getByLabel(name).fill('Ada');
      await page.getByRole('button', { name: 'Send' }).click();
      await thanked(page);
      await storedResponses(admin, survey.id, 1);
      await context.close();
    });

  it('open nothing after a month, and are forgotten when another link is opened', async () => {
    const { linkId, tokens } = await invite('anna');
    const context = await browser.context();
    const page = await visit(context, `${linkId}?invitation=${tokens[0]}`);
    await answer(page, 'Ada');
    await page.close();
    const later = await context.newPage();
    await later.clock.install({ time: Date.now() + 31 * days });
    await goTo(later, linkId);
    await later.locator('[data-notice="invitationNeeded"]').waitFor();
    const keptFor = `new Promise((resolve) => {
      indexedDB.open('survey-answers').onsuccess = ({ target: { result } }) => {
        result.transaction('links').objectStore('links').getAllKeys().onsuccess = ({ target }) => resolve(target.result);
      };
    })`;
    assert.deepEqual(await later.evaluate(keptFor), [linkId]);
    const { survey: other, tokens: otherTokens } = await invite('bert');
    await goTo(later, `${other.id}?invitation=${otherTokens[0]}`);
    await eventually(async () => assert.deepEqual(await later.evaluate(keptFor), [other.id]));
    browser.forgive(/status of 403/);
    await context.close();
  });
});
