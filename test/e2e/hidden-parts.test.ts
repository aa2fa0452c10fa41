import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { surveyWithQuestionsSchema } from '../../src/http/schemas/surveys.ts';
import type { Client } from '../support/client.ts';
import { useService } from '../support/use-service.ts';

let admin: Client;
useService((served) => {
  ({ admin } = served);
});

describe('removed questions and options', () => {
  it('are shown only on request, and only to readers of the responses', async () => {
    const { id } = await admin.create('/surveys', { title: 'Lunch' });
    const choice = await admin.create(`/surveys/${id}/questions`, {
      type: 'DROPDOWN',
      text: 'Which?',
      options: [{ text: 'Soup' }, { text: 'Salad' }],
    });
    const grid = await admin.create(`/surveys/${id}/questions`, {
      type: 'MATRIX',
      text: 'How?',
      options: [{ text: 'Good' }],
      settings: { rows: [{ text: 'Taste' }, { text: 'Price' }] },
    });
    const gone = await admin.create(`/surveys/${id}/questions`, { type: 'TIME', text: 'When?' });
    const [soup, salad] = choice.options;
    const [taste, price] = grid.settings.rows;
    await admin.put(`/surveys/questions/${choice.id}`, { options: [salad] });
    await admin.put(`/surveys/questions/${grid.id}`, { settings: { rows: [taste] } });
    await admin.remove(`/surveys/${id}/questions/${gone.id}`);

    const whole = await admin.get(`/surveys/${id}?includeHidden=true`);
    assert.deepEqual(
      whole.questions.map((question: any) => [question.id, question.isHidden]),
      [
        [choice.id, undefined],
        [grid.id, undefined],
        [gone.id, true],
      ],
    );
    assert.deepEqual(whole.questions[0].options, [salad, { ...soup, isHidden: true }]);
    assert.deepEqual(whole.questions[1].settings.rows, [taste, { ...price, isHidden: true }]);
    assert.equal(whole.questions[2].text, 'When?');
    assert.ok(surveyWithQuestionsSchema.safeParse(whole).success);

    for (const path of [`/surveys/${id}`, `/surveys/${id}?includeHidden=false`]) {
      const shown = await admin.get(path);
      assert.deepEqual(
        shown.questions.map((question: any) => question.id),
        [choice.id, grid.id],
      );
      assert.ok(
        !JSON.stringify(shown).includes('isHidden') &&
          !JSON.stringify(shown).includes(soup.id) &&
          !JSON.stringify(shown).includes(price.id),
      );
    }
    assert.equal((await admin.call('GET', `/surveys/${id}?includeHidden=yes`)).status, 400);
  });
});
