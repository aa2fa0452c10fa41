import type { Appearance } from './appearance.ts';
import type { Collector } from './collectors/collector.ts';
import type { Condition, OptionsFrom, Section, Skip } from './path/definition.ts';
import type { QuestionTypeName } from './questions/type-names.ts';
import type { CellQuota } from './quotas/cell-quota.ts';

export const surveyStatuses = ['DRAFT', 'ACTIVE', 'PAUSED', 'CLOSED'] as const;
export type SurveyStatus = (typeof surveyStatuses)[number];
export const visibilities = ['PUBLIC', 'PRIVATE'] as const;
export type Visibility = (typeof visibilities)[number];
/** Why a survey is closed: set by hand, by its end time, or by its quota. */
export type ClosedReason = 'MANUAL' | 'ENDED' | 'QUOTA';

/**
 * An answer option. `code` (from 1) is its number in storage: assigned once, never reused; hidden options keep theirs.
 */
export interface Option {
  id: string;
  text: string;
  value: string;
  code: number;
  isHidden: boolean;
  /**
   * Point on an ordered scale (1…n), fixed by the first edit after answers exist. While undefined: the position among
   * the visible options.
   */
  point?: number;
  /** Shown to a respondent only if this holds; absent: always. */
  visibleIf?: Condition;
  /** Keeps its place when the others are shuffled, and stays under `optionsFrom` without a counterpart. */
  isAnchored?: boolean;
  /** Only rows have it: see `Question.firstVersion`. */
  firstVersion?: number;
  /** Only rows have it: see `Question.absentIn`. */
  absentIn?: readonly VersionSpan[];
}

/** Versions of a survey from `from` to the last one before `to`, or all from `from` on. */
export interface VersionSpan {
  from: number;
  to?: number;
}

/** A row of a MATRIX; `code` has the same rules as for options. */
export type MatrixRow = Option;

/**
 * Positions of a question's answers in a stored response: key → index in the response's `codes`, `numbers` or `texts`.
 * The question type defines the keys (see `QuestionType.slotKeys`); a survey assigns each position once and never
 * reuses it.
 */
export interface Slots {
  codes: Readonly<Record<string, number>>;
  numbers: Readonly<Record<string, number>>;
  texts: Readonly<Record<string, number>>;
}

/** Bits of a survey's code positions that are set when a question, or a row of it, was not asked: see `notAsked`. */
export type NotAskedBits = Readonly<Record<string, number>>;

/** Stored settings, already validated by the type's schema. MATRIX rows are in `Question.rows`, not here. */
export type QuestionSettings = Readonly<Record<string, unknown>>;

export interface Question {
  id: string;
  surveyId: string;
  type: QuestionTypeName;
  text: string;
  description: string | null;
  isRequired: boolean;
  order: number;
  /** All options in display order, including hidden ones. */
  options: readonly Option[];
  /** All rows of a MATRIX, including hidden ones; empty for other types. */
  rows: readonly MatrixRow[];
  settings: QuestionSettings;
  slots: Slots;
  isHidden: boolean;
  /** Absent: before the first section. */
  sectionId?: string;
  /** Keeps its place when the questions of its section are shuffled; absent: no. */
  isAnchored?: boolean;
  /** Asked only if this holds; absent: always. */
  visibleIf?: Condition;
  /** Looked at in order when the respondent passes the question; absent: none. */
  skips?: readonly Skip[];
  /** Which of its options (rows, for a MATRIX) an earlier question leaves; absent: all. */
  optionsFrom?: OptionsFrom;
  /**
   * Where a stored response says that the question ('') or a row (its id) was not asked: code position * 16 + bit.
   * Assigned once, never reused. Absent: no two respondents were asked other questions, or the same in another order,
   * since the question was made, and no quota ended a response with a part, as far as there was room for bits.
   */
  notAsked?: NotAskedBits;
  /** The first version of the survey that has it, where it was added after the survey was published. */
  firstVersion?: number;
  /**
   * The versions of the survey that do not have it any more. A row that was given again has the end of its span, unless
   * a service of a former version gave it. Of many spans the oldest are joined. Absent also where it was removed before
   * services noted this.
   */
  absentIn?: readonly VersionSpan[];
}

/** Number of positions of each kind that a survey has assigned. */
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
  /**
   * Revision that made the survey anonymous, while older responses may still name their respondents; null once none of
   * them does.
   */
  anonymityBegun?: number | null;
  /** When the survey stopped being anonymous: responses that were begun before stay so. Absent: it never did. */
  anonymousUntil?: Date;
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
  /** Wording version: increases with every change of wording, question or option. */
  version: number;
  /** Increases with every change that affects the intake; the intake script compares it. */
  revision: number;
  slotCounts: SlotCounts;
  /**
   * Code position of the collector in stored responses; assigned with the second collector, never reused. Null or
   * absent: all responses came by the default collector.
   */
  collectorSlot?: number | null;
  /** The highest code that a quota by cell was given; absent: none. */
  quotaCodes?: number;
  /** Whether the sections are shown in an order that follows from the response's id; absent: no. */
  isShuffled?: boolean;
  /**
   * The first version whose partial responses say by `Question.notAsked` all that they were not asked. Absent: in all of
   * them it also follows from the last answered question.
   */
  partialsMarkedFrom?: number;
  /** Absent: the default. */
  appearance?: Appearance;
}

/** A survey with its sections and all its questions in order, including hidden ones. */
export interface SurveyWithQuestions extends Survey {
  /** In order; absent: none. */
  sections?: readonly Section[];
  questions: readonly Question[];
  /** All collectors in the order of their codes, deleted ones included; absent in definitions of earlier versions. */
  collectors?: readonly Collector[];
  /** Quotas by cell, in the order in which they were made; absent: none. */
  quotas?: readonly CellQuota[];
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
