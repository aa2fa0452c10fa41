import type { QuestionTypeName } from './questions.ts';

/** What the types of questions are called. */
export const questionTypeTitles: Readonly<Record<QuestionTypeName, string>> = {
  MULTIPLE_CHOICE: 'Multiple choice',
  CHECKBOXES: 'Checkboxes',
  DROPDOWN: 'Dropdown',
  YES_NO: 'Yes or no',
  NPS: 'Net promoter score',
  RATING_SCALE: 'Rating',
  LIKERT_SCALE: 'Agreement',
  SLIDER: 'Slider',
  MATRIX: 'Matrix',
  RANKING: 'Ranking',
  SHORT_TEXT: 'Short text',
  LONG_TEXT: 'Long text',
  EMAIL: 'E-mail',
  NUMBER: 'Number',
  DATE: 'Date',
  TIME: 'Time',
  FILE_UPLOAD: 'File',
};
