import assert from 'node:assert/strict';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';

export interface Demonstration {
  surveyId: string;
  dishId: string;
  againId: string;
  webhookId: string;
  conversationId: string;
}

const responseCount = 240;
const comments = [
  'The soup was hot and the people were friendly.',
  'Too long a queue at noon.',
  'More vegetarian dishes, please.',
  'Great value.',
  'The pasta was cold.',
];

/** A canteen's survey with made-up responses, and what surrounds it. */
export async function demonstration(admin: Client): Promise<Demonstration> {
  const { id: surveyId } = await admin.create('/surveys', {
    title: 'Lunch in the canteen',
    description: 'Two minutes, anonymous. Thank you for helping us to cook better.',
  });
  const add = (type: string, text: string, fields: object = {}) =>
    admin.create(`/surveys/${surveyId}/questions`, { type, text, ...fields });
  const dish = await add('MULTIPLE_CHOICE', 'Which dish did you have?', {
    options: [{ text: 'Soup' }, { text: 'Pasta' }, { text: 'Curry' }, { text: 'Salad' }],
    isRequired: true,
  });
  const why = await add('CHECKBOXES', 'What made you choose it?', {
    options: [{ text: 'Taste' }, { text: 'Price' }, { text: 'Health' }, { text: 'It was there' }],
  });
  const nps = await add('NPS', 'How likely are you to recommend the canteen to a colleague?');
  const parts = await add('MATRIX', 'How satisfied are you with …', {
    options: [{ text: 'Not at all' }, { text: 'A little' }, { text: 'Mostly' }, { text: 'Fully' }],
    settings: { rows: [{ text: 'Food' }, { text: 'Service' }, { text: 'Price' }] },
  });
  const again = await add('YES_NO', 'Would you come again?');
  const comment = await add('LONG_TEXT', 'What should we do better?');
  await admin.put(`/surveys/${surveyId}/translations/ar`, {
    title: 'الغداء في المقصف',
    description: 'دقيقتان فقط. شكرًا لمساعدتنا.',
    questions: [
      {
        id: dish.id,
        text: 'أي طبق تناولت؟',
        options: ['حساء', 'معكرونة', 'كاري', 'سلطة'].map((text, n) => ({ id: dish.options[n].id, text })),
      },
    ],
  });
  await admin.post(`/surveys/${surveyId}/publish`);
  await admin.expect(201, 'POST', `/surveys/${surveyId}/quotas/grid`, {
    questionIds: [dish.id, again.id],
    limit: 60,
    whenFull: 'COUNT_ONLY',
  });
  const optionOf = (question: { id: string; options: { id: string }[] }, n: number) => ({
    questionId: question.id,
    optionId: question.options[n % question.options.length]?.id,
  });
  for (let n = 0; n < responseCount; n += 1) {
    const reply = await admin.submit(surveyId, {
      answers: [
        optionOf(dish, [0, 0, 0, 1, 1, 2, 3][n % 7] ?? 0),
        optionOf(why, n % 3),
        ...(n % 2 === 0 ? [optionOf(why, 3)] : []),
        { questionId: nps.id, numberValue: [10, 9, 9, 8, 7, 6, 10, 3, 9, 8, 10][n % 11] },
        ...parts.settings.rows.map((row: { id: string }, at: number) => ({
          ...optionOf(parts, [3, 2, 2, 1, 3][(n + at) % 5] ?? 0),
          rowId: row.id,
        })),
        optionOf(again, n % 4 === 0 ? 1 : 0),
        ...(n % 3 === 0 ? [{ questionId: comment.id, textValue: comments[n % comments.length] }] : []),
      ],
    });
    assert.equal(reply.status, 201, JSON.stringify(reply.body));
  }
  await eventually(async () =>
    assert.equal((await admin.get(`/analytics/surveys/${surveyId}`)).totalResponses, responseCount),
  );
  await surroundings(admin, surveyId);
  const { id: webhookId } = await admin.create('/webhooks', {
    url: 'http://127.0.0.1:9/surveys',
    events: ['response.completed', 'quota.reached'],
    surveyId,
    description: 'The dashboard in the lobby',
    isActive: false,
  });
  await admin.post(`/ai/questions/${dish.id}/optimize`);
  const { conversationId } = await admin.create('/ai/conversations', {
    prompt: 'What colleagues think of our canteen, and what would bring them more often.\n\nRespondents: employees',
    questionCount: 5,
  });
  await admin.post(`/ai/conversations/${conversationId}/messages`, {
    message: 'Yes, please ask what a lunch may cost.',
  });
  return { surveyId, dishId: dish.id, againId: again.id, webhookId, conversationId };
}

/** Other surveys, users, keys and a file. */
async function surroundings(admin: Client, surveyId: string): Promise<void> {
  for (const title of ['Onboarding of new colleagues', 'Website feedback', 'Summer party'])
    await admin.create('/surveys', { title });
  for (const [email, role] of [
    ['ada@example.org', 'EDITOR'],
    ['grace@example.org', 'VIEWER'],
  ])
    await admin.create('/users', { email, role, password: 'a good long password' });
  await admin.create('/api-keys', { name: 'Nightly import', role: 'EDITOR' });
  const { exportId } = await admin.expect(202, 'POST', `/exports/surveys/${surveyId}`, { format: 'EXCEL' });
  await eventually(async () => assert.equal((await admin.get(`/exports/${exportId}`)).status, 'COMPLETED'), 60_000);
}
