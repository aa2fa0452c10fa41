import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { GivenAnswer } from '../../../../src/domain/questions/contract.ts';
import { checkAnswers, compileSurvey } from '../../../../src/domain/submission/answers.ts';
import { canonicalBody } from '../../../../src/domain/submission/canonical-body.ts';
import {
  createFastSubmissionReader,
  type FastSubmission,
} from '../../../../src/domain/submission/fast-submission-reader.ts';
import type { SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { readSubmissionRequest } from '../../../../src/http/submit/submit-route.ts';
import { fullSurvey, withQuestion } from '../../../support/questions.ts';
import { valid } from './valid-answers.ts';

/**
 * Holds the reader of bodies as most are against the general way, on so many bodies of which about half are right;
 * tells how many it read itself, and of how many it gave the canonical form.
 */
export function compareReadings(bodies: number, seed = 20260115): { read: number; left: number; canonical: number } {
  let [read, left, canonical] = [0, 0, 0];
  const compare = (bytes: Buffer) => {
    const found = readUsual(bytes);
    if (!found) return void ++left;
    read += 1;
    const { submission, row } = found;
    assert.deepEqual({ submission: { ...submission, answers: [] }, row }, readGenerally(bytes), bytes.toString());
    const text = found.canonical();
    if (text === undefined) return;
    canonical += 1;
    assert.equal(text, canonicalBody(JSON.parse(bytes.toString())), bytes.toString());
  };
  fc.assert(fc.property(body, compare), { numRuns: bodies, seed });
  return { read, left, canonical };
}

/** Every type of question but that which names uploads, some of them twice; the first few are required. */
function makeSurvey(): SurveyWithQuestions {
  const { survey: full } = fullSurvey();
  const options = ['a', 'b', 'c'].map((text) => ({ text }));
  const more = [
    { type: 'CHECKBOXES', text: 'One', options, settings: { maxSelections: 1 } },
    { type: 'NPS', text: 'Once more' },
    { type: 'SHORT_TEXT', text: 'Once more' },
    { type: 'NUMBER', text: 'Once more' },
  ] as const;
  const asked = full.questions
    .filter(({ type }) => type !== 'FILE_UPLOAD')
    .map((question, index) => ({ ...question, isRequired: index < 3 }));
  return more.reduce((survey: SurveyWithQuestions, body) => withQuestion(survey, body).survey, {
    ...full,
    questions: asked,
  });
}

export const survey = makeSurvey();
export const compiled = compileSurvey(survey);
export const readUsual = createFastSubmissionReader(compiled);

/** A body that is taken as it is and not of a response that goes on; without the answers as they were given. */
export function readGenerally(bytes: Buffer): Omit<FastSubmission, 'canonical'> | undefined {
  const { submission, problem, issues } = readSubmissionRequest(
    {
      surveyId: survey.id,
      contentType: 'application/json',
      contentEncoding: undefined,
      idempotencyKey: undefined,
      surveyToken: undefined,
      address: 'here',
    },
    bytes,
  );
  if (!submission || problem || issues.length > 0) return undefined;
  const { answers, cleared, isComplete, responseId, resumeToken } = submission;
  if (!isComplete || responseId !== undefined || resumeToken !== undefined) return undefined;
  const checked = checkAnswers(compiled, answers, { cleared, isComplete, uploads: new Map() });
  return checked.ok ? { submission: { ...submission, answers: [] }, row: checked.row } : undefined;
}

/** In most bodies the texts are as people write them: without braces, backslashes and signs that cannot be seen. */
const answered = fc
  .tuple(
    fc.nat(5),
    ...survey.questions.map((question) => fc.tuple(fc.constant(question), fc.nat(9), valid[question.type](question))),
  )
  .map(([wildness, ...parts]) =>
    parts.flatMap(([{ id, isRequired, settings }, luck, values]) => {
      const said = luck === 0 && !isRequired ? [] : values.slice(0, Number(settings['maxSelections'] ?? values.length));
      return said.map(
        (value): GivenAnswer => ({
          questionId: id,
          ...(value.textValue === undefined || wildness === 0
            ? value
            : { textValue: value.textValue.replace(/[}\\\p{C}]/gu, '.') }),
        }),
      );
    }),
  );
