import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import {
  type AskedQuestion,
  alternatingQuestions,
  answerAlternating,
  publishedSurvey,
  storedResponses,
} from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

const questionCount = 20;
const pagesAtOnce = 4;
/** Longer than the pause after which the page saves, and than its first waits after a failure. */
const longPauseMs = 2_500;

describe('a network that is cut at every step of a survey', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  let survey: { id: string; questions: AskedQuestion[] };
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));
  before(async () => {
    survey = await publishedSurvey(admin, { title: 'Twenty questions' }, alternatingQuestions(questionCount));
  });

  /** Answers questions at once, as fast as the page takes it. */
  const answerMany = (page: Page, indexes: readonly number[], by: string) =>
    page.evaluate(
      ({ wanted, name }) => {
        const questions = (globalThis as any).document.querySelectorAll('.question');
        for (const index of wanted) {
          const input = questions[index].querySelector('input');
          if (input.type === 'radio') input.click();
          else {
            input.value = `${name} says ${index}`;
            input.dispatchEvent(new Event('input', { bubbles: true }));
          }
        }
      },
      { wanted: [...indexes], name: by },
    );

  /** Answers all questions. From one step on a request loses its reply, the next does not arrive, later ones do. */
  const answerWithCutAt = async (step: number): Promise<void> => {
    const page = await browser.open();
    let cuts = 0;
    let isCut = false;
    let sending = 0;
    page.on('request', () => (sending += 1));
    page.on('requestfinished', () => (sending -= 1));
    page.on('requestfailed', () => (sending -= 1));
    await page.route('**/submit', async (route: Route) => {
      if (!isCut || cuts === 2) return route.continue();
      cuts += 1;
      if (cuts === 1) await route.fetch();
      return route.abort('connectionreset');
    });
    await page.clock.install();
    await page.goto(`${service.origin}/s/${survey.id}`);
    const save = async (status: 'saved' | 'offline') => {
      await page.clock.fastForward(longPauseMs);
      await page.locator(`.status[data-status=${status}]`).waitFor({ state: 'attached' });
    };
    const by = `cut at ${step}`;
    const all = Array.from({ length: questionCount }, (_, index) => index);
    if (step > 0) {
      await answerMany(page, all.slice(0, step), by);
      await save('saved');
    }
    if (step < questionCount) {
      isCut = true;
      await answerAlternating(page, step, by);
      await save('offline');
      await answerMany(page, all.slice(step + 1), by);
    }
    isCut = true;
    await page.getByRole('button', { name: 'Send' }).click();
    await eventually(async () => {
      // The page gives up a call that takes half a minute of its clock.
      assert.equal(sending, 0);
      await page.clock.fastForward(longPauseMs);
      assert.ok(await page.locator('[data-notice="thanks"]').isVisible());
    });
    assert.equal(cuts, 2);
    await page.context().close();
  };

  it('leaves one response with every answer', async () => {
    const steps = Array.from({ length: questionCount + 1 }, (_, step) => step);
    const next = steps.values();
    await Promise.all(
      Array.from({ length: pagesAtOnce }, async () => {
        for (const step of next) await answerWithCutAt(step);
      }),
    );
    const stored = await storedResponses(admin, survey.id, steps.length);
    for (const step of steps) {
      const own = stored.filter(({ answers }) => answers[0]?.['textValue'] === `cut at ${step} says 0`);
      assert.equal(own.length, 1, `cut at ${step}`);
      assert.equal(own[0]?.outcome, 'COMPLETED');
      assert.deepEqual(
        own[0]?.answers,
        survey.questions.map(({ id, options }, index) =>
          index % 2 === 0
            ? { questionId: id, textValue: `cut at ${step} says ${index}` }
            : { questionId: id, optionId: options[0]?.id },
        ),
      );
    }
    browser.forgive(/ERR_CONNECTION_RESET/);
  });
});
