import type { ValidationIssue } from '../../errors.ts';
import { isId } from '../../platform/ids.ts';
import { canonicalLanguage, languageMessage } from '../language.ts';
import { maxMetadataPairs, readMetadata } from '../metadata.ts';
import { invitationPrefix } from '../path/definition.ts';
import { isCalendarDay } from '../questions/text-checks.ts';

/** The validated fields of a submission; `answers` is checked against the survey later (`checkAnswers`). */
export interface Submission {
  answers: unknown;
  /** Questions whose saved answers are taken back. */
  cleared?: readonly string[] | undefined;
  isComplete: boolean;
  responseId: string | undefined;
  resumeToken: string | undefined;
  startedAtMs: number | undefined;
  respondent: string | undefined;
  metadata: Readonly<Record<string, string>> | undefined;
  language: string | undefined;
  surveyToken: string | undefined;
  /** The version that the respondent saw; undefined: the current one. */
  surveyVersion: number | undefined;
  /** Answers off the path are refused instead of left out. */
  isStrict: boolean;
  collectorId?: string | undefined;
  /** Token of an invitation. */
  invitation?: string | undefined;
}

const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/;
const knownFields = new Set([
  'answers',
  'cleared',
  'isComplete',
  'responseId',
  'resumeToken',
  'startedAt',
  'respondent',
  'metadata',
  'language',
  'surveyToken',
  'surveyVersion',
  'strict',
  'collectorId',
  'invitation',
]);

/**
 * Reads a submission's body and reports every validation issue. Written by hand instead of with zod because it runs for
 * every response.
 */
export function readSubmission(value: unknown, issues: ValidationIssue[]): Submission | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    issues.push({ path: '', message: 'the body must be an object with `answers`' });
    return undefined;
  }
  const body = value as Record<string, unknown>;
  // Faster than `Object.keys`, and safe because parsed JSON inherits no enumerable keys.
  for (const key in body) {
    if (knownFields.has(key)) continue;
    issues.push({ path: key.slice(0, 100), message: 'this field is not known' });
    if (issues.length >= 20) break;
  }
  if (!('answers' in body)) issues.push({ path: 'answers', message: 'is missing' });
  return {
    answers: body['answers'],
    cleared: readCleared(body['cleared'], issues),
    isComplete: readFlag(body['isComplete'], 'isComplete', true, issues),
    responseId: readText(body['responseId'], 'responseId', issues, responseIdProblem)?.toLowerCase(),
    resumeToken: readText(body['resumeToken'], 'resumeToken', issues, (text) =>
      text.length <= 200 ? undefined : 'is too long',
    ),
    startedAtMs: readTime(body['startedAt'], issues),
    // An empty form field counts as omitted.
    respondent: readText(body['respondent'], 'respondent', issues, respondentProblem) || undefined,
    metadata: readOptionalMetadata(body['metadata'], issues),
    language: readLanguage(body['language'], issues),
    surveyToken: readText(body['surveyToken'], 'surveyToken', issues, (text) =>
      text.length <= 200 ? undefined : 'is too long',
    ),
    surveyVersion: readVersion(body['surveyVersion'], issues),
    isStrict: readFlag(body['strict'], 'strict', false, issues),
    collectorId: readText(body['collectorId'], 'collectorId', issues, (text) =>
      isId(text.toLowerCase()) ? undefined : 'must be a UUID',
    )?.toLowerCase(),
    invitation: readText(body['invitation'], 'invitation', issues, (text) =>
      text.length <= 200 ? undefined : 'is too long',
    ),
  };
}

/**
 * Error message for an invalid respondent, or undefined. Blank names would be shared by many respondents; `.` and `..`
 * could not be erased, because clients resolve them in the path of the erasure call. The empty text counts as omitted.
 */
export function respondentProblem(text: string): string | undefined {
  if (text === '') return undefined;
  if (text.trim() === '') return 'must not be blank: leave it out where there is none';
  if (text === '.' || text === '..') return 'must not be . or ..';
  return text.length <= 200 || [...text].length <= 200 ? undefined : 'must have at most 200 characters';
}

/**
 * Error message for an invalid response id, or undefined. Refuses the nil and max UUID, which clients send for unset
 * fields.
 */
export function responseIdProblem(text: string): string | undefined {
  const id = text.toLowerCase();
  if (!isId(id)) return 'must be a UUID';
  return /^0[0-]+$|^f[f-]+$/.test(id) ? 'must be a UUID of its own, not the nil or max UUID' : undefined;
}

