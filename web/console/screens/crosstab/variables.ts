import { foundVariables } from '../../analytics/variables.ts';
import type { Definition, Question, QuestionTypeName } from '../../data/questions.ts';

/** What can stand in rows or columns of a crosstab. */
export interface Variable {
  /** As the address names it: the name of the API, with `~` before the row of a MATRIX or the item of a RANKING. */
  key: string;
  label: string;
}

const crossedTypes: ReadonlySet<QuestionTypeName> = new Set([
  'YES_NO',
  'MULTIPLE_CHOICE',
  'DROPDOWN',
  'CHECKBOXES',
  'LIKERT_SCALE',
  'RATING_SCALE',
  'NPS',
  'SLIDER',
  'RANKING',
]);

/** Questions with categories, and what every response has; after an AI analysis also what it found. */
export function variablesOf({ questions }: Pick<Definition, 'questions'>): Variable[] {
  const variables = questions.flatMap((question, index) => {
    const label = `${index + 1}. ${question.text}`;
    if (question.type === 'MATRIX')
      return (question.settings.rows ?? []).map((row) => ({
        key: `${question.id}~${row.id}`,
        label: `${label} – ${row.text}`,
      }));
    if (!crossedTypes.has(question.type)) return [];
    if (question.type !== 'RANKING') return [{ key: question.id, label }];
    return [
      { key: question.id, label: `${label} – first choice` },
      ...question.options.map(({ id, text }) => ({ key: `${question.id}~${id}`, label: `${label} – rank of ${text}` })),
    ];
  });
  return [
    ...variables,
    { key: 'outcome', label: 'Outcome of the response' },
    { key: 'collector', label: 'Collector' },
    { key: 'language', label: 'Language' },
    ...foundVariables(questions),
  ];
}

/** Questions whose answers can be weights. */
export const weightsOf = (questions: readonly Question[]): Variable[] =>
  questions.flatMap(({ id, type, text }, index) =>
    type === 'NUMBER' ? [{ key: id, label: `${index + 1}. ${text}` }] : [],
  );
