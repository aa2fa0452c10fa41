/**
 * What an author defines so that respondents take different paths through a survey. The path itself is computed by
 * `pathOf`. This folder imports nothing from outside: the respondent's page runs it too.
 */

/** A page of the survey. Questions without a section come before the first one. */
export interface Section {
  id: string;
  title: string;
  description: string | null;
  /** Zero-based place among the sections. */
  order: number;
  /** Whether its questions are shown in an order that follows from the response's id. */
  isShuffled: boolean;
  /** Keeps its place when the sections are shuffled; left out: no. */
  isAnchored?: boolean | undefined;
  visibleIf: Condition | null;
}

/** How deep a condition may be; a leaf is level 1. */
export const levelsAtMost = 5;

/** A condition on earlier answers and on what came with the respondent. */
export type Condition =
  | { all: readonly Condition[] }
  | { any: readonly Condition[] }
  | { not: Condition }
  | AnswerLeaf
  | KeyLeaf
  | LanguageLeaf;

/** A leaf about an answer. `rowId` names a row of a MATRIX. */
export type AnswerLeaf = AnswerSubject & AnswerTest;

export interface AnswerSubject {
  questionId: string;
  rowId?: string | undefined;
}

export type AnswerTest =
  | { operator: 'answered' | 'notAnswered' }
  /** One choice; `otherOption` stands for the free "other" text. */
  | { operator: 'isAnyOf' | 'isNoneOf'; optionIds: readonly string[] }
  /** Several choices. */
  | { operator: 'includesAny' | 'includesAll' | 'includesNone'; optionIds: readonly string[] }
  /** Number of choices, both ends included. */
  | { operator: 'countBetween'; min?: number | undefined; max?: number | undefined }
  | { operator: 'rankedAtMost'; optionId: string; rank: number }
  /** Both ends included; texts for DATE and TIME. */
  | { operator: 'between'; min?: number | string | undefined; max?: number | string | undefined }
  | { operator: 'equals' | 'notEquals'; value: number | string }
  | TextTest;

/** Compared in NFC, fully case-folded and trimmed. */
export interface TextTest {
  operator: 'equalsText' | 'containsText' | 'startsWithText';
  value: string;
}

/** A leaf about a value of the response's metadata or of the invitation's. */
export type KeyLeaf = KeySubject & (TextTest | { operator: 'answered' | 'notAnswered' });

export type KeySubject = { metadata: string } | { invitation: string };

/** Keys of a response's metadata that come from its invitation begin so; respondents may not send such keys. */
export const invitationPrefix = 'invitation:';

/**
 * The key of the invitation's metadata that is named, if any. Surveys of former versions may name it by the key under
 * which a response stores it, which pages do not have.
 */
export function invitationKeyOf(subject: KeySubject): string | undefined {
  if ('invitation' in subject) return subject.invitation;
  return subject.metadata.startsWith(invitationPrefix) ? subject.metadata.slice(invitationPrefix.length) : undefined;
}

/** True for a respondent's language that is one of these tags, or a form of one (`isLanguageForm`). */
export interface LanguageLeaf {
  language: readonly string[];
}

/** Stands for the free "other" text among the `optionIds` of a condition. */
export const otherOption = 'other';

/** Where a respondent goes on from a question: the first skip whose condition is true counts. */
export interface Skip {
  if: Condition;
  /** Id of a later question or section, or the end of the survey. */
  to: string;
}

export const skipToEnd = 'END';
export const skipToScreenOut = 'SCREEN_OUT';

/**
 * Only options (rows, for a MATRIX) with the value of an option of an earlier question that was selected there, or
 * shown and not selected.
 */
export interface OptionsFrom {
  questionId: string;
  which: 'selected' | 'notSelected';
}

/**
 * What is needed to compute paths, as `GET /public/surveys/{id}` shows it: sections and questions in their designed
 * order. Fields that are null or left out have no effect.
 */
export interface PathDefinition {
  sections?: readonly PathSection[] | undefined;
  questions: readonly PathQuestion[];
  /** Whether the sections are shown in an order that follows from the response's id. */
  isShuffled?: boolean | undefined;
}

export interface PathSection {
  id: string;
  isShuffled?: boolean | undefined;
  /** Keeps its place when the sections are shuffled. */
  isAnchored?: boolean | undefined;
  visibleIf?: Condition | null | undefined;
}

export interface PathQuestion {
  id: string;
  /** Name of the question type. */
  type: string;
  /** Null, left out or unknown: before the first section. */
  sectionId?: string | null | undefined;
  isRequired: boolean;
  /** Keeps its place when the questions of its section are shuffled. */
  isAnchored?: boolean | undefined;
  options: readonly PathItem[];
  settings: PathSettings;
  visibleIf?: Condition | null | undefined;
  skips?: readonly Skip[] | null | undefined;
  optionsFrom?: MatchedOptionsFrom | null | undefined;
}

/** An option, or a row of a MATRIX. */
export interface PathItem {
  id: string;
  /** Wording; only for texts that name the answer. */
  text?: string | undefined;
  /** Point of a LIKERT_SCALE option; left out: its place among the options, from 1. */
  point?: number | undefined;
  visibleIf?: Condition | null | undefined;
  /** Keeps its place when the others are shuffled, and stays under `optionsFrom` without a counterpart. */
  isAnchored?: boolean | undefined;
}

/** The settings of a question; those that matter here are named. */
export interface PathSettings {
  /** Rows of a MATRIX. */
  rows?: readonly PathItem[] | undefined;
  shuffleOptions?: boolean | undefined;
  shuffleRows?: boolean | undefined;
  /** Scale of a RATING_SCALE or SLIDER. */
  min?: unknown;
  max?: unknown;
  step?: unknown;
  [setting: string]: unknown;
}

/** `optionsFrom` with the options and rows that have the same stored value, which respondents do not see. */
export interface MatchedOptionsFrom extends OptionsFrom {
  matches: readonly OptionMatch[];
}

/** An option (a row, for a MATRIX) and the option of the earlier question that it stands for. */
export interface OptionMatch {
  optionId: string;
  from: string;
}

/** What became of a response. */
export const outcomes = ['PARTIAL', 'COMPLETED', 'SCREENED_OUT', 'OVER_QUOTA'] as const;
export type Outcome = (typeof outcomes)[number];
