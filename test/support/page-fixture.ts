import assert from 'node:assert/strict';
import type { BrowserContext, Page } from 'playwright-core';
import type { BrowserFixture } from './browser.ts';
import type { Client } from './client.ts';
import { eventually } from './eventually.ts';
import { type HeldCalls, holdCalls } from './held-calls.ts';
import type { RunningService } from './service.ts';

export interface AskedQuestion {
  id: string;
  type: string;
  text: string;
  options: { id: string; text: string; value: string }[];
  settings: { rows?: { id: string; text: string; value: string }[] };
}

/** The page of a survey in a browser of its own; `script` runs before those of the page. */
export async function openSurvey(
  browser: BrowserFixture,
  { origin }: Pick<RunningService, 'origin'>,
  { link, script }: { link: string; script?: string | undefined },
): Promise<Page> {
  const page = await browser.open();
  if (script) await page.addInitScript(script);
  await page.goto(`${origin}/s/${link}`);
  return page;
}

/** A published survey with these questions. */
export async function publishedSurvey(
  admin: Client,
  fields: Record<string, unknown>,
  questions: readonly Record<string, unknown>[],
): Promise<{ id: string; questions: AskedQuestion[] }> {
  const { id } = await admin.create('/surveys', fields);
  const asked: AskedQuestion[] = [];
  for (const question of questions) asked.push(await admin.create(`/surveys/${id}/questions`, question));
  await admin.post(`/surveys/${id}/publish`);
  return { id, questions: asked };
}

/** A published survey that screens out who does not drive. */
export async function driversOnly(admin: Client, fields: Record<string, unknown> = {}): Promise<{ id: string }> {
  const survey = await admin.create('/surveys', { title: 'Drivers only', ...fields });
  const drives = await admin.create(`/surveys/${survey.id}/questions`, { type: 'YES_NO', text: 'Do you drive?' });
  await admin.create(`/surveys/${survey.id}/questions`, { type: 'SHORT_TEXT', text: 'Which car?' });
  const saysNo = { questionId: drives.id, operator: 'isAnyOf', optionIds: [drives.options[1].id] };
  await admin.put(`/surveys/questions/${drives.id}`, { skips: [{ if: saysNo, to: 'SCREEN_OUT' }] });
  await admin.post(`/surveys/${survey.id}/publish`);
  return survey;
}

/** Required questions that are answered with a text and with yes or no, in turn. */
export const alternatingQuestions = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    index % 2 === 0
      ? { type: 'SHORT_TEXT', text: `Text ${index}`, isRequired: true }
      : { type: 'YES_NO', text: `Choice ${index}`, isRequired: true },
  );

/** Answers one of the alternating questions: with a text that names who answers, or yes. */
export async function answerAlternating(page: Page, index: number, by: string): Promise<void> {
  const question = page.locator('.question').nth(index);
  if (index % 2 === 0) await question.getByRole('textbox').fill(`${by} says ${index}`);
  else await question.getByRole('radio').first().check();
}

interface StoredResponse {
  id: string;
  isComplete: boolean;
  outcome: string;
  answers: Record<string, unknown>[];
  language: string;
  metadata: Record<string, string>;
}

/** The stored responses of a survey, once there are as many and all are complete. */
export async function storedResponses(admin: Client, surveyId: string, count: number): Promise<StoredResponse[]> {
  return eventually(async () => {
    const found: StoredResponse[] = await admin.get(`/responses/surveys/${surveyId}?limit=1000`);
    assert.equal(found.length, count, JSON.stringify(found).slice(0, 500));
    assert.ok(found.every(({ isComplete }) => isComplete));
    return found;
  });
}

/** The group or field of a question, by its text. */
export const questionAt = (page: Page, text: string) => page.locator('.question', { hasText: text });

/** Fills a text field and sends in one step: between two, a busy machine may let the page save a part by itself. */
export const fillAndSend = (page: Page, label: string, text: string): Promise<void> =>
  page.getByLabel(label).evaluate((field: any, value) => {
    field.value = value;
    field.dispatchEvent(new Event('input', { bubbles: true }));
    field.form.requestSubmit();
  }, text);

/** Waits for the page after a response that was received. */
export const thanked = (page: Page) => page.locator('[data-notice="thanks"]').waitFor();

/** Everything that the page keeps on the device. */
export const keptOn = (page: Page): Promise<unknown[]> =>
  page.evaluate(
    () =>
      new Promise<unknown[]>((resolve, reject) => {
        type Request = { result: any; onsuccess: () => void; onerror: () => void };
        const { indexedDB } = globalThis as unknown as { indexedDB: { open(name: string): Request } };
        const opening = indexedDB.open('survey-answers');
        opening.onerror = () => reject(new Error('the database cannot be opened'));
        opening.onsuccess = () => {
          const stores = ['drafts', 'links'];
          // One transaction: with one for each, that of the links may end while the page still writes drafts.
          const transaction = opening.result.transaction(stores);
          const requests = stores.map((name) => transaction.objectStore(name).getAll());
          transaction.oncomplete = () => resolve(requests.flatMap(({ result }) => result as unknown[]));
        };
      }),
  );

/** Holds uploads back until they are released. */
export const holdUploads = (page: Page): Promise<HeldCalls> => holdCalls(page, '**/api/v1/uploads/**');

export const twoTexts = [
  { type: 'SHORT_TEXT', text: 'Your name?' },
  { type: 'LONG_TEXT', text: 'Your story?' },
];

/** A tab of the respondent's page whose clock can be moved. */
export async function openTab(
  { origin }: Pick<RunningService, 'origin'>,
  context: BrowserContext,
  link: string,
): Promise<Page> {
  const page = await context.newPage();
  await page.clock.install();
  await page.goto(`${origin}/s/${link}`);
  return page;
}

/**
 * Stops the clock of a tab and of those beside it, some seconds ahead: a slow machine takes its time to do so, and where
 * they have passed it is done once more. They are fewer than a tab waits before it saves what another one has entered.
 */
export const pauseClock = (page: Page): Promise<void> => eventually(() => page.clock.pauseAt(Date.now() + 4000));

/** Waits until what was entered is in the page's database, and in localStorage no more. */
export const isWritten = (page: Page): Promise<void> =>
  eventually(async () => {
    assert.notDeepEqual(await keptOn(page), []);
    assert.deepEqual(await page.evaluate('Object.keys(localStorage)'), []);
  });

/** Waits until the page says this of what was entered. */
export const statusOf = (page: Page, status: string): Promise<void> =>
  page.locator(`.status[data-status=${status}]`).waitFor({ state: 'attached' });

/** The texts of each stored response. */
export async function textsOf(admin: Client, surveyId: string): Promise<string[][]> {
  const found: { answers: { textValue: string }[] }[] = await admin.get(`/responses/surveys/${surveyId}?limit=10`);
  return found.map(({ answers }) => answers.map(({ textValue }) => textValue));
}
