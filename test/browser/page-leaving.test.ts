import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import { makeInvitations } from '../support/invitations.ts';
import {
  fillAndSend,
  keptOn,
  openTab,
  pauseClock,
  publishedSurvey,
  storedResponses,
  thanked,
  twoTexts,
} from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { heldIn, slowToOpen } from '../support/slow-database.ts';
import { useService } from '../support/use-service.ts';

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('the respondent’s page, left in the middle', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const visit = async (context: BrowserContext, surveyId: string, script?: string): Promise<Page> => {
    const page = await context.newPage();
    if (script) await page.addInitScript(script);
    await page.goto(`${service.origin}/s/${surveyId}`);
    return page;
  };
  const saved = (page: Page) => page.locator('.status[data-status=saved]').waitFor({ state: 'attached' });
  /** Waits until what was entered is in the database: before that is open, the page sends nothing when it is left. */
  const kept = async (page: Page) => {
    await page.locator('.status:not([data-status=none])').waitFor({ state: 'attached' });
    await eventually(async () => assert.deepEqual(await page.evaluate('Object.keys(localStorage)'), []));
  };
  const becomes = (page: Page, state: 'hidden' | 'visible') =>
    page.evaluate(`
      Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));`);
  const hasName = (page: Page, name: string) =>
    eventually(async () => assert.equal(await page.getByLabel('Your name?').inputValue(), name));
  const textsAt = async (surveyId: string) => {
    const found: { answers: { textValue: string }[] }[] = await admin.get(`/responses/surveys/${surveyId}?limit=10`);
    return found.map(({ answers }) => answers.map(({ textValue }) => textValue));
  };

  for (const ms of [50, 300, 1000])
    it(`${ms} ms after a change: the service has it, once, also when the response goes on later`, async () => {
      const survey = await publishedSurvey(admin, { title: 'Left' }, twoTexts);
      const context = await browser.context();
      const page = await visit(context, survey.id);
      // At once: a save that began between two letters would be under way when the page is left, and be the last.
      await page.getByLabel('Your name?').fill('Ada');
      await kept(page);
      await wait(ms);
      await page.goto('about:blank');
      await eventually(async () => assert.deepEqual(await textsAt(survey.id), [['Ada']]));
      const later = await visit(context, survey.id);
      await hasName(later, 'Ada');
      await later.getByLabel('Your story?').fill('It was long.');
      // What is saved before may be the first part again, whose reply came to nobody.
      await eventually(async () => assert.deepEqual(await textsAt(survey.id), [['Ada', 'It was long.']]));
      await saved(later);
      await later.getByLabel('Your name?').fill('Ada Lovelace');
      await wait(ms);
      await later.goto('about:blank');
      await eventually(async () => assert.deepEqual(await textsAt(survey.id), [['Ada Lovelace', 'It was long.']]));
      const last = await visit(context, survey.id);
      await hasName(last, 'Ada Lovelace');
      await last.getByRole('button', { name: 'Send' }).click();
      await thanked(last);
      assert.equal((await storedResponses(admin, survey.id, 1)).length, 1);
      await context.close();
    });

  for (const [step, mode] of [
    ['reads what was entered', 'readonly'],
    ['writes its request down', 'readwrite'],
  ] as const)
    it(`while a save ${step}: the service has it, once, also when the response goes on later`, async () => {
      const survey = await publishedSurvey(admin, { title: 'Left in a save' }, twoTexts);
      const context = await browser.context();
      const page = await visit(context, survey.id);
      await page.clock.install();
      await page.reload();
      await page.getByLabel('Your name?').fill('Ada');
      await kept(page);
      await page.evaluate(heldIn(mode));
      await page.clock.fastForward(2000);
      await eventually(async () => assert.ok(await page.evaluate('window.isHeld')));
      await page.goto('about:blank');
      await eventually(async () => assert.deepEqual(await textsAt(survey.id), [['Ada']]));
      const last = await visit(context, survey.id);
      await hasName(last, 'Ada');
      await last.getByRole('button', { name: 'Send' }).click();
      await thanked(last);
      await storedResponses(admin, survey.id, 1);
      await context.close();
    });

  it('before the browser’s database is open: what was entered is there at the next visit', async () => {
    const survey = await publishedSurvey(admin, { title: 'Left early' }, twoTexts);
    const context = await browser.context();
    const page = await visit(context, survey.id, slowToOpen(5000));
    await page.getByLabel('Your name?').pressSequentially('Ada');
    await wait(200);
    await page.goto('about:blank');
    const later = await visit(context, survey.id);
    await hasName(later, 'Ada');
    await saved(later);
    assert.deepEqual(await later.evaluate('Object.keys(localStorage)'), []);
    await eventually(async () => assert.deepEqual(await textsAt(survey.id), [['Ada']]));
    await context.close();
  });

  it('before the browser’s database is open: what was entered is there for no longer than what is kept', async () => {
    const survey = await publishedSurvey(admin, { title: 'Left early for long' }, twoTexts);
    const context = await browser.context();
    const page = await visit(context, survey.id, slowToOpen(10 ** 8));
    await page.getByLabel('Your name?').fill('Ada');
    await page.goto('about:blank');
    const later = await context.newPage();
    await later.clock.install({ time: Date.now() + 31 * 24 * 3600 * 1000 });
    await later.goto(`${service.origin}/s/${survey.id}`);
    await eventually(async () => assert.deepEqual(await later.evaluate('Object.keys(localStorage)'), []));
    await later.getByText('Loading …').waitFor({ state: 'detached' });
    assert.equal(await later.getByLabel('Your name?').inputValue(), '');
    assert.deepEqual(await keptOn(later), []);
    await context.close();
  });

  it('before what was kept has been shown: what was entered adds to it at the next visit', async () => {
    const survey = await publishedSurvey(admin, { title: 'Left early again' }, twoTexts);
    const context = await browser.context();
    const first = await visit(context, survey.id);
    await first.getByLabel('Your story?').fill('It was long.');
    await saved(first);
    await first.close();
    for (const text of ['PS', 'PPS']) {
      const page = await visit(context, survey.id, slowToOpen(10 ** 8));
      await page.getByLabel('Your story?').fill(text);
      await page.goto('about:blank');
    }
    const last = await visit(context, survey.id);
    const whole = 'It was long.\nPS\nPPS';
    await eventually(async () => assert.equal(await last.getByLabel('Your story?').inputValue(), whole));
    await eventually(async () => assert.deepEqual(await textsAt(survey.id), [[whole]]));
    assert.deepEqual(await last.evaluate('Object.keys(localStorage)'), []);
    await context.close();
  });

  it('beside a tab that has not shown what was kept yet: what is typed there is added once', async () => {
    const survey = await publishedSurvey(admin, { title: 'Still early' }, twoTexts);
    const context = await browser.context();
    const first = await visit(context, survey.id);
    await first.getByLabel('Your story?').fill('It was long.');
    await saved(first);
    await first.close();
    const early = await visit(context, survey.id, heldIn('readonly'));
    await early.getByLabel('Your story?').fill('P');
    const storyIs = (page: Page, text: string) =>
      eventually(async () => assert.equal(await page.getByLabel('Your story?').inputValue(), text));
    const other = await visit(context, survey.id);
    await storyIs(other, 'It was long.\nP');
    await kept(other);
    await early.getByLabel('Your story?').fill('PS: yes');
    await early.evaluate('window.goesOn = true');
    for (const page of [early, other]) await storyIs(page, 'It was long.\nPS: yes');
    await context.close();
  });

  it('while another tab looks for what was left: that one has the last change too', async () => {
    const survey = await publishedSurvey(admin, { title: 'Left meanwhile' }, twoTexts);
    const context = await browser.context();
    const page = await openTab(service, context, survey.id);
    await page.getByLabel('Your story?').fill('It was long.');
    await saved(page);
    await pauseClock(page);
    const other = await visit(context, survey.id, heldIn('readonly', 'drafts'));
    await eventually(async () => assert.ok(await other.evaluate('window.isHeld')));
    await page.getByLabel('Your name?').fill('Ada');
    await page.goto('about:blank');
    await eventually(async () => assert.deepEqual(await textsAt(survey.id), [['Ada', 'It was long.']]));
    await other.evaluate('window.goesOn = true');
    await other.clock.resume();
    await hasName(other, 'Ada');
    await other.getByLabel('Your story?').fill('It was very long.');
    await eventually(async () => assert.deepEqual(await textsAt(survey.id), [['Ada', 'It was very long.']]));
    await kept(other);
    await context.close();
  });

  it('after it was hidden, while another tab takes over what it sent then: that one has the last change too', async () => {
    const survey = await publishedSurvey(admin, { title: 'Left at last' }, twoTexts);
    const context = await browser.context();
    const page = await openTab(service, context, survey.id);
    await pauseClock(page);
    await page.getByLabel('Your name?').fill('Ada');
    await kept(page);
    await becomes(page, 'hidden');
    await eventually(async () => assert.deepEqual(await textsAt(survey.id), [['Ada']]));
    await becomes(page, 'visible');
    const other = await visit(context, survey.id, heldIn('readwrite'));
    await eventually(async () => assert.ok(await other.evaluate('window.isHeld')));
    await page.getByLabel('Your name?').fill('Ada Lovelace');
    await page.goto('about:blank');
    await other.evaluate('window.goesOn = true');
    await other.clock.resume();
    await hasName(other, 'Ada Lovelace');
    await eventually(async () => assert.deepEqual(await textsAt(survey.id), [['Ada Lovelace']]));
    await kept(other);
    await context.close();
  });

  it('in the moment in which another tab forgets what it has read: the last change is there at the next visit', async () => {
    const survey = await publishedSurvey(admin, { title: 'Left in a moment' }, twoTexts);
    const context = await browser.context();
    const page = await visit(context, survey.id, slowToOpen(10 ** 8));
    await page.getByLabel('Your name?').fill('Ada');
    await page.goto('about:blank');
    // What it has read is kept first: then the page that is left writes once more.
    const other = await visit(
      context,
      survey.id,
      `{
        const { setItem } = Storage.prototype;
        Storage.prototype.setItem = function (key, text) {
          setItem.call(this, key, text);
          const left = Object.keys(localStorage).find((name) => name !== key);
          if (left && !window.isLater) setItem.call(localStorage, left, localStorage.getItem(left).replaceAll('"Ada"', '"Ada Lovelace"'));
          window.isLater = true;
        };
      }`,
    );
    await hasName(other, 'Ada');
    await saved(other);
    assert.ok(await other.evaluate('window.isLater'));
    const last = await visit(context, survey.id);
    await hasName(last, 'Ada Lovelace');
    await eventually(async () => assert.deepEqual(await textsAt(survey.id), [['Ada Lovelace']]));
    await kept(last);
    await context.close();
  });

  it('right after Send: the response is sent, or goes on at the next visit', async () => {
    for (const script of [undefined, slowToOpen(5000)]) {
      const survey = await publishedSurvey(admin, { title: 'Sent and left' }, twoTexts);
      const context = await browser.context();
      const page = await visit(context, survey.id, script);
      await page.getByLabel('Your name?').pressSequentially('Ada');
      await page.evaluate(`
        document.querySelector('button[type=submit]').click();
        location.href = 'about:blank';`);
      await page.waitForURL('about:blank');
      await wait(500);
      const later = await visit(context, survey.id);
      await eventually(async () => assert.deepEqual(await textsAt(survey.id), [['Ada']]));
      await storedResponses(admin, survey.id, 1);
      // The page learns of the end by its own request, after the service: until then it goes on with it when it is
      // loaded anew.
      await eventually(async () => {
        assert.deepEqual(await later.evaluate('Object.keys(localStorage)'), []);
        assert.deepEqual(await keptOn(later), []);
      });
      await later.reload();
      await hasName(later, '');
      assert.deepEqual(await later.evaluate('Object.keys(localStorage)'), []);
      await context.close();
    }
  });

  it('before the last reply comes by an invitation that opens once: its next visit leaves nothing', async () => {
    const survey = await publishedSurvey(admin, { title: 'Used', isAnonymous: true }, twoTexts);
    const list = await admin.create(`/surveys/${survey.id}/collectors`, { name: 'List', kind: 'INVITATION' });
    const [invitation] = await makeInvitations(service, admin, list.id, [{}]);
    const link = `${list.linkId}?invitation=${invitation?.token}`;
    const context = await browser.context();
    const page = await visit(context, link);
    await holdCalls(page, '**/submit', {
      answer: async (route, isReleased) => {
        await route.fetch();
        await isReleased;
      },
    });
    await fillAndSend(page, 'Your name?', 'Ada');
    await storedResponses(admin, survey.id, 1);
    await page.close();
    const later = await visit(context, link);
    await later.locator('[data-notice="usedInvitation"]').waitFor();
    await eventually(async () => {
      assert.deepEqual(await keptOn(later), []);
      assert.deepEqual(await later.evaluate('Object.keys(localStorage)'), []);
    });
    browser.forgive(/status of 409/);
    await context.close();
  });

  it('beside another tab, and in one that comes back: there is one response, with everything', async () => {
    const survey = await publishedSurvey(admin, { title: 'Two tabs' }, twoTexts);
    const context = await browser.context();
    const [one, other] = [await visit(context, survey.id), await visit(context, survey.id)];
    await wait(500);
    await one.getByLabel('Your name?').pressSequentially('Ada');
    await becomes(one, 'hidden');
    await one.getByLabel('Your name?').fill('Ada L.');
    await becomes(one, 'visible');
    await saved(one);
    await hasName(other, 'Ada L.');
    await other.getByLabel('Your story?').fill('It was long.');
    await other.goto('about:blank');
    await one.getByLabel('Your name?').fill('Ada Lovelace');
    await one.goto('about:blank');
    const last = await visit(context, survey.id);
    await hasName(last, 'Ada Lovelace');
    assert.equal(await last.getByLabel('Your story?').inputValue(), 'It was long.');
    await eventually(async () => assert.deepEqual(await textsAt(survey.id), [['Ada Lovelace', 'It was long.']]));
    await last.getByRole('button', { name: 'Send' }).click();
    await thanked(last);
    await storedResponses(admin, survey.id, 1);
    await context.close();
  });
});
