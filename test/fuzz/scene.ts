import assert from 'node:assert/strict';
import { type Client, createClient } from '../support/client.ts';
import { answersOf, createFullSurvey } from '../support/every-type.ts';
import type { KnownIds } from './ids.ts';

export interface SceneDeps {
  base: string;
  /** Creates the objects whose requests are malformed later. */
  keeper: Client;
  admin: Client;
  ids: KnownIds;
}

const hostilePatterns = [
  '(a|bc|d|ef){1000}'.repeat(28),
  '((((a{1,9}){1,9}){1,9}){1,9}|b){0,9}'.repeat(13),
  `(?i)${'[\\p{L}\\p{N}]|'.repeat(35)}`,
  '[A-Z]{2}[0-9]{4}',
];

/**
 * Objects for malformed requests: surveys with every type and a few responses, people, an endpoint; renewed as requests
 * delete it.
 */
export async function setScene({ base, keeper, admin, ids }: SceneDeps) {
  const password = 'a password of some length';
  const email = `fuzz-${crypto.randomUUID()}@example.invalid`;
  ids.add('userId', (await admin.create('/users', { email, password, role: 'EDITOR' })).id);
  const viewerKey: string = (
    await admin.create('/api-keys', { name: 'fuzz viewer', role: 'VIEWER', requestsPerMinute: 100_000 })
  ).key;
  let full = await createFullSurvey(keeper);
  let [editorToken, n] = ['', 0];
  const goodBodies: Record<string, () => unknown> = {
    'POST /responses/surveys/{surveyId}/submit': () => ({
      answers: answersOf(full, ++n),
      ...(n % 3 === 0 && { responseId: crypto.randomUUID(), isComplete: n % 2 === 0 }),
      ...(n % 5 === 0 && {
        respondent: 'guest',
        language: 'en',
        startedAt: '2026-01-15T09:30:00.000Z',
        metadata: { a: 'b' },
      }),
    }),
    'POST /analytics/surveys/{surveyId}/crosstab': () => ({
      questionId1: full.questions.NPS.id,
      questionId2: full.questions.MULTIPLE_CHOICE.id,
      filters: [`${full.questions.YES_NO.id}:yes`],
      banner: [full.questions.DROPDOWN.id],
    }),
    // Most are made from the schema.
    'POST /surveys/{surveyId}/questions': () =>
      ++n % 4 === 0
        ? {
            type: 'SHORT_TEXT',
            text: 'Code?',
            settings: { pattern: hostilePatterns[(n / 4) % hostilePatterns.length] },
          }
        : undefined,
    'POST /auth/login': () => ({ email, password }),
    'PUT /surveys/{id}/members/{userId}': () => ({ role: n % 2 === 0 ? 'VIEWER' : 'EDITOR' }),
    'POST /surveys/{surveyId}/questions/reorder': () => ({
      questionIds: Object.values(full.questions).map(({ id }) => id),
    }),
  };
  const renew = async () => {
    full = await createFullSurvey(keeper);
    for (const { id } of Object.values(full.questions)) ids.add('questionId', id);
    for (const { options } of Object.values(full.questions)) for (const { id } of options) ids.add('optionId', id);
    // Three in four requests that name a survey name one that no request has changed yet.
    for (let times = 0; times < 15; times += 1) ids.add('surveyId', full.id);
    for (let count = 0; count < 5; count += 1) {
      const { status, body } = await keeper.submit(full.id, { answers: answersOf(full, count) });
      assert.equal(status, 201, JSON.stringify(body));
      ids.add('responseId', body.data.responseId);
    }
    ids.add(
      'webhookId',
      (
        await keeper.create('/webhooks', {
          url: 'http://127.0.0.1:9/in',
          events: ['response.completed'],
          isActive: false,
        })
      ).id,
    );
    const login = await createClient({ base }).call('POST', '/auth/login', { body: { email, password } });
    editorToken = login.status === 200 ? `Bearer ${login.body.data.accessToken}` : editorToken;
  };
  await renew();
  return { goodBodies, renew, viewerKey, editorToken: () => editorToken };
}
