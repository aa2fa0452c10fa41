import type { AppendCode, AppendResult, IntakeSubmission } from './submission.ts';

/** A submission on its way into the intake. */
export interface QueuedSubmission {
  submission: IntakeSubmission;
  resolve(result: AppendResult): void;
  reject(error: unknown): void;
}

/** Submissions of one caller of which nothing need be remembered: the script takes them together. */
interface BulkGroup {
  limit: number;
  members: QueuedSubmission[];
  rows: string;
}

/** Submissions of one caller that the script takes one by one. */
interface SingleGroup {
  limit: number;
  members: QueuedSubmission[];
}

interface SurveyBatch {
  /** Counted from 1. */
  index: number;
  surveyId: string;
  revision: number;
  /** By caller. */
  bulkGroups: Map<string, BulkGroup>;
  singleGroups: Map<string, SingleGroup>;
}

/** The arguments of `append.lua` after the batch's own, and how to read its reply. */
export interface EncodedBatch {
  fields: (string | number)[];
  /** Hands each result to whoever waits for it and tells how many met each; throws when the reply is not what the script gives. */
  resolveAll(results: readonly string[], tell: ReportOutcome): void;
}

type ReportOutcome = (code: AppendCode, count: number) => void;

const codes: readonly AppendCode[] = [
  'ACCEPTED',
  'FILLED',
  'REPLAY',
  'MISMATCH',
  'LIMITED',
  'STALE',
  'REFUSED',
  'QUOTA',
  'CHANGED',
  'COMPLETE',
  'UNKNOWN',
  'FROZEN',
  'NEWER',
  'LOOKUP',
  'FULL',
];

/**
 * Puts the submissions of a tick into as few arguments as can be. Most are whole, carry no key and are not refused: those of one
 * survey and caller travel as one text of many lines, and the script decides about all of them with a few numbers.
 */
export function encodeBatch(batch: readonly QueuedSubmission[]): EncodedBatch {
  const surveyBatches = createSurveyBatches();
  for (const item of batch) {
    const surveyBatch = surveyBatches.of(item.submission);
    if (fitsBulkGroup(item.submission)) addToBulkGroup(surveyBatch, item);
    else addToSingleGroup(surveyBatch, item);
  }
  const fields: (string | number)[] = [surveyBatches.all.length];
  for (const { surveyId, revision } of surveyBatches.all) fields.push(surveyId, revision);
  const groups: BulkGroup[] = [];
  for (const surveyBatch of surveyBatches.all)
    for (const [caller, group] of surveyBatch.bulkGroups) {
      groups.push(group);
      fields.push(surveyBatch.index, caller, group.limit, group.rows, group.members.length);
    }
  const singles: QueuedSubmission[] = [];
  for (const surveyBatch of surveyBatches.all)
    for (const [caller, { limit, members }] of surveyBatch.singleGroups) {
      fields.push(surveyBatch.index, caller, limit, '', members.length);
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

/** What names a submission, with every part at its place. */
function encodeIdentity(appendix: IntakeSubmission): string {
  const { isComplete, isLookupDone, mustRefuse, submittedAtMs, digest, keyHash, idHash, observedVersion, legacy } =
    appendix;
  const flags = `${isComplete ? 1 : 0}${isLookupDone ? 1 : 0}${mustRefuse ? 1 : 0}${hasState(appendix) ? 1 : 0}`;
  return `${flags}${encodeMoment(submittedAtMs)}${digest || blankDigest}${keyHash || blankHash}${idHash || blankHash}${observedVersion ?? ''}${legacy ? ` ${legacy.digest || blankDigest}${legacy.key}` : ''}`;
}

/** Whether something may be, or is to be, kept of it beside its row. */
const hasState = ({ observedVersion, savedState }: IntakeSubmission): boolean =>
  observedVersion !== null || savedState !== '';

/** A moment as the scripts keep it: Unix milliseconds to base 36, 8 digits from 1972 to 2059. */
export const encodeMoment = (ms: number): string => ms.toString(36).padStart(8, '0');

/** The reverse. */
export const decodeMoment = (text: string): number => Number.parseInt(text, 36);

/** Rows of so many characters are counted by their bytes too: see `append.lua`. */
const largeRowCharacters = 16_384 / 3;

const fitsBulkGroup = (item: IntakeSubmission): boolean =>
  !item.mustRefuse && item.keyHash === '' && item.isComplete && !hasState(item) && item.row.length < largeRowCharacters;

/** The surveys of a batch. Two revisions of one may meet while it is being changed: each is looked at by itself. */
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
        last = { index: all.length + 1, surveyId, revision, bulkGroups: new Map(), singleGroups: new Map() };
        all.push(last);
        byName.set(name, last);
      }
      return last;
    },
  };
}

function addToBulkGroup(surveyBatch: SurveyBatch, item: QueuedSubmission): void {
  const { caller, limit, row } = item.submission;
  const group = surveyBatch.bulkGroups.get(caller);
  if (!group) surveyBatch.bulkGroups.set(caller, { limit, members: [item], rows: row });
  else {
    group.members.push(item);
    group.rows += `\n${row}`;
  }
}

function addToSingleGroup({ singleGroups }: SurveyBatch, item: QueuedSubmission): void {
  const { caller, limit } = item.submission;
  const group = singleGroups.get(caller);
  if (group) group.members.push(item);
  else singleGroups.set(caller, { limit, members: [item] });
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

/** Reads `left counted passed accepted code isFilled`. */
function resolveBulkGroup({ limit, members }: BulkGroup, result: string, report: ReportOutcome): void {
  const [left = 0, counted = 0, passed = 0, accepted = 0, number = -1, isFilled = 0] = result.split(' ').map(Number);
  const between = codeOf(number);
  const filling = isFilled === 1 ? accepted - 1 : -1;
  const before = counted - members.length;
  for (const [index, { resolve }] of members.entries())
    resolve({
      code: index === filling ? 'FILLED' : index < accepted ? 'ACCEPTED' : index < passed ? between : 'LIMITED',
      remaining: counted < 0 ? -1 : Math.max(0, limit - before - index - 1),
      resetMs: left,
      text: '',
    });
  report('ACCEPTED', accepted - isFilled);
  report('FILLED', isFilled);
  report(between, passed - accepted);
  report('LIMITED', members.length - passed);
}

/** Reads `code remaining left text`. */
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
  const code = codes[number];
  if (!code) throw new Error('the intake script returned an unknown code');
  return code;
}
