import type { Finding } from '../errors.ts';
import { canonicalLanguage, languageMessage } from './language.ts';
import { isCalendarDay } from './questions/text-checks.ts';

/** A submission's fields beside its answers, read and checked; `answers` are checked against the survey later. */
export interface Submission {
  answers: unknown;
  isComplete: boolean;
  responseId: string | undefined;
  resumeToken: string | undefined;
  startedAtMs: number | undefined;
  respondent: string | undefined;
  metadata: Readonly<Record<string, string>> | undefined;
  language: string | undefined;
  surveyToken: string | undefined;
}

const idPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/;
const known = new Set(['answers', 'isComplete', 'responseId', 'resumeToken', 'startedAt', 'respondent', 'metadata', 'language', 'surveyToken']);
const metadataPairs = 20;

/** Reads a submission's body; every problem becomes a finding. Written by hand because it runs for every response. */
export function readSubmission(value: unknown, findings: Finding[]): Submission | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    findings.push({ path: '', message: 'the body must be an object with `answers`' });
    return undefined;
  }
  const body = value as Record<string, unknown>;
  // Sooner than `Object.keys`: what JSON was parsed to inherits nothing.
  for (const key in body) {
    if (known.has(key)) continue;
    findings.push({ path: key.slice(0, 100), message: 'this field is not known' });
    if (findings.length >= 20) break;
  }
  if (!('answers' in body)) findings.push({ path: 'answers', message: 'is missing' });
  return {
    answers: body['answers'],
    isComplete: readFlag(body['isComplete'], findings),
    responseId: readText(body['responseId'], 'responseId', findings, responseIdProblem)?.toLowerCase(),
    resumeToken: readText(body['resumeToken'], 'resumeToken', findings, (text) => (text.length <= 200 ? undefined : 'is too long')),
    startedAtMs: readTime(body['startedAt'], findings),
    // An empty field of a form: nobody is named.
    respondent: readText(body['respondent'], 'respondent', findings, respondentProblem) || undefined,
    metadata: readMetadata(body['metadata'], findings),
    language: readLanguage(body['language'], findings),
    surveyToken: readText(body['surveyToken'], 'surveyToken', findings, (text) => (text.length <= 200 ? undefined : 'is too long')),
  };
}

/** What names nobody would be shared by many, and what no path can hold could not be erased: clients turn `/..` into the folder above. The empty text counts as left out. */
export function respondentProblem(text: string): string | undefined {
  if (text === '') return undefined;
  if (text.trim() === '') return 'must not be blank: leave it out where there is none';
  if (text === '.' || text === '..') return 'must not be . or ..';
  return text.length <= 200 || [...text].length <= 200 ? undefined : 'must have at most 200 characters';
}

/** The nil and the max UUID are what unset fields look like: many clients would name one response. */
export function responseIdProblem(text: string): string | undefined {
  const id = text.toLowerCase();
  if (!idPattern.test(id)) return 'must be a UUID';
  return /^0[0-]+$|^f[f-]+$/.test(id) ? 'must be a UUID of its own, not the nil or max UUID' : undefined;
}

function readFlag(value: unknown, findings: Finding[]): boolean {
  if (value === undefined) return true;
  if (typeof value !== 'boolean') findings.push({ path: 'isComplete', message: 'must be true or false' });
  return value !== false;
}

function readText(value: unknown, path: string, findings: Finding[], problemOf: (text: string) => string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const problem = typeof value === 'string' ? problemOf(value) : 'must be a text';
  if (problem !== undefined) findings.push({ path, message: problem });
  return typeof value === 'string' ? value : undefined;
}

/** In its canonical form, so that one language counts as one. */
function readLanguage(value: unknown, findings: Finding[]): string | undefined {
  const text = readText(value, 'language', findings, (given) => (canonicalLanguage(given) === undefined ? languageMessage : undefined));
  return text === undefined ? undefined : canonicalLanguage(text);
}

function readTime(value: unknown, findings: Finding[]): number | undefined {
  if (value === undefined) return undefined;
  const ms = typeof value === 'string' ? momentOf(value) : Number.NaN;
  if (Number.isNaN(ms)) findings.push({ path: 'startedAt', message: 'must be an ISO 8601 time with its zone' });
  return Number.isNaN(ms) ? undefined : ms;
}

/** A moment in ISO 8601 with its zone, in Unix milliseconds; NaN for anything else, and for days that no calendar has, which `Date.parse` moves into the next month. */
export function momentOf(text: string): number {
  const isWritten = text.length <= 40 && timePattern.test(text);
  // Every month has the first 28.
  return isWritten && (text.slice(8, 10) <= '28' || isCalendarDay(text.slice(0, 10))) ? Date.parse(text) : Number.NaN;
}

function readMetadata(value: unknown, findings: Finding[]): Record<string, string> | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    findings.push({ path: 'metadata', message: 'must be an object of texts' });
    return undefined;
  }
  const pairs = Object.entries(value);
  if (pairs.length > metadataPairs) findings.push({ path: 'metadata', message: `must have at most ${metadataPairs} pairs` });
  for (const [key, text] of pairs.slice(0, metadataPairs)) {
    if (key === '' || key.length > 100) findings.push({ path: 'metadata', message: 'a key must have 1 to 100 characters' });
    else if (typeof text !== 'string' || text.length > 1000) findings.push({ path: `metadata.${key}`, message: 'must be a text of at most 1000 characters' });
  }
  return value as Record<string, string>;
}

const longestDurationMs = 30 * 24 * 3600 * 1000;

/** From start to submission; −1 without a start, and where it would not lie between 0 and 30 days: the clock was wrong, and a mean of such durations says nothing. */
export function durationMs(startedAtMs: number | undefined, submittedAtMs: number): number {
  const tookMs = startedAtMs === undefined ? -1 : submittedAtMs - startedAtMs;
  return tookMs >= 0 && tookMs <= longestDurationMs ? tookMs : -1;
}
