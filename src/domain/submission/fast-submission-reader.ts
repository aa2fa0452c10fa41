import type { ValidationIssue } from '../../errors.ts';
import type { AnswerRow } from '../questions/contract.ts';
import { type CompiledSurvey, initialRow } from './answers.ts';
import { bytePattern, matchesAt } from './byte-pattern.ts';
import { canonicalBodyWith, isCanonical } from './canonical-body.ts';
import { createFastAnswerReader, type JsonStyle, type SubmissionBytes } from './fast-answer-reader.ts';
import { readSubmission, type Submission } from './submission.ts';

/** A whole submission that is in order. */
export interface FastSubmission {
  /** What it says beside its answers. */
  submission: Submission;
  row: AnswerRow;
  /** The body as `canonicalBody` gives it, while the bytes are there; undefined where they have to be parsed for it. */
  canonical(): string | undefined;
}

export type FastSubmissionReader = (bytes: Buffer) => FastSubmission | undefined;

const jsonStyles: readonly JsonStyle[] = [
  { comma: ',', colon: ':' },
  { comma: ', ', colon: ': ' },
];
const [space, quote, comma, bracket, brace] = [0x20, 0x22, 0x2c, 0x5d, 0x7d];
/** Holds fewer answers than a submission may have. */
const maxBytes = 100_000;

/**
 * A quicker way to read a body: its answers, nearly all of it, are compared with what they may be, and only what stands before and behind them
 * is parsed. Undefined where the body is written otherwise, is of a response that goes on, or anything is wrong with it: reading it as a whole
 * then finds the same or says what is wrong.
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

/** What stands around answers. */
function createAnswersFrame(compiled: CompiledSurvey, style: JsonStyle) {
  const { comma, colon } = style;
  return {
    isCompact: comma === ',',
    /** Where they come first. */
    opening: bytePattern(`{"answers"${colon}[`),
    /** Where they come behind something else. No text within JSON can hold this, since a quote in it is written with a backslash. */
    inside: Buffer.from(`${comma}"answers"${colon}[`),
    readAnswers: createFastAnswerReader(compiled, style),
  };
}

type AnswersFrame = ReturnType<typeof createAnswersFrame>;

/** `before`: the bytes in front of the answers' field. */
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

/** Each side is an object by itself where the answers are a field of the body, not of something in it. */
function fieldsAround(bytes: Buffer, before: number, behind: number): Fields | undefined {
  const first =
    before === 0 ? noFields : startsFieldAt(bytes, 1) ? fieldsIn(`${bytes.toString('utf8', 0, before)}}`) : undefined;
  const others = first && fieldsBehind(bytes, behind);
  if (!others || first === noFields) return others;
  // To copy takes as long as to parse.
  return others === noFields ? first : { ...first, ...others };
}

function fieldsBehind(bytes: Buffer, at: number): Fields | undefined {
  if (bytes[at] === brace && at + 1 === bytes.length) return noFields;
  return bytes[at] === comma && startsFieldAt(bytes, at + 1)
    ? fieldsIn(`{${bytes.toString('utf8', at + 1)}`)
    : undefined;
}

/** Whether a field begins there: an object without any would be one as well. */
const startsFieldAt = (bytes: Buffer, at: number): boolean => bytes[bytes[at] === space ? at + 1 : at] === quote;

/** What is no UTF-8 has become U+FFFD, and only by its number could a sign be written that no text may hold. */
function fieldsIn(object: string): Fields | undefined {
  if (object.includes('\ufffd') || object.includes('\\u')) return undefined;
  try {
    const fields: unknown = JSON.parse(object);
    return typeof fields === 'object' && fields !== null && !Array.isArray(fields) ? (fields as Fields) : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined where a field is wrong, or says that the response goes on or went on before. */
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
    submission.resumeToken !== undefined
  )
    return undefined;
  return submission;
}

const answersOnly: Submission = {
  answers: [],
  isComplete: true,
  responseId: undefined,
  resumeToken: undefined,
  startedAtMs: undefined,
  respondent: undefined,
  metadata: undefined,
  language: undefined,
  surveyToken: undefined,
};
