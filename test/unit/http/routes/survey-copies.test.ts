import assert from 'node:assert/strict';
import { it, mock } from 'node:test';
import { type SurveyRoutesDeps, surveyRoutes } from '../../../../src/http/routes/surveys.ts';
import type { Sql } from '../../../../src/stores/postgres/client.ts';
import { createSurveyStore } from '../../../../src/stores/postgres/surveys.ts';
import { blankSurvey, nextId } from '../../../support/questions.ts';

/** A database that takes all that is written and has nothing. */
const emptySql = (): Sql => {
  const statement = async () => [];
  const tx = Object.assign(statement, { json: (value: unknown) => value, unsafe: statement });
  return Object.assign(statement, { begin: (work: (given: typeof tx) => unknown) => work(tx) }) as unknown as Sql;
};

it('a survey with fourteen large translations is copied, although that takes longer than other calls may', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const source = blankSurvey();
    const languages = Array.from({ length: 14 }, (_, index) => `l${index}`);
    const copied: string[] = [];
    const route = surveyRoutes({
      surveys: { ...createSurveyStore(emptySql()), load: async () => source },
      actors: { add: async () => undefined },
      translations: {
        languages: async () => languages,
        async findIn() {
          mock.timers.tick(1000);
          return { language: '', strings: {}, updatedAt: new Date(0) };
        },
        mergeIn: async (_tx: unknown, { language }: { language: string }) => void copied.push(language),
      },
      responseCount: async () => 0,
      now: () => 0,
      newId: nextId,
    } as unknown as SurveyRoutesDeps).find(({ path }) => path === '/surveys/{id}/duplicate');
    const principal = { role: 'EDITOR', userId: nextId() };
    await route?.handle({ params: { id: source.id }, body: {}, principal } as never);
    assert.deepEqual(copied, languages);
  } finally {
    mock.timers.reset();
  }
});