const word = fc.constantFrom(
  '',
  'post',
  'Ü',
  'say "so"',
  'a\\b',
  'x'.repeat(201),
  '],"answers":[',
  ',"answers":[]',
  '"answers": [',
  '\ufffd',
  '\ud800',
  '\0',
);
/** Fields beside the answers, most of them valid. */
const fields = fc.oneof(
  fc.constant({}),
  fc
    .record(
      {
        isComplete: fc.constantFrom(true, true, true, false, null),
        startedAt: fc.constantFrom(
          '2026-01-02T03:04:05.678Z',
          '2026-01-02T03:04+01:00',
          '2026-02-30T00:00:00Z',
          'today',
        ),
        respondent: word,
        metadata: fc.oneof(
          fc.dictionary(fc.constantFrom('source', 'answers', '__proto__', 'é'), word, { maxKeys: 3 }),
          fc.constantFrom(null, { deep: { answers: [] } }, []),
        ),
        language: fc.constantFrom('de', 'DE-at', 'x'),
        surveyToken: word,
        cleared: fc.constantFrom([], [survey.questions[0]?.id], ['unknown']),
        responseId: fc.constant('0190b2f4-7c1e-7000-8000-000000000000'),
        answers: fc.constantFrom([], null),
        other: word,
      },
      { requiredKeys: [] },
    )
    .filter((found) => Object.keys(found).length < 5),
);
const [asJavaScript, asPython] = [
  [',', ':'],
  [', ', ': '],
] as const;

/** JSON with these between items and behind names. */
function writeJson(value: unknown, marks: readonly [comma: string, colon: string]): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const [comma, colon] = marks;
  if (Array.isArray(value)) return `[${value.map((item) => writeJson(item, marks)).join(comma)}]`;
  return `{${Object.entries(value)
    .map(([name, item]) => `${JSON.stringify(name)}${colon}${writeJson(item, marks)}`)
    .join(comma)}}`;
}

export const asPythonWrites = (body: object): string => writeJson(body, asPython);

/** With the other fields in front, behind or on both sides. */
const written = fc
  .tuple(answered, fields, fc.nat(9), fc.constantFrom(asJavaScript, asPython))
  .map(([answers, beside, place, marks]) => {
    const entries: [string, unknown][] = Object.entries(beside).filter(([name]) => name !== 'answers' || place > 7);
    const parts = entries.toSpliced(place % (entries.length + 1), 0, ['answers', answers]);
    return `{${parts.map(([name, value]) => `"${name}"${marks[1]}${writeJson(value, marks)}`).join(marks[0])}}`;
  });

const pieces = fc.constantFrom(
  '',
  ' ',
  '\n',
  ',',
  '{',
  '}',
  '[',
  ']',
  '"',
  '\\',
  '\\u0000',
  '\\ud800',
  '\\n',
  '-',
  '.5',
  'e3',
  '0',
  '1',
  '9',
  ':',
  'null',
  '{}',
  '[]',
  'é',
  '\u2028',
  '\ufffd',
  '"rank":1,',
  '"questionId":"a",',
  ',"isComplete":false',
  '"answers":[],',
  '}]}',
  ']}',
);
/** Puts something in the place of a few signs, most often near the end of an answer or of a value. */
const slip = fc.record({
  luck: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  near: fc.constantFrom('}', '},{', '":', ']}', '"', ''),
  shift: fc.integer({ min: -2, max: 2 }),
  gone: fc.nat(3),
  piece: pieces,
});

function slipped(
  text: string,
  { luck, near, shift, gone, piece }: typeof slip extends fc.Arbitrary<infer T> ? T : never,
): string {
  const found = near === '' ? -1 : text.indexOf(near, Math.floor(luck * text.length));
  const at = Math.max(0, (found === -1 ? Math.floor(luck * text.length) : found) + shift);
  return text.slice(0, at) + piece + text.slice(at + gone);
}

/** An answer is left out, said twice or put in another place. */
const muddled = fc
  .tuple(answered, fc.nat(40), fc.nat(40), fc.constantFrom('left out', 'twice', 'moved'))
  .map(([answers, from, to, how]) => {
    const one = answers[from % answers.length];
    const rest = how === 'twice' ? answers : answers.filter((answer) => answer !== one);
    return JSON.stringify({
      answers: one && how !== 'left out' ? rest.toSpliced(to % (rest.length + 1), 0, one) : rest,
    });
  });
const broken = fc
  .tuple(written, fc.nat(5000), fc.constantFrom(0xff, 0x80, 0xc3, 0xed, 0x00, 0x7f))
  .map(([text, at, byte]) => {
    const bytes = Buffer.from(text);
    bytes[at % bytes.length] = byte;
    return bytes;
  });
const bytesOf = (texts: fc.Arbitrary<string>) => texts.map((text) => Buffer.from(text));
const body = fc.oneof(
  { weight: 3, arbitrary: bytesOf(written) },
  {
    weight: 3,
    arbitrary: bytesOf(
      fc
        .tuple(written, fc.array(slip, { minLength: 1, maxLength: 2 }))
        .map(([text, slips]) => slips.reduce(slipped, text)),
    ),
  },
  { weight: 1, arbitrary: bytesOf(muddled) },
  { weight: 1, arbitrary: broken },
);
