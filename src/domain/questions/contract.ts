import type { z } from 'zod';
import type { ValidationIssue } from '../../errors.ts';
import type { Question, VersionSpan } from '../survey.ts';

/** One answer as a client sends it: exactly one of the three value fields. */
export interface GivenAnswer {
  questionId: string;
  textValue?: string;
  numberValue?: number;
  optionId?: string;
  rowId?: string;
  rank?: number;
}

/** A given answer with its index in the submission, for issue paths such as `answers.3.numberValue`. */
export interface PlacedAnswer {
  index: number;
  answer: GivenAnswer;
}

/**
 * A response in storage form. Every question type writes its answers as codes (0: no answer), numbers or texts at the
 * positions assigned to its question, so that the database can count without knowing question types.
 */
export interface AnswerRow {
  /** Each 0 to 65,535. */
  codes: number[];
  numbers: number[];
  texts: string[];
}

/** The code of the free "other" answer of MULTIPLE_CHOICE and DROPDOWN. */
export const otherCode = 65_535;
export const otherValue = '__other__';
export const otherText = 'Other';
/** Options in one bit-set position. */
export const bitsPerWord = 16;

/** The bit that stands for an option code, and the word of a question or row that it is in. */
export const bitOfCode = (code: number): { word: number; bit: number } => ({
  word: Math.floor((code - 1) / bitsPerWord),
  bit: (code - 1) % bitsPerWord,
});

/** The column keys that a question needs; the survey assigns a position to each (see Slots). */
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
  /** Records a validation issue: `field` is the invalid field (`numberValue`), or '' for the whole answer. */
  report(index: number, field: string, message: string): void;
  /** Uploads named by this submission that exist for this survey and are not yet claimed. */
  uploads: ReadonlyMap<string, KnownUpload>;
  /** Whether too few choices are reported by the path (see `tooFew`), which may not ask the question at all. */
  leavesTooFew?: boolean;
}

/** A stored answer in API shape, without its questionId. */
export type ReadAnswer = Omit<GivenAnswer, 'questionId'>;

/** A count that the database computes without knowing question types. `needsUnfiltered`: also count without filters. */
export type CountRequest =
  /** Frequency of each code at a position. */
  | { kind: 'codes'; slot: number; needsUnfiltered?: boolean }
  /** Frequency of each bit over the words in order: result index = option code − 1. */
  | { kind: 'bits'; slots: readonly number[]; needsUnfiltered?: boolean }
  /**
   * Moments and bins of a number, over the responses whose code at `presence` is not 0. The bins cover all answers of
   * the survey and `bounds`; with `scale` exactly the scale, whose end points are counted too; with `isWhole` their
   * edges are integers.
   */
  | { kind: 'number'; slot: number; presence: number; scale?: NumberScale; bounds?: NumberBounds; isWhole?: boolean }
  /** Frequency of each text or of a key derived from it; `words` counts words in lower case. */
  | { kind: 'text'; slot: number; presence: number; by: TextKey };

export type TextKey = 'value' | 'emailDomain' | 'hour' | 'mediaType' | 'words';

/** A numeric scale: bins cover `min` to `max`; `lastPoint` is below `max` if the step does not divide the range. */
export interface NumberScale {
  min: number;
  max: number;
  lastPoint: number;
}

/** The minimum and maximum that an author set. */
export interface NumberBounds {
  min: number;
  max: number;
}

export interface NumberMoments {
  count: number;
  average: number | null;
  median: number | null;
  /** Sample standard deviation (n − 1); null below two values. */
  standardDeviation: number | null;
  min: number | null;
  max: number | null;
  /**
   * Up to 20 equal bins in ascending order, independent of filters: [low, high), the last one closed. Empty without
   * bounds and answers.
   */
  bins: readonly { low: number; high: number; count: number }[];
  /** Frequencies of a scale's first and last point. */
  ends?: { first: number; last: number };
}

export type CountResult =
  /** `unfiltered`: counts in the whole survey, if requested and a filter is active. */
  | { kind: 'codes'; counts: ReadonlyMap<number, number>; unfiltered?: ReadonlyMap<number, number> }
  | { kind: 'bits'; counts: readonly number[]; unfiltered?: readonly number[] }
  | { kind: 'number'; moments: NumberMoments }
  /** `others`: number of further keys and their occurrences; absent if there are none. */
  | { kind: 'text'; counts: readonly { key: string; count: number }[]; others?: { keys: number; count: number } };

/**
 * The counts that a question's statistic needs. `base`: a response with a code other than 0 at any of these positions
 * answered it.
 */
export interface CountPlan {
  base: readonly number[];
  /** Positions of parts with bases of their own: the rows of a MATRIX. */
  parts?: readonly (readonly number[])[];
  /** A MATRIX has one for each row, in their order. */
  requests: readonly CountRequest[];
}

