import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Provider } from '../../../../src/ai/providers/provider.ts';
import type { SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import type { Translation } from '../../../../src/domain/translation/translation.ts';
import { generate } from '../../../../src/pipelines/ai/generate.ts';
import { optimise } from '../../../../src/pipelines/ai/optimise.ts';
import { type ReportDeps, writeReport } from '../../../../src/pipelines/ai/report.ts';
import { translate } from '../../../../src/pipelines/ai/translate.ts';
import type { AiJob, SurveyJob } from '../../../../src/stores/postgres/ai/jobs.ts';
import type { StoredReport } from '../../../../src/stores/postgres/ai/reports.ts';
import type { StoredSuggestion } from '../../../../src/stores/postgres/ai/suggestions.ts';
import { blankSurvey, nextId, withQuestion } from '../../../support/questions.ts';

/** The first call of each step finds the database away; with `isDone`, only after it has done its work. */
const awayOnce = <Given extends unknown[], Result>(
  step: (...given: Given) => Promise<Result>,
  { isDone = false } = {},
) => {
  let calls = 0;
  return async (...given: Given): Promise<Result> => {
    calls += 1;
    if (calls > 1) return step(...given);
    if (isDone) await step(...given);
    throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  };
};

/** A provider that always gives this reply, and counts its calls. */
const providerOf = (reply: unknown) => {
  const state = { calls: 0 };
  const provider: Provider = {
    name: 'openai',
    models: { high: 'h', low: 'l' },
    complete: async () => {
      state.calls += 1;
      return { text: JSON.stringify(reply), inputTokens: 0, outputTokens: 0 };
    },
  };
  return { state, provider };
};
const end = { signal: new AbortController().signal, confirmClaim: async () => {} };
const jobOf = (request: Record<string, string>) => ({ id: nextId(), ownerId: nextId(), request }) as unknown as AiJob;

describe('AI work during which the database restarts is paid once, and goes on:', () => {
  it('a translation', async () => {
    const survey = blankSurvey();
    const { state, provider } = providerOf({ strings: [{ n: 1, text: 'Umfrage' }] });
    let stored: Translation | undefined;
    const result = await translate(
      {
        translations: { find: awayOnce(async () => stored) },
        saveTranslation: awayOnce(async (_, language, decide) => {
          const texts = decide(survey, stored);
          if (texts) stored = { language, strings: texts.strings, updatedAt: new Date() };
          return { survey, translation: stored };
        }),
      },
      { survey, languages: ['de'], provider, ...end, report: awayOnce(async () => true) },
    );
    assert.equal(stored?.strings['title']?.text, 'Umfrage');
    assert.deepEqual([result.translations[0]?.translatedCount, state.calls], [1, 1]);
  });

  it('suggestions', async () => {
    const { survey, question } = withQuestion(blankSurvey(), { type: 'NPS', text: 'Well?' });
    const { state, provider } = providerOf({
      suggestions: [{ aspect: 'clarity', problem: 'unclear', text: 'Clear?', options: [] }],
    });
    let stored: readonly StoredSuggestion[] = [];
    const replaceOpen = awayOnce(async (_: object, made: readonly StoredSuggestion[]) => {
      stored = made;
    });
    await optimise(
      { suggestions: { replaceOpen }, newId: nextId },
      { survey, questionId: question.id, provider, ...end },
    );
    assert.deepEqual([stored.length, state.calls], [1, 1]);
  });

  it('a survey, also when its storing is reported as lost', async () => {
    const questions = [{ type: 'NPS', text: 'Well?', isRequired: false, options: [], rows: [] }];
    const { state, provider } = providerOf({ title: 'Written', description: null, sections: [], questions });
    const stored: SurveyWithQuestions[] = [];
    const job = jobOf({ prompt: 'Lunch', questionCount: '1', save: 'true' });
    const created = await generate(
      {
        surveys: {
          load: awayOnce(async () => stored[0]),
          create: awayOnce(
            async (survey: SurveyWithQuestions) => {
              stored.push(survey);
              return survey;
            },
            { isDone: true },
          ),
        },
        actors: { add: async () => undefined as never },
        now: Date.now,
        newId: nextId,
      },
      { job, provider, ...end },
    );
    assert.deepEqual([created.surveyId, stored.length, state.calls], [job.id, 1, 1]);
  });

  it('a report', async () => {
    const { state, provider } = providerOf({
      title: 'Report',
      sections: [{ heading: 'All', text: 'Well', questions: [] }],
    });
    const stored: StoredReport[] = [];
    const counts = { total: 3, outcomes: { COMPLETED: 3 }, durationAverageMs: null, byDay: [], lastSubmittedAt: null };
    const deps = {
      totals: { countSurvey: awayOnce(async () => counts) },
      analyses: { lastTopic: async () => undefined },
      reports: {
        find: awayOnce(async () => undefined),
        save: awayOnce(async (report: StoredReport) => void stored.push(report)),
      },
      isAnonymising: true,
      now: Date.now,
    } as unknown as ReportDeps;
    const survey = blankSurvey();
    const job = { ...jobOf({ language: 'en' }), surveyId: survey.id } as SurveyJob;
    await writeReport(deps, { job, survey, provider, ...end });
    assert.deepEqual([stored.map(({ id }) => id), state.calls], [[job.id], 1]);
  });
});
