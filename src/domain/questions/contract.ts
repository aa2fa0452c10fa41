import type { z } from 'zod';
import type { ValidationIssue } from '../../errors.ts';
import type { Question } from '../survey.ts';

/** One answer as a client sends it: exactly one of the three value fields. */
export interface GivenAnswer {
  questionId: string;
  textValue?: string;
  numberValue?: number;
  optionId?: string;
  rowId?: string;
  rank?: number;
}

/** A given answer with its place in the submission, for findings such as `answers.3.numberValue`. */
export interface PlacedAnswer {
  index: number;
  answer: GivenAnswer;
}

/**
 * A response in storage form. Every question type writes its answers as small whole numbers (0 = nothing there), numbers or texts
 * at the positions that its question was given, so that the database can count without knowing question types.
 */
export interface AnswerRow {
  /** 0…65535 each. */
  codes: number[];
  numbers: number[];
  texts: string[];
}

/** The code of the free "other" answer of MULTIPLE_CHOICE and DROPDOWN. */
export const otherCode = 65_535;
export const otherValue = '__other__';
/** Options a bit-set position holds: option code k is bit (k − 1) % 16 of word floor((k − 1) / 16). */
export const bitsPerWord = 16;

/** The column keys that a question needs; the survey gives each a position (see Slots). */
export interface SlotKeys {
  codes: readonly string[];
  numbers: readonly string[];
  texts: readonly string[];
}

/** A finished upload that an answer may refer to. */
export interface KnownUpload {
  id: string;
  questionId: string;
  mimeType: string;
  sizeBytes: number;
}

export interface ReadContext {
  /** Says what is wrong: `field` is the value field at fault (`numberValue`), or '' for the answer as a whole. */
  report(index: number, field: string, message: string): void;
  /** Uploads named by this submission that exist for this survey and are not yet claimed. */
  uploads: ReadonlyMap<string, KnownUpload>;
}

/** A respondent's answer read back, in the shape of the interface, without its questionId. */
export type ReadAnswer = Omit<GivenAnswer, 'questionId'>;

/** A thing to count; the database answers each without knowing what it means. */
export type CountRequest =
  /** → how often each code stands at this position; with `hasHidden`, also in the whole survey. */
  | { kind: 'codes'; slot: number; needsUnfiltered?: boolean }
  /** → how often each bit is set, over the words in order: result index = option code − 1; with `hasHidden`, also in the whole survey. */
  | { kind: 'bits'; slots: readonly number[]; needsUnfiltered?: boolean }
  /**
   * → moments and bins of a number, over the responses whose code at `presence` is not 0. Bins reach over all answers of the survey, and over `bounds`
   * where there are any; with `scale`, over that alone, and its ends are counted; with `isWhole`, they are of whole numbers.
   */
  | { kind: 'number'; slot: number; presence: number; scale?: NumberScale; bounds?: NumberBounds; isWhole?: boolean }
  /** → how often each text, or a derived key of it, occurs; `words` counts words in lower case. */
  | { kind: 'text'; slot: number; presence: number; by: TextKey };

export type TextKey = 'value' | 'emailDomain' | 'hour' | 'mediaType' | 'words';

/** What a number lies on: bins reach from `min` to `max`, which need not be the last of its points. */
export interface NumberScale {
  min: number;
  max: number;
  lastPoint: number;
}

/** The least and the greatest number that an author allows. */
export interface NumberBounds {
  min: number;
  max: number;
}

export interface NumberMoments {
  count: number;
  average: number | null;
  median: number | null;
  /** Of the sample (n − 1); null below two values. */
  standardDeviation: number | null;
  min: number | null;
  max: number | null;
  /** Up to 20 equal bins, the same whatever is selected, [low, high), the last one closed; in order. Empty where there are neither limits nor answers in the survey. */
  bins: readonly { low: number; high: number; count: number }[];
  /** How often a scale's first and last point were chosen. */
  ends?: { first: number; last: number };
}

export type CountResult =
  /** `whole`: the counts in the whole survey, where they were asked for and only a part of it is selected. */
  | { kind: 'codes'; counts: ReadonlyMap<number, number>; unfiltered?: ReadonlyMap<number, number> }
  | { kind: 'bits'; counts: readonly number[]; unfiltered?: readonly number[] }
  | { kind: 'number'; moments: NumberMoments }
  /** `others`: keys beyond those given, and how often they occur; missing where there are none. */
  | { kind: 'text'; counts: readonly { key: string; count: number }[]; others?: { keys: number; count: number } };

/** What a type wants counted for a question. `base`: responses with any of these positions not 0 have answered it. */
export interface CountPlan {
  base: readonly number[];
  requests: readonly CountRequest[];
}

export interface ScaleBox {
  count: number;
  percent: number;
}

/** The part of a question's statistic that its type decides; see contract §8. */
export interface TypeStatistic {
  averageValue: number | null;
  medianValue: number | null;
  standardDeviation: number | null;
  minValue: number | null;
  maxValue: number | null;
  distribution: Record<string, number | Record<string, number>>;
  /** Answers whose key (a day, a domain, a media type) is not in the distribution, which holds the most frequent; missing where there are none. */
  otherAnswers?: number;
  nps?: { promoters: number; passives: number; detractors: number; score: number | null };
  topBox?: ScaleBox;
  bottomBox?: ScaleBox;
  /** RANKING: option value → mean rank, null where nobody ranked it. */
  averageRank?: Record<string, number | null>;
  /** MATRIX: row value → mean column position (1…n); null where nobody answered it. */
  averageByRow?: Record<string, number | null>;
  topWords?: { word: string; count: number }[];
  /** How many further words there are beside `topWords`, and how often they occur together. */
  otherWords?: { words: number; count: number };
}