export interface ScaleBox {
  count: number;
  percent: number;
}

/** The type-specific part of a question's statistic (contract §8). */
export interface TypeStatistic {
  averageValue: number | null;
  medianValue: number | null;
  standardDeviation: number | null;
  minValue: number | null;
  maxValue: number | null;
  distribution: Record<string, number | Record<string, number>>;
  /**
   * Answers whose key (day, domain, media type) is not among the most frequent in `distribution`; absent if there are
   * none.
   */
  otherAnswers?: number;
  nps?: { promoters: number; passives: number; detractors: number; score: number | null };
  topBox?: ScaleBox;
  bottomBox?: ScaleBox;
  /** RANKING: option value → mean rank, null without ranks. */
  averageRank?: Record<string, number | null>;
  /** MATRIX: row value → mean point of its columns (1…n); null without answers. */
  averageByRow?: Record<string, number | null>;
  /** MATRIX: row value → responses that answered the row. */
  baseByRow?: Record<string, number>;
  topWords?: { word: string; count: number }[];
  /** Number of distinct words besides `topWords`, and their total occurrences. */
  otherWords?: { words: number; count: number };
}

export interface Category {
  code: number;
  value: string;
  text: string;
  /** Belongs to a deleted option: shown only if a response of the survey chose it, regardless of filters. */
  isHidden?: boolean;
  /** The values of AI annotations that count as this category, if not `value` alone. */
  storedAs?: readonly string[];
}

/** The category of responses that were asked and did not answer. No option or point has its code. */
export const skippedCode = 65_534;
export const skippedValue = '__skipped__';

/** A bit of a code position. */
export interface CodeBit {
  slot: number;
  /** 1, 2, 4 … 32,768. */
  mask: number;
}

/** How a response tells that it skipped a variable: see domain/analytics/asked.ts. */
export interface SkippedRule {
  /** Answered where any of these codes is not 0. */
  slots: readonly number[];
  /** Not asked where any of these bits is set. */
  notAsked: readonly CodeBit[];
  /** Not asked in responses to these versions of the survey. */
  absentIn?: readonly VersionSpan[];
  /** A partial response was asked only if any of these codes, of the same question and later ones, is not 0. */
  later: readonly number[];
  /** The first version of the survey for which `later` does not count: `partialsMarkedFrom`. */
  markedFrom?: number;
}

/** A question (or a row of it) as a categorical variable, for crosstabs and filters. */
export interface Dimension {
  categories: readonly Category[];
  /** Set where responses that skipped it are a category, `skippedCode`. */
  skipped?: SkippedRule;
  source: /** the code at this position */
    | { kind: 'code'; slot: number }
    /** every option whose bit is set: a response can fall into several categories */
    | { kind: 'bits'; slots: readonly number[] }
    /** the option ranked first: of these (position, option code) pairs the one whose position holds 1 */
    | { kind: 'first'; items: readonly { slot: number; code: number }[] }
    /** the collector: its code in storage (the code at this position, 0 without one) plus 1 */
    | { kind: 'collector'; slot: number | null }
    /**
     * every value that an AI analysis assigned to the answers to one question, or (null) to all: a response can fall
     * into several categories
     */
    | { kind: 'annotation'; edition: string; questionId: string | null }
    /** the outcome of the response: the code is its number + 1 */
    | { kind: 'outcome' }
    /**
     * the language of the response: the code is 1 more than the index of the longest of these tags that it is or begins
     * with, of the first where it has none, and 1 more than their number where none fits. A condition on a tag also holds
     * for the tags that begin with it.
     */
    | { kind: 'language'; tags: readonly string[] }
    /** the text at a key of the response's metadata: the code is 1 where it is this one, else 0 */
    | { kind: 'metadata'; key: string; value: string };
}

/** A filter: responses whose value of the dimension has this code, or one from this to `lastCode`. */
export interface ParsedFilter {
  dimension: Dimension;
  code: number;
  /** Only of a scale, whose codes are those of one position. */
  lastCode?: number;
}

/** The code positions that a dimension reads. */
export function dimensionSlots({ source, skipped }: Dimension): readonly number[] {
  const slots = sourceSlots(source);
  return skipped ? [...slots, ...skipped.slots, ...skipped.notAsked.map(({ slot }) => slot), ...skipped.later] : slots;
}

function sourceSlots(source: Dimension['source']): readonly number[] {
  switch (source.kind) {
    case 'code':
      return [source.slot];
    case 'collector':
      return source.slot === null ? [] : [source.slot];
    case 'bits':
      return source.slots;
    case 'first':
      return source.items.map(({ slot }) => slot);
    case 'annotation':
    case 'outcome':
    case 'language':
    case 'metadata':
      return [];
  }
}

/** Whether a response can fall into several categories of the dimension. */
export const hasOverlaps = ({ source }: Dimension): boolean => source.kind === 'bits' || source.kind === 'annotation';

