/** The names of the question types in the API. */
export const questionTypeNames = [
  'MULTIPLE_CHOICE',
  'CHECKBOXES',
  'DROPDOWN',
  'RATING_SCALE',
  'NPS',
  'MATRIX',
  'RANKING',
  'SHORT_TEXT',
  'LONG_TEXT',
  'EMAIL',
  'NUMBER',
  'DATE',
  'TIME',
  'FILE_UPLOAD',
  'SLIDER',
  'YES_NO',
  'LIKERT_SCALE',
] as const;

export type QuestionTypeName = (typeof questionTypeNames)[number];