function readFlag(value: unknown, path: string, byDefault: boolean, issues: ValidationIssue[]): boolean {
  if (value === undefined) return byDefault;
  if (typeof value !== 'boolean') issues.push({ path, message: 'must be true or false' });
  return value !== false;
}

/** A survey has no more questions than that. */
const maxCleared = 5000;

function readCleared(value: unknown, issues: ValidationIssue[]): readonly string[] | undefined {
  if (value === undefined) return undefined;
  if (Array.isArray(value) && value.length <= maxCleared && value.every((id) => typeof id === 'string')) return value;
  issues.push({ path: 'cleared', message: `must be a list of at most ${maxCleared} ids of questions` });
  return undefined;
}

function readVersion(value: unknown, issues: ValidationIssue[]): number | undefined {
  if (value === undefined) return undefined;
  if (Number.isSafeInteger(value) && Number(value) >= 1) return Number(value);
  issues.push({ path: 'surveyVersion', message: 'must be a whole number from 1' });
  return undefined;
}

function readText(
  value: unknown,
  path: string,
  issues: ValidationIssue[],
  problemOf: (text: string) => string | undefined,
): string | undefined {
  if (value === undefined) return undefined;
  const problem = typeof value === 'string' ? problemOf(value) : 'must be a text';
  if (problem !== undefined) issues.push({ path, message: problem });
  return typeof value === 'string' ? value : undefined;
}

/** The canonical language tag, so that spellings of a language are counted together. */
function readLanguage(value: unknown, issues: ValidationIssue[]): string | undefined {
  const text = readText(value, 'language', issues, (given) =>
    canonicalLanguage(given) === undefined ? languageMessage : undefined,
  );
  return text === undefined ? undefined : canonicalLanguage(text);
}

function readTime(value: unknown, issues: ValidationIssue[]): number | undefined {
  if (value === undefined) return undefined;
  const ms = typeof value === 'string' ? parseTimestamp(value) : Number.NaN;
  if (Number.isNaN(ms)) issues.push({ path: 'startedAt', message: 'must be an ISO 8601 time with its zone' });
  return Number.isNaN(ms) ? undefined : ms;
}

/**
 * Parses an ISO 8601 time with zone to Unix milliseconds. NaN for anything else, also for days such as 30 February,
 * which `Date.parse` moves to March.
 */
export function parseTimestamp(text: string): number {
  const hasForm = text.length <= 40 && timePattern.test(text);
  // Days up to the 28th exist in every month.
  return hasForm && (text.slice(8, 10) <= '28' || isCalendarDay(text.slice(0, 10))) ? Date.parse(text) : Number.NaN;
}

const metadataRules = { reservedPrefix: invitationPrefix };

function readOptionalMetadata(value: unknown, issues: ValidationIssue[]): Record<string, string> | undefined {
  return value === undefined ? undefined : readMetadata(value, (issue) => void issues.push(issue), metadataRules);
}

/**
 * The metadata of a response after another save, in the order in which they were given last. A response has no more
 * pairs than a submission, beside those of its invitation: the newest stay, as where the respondent's page joins those
 * of several links. Objects list keys that are whole numbers first, so once saved these count as the oldest.
 */
export function mergedMetadata(
  saved: Readonly<Record<string, string>>,
  given: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  if (!given) return saved;
  const merged = [...Object.entries(saved).filter(([key]) => !Object.hasOwn(given, key)), ...Object.entries(given)];
  const own = merged.map(([key]) => key).filter((key) => !key.startsWith(invitationPrefix));
  const dropped = new Set(own.slice(0, Math.max(0, own.length - maxMetadataPairs)));
  return Object.fromEntries(merged.filter(([key]) => !dropped.has(key)));
}

const maxDurationMs = 30 * 24 * 3600 * 1000;

/**
 * Milliseconds from start to end: completion, or the first save of a response that is not complete; −1 without a start,
 * or where it is after the first save or more than 30 days back, as the client's clock must be wrong then.
 */
export function durationMs(startedAtMs: number | undefined, submittedAtMs: number, endedAtMs = submittedAtMs): number {
  if (startedAtMs === undefined || startedAtMs > submittedAtMs) return -1;
  const tookMs = endedAtMs - startedAtMs;
  return tookMs <= maxDurationMs ? tookMs : -1;
}
