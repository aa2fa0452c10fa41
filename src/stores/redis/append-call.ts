import type { AppendCode, Appendix, AppendResult } from './appendix.ts';

/** A submission on its way into the intake. */
export interface Waiting {
  appendix: Appendix;
  resolve(result: AppendResult): void;
  reject(error: unknown): void;
}

/** Submissions of one caller of which nothing need be remembered: the script takes them together. */
interface Group {
  limit: number;
  members: Waiting[];
  rows: string;
}

/** Submissions of one caller that the script takes one by one. */
interface Run {
  limit: number;
  members: Waiting[];
}

interface SurveyPart {
  /** Counted from 1. */
  index: number;
  surveyId: string;
  revision: number;
  /** By caller. */
  groups: Map<string, Group>;
  runs: Map<string, Run>;
}

/** The arguments of `append.lua` after the batch's own, and how to read its reply. */
export interface AppendCall {
  fields: (string | number)[];
  /** Hands each result to whoever waits for it and tells how many met each; throws when the reply is not what the script gives. */
  settle(results: readonly string[], tell: Tell): void;
}

type Tell = (code: AppendCode, count: number) => void;

const codes: readonly AppendCode[] = ['ACCEPTED', 'FILLED', 'REPLAY', 'MISMATCH', 'LIMITED', 'STALE', 'REFUSED', 'QUOTA', 'CHANGED', 'COMPLETE', 'UNKNOWN', 'HELD', 'NEWER', 'LOOKUP', 'FULL'];

/**
 * Puts the submissions of a tick into as few arguments as can be. Most are whole, carry no key and are not refused: those of one
 * survey and caller travel as one text of many lines, and the script decides about all of them with a few numbers.
 */
export function encodeBatch(batch: readonly Waiting[]): AppendCall {
  const parts = createParts();
  for (const item of batch) {
    const part = parts.of(item.appendix);
    if (isPlain(item.appendix)) addToGroup(part, item);
    else addToRun(part, item);
  }
  const fields: (string | number)[] = [parts.all.length];
  for (const { surveyId, revision } of parts.all) fields.push(surveyId, revision);
  const groups: Group[] = [];
  for (const part of parts.all)
    for (const [caller, group] of part.groups) {
      groups.push(group);
      fields.push(part.index, caller, group.limit, group.rows, group.members.length);
    }
  const singles: Waiting[] = [];
  for (const part of parts.all)
    for (const [caller, { limit, members }] of part.runs) {
      fields.push(part.index, caller, limit, '', members.length);
      for (const item of members) {
        const { row, records, responseId, state } = item.appendix;
        singles.push(item);
        fields.push(namesOf(item.appendix), row, records);
        if (hasState(item.appendix)) fields.push(responseId, state);
      }
    }
  return { fields, settle: (results, tell) => settleAll({ groups, singles }, results, tell) };
}

const [noDigest, noHash] = [' '.repeat(12), ' '.repeat(24)];

/** What names a submission, with every part at its place. */
function namesOf(appendix: Appendix): string {
  const { isComplete, isLookedUp, isRefused, submittedAtMs, digest, keyHash, idHash, seen, former } = appendix;
  const flags = `${isComplete ? 1 : 0}${isLookedUp ? 1 : 0}${isRefused ? 1 : 0}${hasState(appendix) ? 1 : 0}`;
  return `${flags}${momentText(submittedAtMs)}${digest || noDigest}${keyHash || noHash}${idHash || noHash}${seen ?? ''}${former ? ` ${former.digest || noDigest}${former.key}` : ''}`;
}

/** Whether something may be, or is to be, kept of it beside its row. */
const hasState = ({ seen, state }: Appendix): boolean => seen !== null || state !== '';

/** A moment as the scripts keep it: Unix milliseconds to base 36, 8 digits from 1972 to 2059. */
export const momentText = (ms: number): string => ms.toString(36).padStart(8, '0');

/** The reverse. */
export const momentOf = (text: string): number => Number.parseInt(text, 36);

/** Rows of so many characters are counted by their bytes too: see `append.lua`. */
const largeRow = 16_384 / 3;

const isPlain = (item: Appendix): boolean =>
  !item.isRefused && item.keyHash === '' && item.isComplete && !hasState(item) && item.row.length < largeRow;

/** The surveys of a batch. Two revisions of one may meet while it is being changed: each is looked at by itself. */
function createParts() {
  const all: SurveyPart[] = [];
  const byName = new Map<string, SurveyPart>();
  let last: SurveyPart | undefined;
  return {
    all,
    of({ surveyId, revision }: Appendix): SurveyPart {
      if (last?.revision === revision && last.surveyId === surveyId) return last;
      const name = `${surveyId} ${revision}`;
      last = byName.get(name);
      if (!last) {
        last = { index: all.length + 1, surveyId, revision, groups: new Map(), runs: new Map() };
        all.push(last);
        byName.set(name, last);
      }
      return last;
    },
  };
}

function addToGroup(part: SurveyPart, item: Waiting): void {
  const { caller, limit, row } = item.appendix;
  const group = part.groups.get(caller);
  if (!group) part.groups.set(caller, { limit, members: [item], rows: row });
  else {
    group.members.push(item);
    group.rows += `\n${row}`;
  }
}

function addToRun({ runs }: SurveyPart, item: Waiting): void {
  const { caller, limit } = item.appendix;
  const run = runs.get(caller);
  if (run) run.members.push(item);
  else runs.set(caller, { limit, members: [item] });
}

function settleAll({ groups, singles }: { groups: readonly Group[]; singles: readonly Waiting[] }, results: readonly string[], tell: Tell): void {
  if (results.length !== groups.length + singles.length) throw new Error('the intake script answered short');
  for (const [index, group] of groups.entries()) settleGroup(group, results[index] ?? '', tell);
  for (const [index, item] of singles.entries()) tell(settleSingle(item, results[groups.length + index] ?? ''), 1);
}

/** Reads `left counted passed accepted code isFilled`. */
function settleGroup({ limit, members }: Group, result: string, tell: Tell): void {
  const [left = 0, counted = 0, passed = 0, accepted = 0, number = -1, isFilled = 0] = result.split(' ').map(Number);
  const between = codeOf(number);
  const filling = isFilled === 1 ? accepted - 1 : -1;
  const before = counted - members.length;
  for (const [index, { resolve }] of members.entries())
    resolve({
      code: index === filling ? 'FILLED' : index < accepted ? 'ACCEPTED' : index < passed ? between : 'LIMITED',
      remaining: counted < 0 ? -1 : Math.max(0, limit - before - index - 1), resetMs: left, text: '',
    });
  tell('ACCEPTED', accepted - isFilled);
  tell('FILLED', isFilled);
  tell(between, passed - accepted);
  tell('LIMITED', members.length - passed);
}

/** Reads `code remaining left text`. */
function settleSingle({ resolve }: Waiting, result: string): AppendCode {
  const first = result.indexOf(' ');
  const second = result.indexOf(' ', first + 1);
  const third = result.indexOf(' ', second + 1);
  const code = codeOf(Number(result.slice(0, first)));
  resolve({ code, remaining: Number(result.slice(first + 1, second)), resetMs: Number(result.slice(second + 1, third)), text: result.slice(third + 1) });
  return code;
}

function codeOf(number: number): AppendCode {
  const code = codes[number];
  if (!code) throw new Error('the intake script answered with an unknown code');
  return code;
}
