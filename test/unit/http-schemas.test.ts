import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { checkAnswers, type CompiledSurvey } from '../../src/domain/answers.ts';
import { defineQuestion, describeQuestion, newQuestionBody } from '../../src/domain/question-definition.ts';
import type { CountRequest, CountResult } from '../../src/domain/questions/contract.ts';
import { registry } from '../../src/domain/questions/registry.ts';
import { questionTypeNames } from '../../src/domain/questions/type-names.ts';
import { allocateSlots } from '../../src/domain/slots.ts';
import { interpretQuestion } from '../../src/domain/statistics.ts';
import { readSubmission } from '../../src/domain/submission.ts';
import type { Question, SurveyWithQuestions } from '../../src/domain/survey.ts';
import { presentSurveyWithQuestions } from '../../src/http/present.ts';
import { blankSurvey } from '../../src/domain/blank-survey.ts';
import { questionStatisticSchema } from '../../src/http/schemas/analytics.ts';
import { questionSchema } from '../../src/http/schemas/questions.ts';
import { submissionBodySchema } from '../../src/http/schemas/responses.ts';
import { surveyListItemSchema, surveyWithQuestionsSchema } from '../../src/http/schemas/surveys.ts';
import { newId } from '../../src/ids.ts';
import { everyType, type TypeName } from '../support/every-type.ts';

const surveyId = newId();

function questionOf(type: TypeName): Question {
  const defined = defineQuestion(newQuestionBody.parse({ type, ...everyType[type] }), { id: newId(), surveyId, order: 0, newId: () => newId() });
  if ('findings' in defined) throw new Error(JSON.stringify(defined.findings));
  return { ...defined.question, slots: allocateSlots(defined.question, { codes: 0, numbers: 0, texts: 0 }).slots };
}

const noneOf = (request: CountRequest): CountResult => {
  if (request.kind === 'codes') return { kind: 'codes', counts: new Map() };
  if (request.kind === 'bits') return { kind: 'bits', counts: [] };
  if (request.kind === 'text') return { kind: 'text', counts: [] };
  return { kind: 'number', moments: { count: 0, average: null, median: null, standardDeviation: null, min: null, max: null, bins: [] } };
};

describe('the schemas of replies', () => {
  it('fit a question of every type, and its statistic', () => {
    for (const type of questionTypeNames) {
      const question = questionOf(type);
      const shown = questionSchema.safeParse(describeQuestion(question));
      assert.ok(shown.success, `${type}: ${shown.error?.message}`);
      const statistic = interpretQuestion(question, registry[type].countPlan(question).requests.map(noneOf), 0, 0);
      const counted = questionStatisticSchema.safeParse(statistic);
      assert.ok(counted.success, `${type}: ${counted.error?.message}`);
    }
  });

  it('notice a setting, an option or a row that the type does not have', () => {
    const matrix = describeQuestion(questionOf('MATRIX'));
    const nps = describeQuestion(questionOf('NPS'));
    for (const wrong of [
      { ...nps, settings: { min: 0 } }, { ...nps, options: matrix.options }, { ...nps, type: 'DROPDOWN' }, { ...matrix, options: [] }, { ...matrix, settings: { multiple: false } }, { ...matrix, settings: { ...matrix.settings, rows: [] } },
      { ...nps, order: -1 }, { ...nps, isHidden: false }, { ...nps, id: nps.id.toUpperCase() },
    ])
      assert.equal(questionSchema.safeParse(wrong).success, false, JSON.stringify(wrong));
  });

  it('fit a survey as it is shown, and notice a field too many, one too few, and a time without milliseconds', () => {
    const survey: SurveyWithQuestions = { ...blankSurvey(surveyId, newId(), Date.UTC(2026, 0, 15)), visibility: 'PRIVATE', accessToken: 'token', questions: [questionOf('NPS')] };
    const shown = presentSurveyWithQuestions(survey, { responseCount: 3, nowMs: 0, isTokenShown: true });
    assert.ok(surveyWithQuestionsSchema.safeParse(shown).success);
    const { version: _, ...short } = shown;
    for (const wrong of [short, { ...shown, revision: 1 }, { ...shown, createdAt: '2026-01-15T00:00:00Z' }, { ...shown, responseQuota: 0 }]) assert.equal(surveyWithQuestionsSchema.safeParse(wrong).success, false);
    const { questions: _questions, accessToken, ...item } = shown;
    assert.ok(surveyListItemSchema.safeParse(item).success);
    assert.equal(surveyListItemSchema.safeParse({ ...item, accessToken }).success, false, 'lists do not show tokens');
  });
});

