/** How the answers to a question are read by conditions, skips, `optionsFrom` and piping. */
export type AnswerKind =
  /** one option, or a free "other" text */
  | 'choice'
  /** one of two options, which the texts "yes" and "no" stand for as well */
  | 'yesNo'
  /** one option on an ordered scale, which its point stands for as well */
  | 'points'
  /** several options */
  | 'choices'
  /** options for each row */
  | 'grid'
  /** options with ranks */
  | 'ranks'
  /** a number on a scale of equal steps */
  | 'scale'
  /** a free number */
  | 'number'
  /** a free text */
  | 'text'
  /** YYYY-MM-DD */
  | 'date'
  /** HH:MM or HH:MM:SS */
  | 'time'
  /** an upload */
  | 'file';

/** The kind of each question type. `path-definition.ts` makes the compiler check that none is missing. */
export const answerKinds = {
  MULTIPLE_CHOICE: 'choice',
  CHECKBOXES: 'choices',
  DROPDOWN: 'choice',
  RATING_SCALE: 'scale',
  NPS: 'scale',
  MATRIX: 'grid',
  RANKING: 'ranks',
  SHORT_TEXT: 'text',
  LONG_TEXT: 'text',
  EMAIL: 'text',
  NUMBER: 'number',
  DATE: 'date',
  TIME: 'time',
  FILE_UPLOAD: 'file',
  SLIDER: 'scale',
  YES_NO: 'yesNo',
  LIKERT_SCALE: 'points',
} as const satisfies Readonly<Record<string, AnswerKind>>;

/** The kind of a question type by name; a type that is not known counts as free text. */
export const answerKindOf = (type: string): AnswerKind =>
  Object.hasOwn(answerKinds, type) ? answerKinds[type as keyof typeof answerKinds] : 'text';

/** Whether an answer to such a question chooses one option. */
export const choosesOneOption = (type: string): boolean => ['choice', 'yesNo', 'points'].includes(answerKindOf(type));
