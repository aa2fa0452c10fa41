import type { Client } from './client.ts';

/** A survey with a title and one question with two options: four texts. */
export async function surveyOfFourTexts(admin: Client, title: string) {
  const { id } = await admin.create('/surveys', { title });
  const question = await admin.create(`/surveys/${id}/questions`, {
    type: 'MULTIPLE_CHOICE',
    text: 'Which dish?',
    options: [{ text: 'Soup' }, { text: 'Salad' }],
  });
  return { id, question };
}

export const translationOf = (admin: Client, id: string, language: string) =>
  admin.get(`/surveys/${id}/translations/${language}`);
