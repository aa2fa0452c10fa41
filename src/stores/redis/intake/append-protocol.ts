import { numberOfOutcome, type Outcome } from '../../../domain/outcome.ts';

/** One submission as `append.lua` takes it. */
export interface IntakeSubmission {
  surveyId: string;
  /** Revision of the survey that the submission was checked against. */
  revision: number;
  /** Keyed hash under which the submission limit is counted; '' = not to be counted (again). */
  caller: string;
  limit: number;
  /** Refuses the submission unless it is a repeat; the script still counts the limit. */
  mustRefuse: boolean;
  /** Hash of the idempotency key, see idempotency.ts; '' = none. */
  keyHash: string;
  /** Digest of the body, 12 characters; '' where no repeat can be recognised. */
  digest: string;
  /** Identity in the form of an earlier version; undefined once no such record can be left. */
  legacy?: LegacyIdentity | undefined;
  /** Only a COMPLETED one takes a seat of the survey's quota; one that is SCREENED_OUT counts in no cell either. */
  outcome: Outcome;
  /** Codes of the quotas by cell that it counts for, in their order. */
  cells?: readonly number[] | undefined;
  /** The same of what was saved of the response before. */
  heldCells?: readonly number[] | undefined;
  /** What its reply says of answers off the path, for its repeats (`ignoredText`); '' = its survey has no paths. */
  ignored?: string | undefined;
  /** Code of the collector whose completed responses are counted; undefined where the survey counts none. */
  collector?: number | undefined;
  /** Set where it comes with an invitation, or continues the response of one. */
  invited?: InvitedSubmission | undefined;
  responseId: string;
  /** Hash of the response's id where the client made it; '' = the service did, or the response is continued. */
  idHash: string;
  /**
   * Version of the response that the caller has read; 0: the id is new; null: the service made the id, and no state is
   * kept.
   */
  observedVersion: number | null;
  /**
   * Generation of the intake when that version was looked for (`Intake.observe`). Without it, a response whose state is
   * evicted cannot be continued.
   */
  observedGeneration?: number | undefined;
  submittedAtMs: number;
  /** The response store was asked for records of the key and the id, and has none. */
  isLookupDone: boolean;
  row: string;
  savedState: string;
  /** Idempotency records for the response store, a line each; '' = none. */
  idempotencyRecords: string;
}

/** What the script must know of the invitation by which a submission comes. */
export interface InvitedSubmission {
  /** See `Secrets.invitationMark`: refused where the mark is set. Null: the token, of which it is made, was not shown. */
  mark: string | null;
  /** Anonymous surveys: sets the mark, and keeps nothing of the invitation beside the response. */
  burns: boolean;
  /**
   * Other surveys: hash of the token in hexadecimal, which the stream names beside the response; '' where it is not
   * known, and in anonymous ones.
   */
  tokenHash: string;
}

/** A submission's identity as an earlier version remembered it. */
export interface LegacyIdentity {
  /** The idempotency key as the client sent it; '' = none. */
  key: string;
  digest: string;
}

/**
 * What the script decides about a submission. What each code leads to: actors/submissions/retry.ts. Their order gives
 * the numbers that the script returns; `appendPrelude` defines them there.
 */
const appendCodes = [
  /** In the stream. */
  'ACCEPTED',
  /** In the stream, and it took the last seat of the quota. */
  'FILLED',
  /** It repeats an accepted submission; `text` says which. */
  'REPLAY',
  /** Its key or id was used for another submission. */
  'MISMATCH',
  /** The caller is over the submission limit. */
  'LIMITED',
  /** Another revision of the survey is in force. */
  'STALE',
  /** `mustRefuse` was set, and it is no repeat. */
  'REFUSED',
  /** The quota is reached. */
  'QUOTA',
  /** The response has another version than the observed one, or was deleted. */
  'CHANGED',
  /** The response is complete already. */
  'COMPLETE',
  /** The survey was never announced, or is evicted. */
  'UNKNOWN',
  /** The survey is frozen while a question changes. */
  'FROZEN',
  /** The response's state has the form of a newer version. */
  'NEWER',
  /** The key or id was used in the last days: the response store must be asked for its record. */
  'LOOKUP',
  /** Too many bytes of the survey wait for the response store. */
  'FULL',
  /** In the stream with the outcome OVER_QUOTA; `text` is the code of the quota by cell that was full. */
  'OVER_QUOTA',
  /** The quota of the collector is reached. */
  'COLLECTOR_FULL',
  /** The token of the invitation was used. */
  'SPENT',
] as const;

