import assert from 'node:assert/strict';
import type { Client } from './client.ts';
import { eventually } from './eventually.ts';

/** A published survey of sex and age, for quotas by cell. */
export async function panelSurvey(admin: Client) {
  const { id } = await admin.create('/surveys', { title: 'Panel' });
  const add = (text: string, options: string[]) =>
    admin.create(`/surveys/${id}/questions`, {
      type: 'MULTIPLE_CHOICE',
      text,
      options: options.map((option) => ({ text: option })),
    });
  const sex = await add('Sex', ['Female', 'Male']);
  const age = await add('Age', ['18–39', '40+']);
  await admin.post(`/surveys/${id}/publish`);
  const is = (question: any, index: number) => ({
    questionId: question.id,
    operator: 'isAnyOf',
    optionIds: [question.options[index].id],
  });
  const submit = async (sexIndex: number, ageIndex: number, more: object = {}) => {
    const reply = await admin.submit(id, {
      answers: [
        { questionId: sex.id, optionId: sex.options[sexIndex].id },
        { questionId: age.id, optionId: age.options[ageIndex].id },
      ],
      ...more,
    });
    return reply.status === 201 ? reply.body.data : { status: reply.status, ...reply.body.details };
  };
  return { id: String(id), sex, age, is, submit };
}

/** Quotas of a survey by name once all are counted. */
export function countedQuotas(admin: Client, id: string) {
  return eventually(async () => {
    const quotas = await admin.get(`/surveys/${id}/quotas?limit=100`);
    assert.ok(quotas.every((quota: any) => !quota.isCounting));
    return Object.fromEntries(quotas.map((quota: any) => [quota.name, quota.count]));
  });
}
