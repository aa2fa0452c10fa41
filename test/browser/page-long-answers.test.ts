import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import { makeInvitations } from '../support/invitations.ts';
import { openTab, pauseClock, publishedSurvey, storedResponses, textsOf, thanked } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { heldIn } from '../support/slow-database.ts';
import { useService } from '../support/use-service.ts';

const essayCount = 10;
/** Almost 30,000 bytes each: ten of them are more than the service takes in one request. */
const essay = (index: number): string => '漢字'.repeat(4950) + index;
const essays = Array.from({ length: essayCount }, (_, index) => ({ type: 'LONG_TEXT', text: `Essay ${index}` }));

/** Runs in a page: the request of its draft that is not answered yet carries all that was entered. */
const joinPending = () =>
  new Promise<void>((resolve, reject) => {
    const opening = (globalThis as any).indexedDB.open('survey-answers');
    opening.onerror = reject;
    opening.onsuccess = () => {
      const transaction = opening.result.transaction('drafts', 'readwrite');
      const drafts = transaction.objectStore('drafts');
      transaction.oncomplete = () => resolve();
      drafts.getAll().onsuccess = ({ target }: { target: any }) => {
        const [draft] = target.result;
        const entries: [string, any][] = Object.entries(draft.entries);
        const answers = entries.flatMap(([questionId, entry]) =>
          entry.answers.map((answer: object) => ({ questionId, ...answer })),
        );
        const body = JSON.stringify({ ...JSON.parse(draft.pending.body), answers });
        const questions = Object.keys(draft.entries);
        drafts.put({ ...draft, pending: { ...draft.pending, body, questions, revision: draft.revision } });
      };
    };
  });

