import assert from 'node:assert/strict';
import fc from 'fast-check';
import { blankSurvey } from '../../src/domain/blank-survey.ts';
import { type CompiledSurvey, checkAnswers } from '../../src/domain/submission/answers.ts';
import { readSubmission } from '../../src/domain/submission/submission.ts';
import { submissionBodySchema } from '../../src/http/schemas/responses.ts';
import { newId } from '../../src/platform/ids.ts';

/**
 * Holds the documented schema of bodies against the reader of the submission's route, on so many bodies that are right
 * or nearly so.
 */
export function compareReaders(bodies: number, seed = 20260115): { taken: number; refused: number } {
  let [taken, refused] = [0, 0];
  fc.assert(
    fc.property(body, (given) => {
      const value: unknown = JSON.parse(JSON.stringify(given));
      const result = submissionBodySchema.safeParse(value);
      if (result.success) taken += 1;
      else refused += 1;
      assert.equal(
        result.success,
        isTaken(value),
        `${result.error?.message ?? 'the schema takes it'}: ${JSON.stringify(value)}`,
      );
    }),
    { numRuns: bodies, seed },
  );
  return { taken, refused };
}

/** A survey that takes every well-shaped answer: what is left is the shape. */
const lenient = {
  survey: blankSurvey(newId(), newId(), 0),
  byId: { get: () => lenientQuestion },
  required: [],
  visible: [],
  all: [],
  emptyRow: { codes: [], numbers: [], texts: [] },
  uploadIdsIn: () => [],
} as unknown as CompiledSurvey;
const lenientQuestion = { question: {}, type: { read: () => undefined }, codes: [], numbers: [], texts: [], place: 0 };

/** Whether the reader of the submission's route takes the body, as far as it can be judged without the survey. */
export function isTaken(body: unknown): boolean {
  const findings: { path: string; message: string }[] = [];
  const submission = readSubmission(body, findings);
  return (
    submission !== undefined &&
    findings.length === 0 &&
    checkAnswers(lenient, submission.answers, { isComplete: true, uploads: new Map() }).ok
  );
}

const junk = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string({ maxLength: 5 }),
  fc.constant([]),
  fc.constant({}),
  fc.constant(['a']),
  fc.constant({ a: 1 }),
);
const orJunk = (good: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 4, arbitrary: good }, { weight: 1, arbitrary: junk });
const long = (length: number) =>
  orJunk(
    fc.constantFrom(
      'x'.repeat(length),
      'x'.repeat(length + 1),
      '😀'.repeat(length / 2),
      '😀'.repeat(length),
      '😀'.repeat(length + 1),
      '',
    ),
  );
const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']));

const plainAnswer = fc.oneof(
  fc.record({ questionId: fc.uuid(), textValue: fc.string() }),
  fc.record({ questionId: fc.uuid(), numberValue: fc.integer() }),
  fc.record({ questionId: fc.uuid(), optionId: fc.uuid(), rowId: fc.uuid() }),
);
/** Each is put over a plain answer: one to three things about it are then another. */
const answerChanges = fc.record(
  {
    questionId: orJunk(fc.uuid()),
    textValue: orJunk(fc.string()),
    numberValue: orJunk(fc.constantFrom(2 ** 53, -(2 ** 53), 2 ** 53 - 1, -0, 1e300, 0.5)),
    optionId: orJunk(fc.uuid()),
    rowId: orJunk(fc.uuid()),
    rank: orJunk(fc.constantFrom(1, 0, -1, 1.5, 2 ** 53)),
    extra: junk,
  },
  { requiredKeys: [] },
);
const answer = fc.oneof(
  { weight: 3, arbitrary: plainAnswer as fc.Arbitrary<unknown> },
  {
    weight: 1,
    arbitrary: fc
      .tuple(plainAnswer, answerChanges, fc.nat(6))
      .map(([plain, changes, at]) => ({ ...plain, ...Object.fromEntries(Object.entries(changes).slice(at, at + 2)) })),
  },
  { weight: 1, arbitrary: junk },
);
const fields: Record<string, fc.Arbitrary<unknown>> = {
  answers: orJunk(fc.array(answer, { maxLength: 3 })),
  isComplete: orJunk(fc.boolean()),
  responseId: orJunk(
    fc.oneof(
      fc.uuid(),
      fc.uuid().map((id) => id.toUpperCase()),
      fc.constantFrom(
        '00000000-0000-0000-0000-000000000001',
        '00000000-0000-0000-0000-000000000000',
        'FFFFFFFF-ffff-ffff-ffff-ffffffffffff',
      ),
    ),
  ),
  resumeToken: long(200),
  startedAt: orJunk(
    fc.constantFrom(
      '2026-01-15T09:30:00.000Z',
      '2026-01-15T09:30Z',
      '2026-01-15T09:30:00+02:00',
      '2026-01-15',
      '2026-13-15T09:30:00Z',
      '2026-02-30T09:30:00Z',
      '2026-01-15T25:30:00Z',
      '2026-01-15 09:30:00Z',
      '2026-01-15T09:30:00.0123456789Z',
    ),
  ),
  respondent: fc.oneof(long(200), fc.constantFrom('', ' ', '.', '..', '...', '\u3000')),
  metadata: orJunk(
    fc.oneof(
      fc.constantFrom(0, 19, 20, 21).map(pairs),
      fc.dictionary(fc.constantFrom('a', 'b', 'ü'), orJunk(fc.string())),
      fc.constantFrom(
        { '': 'a' },
        { ['k'.repeat(100)]: 'v' },
        { ['k'.repeat(101)]: 'v' },
        { ['😀'.repeat(51)]: 'v' },
        { a: 'v'.repeat(1000) },
        { a: 'v'.repeat(1001) },
        { a: '😀'.repeat(501) },
      ),
    ),
  ),
  language: orJunk(
    fc.constantFrom(
      'en',
      'zh-Hans',
      'EN',
      'en-US-US',
      'e',
      'engl',
      'de-',
      'de_AT',
      `en${'-abcdefgh'.repeat(3)}`,
      `en${'-abcdefgh'.repeat(4)}`,
      'en\n',
    ),
  ),
  surveyToken: long(200),
  surveyVersion: orJunk(fc.constantFrom(1, 2 ** 31, 2 ** 53 - 1, 2 ** 53, 0, -1, 1.5, '1')),
  strict: orJunk(fc.boolean()),
  cleared: orJunk(fc.array(orJunk(fc.uuid()), { maxLength: 2 })),
  collectorId: orJunk(fc.uuid()),
  invitation: long(200),
  extra: junk,
};
/** A body that is right, with up to three fields that may not be. */
const body = fc
  .tuple(fc.array(plainAnswer, { maxLength: 2 }), fc.subarray(Object.keys(fields), { maxLength: 3 }))
  .chain(([answers, names]) =>
    fc
      .record(Object.fromEntries(names.map((name) => [name, fields[name] ?? junk])))
      .map((changes) => ({ answers, ...changes })),
  );