/** How an export cell is computed from a stored response. Without an answer the cell is empty. */
export type ExportCell =
  /** the category of the code at this position */
  | { kind: 'choice'; slot: number; categories: readonly Category[] }
  /** whether the option with this code was chosen; empty if no bit is set */
  | { kind: 'flag'; slots: readonly number[]; code: number }
  /** the whole number at this position, 1…n */
  | { kind: 'rank'; slot: number }
  /** code k stands for points[k − 1] */
  | { kind: 'point'; slot: number; points: readonly number[] }
  /** a number, where the code at `presence` is not 0 */
  | { kind: 'number'; presence: number; slot: number }
  /** a text, where the code at `presence` is `code` (default: any but 0) */
  | { kind: 'text'; presence: number; slot: number; code?: number; form: TextForm };

/**
 * Chart of a distribution: `bars` horizontal (one for each option), `columns` vertical (an ordered scale), `share` one
 * stacked bar, `lines` a stacked bar for every row, `gauge` the net promoter score above columns.
 */
export type ChartKind = 'bars' | 'columns' | 'share' | 'lines' | 'gauge';

/** Format of a text cell. `upload`: only the first word, which is the upload's id. */
export type TextForm = 'text' | 'date' | 'time' | 'upload';

/** One column of an export. */
export interface ExportColumn {
  /**
   * Unique within the question: '' for its only or main column, else an option's value, a row's value, or both joined
   * by a colon.
   */
  key: string;
  /** The author's wording for the key; '' for ''. */
  label: string;
  /** Of a MATRIX: the row that it belongs to. */
  rowId?: string;
  /** The code of its option or row, or both joined by an underscore: unlike its place, it never changes. */
  number?: string;
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
 * Everything that differs between question types. Each type has its own file; no code outside `questions/` branches on
 * the type. All functions are pure.
 */
export interface QuestionType {
  optionSource: OptionSource;
  /** Options for 'default' and 'fixed'. */
  defaultOptions?: readonly { text: string; value: string }[];
  /** Whether its options are an ordered scale, whose points (1…n) are averaged. */
  isOrdered?: boolean;
  hasRows: boolean;
  /** Its answers name uploads, which must be loaded before `read`. */
  namesUploads?: boolean;
  /** Schema of the author's settings with defaults, without rows. Strict: unknown settings are refused. */
  settings: z.ZodType<Record<string, unknown>>;
  /**
   * Checks settings and options together, e.g. for a question that nobody could answer; each is already valid by
   * itself.
   */
  definitionIssue?(question: Question): ValidationIssue | undefined;
  /** Settings that cannot change once the question has answers, because the meaning of stored codes depends on them. */
  frozenSettings: readonly string[];
  /** The column keys that this question needs now. Existing keys never change; new options add keys. */
  slotKeys(question: Question): SlotKeys;
  /**
   * Checks a respondent's answers to one question and writes them into the row; problems go to `context.report`. Called
   * with at least one answer.
   */
  read(question: Question, answers: readonly PlacedAnswer[], row: AnswerRow, context: ReadContext): void;
  /**
   * Upper bound of the time that `read` takes, in steps of about 25 ns; absent for types whose answers are read in
   * microseconds.
   */
  checkSteps?(question: Question): number;
  /**
   * What a required question still lacks after a partial answer, as the end of a message; undefined if it is complete.
   */
  missingPart?(question: Question, row: AnswerRow): string | undefined;
  /**
   * The problem of an answer that chooses less than the question asks for, where only `offered` options are. `read`
   * reports it of questions that offer the same to everyone, unless its context leaves it to the path.
   */
  tooFew?(question: Question, row: AnswerRow, offered: number): string | undefined;
  /** The reverse of `read`: the stored answers in API shape; empty without an answer. */
  write(question: Question, row: AnswerRow): ReadAnswer[];
  countPlan(question: Question): CountPlan;
  /**
   * Interprets the results of `countPlan().requests`, in the same order. `base`: number of responses that answered;
   * `partBases`: of its parts.
   */
  statistic(
    question: Question,
    results: readonly CountResult[],
    base: number,
    partBases?: readonly number[],
  ): TypeStatistic;
  /** Whether parts of the question (see `row` of `dimension`) are variables too. */
  hasParts?: boolean;
  /**
   * The question as a variable; `row` names a MATRIX row or a RANKING item by id or value. A string says why it cannot
   * be one.
   */
  dimension(question: Question, row?: string): Dimension | string;
  /** The filter by a value or a range of them, for types with thousands of values: listing all takes milliseconds. */
  filterByValue?(question: Question, text: string): ParsedFilter | undefined;
  /**
   * Its columns in an export with one line for each response. Includes hidden options, because they may have answers.
   */
  exportColumns(question: Question): ExportColumn[];
  chart: ChartKind;
}
