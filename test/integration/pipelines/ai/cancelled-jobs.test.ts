import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSaveTranslation } from '../../../../src/actors/translation-changes.ts';
import { blankSurvey } from '../../../../src/domain/blank-survey.ts';
import { createLog } from '../../../../src/log.ts';
import { type AiJobsDeps, startAiJobs } from '../../../../src/pipelines/ai/jobs.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createAiStore } from '../../../../src/stores/postgres/ai/jobs.ts';
import { createReportStore } from '../../../../src/stores/postgres/ai/reports.ts';
import { createSuggestionStore } from '../../../../src/stores/postgres/ai/suggestions.ts';
import { createSurveyStore } from '../../../../src/stores/postgres/surveys.ts';
import { createTranslationStore } from '../../../../src/stores/postgres/translations.ts';
import { type OwnedDatabase, ownedDatabase } from '../../../support/owned-database.ts';
import { withQuestion } from '../../../support/questions.ts';

/** Each kind of job, with a reply of the provider that would be stored. */
const works = {
  'a generated survey': {
    request: { prompt: 'Lunch', questionCount: '1', save: 'true' },
    reply: {
      title: 'Written',
      description: null,
      sections: [],
      questions: [{ type: 'NPS', text: 'Well?', isRequired: false, options: [], rows: [] }],
    },
  },
  'suggestions for a question': {
    request: { work: 'optimise' },
    reply: { suggestions: [{ aspect: 'clarity', problem: 'unclear', text: 'Clear?', options: [] }] },
  },
  'a report': {
    request: { work: 'report', language: 'en' },
    reply: { title: 'Report', sections: [{ heading: 'All', text: 'Well', questions: [] }] },
  },
  'a translation': {
    request: { work: 'translate', languages: 'de' },
    reply: { strings: [{ n: 1, text: 'Umfrage' }] },
  },
};

describe('an AI job that is cancelled while its provider writes', () => {
  let database: OwnedDatabase;
  before(async () => {
    database = await ownedDatabase();
  });
  after(() => database?.drop());

  /** Works a job off, which is cancelled before the reply comes where `isCancelled`; gives what is stored then. */
  async function workedOff(
    { request, reply }: { request: Record<string, string>; reply: unknown },
    isCancelled: boolean,
  ) {
    const { sql, ownerId } = database;
    const [store, surveys, translations] = [createAiStore(sql), createSurveyStore(sql), createTranslationStore(sql)];
    const blank = { ...blankSurvey(newId(), ownerId, Date.now()), title: 'Survey', aiEnabled: true };
    const asked = withQuestion(blank, { type: 'NPS', text: 'Good?' });
    const { question } = asked;
    const survey = request['work'] === 'optimise' ? asked.survey : blank;
    await surveys.create(survey);
    const isOfSurvey = 'work' in request;
    const { id: jobId } = await store.findOrCreate({
      id: newId(),
      ownerId,
      surveyId: isOfSurvey ? survey.id : null,
      topic: newId(),
      request: { ...request, ...(isOfSurvey && { questionId: question.id }) },
    });
    let work = async (_: { aiJobId: string }): Promise<void> => assert.fail('no worker');
    startAiJobs({
      store,
      surveys,
      translations,
      saveTranslation: createSaveTranslation({ surveys, translations, now: Date.now }),
      suggestions: createSuggestionStore(sql),
      reports: createReportStore(sql),
      totals: {
        countSurvey: async () => ({
          total: 3,
          outcomes: { COMPLETED: 3 },
          durationAverageMs: null,
          byDay: [],
          lastSubmittedAt: null,
        }),
      },
      providers: {
        pick: async () => ({
          name: 'openai',
          models: { high: 'h', low: 'l' },
          complete: async () => {
            if (isCancelled) await store.cancel(jobId);
            return { text: JSON.stringify(reply), inputTokens: 0, outputTokens: 0 };
          },
        }),
      },
      actors: { add: async () => {} },
      publishProgress: () => {},
      log: createLog('silent'),
      isAnonymising: false,
      workers: {
        add: async () => {},
        consume: (_: string, handler: typeof work) => {
          work = handler;
        },
      },
      newId: () => newId(),
      now: Date.now,
    } as unknown as AiJobsDeps);
    await work({ aiJobId: jobId });
    const [stored] = await sql<{ count: number }[]>`
      SELECT (SELECT count(*) FROM surveys WHERE id = ${jobId}) + (SELECT count(*) FROM ai_reports WHERE id = ${jobId})
        + (SELECT count(*) FROM ai_suggestions WHERE question_id = ${question.id})
        + (SELECT count(*) FROM translations WHERE survey_id = ${survey.id}) AS count`;
    return { status: (await store.find(jobId))?.status, stored: stored?.count };
  }

  for (const [name, work] of Object.entries(works))
    it(`stores nothing: ${name}`, async () => {
      const finished = await workedOff(work, false);
      assert.deepEqual([finished.status, Number(finished.stored) > 0], ['COMPLETED', true]);
      assert.deepEqual(await workedOff(work, true), { status: 'CANCELLED', stored: 0 });
    });
});