describe('answers that are too long for one request', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const write = async (page: Page, indexes: readonly number[]): Promise<void> => {
    for (const index of indexes) await page.locator('textarea').nth(index).fill(essay(index));
  };
  const all = essays.map((_, index) => index);
  const saved = (page: Page) => page.locator('.status[data-status=saved]').waitFor({ state: 'attached' });
  const send = (page: Page) => page.getByRole('button', { name: 'Send' }).click();
  const storedTexts = async (surveyId: string): Promise<unknown[]> => {
    const [stored] = await storedResponses(admin, surveyId, 1);
    return (stored?.answers ?? []).map(({ textValue }) => textValue);
  };

  /** A page whose submissions reach nobody until `connect`. */
  const openWithoutNetwork = async (surveyId: string) => {
    const page = await browser.open();
    let isCut = true;
    await page.route('**/submit', (route) => (isCut ? route.abort() : route.continue()));
    await page.goto(`${service.origin}/s/${surveyId}`);
    const connect = (): void => {
      isCut = false;
    };
    return { page, connect };
  };

  it('are saved and sent in several, each well below the limit', async () => {
    const survey = await publishedSurvey(admin, { title: 'Essays' }, essays);
    const page = await browser.open();
    const bodies: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/submit')) bodies.push(request.postData() ?? '');
    });
    await page.goto(`${service.origin}/s/${survey.id}`);
    await write(page, all);
    await saved(page);
    await eventually(async () => {
      const [part] = await admin.get(`/responses/surveys/${survey.id}?isComplete=false`);
      assert.equal(part?.answers.length, essayCount);
    });
    assert.ok(bodies.length > 1 && bodies.every((body) => Buffer.byteLength(body) < 160_000));
    bodies.length = 0;
    await page.locator('textarea').nth(3).fill('Now it is short.');
    await send(page);
    await thanked(page);
    const expected = all.map((index) => (index === 3 ? 'Now it is short.' : essay(index)));
    assert.deepEqual(await storedTexts(survey.id), expected);
    // What the service has already is not sent again.
    const sent = bodies.flatMap((body) => JSON.parse(body).answers as { questionId: string }[]);
    assert.ok(sent.length > 0 && sent.every(({ questionId }) => questionId === survey.questions[3]?.id));
    await page.context().close();
  });

  it('are all sent at once, when they come after a time without a network, also from a page that is opened anew', async () => {
    const survey = await publishedSurvey(admin, { title: 'Essays' }, essays);
    const { page, connect } = await openWithoutNetwork(survey.id);
    await write(page, all);
    await send(page);
    await page.getByRole('heading', { name: 'Sending your answers' }).waitFor();
    await page.getByText('No connection.').waitFor();
    connect();
    await page.reload();
    await thanked(page);
    assert.deepEqual(await storedTexts(survey.id), all.map(essay));
    browser.forgive(/ERR_FAILED/);
    await page.context().close();
  });

  it('are sent in several, where an earlier build of the page goes on repeating them as one', async () => {
    const survey = await publishedSurvey(admin, { title: 'Essays' }, essays);
    const { page, connect } = await openWithoutNetwork(survey.id);
    await write(page, all);
    await page.getByText('No connection.').waitFor();
    await page.evaluate(joinPending);
    connect();
    await page.reload();
    await saved(page);
    await send(page);
    await thanked(page);
    assert.deepEqual(await storedTexts(survey.id), all.map(essay));
    browser.forgive(/ERR_FAILED|status of 413/);
    await page.context().close();
  });

  it('are sent again when earlier answers have taken their question away and bring it back', async () => {
    const { id } = await admin.create('/surveys', { title: 'Essays' });
    const ask = (body: object) => admin.create(`/surveys/${id}/questions`, body);
    const more = await ask({ type: 'YES_NO', text: 'Would you like to write?' });
    const visibleIf = { questionId: more.id, operator: 'isAnyOf', optionIds: [more.options[0].id] };
    for (const essay of essays) await ask({ ...essay, visibleIf });
    await admin.post(`/surveys/${id}/publish`);
    const page = await browser.open();
    await page.goto(`${service.origin}/s/${id}`);
    const part = async (count: number) => {
      await saved(page);
      await eventually(async () => {
        const [found] = await admin.get(`/responses/surveys/${id}?isComplete=false`);
        assert.equal(found?.answers.length, count);
      });
    };
    await page.getByRole('radio', { name: 'Yes' }).check();
    await write(page, all);
    await part(1 + essayCount);
    await page.getByRole('radio', { name: 'No' }).check();
    await part(1);
    await page.getByRole('radio', { name: 'Yes' }).check();
    await send(page);
    await thanked(page);
    assert.deepEqual((await storedTexts(id)).slice(1), all.map(essay));
    await page.context().close();
  });

  it('are saved as a tab that is hidden sent them last, where a part that another tab sent comes second', async () => {
    const survey = await publishedSurvey(admin, { title: 'Essays' }, essays);
    const context = await browser.context();
    const [other, left] = [await openTab(service, context, survey.id), await openTab(service, context, survey.id)];
    const first = (page: Page) => page.locator('textarea').first();
    const firstIs = (text: string) =>
      eventually(async () => assert.equal((await textsOf(admin, survey.id))[0]?.[0], text));
    await first(left).fill('Once');
    await saved(left);
    await eventually(async () => assert.equal(await first(other).inputValue(), 'Once'));
    await pauseClock(left);
    await pauseClock(other);
    const calls = await holdCalls(other, '**/submit', { times: 1 });
    await write(other, all.slice(1));
    await first(other).fill('Twice');
    await eventually(async () => assert.equal(await first(left).inputValue(), 'Twice'));
    // It is told of the request of the other one, and waits for its database.
    await left.evaluate(heldIn('readonly'));
    await other.clock.fastForward(2000);
    await eventually(async () => assert.equal(calls.count(), 1));
    await eventually(async () => assert.ok(await left.evaluate('window.isHeld')));
    await first(left).fill('Thrice');
    await left.evaluate(`
      Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));`);
    await firstIs('Thrice');
    // Its next step begins when that of the other one ends.
    await left.clock.fastForward(1);
    calls.release();
    await firstIs('Twice');
    await left.evaluate('window.goesOn = true');
    await Promise.all([saved(left), saved(other)]);
    await send(left);
    await thanked(left);
    assert.deepEqual(await storedTexts(survey.id), ['Thrice', ...all.slice(1).map(essay)]);
    await context.close();
  });

  it('are to be shortened where one request must hold them all, and the respondent stays on the form', async () => {
    const survey = await publishedSurvey(admin, { title: 'Essays', isAnonymous: true }, essays);
    const list = await admin.create(`/surveys/${survey.id}/collectors`, { name: 'List', kind: 'INVITATION' });
    const [invited] = await makeInvitations(service, admin, list.id, [{ reference: 'anna' }]);
    const page = await browser.open();
    await page.goto(`${service.origin}/s/${list.linkId}?invitation=${invited?.token}`);
    await write(page, all);
    await send(page);
    await page.getByText('Your answers are too long in all.').first().waitFor();
    await page.reload();
    await eventually(async () => assert.equal(await page.locator('textarea').nth(9).inputValue(), essay(9)));
    for (const index of [7, 8, 9]) await page.locator('textarea').nth(index).fill('Now it is short.');
    await send(page);
    await thanked(page);
    const expected = all.map((index) => (index >= 7 ? 'Now it is short.' : essay(index)));
    assert.deepEqual(await storedTexts(survey.id), expected);
    browser.forgive(/status of 4(03|13)/);
    await page.context().close();
  });
});
