import type { QuestionTypeName } from './questions/type-names.ts';

export const surveyStatuses = ['DRAFT', 'ACTIVE', 'PAUSED', 'CLOSED'] as const;
export type SurveyStatus = (typeof surveyStatuses)[number];
export const visibilities = ['PUBLIC', 'PRIVATE'] as const;
export type Visibility = (typeof visibilities)[number];
/** Why a survey is closed: set by hand, by its end time, or by its quota. */
export type ClosedReason = 'MANUAL' | 'ENDED' | 'QUOTA';

/** Something to choose. `code` (1…) is its number in storage: given once, never reused; hidden options keep theirs. */
export interface Option {
  id: string;
  text: string;
  value: string;
  code: number;
  isHidden: boolean;
  /** Its place on an ordered scale (1…n), kept from the first edit after there were answers; until then its place among those shown. */
  point?: number;
}

/** A row of a MATRIX; `code` as for options. */
export type MatrixRow = Option;

/**
 * Where a question's answers lie in a stored response: key → position in the response's `codes`, `numbers` or `texts`.
 * The keys are the question type's own (see `QuestionType.columns`); positions are given once a survey and never reused.
 */
export interface Slots {
  codes: Readonly<Record<string, number>>;
  numbers: Readonly<Record<string, number>>;
  texts: Readonly<Record<string, number>>;
}

/** Settings as stored: the type's schema has checked them. MATRIX rows live beside them in `rows`. */
export type QuestionSettings = Readonly<Record<string, unknown>>;

export interface Question {
  id: string;
  surveyId: string;
  type: QuestionTypeName;
  text: string;
  description: string | null;
  isRequired: boolean;
  order: number;
  /** All options, hidden ones too, in the order shown. */
  options: readonly Option[];
  /** All rows of a MATRIX, hidden ones too; empty for other types. */
  rows: readonly MatrixRow[];
  settings: QuestionSettings;
  slots: Slots;
  isHidden: boolean;
}

/** How many positions of each kind a survey has given out. */
export interface SlotCounts {
  codes: number;
  numbers: number;
  texts: number;
}

export interface Survey {
  id: string;
  ownerId: string;
  title: string;
  description: string | null;
  status: SurveyStatus;
  closedReason: ClosedReason | null;
  isAnonymous: boolean;
  /** The revision that made it anonymous, until it is sure that no response before that names its respondent; null from then on. */
  anonymityBegun?: number | null;
  visibility: Visibility;
  /** Opens a PRIVATE survey to respondents. */
  accessToken: string | null;
  responseQuota: number | null;
  submissionRateLimit: number | null;
  startsAt: Date | null;
  endsAt: Date | null;
  aiEnabled: boolean;
  language: string;
  retentionDays: number | null;
  createdAt: Date;
  updatedAt: Date;
  publishedAt: Date | null;
  closedAt: Date | null;
  /** Wording version: a new one for every change of wording, question or option. */
  version: number;
  /** Counts every change that the intake must know of; compared by the intake script. */
  revision: number;
  slotCounts: SlotCounts;
}

/** A survey with all its questions in order, hidden ones too. */
export interface SurveyWithQuestions extends Survey {
  questions: readonly Question[];
}

export function visibleQuestions(survey: SurveyWithQuestions): Question[] {
  return survey.questions.filter((question) => !question.isHidden);
}

export function visibleOptions(question: Question): Option[] {
  return question.options.filter((option) => !option.isHidden);
}

export function visibleRows(question: Question): MatrixRow[] {
  return question.rows.filter((row) => !row.isHidden);
}
