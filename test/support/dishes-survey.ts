import assert from 'node:assert/strict';
import type { Client } from './client.ts';
import { eventually } from './eventually.ts';

/** An ACTIVE survey of a dish, with markup in its text, and of whether somebody comes again. */
export async function dishesSurvey(admin: Client) {
  const { id } = await admin.create('/surveys', { title: 'Lunch', status: 'ACTIVE' });
  const dish = await admin.create(`/surveys/${id}/questions`, {
    type: 'MULTIPLE_CHOICE',
    text: 'Which <b>dish</b>?',
    options: [{ text: 'Soup' }, { text: 'Pasta' }],
  });
  const again = await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'Again?' });
  const submit = async (dishNumber: number, isAgain: boolean) => {
    const reply = await admin.submit(id, {
      answers: [
        { questionId: dish.id, optionId: dish.options[dishNumber].id },
        { questionId: again.id, optionId: again.options[isAgain ? 0 : 1].id },
      ],
    });
    assert.equal(reply.status, 201);
  };
  return { id: String(id), dish, again, submit };
}

/** A published survey of a dish in words, with a response for each pair of respondent and text. */
export async function answeredSurvey(admin: Client, given: readonly (readonly [respondent: string, text: string])[]) {
  const { id } = await admin.create('/surveys', { title: 'Lunch' });
  const question = await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'Which dish?' });
  await admin.post(`/surveys/${id}/publish`);
  for (const [respondent, textValue] of given)
    await admin.create(`/responses/surveys/${id}/submit`, {
      respondent,
      answers: [{ questionId: question.id, textValue }],
    });
  await eventually(async () => assert.equal((await admin.get(`/responses/surveys/${id}`)).length, given.length));
  return String(id);
}