export type AppendCode = (typeof appendCodes)[number];

/** Goes before `append.lua`: a local of each code with its number. */
export const appendPrelude = `local ${appendCodes.join(', ')} = ${appendCodes.map((_, number) => number).join(', ')}\n`;

export interface AppendResult {
  code: AppendCode;
  /** −1 where nothing was counted. */
  remaining: number;
  resetMs: number;
  /**
   * For a REPLAY: the number of the first submission's outcome and when it was submitted, as in `1 mwsgqb0z` (see
   * `decodeMoment`), then the code of a full quota, then `ignored`. A text that begins with a brace is the reply as an
   * earlier version stored it.
   */
  text: string;
}

/** A submission on its way into the intake. */
export interface QueuedSubmission {
  submission: IntakeSubmission;
  resolve(result: AppendResult): void;
  reject(error: unknown): void;
}

/**
 * COMPLETED submissions of one caller and collector in the same cells for which nothing need be remembered: the script
 * decides about them together.
 */
interface BulkGroup {
  caller: string;
  collector: number | undefined;
  cells: string;
  limit: number;
  members: QueuedSubmission[];
  rows: string;
}

/** Submissions of one caller and collector that the script takes one by one. */
interface SingleGroup {
  caller: string;
  collector: number | undefined;
  limit: number;
  members: QueuedSubmission[];
}

interface SurveyBatch {
  /** From 1. */
  index: number;
  surveyId: string;
  revision: number;
  /** Codes of the quotas by cell that any submission names. */
  cells: Set<number>;
  /** By caller, collector and cells, see `nameOf`. */
  bulkGroups: Map<string, BulkGroup>;
  /** By caller and collector. */
  singleGroups: Map<string, SingleGroup>;
}

/** The arguments of `append.lua` after those of the batch, and the reader of its reply. */
export interface EncodedBatch {
  fields: (string | number)[];
  /** Hands each result to its caller and reports the number of each code; throws when the reply is malformed. */
  resolveAll(results: readonly string[], report: ReportOutcome): void;
}

type ReportOutcome = (code: AppendCode, count: number) => void;

/**
 * Encodes the submissions of a tick in as few arguments as possible. Most are complete, have no key and need not be
 * refused: those of one survey and caller travel as one text of many lines, and the script decides about all of them
 * with a few numbers.
 */
export function encodeBatch(batch: readonly QueuedSubmission[]): EncodedBatch {
  const surveyBatches = createSurveyBatches();
  for (const item of batch) {
    const surveyBatch = surveyBatches.of(item.submission);
    const { cells, heldCells } = item.submission;
    if (cells) for (const code of cells) surveyBatch.cells.add(code);
    if (heldCells) for (const code of heldCells) surveyBatch.cells.add(code);
    if (fitsBulkGroup(item.submission)) addToBulkGroup(surveyBatch, item);
    else addToSingleGroup(surveyBatch, item);
  }
  const fields: (string | number)[] = [surveyBatches.all.length];
  for (const { surveyId, revision, cells } of surveyBatches.all) fields.push(surveyId, revision, [...cells].join(','));
  const groups: BulkGroup[] = [];
  for (const surveyBatch of surveyBatches.all)
    for (const group of surveyBatch.bulkGroups.values()) {
      const { caller, limit, rows, members, cells, collector = '' } = group;
      groups.push(group);
      fields.push(surveyBatch.index, caller, limit, rows, members.length, cells, collector);
    }
  const singles: QueuedSubmission[] = [];
  for (const surveyBatch of surveyBatches.all)
    for (const { caller, limit, members, collector = '' } of surveyBatch.singleGroups.values()) {
      fields.push(surveyBatch.index, caller, limit, '', members.length, '', collector);
      for (const item of members) {
        const { row, idempotencyRecords, responseId, savedState } = item.submission;
        singles.push(item);
        fields.push(encodeIdentity(item.submission), row, idempotencyRecords);
        if (hasState(item.submission)) fields.push(responseId, savedState);
      }
    }
  return { fields, resolveAll: (results, report) => resolveAll({ groups, singles }, results, report) };
}

