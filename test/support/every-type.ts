import type { Client } from './client.ts';

/** A question of every type as an author would send it. */
export const everyType = {
  MULTIPLE_CHOICE: {
    text: 'Which colour?',
    options: [{ text: 'Red' }, { text: 'Green', value: 'g' }, { text: 'Blue' }],
    settings: { allowOther: true },
  },
  CHECKBOXES: {
    text: 'Which fruits?',
    options: [{ text: 'Apple' }, { text: 'Pear' }, { text: 'Plum' }],
    settings: { minSelections: 1, maxSelections: 2 },
  },
  DROPDOWN: { text: 'Which country?', options: [{ text: 'France' }, { text: 'Italy' }] },
  RATING_SCALE: { text: 'How many stars?' },
  NPS: { text: 'Would you recommend us?' },
  MATRIX: {
    text: 'How was it?',
    options: [{ text: 'Good' }, { text: 'Bad' }],
    settings: { rows: [{ text: 'Food' }, { text: 'Service' }] },
  },
  RANKING: { text: 'Rank these', options: [{ text: 'One' }, { text: 'Two' }, { text: 'Three' }] },
  SHORT_TEXT: { text: 'Your name?' },
  LONG_TEXT: { text: 'Your story?' },
  EMAIL: { text: 'Your e-mail?' },
  NUMBER: { text: 'Your age?', settings: { min: 0, max: 150, integer: true } },
  DATE: { text: 'Which day?' },
  TIME: { text: 'What time?' },
  FILE_UPLOAD: { text: 'A picture?' },
  SLIDER: { text: 'How warm?' },
  YES_NO: { text: 'Yes or no?' },
  LIKERT_SCALE: { text: 'Do you agree?' },
} as const;

export type TypeName = keyof typeof everyType;

export interface TypedQuestion {
  id: string;
  type: TypeName;
  options: { id: string; text: string; value: string }[];
  settings: { rows?: { id: string; value: string }[] };
}

export interface FullSurvey {
  id: string;
  questions: Record<TypeName, TypedQuestion>;
}

/** A published survey with one question of every type. */
export async function createFullSurvey(client: Client, fields: Record<string, unknown> = {}): Promise<FullSurvey> {
  const survey = await client.create('/surveys', { title: 'Every type', ...fields });
  const questions: Partial<Record<TypeName, TypedQuestion>> = {};
  for (const [type, body] of Object.entries(everyType))
    questions[type as TypeName] = await client.create(`/surveys/${survey.id}/questions`, { type, ...body });
  await client.post(`/surveys/${survey.id}/publish`);
  return { id: survey.id, questions: questions as Record<TypeName, TypedQuestion> };
}

/** A valid answer to every question but the upload; `n` varies them. */
export function answersOf({ questions }: FullSurvey, n = 0): Record<string, unknown>[] {
  const option = (type: TypeName, index: number) => questions[type].options[index % questions[type].options.length]?.id;
  const of = (type: TypeName) => ({ questionId: questions[type].id });
  const rows = questions.MATRIX.settings.rows ?? [];
  return [
    {
      ...of('MULTIPLE_CHOICE'),
      ...(n % 4 === 3 ? { textValue: 'Violet' } : { optionId: option('MULTIPLE_CHOICE', n) }),
    },
    { ...of('CHECKBOXES'), optionId: option('CHECKBOXES', n) },
    { ...of('CHECKBOXES'), optionId: option('CHECKBOXES', n + 1) },
    { ...of('DROPDOWN'), optionId: option('DROPDOWN', n) },
    { ...of('RATING_SCALE'), numberValue: 1 + (n % 5) },
    { ...of('NPS'), numberValue: n % 11 },
    ...rows.map((row, index) => ({ ...of('MATRIX'), rowId: row.id, optionId: option('MATRIX', n + index) })),
    ...questions.RANKING.options.map((item, index) => ({
      ...of('RANKING'),
      optionId: item.id,
      rank: 1 + ((index + n) % 3),
    })),
    { ...of('SHORT_TEXT'), textValue: `Zoë “${n}” 😀` },
    { ...of('LONG_TEXT'), textValue: 'It was\na long day, a good day.' },
    { ...of('EMAIL'), textValue: `person${n}@example.org` },
    { ...of('NUMBER'), numberValue: 20 + (n % 60) },
    { ...of('DATE'), textValue: '2024-02-29' },
    { ...of('TIME'), textValue: '23:59:58' },
    { ...of('SLIDER'), numberValue: n % 101 },
    { ...of('YES_NO'), ...(n % 2 === 0 ? { optionId: option('YES_NO', 0) } : { textValue: 'no' }) },
    { ...of('LIKERT_SCALE'), numberValue: 1 + (n % 5) },
  ];
}
