import type { Client } from './client.ts';

/**
 * An ACTIVE survey with a scale that has lost its third of five options after an answer, so that the points of the
 * others are 1, 2, 4 and 5, and with conditions, a skip and a quota that name these points.
 */
export async function createGappedScale(admin: Client): Promise<string> {
  const { id } = await admin.create('/surveys', { title: 'A scale with a gap' });
  const add = (body: object) => admin.create(`/surveys/${id}/questions`, body);
  const scale = await add({ type: 'LIKERT_SCALE', text: 'How far do you agree?' });
  await admin.post(`/surveys/${id}/publish`);
  await admin.submit(id, { answers: [{ questionId: scale.id, numberValue: 5 }] });
  const options = scale.options.filter(({ value }: { value: string }) => value !== 'neutral');
  await admin.put(`/surveys/questions/${scale.id}`, { options });
  const equals = (value: number) => ({ questionId: scale.id, operator: 'equals', value });
  await admin.put(`/surveys/questions/${scale.id}`, { skips: [{ if: equals(2), to: 'END' }] });
  await add({ type: 'SHORT_TEXT', text: 'Why agree?', visibleIf: equals(4) });
  await add({ type: 'SHORT_TEXT', text: 'Why strongly?', visibleIf: equals(5) });
  const agrees = { questionId: scale.id, operator: 'between', min: 3, max: 5 };
  await add({ type: 'SHORT_TEXT', text: 'Since when?', visibleIf: agrees });
  await admin.create(`/surveys/${id}/quotas`, { name: 'Strongly', limit: 9, where: equals(5) });
  return id;
}

/** The texts of the questions that are asked after each option of the first question. */
export async function askedAfterEach(admin: Client, surveyId: string): Promise<string[][]> {
  const [{ id: questionId, options }] = (await admin.get(`/surveys/${surveyId}`)).questions;
  const asked: string[][] = [];
  for (const { id: optionId, text } of options) {
    const { sections } = await admin.post(`/public/surveys/${surveyId}/path`, { answers: [{ questionId, optionId }] });
    const texts = sections.flatMap(({ questions }: { questions: { text: string }[] }) =>
      questions.slice(1).map((question) => question.text),
    );
    asked.push([text, ...texts]);
  }
  return asked;
}

export const askedInGappedScale: string[][] = [
  ['Strongly disagree'],
  ['Disagree'],
  ['Agree', 'Why agree?', 'Since when?'],
  ['Strongly agree', 'Why strongly?', 'Since when?'],
];