const [blankDigest, blankHash] = [' '.repeat(12), ' '.repeat(24)];

/** Identity of a submission as fixed-width text; `append.lua` says which part stands where. */
function encodeIdentity(submission: IntakeSubmission): string {
  const { outcome, isLookupDone, mustRefuse, submittedAtMs, digest, keyHash, idHash, legacy } = submission;
  const flags = `${numberOfOutcome(outcome)}${isLookupDone ? 1 : 0}${mustRefuse ? 1 : 0}${hasState(submission) ? 1 : 0}`;
  const hashes = `${digest || blankDigest}${keyHash || blankHash}${idHash || blankHash}`;
  const legacyIdentity = legacy ? ` ${legacy.digest || blankDigest}${legacy.key}` : '';
  const cells = encodeCells(submission);
  return `${flags}${encodeMoment(submittedAtMs)}${hashes}${encodeObserved(submission)}${legacyIdentity}${cells}`;
}

const encodeObserved = ({ observedVersion, observedGeneration }: IntakeSubmission): string =>
  observedGeneration === undefined ? `${observedVersion ?? ''}` : `${observedVersion ?? ''}@${observedGeneration}`;

const encodeCells = ({ cells = [], heldCells = [], invited, ignored = '' }: IntakeSubmission): string =>
  cells.length + heldCells.length === 0 && !invited && ignored === ''
    ? ''
    : `\t${cells.join(',')}\t${heldCells.join(',')}\t${invited ? encodeInvited(invited) : ''}\t${ignored}`;

/** Marks are base64url, which has no dots. */
const noMark = '.'.repeat(16);
const encodeInvited = ({ mark, burns, tokenHash }: InvitedSubmission): string =>
  `${mark ?? noMark}${burns ? 1 : 0}${tokenHash}`;

/** Whether the script keeps, or may have kept, a state of the response beside its row. */
const hasState = ({ observedVersion, savedState }: IntakeSubmission): boolean =>
  observedVersion !== null || savedState !== '';

/** A time as the scripts keep it: Unix milliseconds in base 36, 8 digits from 1972 to 2059. */
export const encodeMoment = (ms: number): string => ms.toString(36).padStart(8, '0');

export const decodeMoment = (text: string): number => Number.parseInt(text, 36);

/**
 * Rows with more characters may be large ones, whose bytes count too: `largeRow` of `append.lua`, at most 3 bytes a
 * character.
 */
const largeRowCharacters = 16_384 / 3;

const fitsBulkGroup = (item: IntakeSubmission): boolean =>
  !item.mustRefuse &&
  item.keyHash === '' &&
  !item.invited &&
  item.outcome === 'COMPLETED' &&
  !hasState(item) &&
  item.row.length < largeRowCharacters;

/** The surveys of a batch. While a survey changes, a batch may hold two of its revisions, which are checked apart. */
function createSurveyBatches() {
  const all: SurveyBatch[] = [];
  const byName = new Map<string, SurveyBatch>();
  let last: SurveyBatch | undefined;
  return {
    all,
    of({ surveyId, revision }: IntakeSubmission): SurveyBatch {
      if (last?.revision === revision && last.surveyId === surveyId) return last;
      const name = `${surveyId} ${revision}`;
      last = byName.get(name);
      if (!last) {
        last = {
          index: all.length + 1,
          surveyId,
          revision,
          cells: new Set(),
          bulkGroups: new Map(),
          singleGroups: new Map(),
        };
        all.push(last);
        byName.set(name, last);
      }
      return last;
    },
  };
}

/** The name of a group in its batch. Callers are hashes without blanks. */
const nameOf = ({ caller, collector }: IntakeSubmission, cells: string): string =>
  cells === '' && collector === undefined ? caller : `${caller} ${collector ?? ''} ${cells}`;

