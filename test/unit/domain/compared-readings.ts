import assert from 'node:assert/strict';
import fc from 'fast-check';
import { checkAnswers, compileSurvey } from '../../../src/domain/answers.ts';
import type { AnswerRow, GivenAnswer } from '../../../src/domain/questions/contract.ts';
import type { SurveyWithQuestions } from '../../../src/domain/survey.ts';
import { createUsualReader } from '../../../src/domain/usual-answers.ts';
import { readSubmissionCall } from '../../../src/http/routes/submit.ts';
import { fullSurvey, withQuestion } from '../../support/questions.ts';
import { valid } from './valid-answers.ts';

/** Holds the reader of bodies as most are against the general way, on so many bodies of which about half are right; tells how many it read itself. */
export function compareReadings(bodies: number, seed = 20260115): { read: number; left: number } {
  let [read, left] = [0, 0];
  const compare = (bytes: Buffer) => {
    const row = readUsual(bytes);
    if (row) read += 1;
    else left += 1;
    if (row) assert.deepEqual(row, readGenerally(bytes), bytes.toString());
  };
  fc.assert(fc.property(body, compare), { numRuns: bodies, seed });
  return { read, left };
}

/** Every type of question but that which names uploads, some of them twice; the first few are required. */
function makeSurvey(): SurveyWithQuestions {
  const { survey: full } = fullSurvey();
  const options = ['a', 'b', 'c'].map((text) => ({ text }));
  const more = [{ type: 'CHECKBOXES', text: 'One', options, settings: { maxSelections: 1 } }, { type: 'NPS', text: 'Once more' }, { type: 'SHORT_TEXT', text: 'Once more' }, { type: 'NUMBER', text: 'Once more' }] as const;
  const asked = full.questions.filter(({ type }) => type !== 'FILE_UPLOAD').map((question, index) => ({ ...question, isRequired: index < 3 }));
  return more.reduce((survey: SurveyWithQuestions, body) => withQuestion(survey, body).survey, { ...full, questions: asked });
}

export const survey = makeSurvey();
export const compiled = compileSurvey(survey);
export const readUsual = createUsualReader(compiled);

/** The row of a body that is taken as it is and says nothing beside its answers. */
export function readGenerally(bytes: Buffer): AnswerRow | undefined {
  const { submission, problem, findings } = readSubmissionCall({ surveyId: survey.id, contentType: 'application/json', contentEncoding: undefined, idempotencyKey: undefined, surveyToken: undefined, address: 'here', bytes });
  if (!submission || problem || findings.length > 0) return undefined;
  const { answers, isComplete, ...others } = submission;
  if (!isComplete || Object.values(others).some((value) => value !== undefined)) return undefined;
  const checked = checkAnswers(compiled, answers, { isComplete, uploads: new Map() });
  return checked.ok ? checked.row : undefined;
}

/** In most bodies the texts are as people write them: without braces, backslashes and signs that cannot be seen. */
const answered = fc.tuple(fc.nat(5), ...survey.questions.map((question) => fc.tuple(fc.constant(question), fc.nat(9), valid[question.type](question)))).map(([wildness, ...parts]) =>
  parts.flatMap(([{ id, isRequired, settings }, luck, values]) => {
    const said = luck === 0 && !isRequired ? [] : values.slice(0, Number(settings['maxSelections'] ?? values.length));
    return said.map((value): GivenAnswer => ({ questionId: id, ...(value.textValue === undefined || wildness === 0 ? value : { textValue: value.textValue.replace(/[}\\\p{C}]/gu, '.') }) }));
  }),
);
const written = answered.map((answers) => JSON.stringify({ answers }));

const pieces = fc.constantFrom(
  '', ' ', '\n', ',', '{', '}', '[', ']', '"', '\\', '\\u0000', '\\ud800', '\\n', '-', '.5', 'e3', '0', '1', '9', ':', 'null', '{}', '[]', 'é', '\u2028', '\ufffd', '"rank":1,', '"questionId":"a",', ',"isComplete":false', '"answers":[],', '}]}', ']}',
);
/** Puts something in the place of a few signs, most often near the end of an answer or of a value. */
const slip = fc.record({ luck: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), near: fc.constantFrom('}', '},{', '":', ']}', '"', ''), shift: fc.integer({ min: -2, max: 2 }), gone: fc.nat(3), piece: pieces });

function slipped(text: string, { luck, near, shift, gone, piece }: typeof slip extends fc.Arbitrary<infer T> ? T : never): string {
  const found = near === '' ? -1 : text.indexOf(near, Math.floor(luck * text.length));
  const at = Math.max(0, (found === -1 ? Math.floor(luck * text.length) : found) + shift);
  return text.slice(0, at) + piece + text.slice(at + gone);
}

/** An answer is left out, said twice or put in another place. */
const muddled = fc.tuple(answered, fc.nat(40), fc.nat(40), fc.constantFrom('left out', 'twice', 'moved')).map(([answers, from, to, how]) => {
  const one = answers[from % answers.length];
  const rest = how === 'twice' ? answers : answers.filter((answer) => answer !== one);
  return JSON.stringify({ answers: one && how !== 'left out' ? rest.toSpliced(to % (rest.length + 1), 0, one) : rest });
});
const broken = fc.tuple(written, fc.nat(5000), fc.constantFrom(0xff, 0x80, 0xc3, 0xed, 0x00, 0x7f)).map(([text, at, byte]) => {
  const bytes = Buffer.from(text);
  bytes[at % bytes.length] = byte;
  return bytes;
});
const bytesOf = (texts: fc.Arbitrary<string>) => texts.map((text) => Buffer.from(text));
const body = fc.oneof(
  { weight: 3, arbitrary: bytesOf(written) },
  { weight: 3, arbitrary: bytesOf(fc.tuple(written, fc.array(slip, { minLength: 1, maxLength: 2 })).map(([text, slips]) => slips.reduce(slipped, text))) },
  { weight: 1, arbitrary: bytesOf(muddled) }, { weight: 1, arbitrary: broken },
);
