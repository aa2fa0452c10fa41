import assert from 'node:assert/strict';
import { it, mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
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
        addIn: async (_tx: unknown, { language }: { language: string }) => void copied.push(language),
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

it('copies of surveys with translations are made two at once, and leave other connections free', async () => {
  const begun: (() => void)[] = [];
  const routeOf = (languages: string[]) => {
    const deps = {
      surveys: {
        load: async () => blankSurvey(),
        create: (copy: unknown) => new Promise((resolve) => begun.push(() => resolve(copy))),
      },
      actors: { add: async () => undefined },
      translations: { languages: async () => languages },
      responseCount: async () => 0,
      now: () => 0,
      newId: nextId,
    } as unknown as SurveyRoutesDeps;
    return surveyRoutes(deps).find(({ path }) => path === '/surveys/{id}/duplicate');
  };
  const principal = { role: 'EDITOR', userId: nextId() };
  const settle = async () => {
    for (let i = 0; i < 20; i += 1) await turn();
  };
  const [translated, plain] = [routeOf(['de']), routeOf([])];
  const copy = (route: typeof plain) => route?.handle({ params: { id: nextId() }, body: {}, principal } as never);
  const copies = [copy(translated), copy(translated), copy(translated)];
  await settle();
  assert.equal(begun.length, 2);
  copies.push(copy(plain));
  await settle();
  assert.equal(begun.length, 3, 'one without translations takes no time');
  begun[0]?.();
  await settle();
  assert.equal(begun.length, 4);
  for (const end of begun) end();
  await Promise.all(copies);
});