export interface Category {
  code: number;
  value: string;
  text: string;
  /** Of a deleted option: shown only where somebody in the survey chose it, selected or not. */
  isHidden?: boolean;
}

/** A question (or a row of it) as a categorical variable, for crosstabs and filters. */
export interface Dimension {
  categories: readonly Category[];
  source: /** the code at this position */
    | { kind: 'code'; slot: number }
    /** every option whose bit is set: a response can fall into several categories */
    | { kind: 'bits'; slots: readonly number[] }
    /** the option ranked first: of these (position, option code) pairs the one whose position holds 1 */
    | { kind: 'first'; items: readonly { slot: number; code: number }[] }
    /** every value that an analysis found in the answers to a question, or (null) to any: a response can fall into several categories */
    | { kind: 'annotation'; edition: string; questionId: string | null };
}

/** How a cell of an export follows from a stored response. A cell is empty where there is no answer. */
export type ExportCell =
  /** the category of the code at this position */
  | { kind: 'choice'; slot: number; categories: readonly Category[] }
  /** whether the option with this code is among the chosen; empty where none of the words has a bit */
  | { kind: 'flag'; slots: readonly number[]; code: number }
  /** the whole number at this position, 1…n */
  | { kind: 'rank'; slot: number }
  /** code k stands for points[k − 1] */
  | { kind: 'point'; slot: number; points: readonly number[] }
  /** a number, where the code at `presence` is not 0 */
  | { kind: 'number'; presence: number; slot: number }
  /** a text, where the code at `presence` is `code` (not given: not 0) */
  | { kind: 'text'; presence: number; slot: number; code?: number; form: TextForm };

/**
 * How a distribution is best drawn: `bars` lie (one an option), `columns` stand (an ordered scale), `share` is one bar cut into parts,
 * `lines` such a bar for every row, `gauge` the net promoter score above its columns.
 */
export type ChartKind = 'bars' | 'columns' | 'share' | 'lines' | 'gauge';

/** `upload`: only its first word, the upload's id. */
export type TextForm = 'text' | 'date' | 'time' | 'upload';

/** One column of an export. */
export interface ExportColumn {
  /** Tells the columns of a question apart: '' for its only or main one, else an option's value, a row's value, or both with a colon. */
  key: string;
  /** What the key stands for in the author's words; '' for ''. */
  label: string;
  cell: ExportCell;
}

/** Where a question type's options come from. */
export type OptionSource =
  /** the author gives at least one */
  | 'author'
  /** the author may give them; otherwise the type's defaults */
  | 'default'
  /** always the type's own */
  | 'fixed'
  | 'none';

/**
 * Everything that differs between question types. One file a type; nothing outside `questions/` asks which type a question has.
 * All functions are pure.
 */
export interface QuestionType {
  optionSource: OptionSource;
  /** Options for 'default' and 'fixed'. */
  defaultOptions?: readonly { text: string; value: string }[];
  /** Whether its options are a scale: the place of each (1…n) goes into averages. */
  isOrdered?: boolean;
  hasRows: boolean;
  /** Its answers name uploads, which must be looked up before they are read. */
  namesUploads?: boolean;
  /** The author's settings with their defaults; strict: an unknown setting is refused. Rows are not part of it. */
  settings: z.ZodType<Record<string, unknown>>;
  /** What is wrong with settings and options together, each being right by itself: a question that nobody could answer. */
  definitionIssue?(question: Question): ValidationIssue | undefined;
  /** Settings that cannot change once the question has answers, because stored codes would change their meaning. */
  frozenSettings: readonly string[];
  /** The column keys this question needs now; keys stay the same for ever (options only add keys). */
  slotKeys(question: Question): SlotKeys;
  /** Checks a respondent's answers to one question and writes them into the row; problems go to `context.report`. Called with at least one answer. */
  read(question: Question, answers: readonly PlacedAnswer[], row: AnswerRow, context: ReadContext): void;
  /** What a required question still lacks although something was answered; undefined when nothing. */
  missingPart?(question: Question, row: AnswerRow): string | undefined;
  /** The reverse of `read`: the stored answers in the interface's shape; empty where nothing was answered. */
  write(question: Question, row: AnswerRow): ReadAnswer[];
  countPlan(question: Question): CountPlan;
  /** Interprets the results of `countPlan().requests`, in the same order. `base` = how many answered. */
  statistic(question: Question, results: readonly CountResult[], base: number): TypeStatistic;
  /** Parts of the question, which `row` below can name, are variables too. */
  hasParts?: boolean;
  /** The question as a variable; `row` names a MATRIX row or a RANKING item by id or value. A string says why it cannot be one. */
  dimension(question: Question, row?: string): Dimension | string;
  /** Its columns in a file with one line a response. Hidden options have theirs too, because they may have answers. */
  exportColumns(question: Question): ExportColumn[];
  chart: ChartKind;
}