/** A survey that takes every well-shaped answer: what is left is the shape. */
const lenient = {
  survey: blankSurvey(surveyId, surveyId, 0), byId: { get: () => lenientQuestion }, required: [], visible: [], all: [], blank: { codes: [], numbers: [], texts: [] }, uploadIdsIn: () => [],
} as unknown as CompiledSurvey;
const lenientQuestion = { question: {}, type: { read: () => undefined }, codes: [], numbers: [], texts: [], place: 0 };

/** Whether the reader of the submission's route takes the body, as far as it can be judged without the survey. */
function isTaken(body: unknown): boolean {
  const findings: { path: string; message: string }[] = [];
  const submission = readSubmission(body, findings);
  return submission !== undefined && findings.length === 0 && checkAnswers(lenient, submission.answers, { isComplete: true, uploads: new Map() }).ok;
}

const junk = fc.oneof(fc.constant(null), fc.boolean(), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.string({ maxLength: 5 }), fc.constant([]), fc.constant({}), fc.constant(['a']), fc.constant({ a: 1 }));
const orJunk = (good: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> => fc.oneof({ weight: 4, arbitrary: good }, { weight: 1, arbitrary: junk });
const long = (length: number) => orJunk(fc.constantFrom('x'.repeat(length), 'x'.repeat(length + 1), '😀'.repeat(length / 2), '😀'.repeat(length), '😀'.repeat(length + 1), ''));
const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']));

const plainAnswer = fc.oneof(
  fc.record({ questionId: fc.uuid(), textValue: fc.string() }), fc.record({ questionId: fc.uuid(), numberValue: fc.integer() }), fc.record({ questionId: fc.uuid(), optionId: fc.uuid(), rowId: fc.uuid() }),
);
/** Each is put over a plain answer: one to three things about it are then another. */
const answerChanges = fc.record(
  {
    questionId: orJunk(fc.uuid()), textValue: orJunk(fc.string()), numberValue: orJunk(fc.constantFrom(2 ** 53, -(2 ** 53), 2 ** 53 - 1, -0, 1e300, 0.5)), optionId: orJunk(fc.uuid()), rowId: orJunk(fc.uuid()),
    rank: orJunk(fc.constantFrom(1, 0, -1, 1.5, 2 ** 53)), extra: junk,
  },
  { requiredKeys: [] },
);
const answer = fc.oneof({ weight: 3, arbitrary: plainAnswer as fc.Arbitrary<unknown> }, { weight: 1, arbitrary: fc.tuple(plainAnswer, answerChanges, fc.nat(6)).map(([plain, changes, at]) => ({ ...plain, ...Object.fromEntries(Object.entries(changes).slice(at, at + 2)) })) }, { weight: 1, arbitrary: junk });
const fields: Record<string, fc.Arbitrary<unknown>> = {
  answers: orJunk(fc.array(answer, { maxLength: 3 })),
  isComplete: orJunk(fc.boolean()),
  responseId: orJunk(fc.oneof(fc.uuid(), fc.uuid().map((id) => id.toUpperCase()), fc.constantFrom('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000000', 'FFFFFFFF-ffff-ffff-ffff-ffffffffffff'))),
  resumeToken: long(200),
  startedAt: orJunk(fc.constantFrom(
    '2026-01-15T09:30:00.000Z', '2026-01-15T09:30Z', '2026-01-15T09:30:00+02:00', '2026-01-15', '2026-13-15T09:30:00Z', '2026-02-30T09:30:00Z', '2026-01-15T25:30:00Z', '2026-01-15 09:30:00Z', '2026-01-15T09:30:00.0123456789Z',
  )),
  respondent: fc.oneof(long(200), fc.constantFrom('', ' ', '.', '..', '...', '\u3000')),
  metadata: orJunk(fc.oneof(
    fc.constantFrom(0, 19, 20, 21).map(pairs), fc.dictionary(fc.constantFrom('a', 'b', 'ü'), orJunk(fc.string())),
    fc.constantFrom({ '': 'a' }, { ['k'.repeat(100)]: 'v' }, { ['k'.repeat(101)]: 'v' }, { ['😀'.repeat(51)]: 'v' }, { a: 'v'.repeat(1000) }, { a: 'v'.repeat(1001) }, { a: '😀'.repeat(501) }),
  )),
  language: orJunk(fc.constantFrom('en', 'zh-Hans', 'EN', 'en-US-US', 'e', 'engl', 'de-', 'de_AT', `en${'-abcdefgh'.repeat(3)}`, `en${'-abcdefgh'.repeat(4)}`, 'en\n')),
  surveyToken: long(200),
  extra: junk,
};
/** A body that is right, with up to three fields that may not be. */
const body = fc
  .tuple(fc.array(plainAnswer, { maxLength: 2 }), fc.subarray(Object.keys(fields), { maxLength: 3 }))
  .chain(([answers, names]) => fc.record(Object.fromEntries(names.map((name) => [name, fields[name] ?? junk]))).map((changes) => ({ answers, ...changes })));

describe('a respondent', () => {
  const read = (respondent: string): [string | undefined, number] => {
    const findings: { path: string; message: string }[] = [];
    return [readSubmission({ answers: [], respondent }, findings)?.respondent, findings.length];
  };

  it('is nobody where the field of a form stayed empty, and must be somebody otherwise', () => {
    assert.deepEqual([read(''), read('Ann'), read('...')], [[undefined, 0], ['Ann', 0], ['...', 0]]);
    for (const text of [' ', '\t', '\u3000', '.', '..', 'x'.repeat(201)]) assert.equal(read(text)[1], 1, JSON.stringify(text));
  });
});

describe('the documented body of a submission', () => {
  it('takes exactly what the reader that is written by hand takes', () => {
    let [taken, refused] = [0, 0];
    fc.assert(
      fc.property(body, (given) => {
        const value: unknown = JSON.parse(JSON.stringify(given));
        const result = submissionBodySchema.safeParse(value);
        if (result.success) taken += 1;
        else refused += 1;
        assert.equal(result.success, isTaken(value), `${result.error?.message ?? 'the schema takes it'}: ${JSON.stringify(value)}`);
      }),
      { numRuns: 3000, seed: 20260115 },
    );
    assert.ok(taken > 500 && refused > 500, `${taken} were taken, ${refused} refused`);
  });

  it('is an object, and agrees with the reader on everything else that JSON can hold', () => {
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => assert.equal(submissionBodySchema.safeParse(value).success, isTaken(value))), { numRuns: 500, seed: 20260115 });
    for (const value of [{ answers: [] }, { answers: Array.from({ length: 5000 }, () => ({ questionId: 'a', numberValue: 1 })) }]) assert.deepEqual([submissionBodySchema.safeParse(value).success, isTaken(value)], [true, true]);
    const many = { answers: Array.from({ length: 5001 }, () => ({ questionId: 'a', numberValue: 1 })) };
    assert.deepEqual([submissionBodySchema.safeParse(many).success, isTaken(many)], [false, false]);
  });
});
