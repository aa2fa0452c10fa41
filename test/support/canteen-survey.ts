import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { Client } from './client.ts';
import { eventually } from './eventually.ts';
import { type AskedQuestion, publishedSurvey } from './page-fixture.ts';

/** Responses of the survey. */
export const respondents = 90;

const options = (...texts: string[]) => texts.map((text) => ({ text }));

/**
 * A survey whose answers depend on each other, so that a crosstab of dish by again is significant; one in five gives no
 * weight.
 */
export async function answeredCanteen(
  admin: Client,
  { title = 'Canteen', secondDish = 'Salad' }: { title?: string; secondDish?: string } = {},
) {
  const { id, questions } = await publishedSurvey(admin, { title }, [
    { type: 'DROPDOWN', text: 'Which dish?', options: options('Soup', secondDish, 'Pasta') },
    { type: 'YES_NO', text: 'Would you come again?' },
    { type: 'CHECKBOXES', text: 'Which fruits?', options: options('Apple', 'Pear', 'Plum') },
    {
      type: 'MATRIX',
      text: 'How was it?',
      options: options('Good', 'Bad'),
      settings: { rows: options('Food', 'Service') },
    },
    { type: 'NUMBER', text: 'How many live there?' },
    { type: 'SHORT_TEXT', text: 'Anything else?' },
  ]);
  const [dish, again, fruits, food, weight] = questions as [
    AskedQuestion,
    AskedQuestion,
    AskedQuestion,
    AskedQuestion,
    AskedQuestion,
  ];
  for (let n = 0; n < respondents; n += 1) {
    const option = (question: AskedQuestion, index: number) => question.options[index]?.id;
    const hasSoup = n % 2 === 0;
    const { status, body } = await admin.submit(id, {
      answers: [
        { questionId: dish.id, optionId: option(dish, hasSoup ? 0 : n % 10 === 1 ? 2 : 1) },
        { questionId: again.id, textValue: (hasSoup ? n % 8 !== 0 : n % 3 === 0) ? 'yes' : 'no' },
        ...fruits.options.slice(0, n % 4).map(({ id }) => ({ questionId: fruits.id, optionId: id })),
        { questionId: food.id, rowId: food.settings.rows?.[0]?.id, optionId: option(food, n % 7 === 0 ? 1 : 0) },
        ...(n % 5 === 0 ? [] : [{ questionId: weight.id, numberValue: 1 + (n % 3) / 2 }]),
      ],
    });
    assert.equal(status, 201, JSON.stringify(body));
  }
  await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, respondents));
  return {
    id,
    dish,
    again,
    fruits,
    food,
    weight,
    /** The address of the screen Crosstab with these fields of its search. */
    path(search: Record<string, unknown> = {}): string {
      const fields = Object.entries(search).map(
        ([name, value]) => `${name}=${encodeURIComponent(typeof value === 'string' ? value : JSON.stringify(value))}`,
      );
      return `/surveys/${id}/crosstab${fields.length > 0 ? '?' : ''}${fields.join('&')}`;
    },
    /** The API's reply. */
    ask: (body: Record<string, unknown>) => admin.post(`/analytics/surveys/${id}/crosstab`, body),
  };
}

export type Canteen = Awaited<ReturnType<typeof answeredCanteen>>;

export const crosstabTable = (page: Page) => page.getByRole('table', { name: 'Crosstab' });