function addToBulkGroup(surveyBatch: SurveyBatch, item: QueuedSubmission): void {
  const { caller, collector, limit, row } = item.submission;
  const cells = item.submission.cells?.join(',') ?? '';
  const name = nameOf(item.submission, cells);
  const group = surveyBatch.bulkGroups.get(name);
  if (!group) surveyBatch.bulkGroups.set(name, { caller, collector, cells, limit, members: [item], rows: row });
  else {
    group.members.push(item);
    group.rows += `\n${row}`;
  }
}

function addToSingleGroup({ singleGroups }: SurveyBatch, item: QueuedSubmission): void {
  const { caller, collector, limit } = item.submission;
  const name = nameOf(item.submission, '');
  const group = singleGroups.get(name);
  if (group) group.members.push(item);
  else singleGroups.set(name, { caller, collector, limit, members: [item] });
}

function resolveAll(
  { groups, singles }: { groups: readonly BulkGroup[]; singles: readonly QueuedSubmission[] },
  results: readonly string[],
  report: ReportOutcome,
): void {
  if (results.length !== groups.length + singles.length) throw new Error('the intake script returned too few results');
  for (const [index, group] of groups.entries()) resolveBulkGroup(group, results[index] ?? '', report);
  for (const [index, item] of singles.entries()) report(resolveSingle(item, results[groups.length + index] ?? ''), 1);
}

/** Reads `reset counted passed accepted code isFilled seated fullCode`, or `reset counted` where all are accepted. */
function resolveBulkGroup({ limit, members }: BulkGroup, result: string, report: ReportOutcome): void {
  const end = result.indexOf(' ');
  if (result.indexOf(' ', end + 1) < 0) {
    resolveAccepted(
      { limit, members },
      { resetMs: Number(result.slice(0, end)), counted: Number(result.slice(end + 1)) },
    );
    report('ACCEPTED', members.length);
    return;
  }
  const [resetMs = 0, counted = 0, passed = 0, accepted = 0, number = -1, isFilled = 0, seated = 0, full = 0] = result
    .split(' ')
    .map(Number);
  const between = codeOf(number);
  const filling = isFilled === 1 ? seated - 1 : -1;
  const before = counted - members.length;
  const codeAt = (index: number): AppendCode => {
    if (index < seated) return index === filling ? 'FILLED' : 'ACCEPTED';
    if (index < accepted) return 'OVER_QUOTA';
    return index < passed ? between : 'LIMITED';
  };
  for (const [index, { resolve }] of members.entries()) {
    const code = codeAt(index);
    resolve({
      code,
      remaining: counted < 0 ? -1 : Math.max(0, limit - before - index - 1),
      resetMs,
      text: code === 'OVER_QUOTA' ? String(full) : '',
    });
  }
  report('ACCEPTED', seated - isFilled);
  report('FILLED', isFilled);
  report('OVER_QUOTA', accepted - seated);
  report(between, passed - accepted);
  report('LIMITED', members.length - passed);
}

function resolveAccepted(
  { limit, members }: Pick<BulkGroup, 'limit' | 'members'>,
  { resetMs, counted }: { resetMs: number; counted: number },
): void {
  let left = limit - counted + members.length;
  for (const { resolve } of members) {
    left -= 1;
    resolve({ code: 'ACCEPTED', remaining: counted < 0 ? -1 : Math.max(0, left), resetMs, text: '' });
  }
}

/** Reads `code remaining reset text`. */
function resolveSingle({ resolve }: QueuedSubmission, result: string): AppendCode {
  const first = result.indexOf(' ');
  const second = result.indexOf(' ', first + 1);
  const third = result.indexOf(' ', second + 1);
  const code = codeOf(Number(result.slice(0, first)));
  resolve({
    code,
    remaining: Number(result.slice(first + 1, second)),
    resetMs: Number(result.slice(second + 1, third)),
    text: result.slice(third + 1),
  });
  return code;
}

function codeOf(number: number): AppendCode {
  const code = appendCodes[number];
  if (!code) throw new Error('the intake script returned an unknown code');
  return code;
}
