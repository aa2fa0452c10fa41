import { validationProblem } from '../../errors.ts';
import type { AnswerRow } from '../questions/contract.ts';
import { maxCodePositions } from '../questions/slot-allocation.ts';
import { jsonBytes, refuseTooLarge } from '../size-limit.ts';
import type { SurveyWithQuestions } from '../survey.ts';
import { type Collector, defaultCollectorCode, maxCollectors } from './collector.ts';

/** The collectors of a survey, prepared for submissions. */
export interface CollectorIndex {
  /**
   * Whether a submission that names neither collector nor invitation needs no decision: there is a default collector
   * alone, as it was made.
   */
  isPlain: boolean;
  /** Whether the intake counts complete responses by collector. */
  isCounted: boolean;
  byId: ReadonlyMap<string, Collector>;
  byCode: ReadonlyMap<number, Collector>;
  /** Position of the collector's code in stored responses; null while the survey has only its default collector. */
  slot: number | null;
  /** Positions of codes that the survey had when these were read. */
  codePositions: number;
}

/**
 * Surveys of a test, or read by a version that knows no collectors, have none: every response is of the default one.
 */
export function indexCollectors({
  collectors = [],
  collectorSlot = null,
  slotCounts,
}: Pick<SurveyWithQuestions, 'collectors' | 'collectorSlot'> &
  Partial<Pick<SurveyWithQuestions, 'slotCounts'>>): CollectorIndex {
  const [only] = collectors;
  return {
    isPlain: collectorSlot === null && collectors.length <= 1 && (only === undefined || isUnchangedDefault(only)),
    isCounted: collectorSlot !== null || collectors.some(({ responseQuota }) => responseQuota !== null),
    byId: new Map(collectors.map((collector) => [collector.id, collector])),
    byCode: new Map(collectors.map((collector) => [collector.code, collector])),
    slot: collectorSlot,
    codePositions: slotCounts?.codes ?? 0,
  };
}

const isUnchangedDefault = ({ kind, isActive, opensAt, closesAt, responseQuota, language }: Collector): boolean =>
  kind === 'OPEN' && isActive && opensAt === null && closesAt === null && responseQuota === null && language === null;

/** The code of the collector by which a stored response came. */
export const collectorCodeOf = ({ slot }: Pick<CollectorIndex, 'slot'>, codes: AnswerRow['codes']): number =>
  slot === null ? defaultCollectorCode : (codes[slot] ?? defaultCollectorCode);

/** The collectors by code, and where responses name theirs. */
export type CollectorCodes = Pick<CollectorIndex, 'slot' | 'codePositions'> & {
  byCode: ReadonlyMap<number, { id: string }>;
};

/** The id of that collector; undefined for a code that is not known here. */
export const collectorIdOf = (index: CollectorCodes, codes: AnswerRow['codes']): string | undefined =>
  index.byCode.get(collectorCodeOf(index, codes))?.id;

/**
 * Whether a response came by a collector that was made after these were read. The first one besides the default
 * collector is known by a code at a position that the survey did not have yet.
 */
export const isOfUnknownCollector = (index: CollectorCodes, codes: AnswerRow['codes']): boolean =>
  index.byCode.size > 0 &&
  (collectorIdOf(index, codes) === undefined ||
    (index.slot === null && codes.slice(index.codePositions).some((code) => code !== 0)));

/** The next free code of a survey's collectors. Throws VALIDATION_ERROR where it has as many as it may have. */
export function nextCollectorCode(collectors: readonly Collector[]): number {
  if (collectors.length >= maxCollectors)
    throw validationProblem([
      { path: '', message: `a survey has at most ${maxCollectors} collectors, deleted ones included` },
    ]);
  return Math.max(defaultCollectorCode, ...collectors.map(({ code }) => code)) + 1;
}

const notesLimit = {
  part: 'the metadata of all collectors',
  maxBytes: 256 * 1024,
  advice: 'shorter texts, or fewer of them',
};

const notesBytes = (collectors: readonly Collector[] = []): number =>
  jsonBytes(collectors.map(({ metadata }) => metadata).filter((notes) => Object.keys(notes).length > 0));

/**
 * The survey with these collectors. Throws VALIDATION_ERROR if their metadata, which every process that serves the
 * survey caches, is too large together, unless it became smaller.
 */
function withCollectors(survey: SurveyWithQuestions, collectors: readonly Collector[]): SurveyWithQuestions {
  const size = { before: () => notesBytes(survey.collectors), bytes: notesBytes(collectors), path: 'metadata' };
  refuseTooLarge(notesLimit, size);
  return { ...survey, collectors };
}

/**
 * The survey with a further collector. The first one besides the default collector gets a position for the code in
 * stored responses. Throws VALIDATION_ERROR where no position is left, or for metadata that is too large.
 */
export function addCollector(survey: SurveyWithQuestions, collector: Collector): SurveyWithQuestions {
  const added = withCollectors(survey, [...(survey.collectors ?? []), collector]);
  const { collectorSlot = null, slotCounts } = survey;
  if (collectorSlot !== null) return added;
  if (slotCounts.codes >= maxCodePositions)
    throw validationProblem([
      { path: '', message: `the survey’s answers take all ${maxCodePositions} places: no second collector fits in` },
    ]);
  return {
    ...added,
    collectorSlot: slotCounts.codes,
    slotCounts: { ...slotCounts, codes: slotCounts.codes + 1 },
  };
}

/** The survey with a collector of the same id put in its place. Throws VALIDATION_ERROR for too large metadata. */
export const replaceCollector = (survey: SurveyWithQuestions, changed: Collector): SurveyWithQuestions =>
  withCollectors(
    survey,
    (survey.collectors ?? []).map((collector) => (collector.id === changed.id ? changed : collector)),
  );
