import type { ValidationIssue } from '../../errors.ts';
import type { AnswerRow } from '../questions/contract.ts';
import { type CompiledSurvey, initialRow } from './answers.ts';
import { bytePattern, matchesAt } from './byte-pattern.ts';
import { canonicalBodyWith, isCanonical } from './canonical-body.ts';
import { createFastAnswerReader, type JsonStyle, type SubmissionBytes } from './fast-answer-reader.ts';
import { readSubmission, type Submission } from './submission.ts';

/** A complete, valid submission. */
export interface FastSubmission {
  /** The fields other than the answers; `answers` is empty. */
  submission: Submission;
  row: AnswerRow;
  /**
   * The body as `canonicalBody` writes it, or undefined if that requires parsing. Valid only while the buffer is
   * unchanged.
   */
  canonical(): string | undefined;
}

export type FastSubmissionReader = (bytes: Buffer) => FastSubmission | undefined;

const jsonStyles: readonly JsonStyle[] = [
  { comma: ',', colon: ':' },
  { comma: ', ', colon: ': ' },
];
const [space, quote, comma, bracket, brace] = [0x20, 0x22, 0x2c, 0x5d, 0x7d];
/** Larger bodies take the general path; a body of this size has fewer answers than the limit of a submission. */
const maxBytes = 100_000;

/**
 * Creates the fast path for reading a body: the answers, which are most of it, are compared bytewise with the expected
 * ones, and only the fields around them are parsed. Returns undefined if the body is written differently, belongs to a
 * partial or resumed response, takes answers back, or is invalid: the general path then gives the same result or
 * reports the issues.
 */
export function createFastSubmissionReader(compiled: CompiledSurvey): FastSubmissionReader {
  const frames = jsonStyles.map((style) => createAnswersFrame(compiled, style));
  return (bytes) => {
    if (bytes.length > maxBytes) return undefined;
    const text: SubmissionBytes = {
      bytes,
      view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length),
      end: bytes.length,
      isCanonical: true,
      parsed: [],
    };
    for (const frame of frames)
      if (matchesAt(frame.opening, text.view, 0, text.end)) return readAround(compiled, frame, text, 0);
    for (const frame of frames) {
      const before = bytes.indexOf(frame.inside);
      if (before > 0) return readAround(compiled, frame, text, before);
    }
    return undefined;
  };
}

/** The bytes that introduce the answers. */
function createAnswersFrame(compiled: CompiledSurvey, style: JsonStyle) {
  const { comma, colon } = style;
  return {
    isCompact: comma === ',',
    /** If the answers are the first field. */
    opening: bytePattern(`{"answers"${colon}[`),
    /** If they follow another field. This cannot occur inside a JSON string, where quotes are escaped. */
    inside: Buffer.from(`${comma}"answers"${colon}[`),
    readAnswers: createFastAnswerReader(compiled, style),
  };
}

type AnswersFrame = ReturnType<typeof createAnswersFrame>;

/** `before`: number of bytes before the `answers` field. */
function readAround(
  compiled: CompiledSurvey,
  { isCompact, opening, inside, readAnswers }: AnswersFrame,
  text: SubmissionBytes,
  before: number,
): FastSubmission | undefined {
  const { bytes } = text;
  const row = initialRow(compiled, undefined);
  const from = before === 0 ? opening.length : before + inside.length;
  const end = readAnswers(text, from, row);
  if (bytes[end] !== bracket) return undefined;
  const fields = fieldsAround(bytes, before, end + 1);
  const submission = fields === noFields ? answersOnly : fields && completeSubmission(fields);
  const canonical = (): string | undefined => {
    if (!isCompact || !text.isCanonical || !text.parsed.every(({ answer, written }) => isCanonical(answer, written)))
      return undefined;
    return canonicalBodyWith(fields ?? noFields, bytes.toString('utf8', from - 1, end + 1));
  };
  return submission && { submission, row, canonical };
}

type Fields = Record<string, unknown>;

const noFields: Fields = {};

/**
 * Parses the fields before and after the answers. Each side must form an object, so `answers` is a field of the body
 * itself, not nested.
 */
function fieldsAround(bytes: Buffer, before: number, behind: number): Fields | undefined {
  const first = before === 0 ? noFields : fieldsBefore(bytes, before);
  const others = first && fieldsBehind(bytes, behind);
  if (!others || first === noFields) return others;
  // Avoids the copy, which takes as long as parsing.
  return others === noFields ? first : { ...first, ...others };
}

function fieldsBefore(bytes: Buffer, before: number): Fields | undefined {
  return startsFieldAt(bytes, 1) ? fieldsIn(`${bytes.toString('utf8', 0, before)}}`) : undefined;
}

function fieldsBehind(bytes: Buffer, at: number): Fields | undefined {
  if (bytes[at] === brace && at + 1 === bytes.length) return noFields;
  return bytes[at] === comma && startsFieldAt(bytes, at + 1)
    ? fieldsIn(`{${bytes.toString('utf8', at + 1)}`)
    : undefined;
}

/** Whether a field starts at this offset; without this check an empty side would also parse as an object. */
const startsFieldAt = (bytes: Buffer, at: number): boolean => bytes[bytes[at] === space ? at + 1 : at] === quote;

/**
 * Parses an object. U+FFFD (possibly invalid UTF-8) and `\u` escapes (possibly lone surrogates) go to the general path.
 */
function fieldsIn(object: string): Fields | undefined {
  if (object.includes('\ufffd') || object.includes('\\u')) return undefined;
  try {
    const fields: unknown = JSON.parse(object);
    return typeof fields === 'object' && fields !== null && !Array.isArray(fields) ? (fields as Fields) : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined if a field is invalid or the submission is partial, resumes a response or takes answers back. */
function completeSubmission(fields: Fields): Submission | undefined {
  if ('answers' in fields) return undefined;
  fields['answers'] = [];
  const issues: ValidationIssue[] = [];
  const submission = readSubmission(fields, issues);
  if (
    !submission ||
    issues.length > 0 ||
    !submission.isComplete ||
    submission.responseId !== undefined ||
    submission.resumeToken !== undefined ||
    (submission.cleared?.length ?? 0) > 0
  )
    return undefined;
  return submission;
}

const answersOnly: Submission = {
  answers: [],
  cleared: undefined,
  isComplete: true,
  responseId: undefined,
  resumeToken: undefined,
  startedAtMs: undefined,
  respondent: undefined,
  metadata: undefined,
  language: undefined,
  surveyToken: undefined,
  surveyVersion: undefined,
  isStrict: false,
  collectorId: undefined,
  invitation: undefined,
};
