import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { GivenAnswer } from '../../../../src/domain/questions/contract.ts';
import { changeQuestion } from '../../../../src/domain/questions/question-definition.ts';
import { checkAnswers, compileSurvey } from '../../../../src/domain/submission/answers.ts';
import { type Question, type SurveyWithQuestions, visibleQuestions } from '../../../../src/domain/survey.ts';
import type { TypeName } from '../../../support/every-type.ts';
import { fullSurvey, nextId, withQuestion } from '../../../support/questions.ts';
import { answersTwin } from './reference-answer-check.ts';
import { uploadsFor, valid } from './valid-answers.ts';

/**
 * Holds the check of answers that is written by hand against its twin, on so many submissions that are right or nearly
 * so.
 */
export function compareChecks({
  submissions,
  isComplete,
  seed = 20260115,
}: {
  submissions: number;
  isComplete: boolean;
  seed?: number;
}): { taken: number; refused: number } {
  const twin = answersTwin(survey, { isComplete, uploadId });
  let [taken, refused] = [0, 0];
  fc.assert(
    fc.property(submission, (answers) => {
      const expected = twin.safeParse(answers);
      const checked = checkAnswers(compiled, answers, { isComplete, uploads });
      if (checked.ok) taken += 1;
      else refused += 1;
      if (checked.ok !== expected.success)
        assert.fail(`${JSON.stringify(checked.ok ? expected.error : checked.issues)} of ${JSON.stringify(answers)}`);
      if (!checked.ok)
        assert.ok(
          checked.issues.length > 0 &&
            checked.issues.every(
              ({ path, message }) => /^answers(\.(\d+(\.\w+)?|[\w-]{36}))?$/.test(path) && message !== '',
            ),
          JSON.stringify(checked.issues),
        );
    }),
    { numRuns: submissions, seed },
  );
  return { taken, refused };
}

export const required: readonly TypeName[] = ['NPS', 'CHECKBOXES', 'MATRIX'];

/** One question of every type; some are required, one is hidden, and one has lost an option. */
function aged(): { survey: SurveyWithQuestions; gone: string; hidden: Question } {
  const { survey, questions } = fullSurvey();
  const { survey: grown, question: hidden } = withQuestion(survey, {
    type: 'NPS',
    text: 'No longer asked',
    isRequired: true,
  });
  const [lost, ...kept] = questions.RANKING.options;
  assert.ok(lost);
  const ranking = changeQuestion(
    questions.RANKING,
    { options: kept.map(({ id, text }) => ({ id, text })) },
    { hasAnswers: true, newId: nextId },
  );
  assert.ok('question' in ranking);
  const all = grown.questions.map((question) =>
    question.id === ranking.question.id
      ? ranking.question
      : {
          ...question,
          isHidden: question.id === hidden.id,
          isRequired: question.id === hidden.id || required.includes(question.type),
        },
  );
  return { survey: { ...grown, questions: all }, gone: lost.id, hidden };
}

export const { survey, gone, hidden } = aged();
export const compiled = compileSurvey(survey);
const asked = visibleQuestions(survey);
export const of = (type: TypeName): Question => asked.find((question) => question.type === type) ?? assert.fail(type);
export const uploads = uploadsFor(of('FILE_UPLOAD'));
export const [uploadId = ''] = uploads.keys();

const whole = fc
  .tuple(...asked.map((question) => fc.tuple(fc.constant(question), fc.nat(29), valid[question.type](question))))
  .map((parts) =>
    parts.flatMap(([question, luck, values]) =>
      luck === 0 ? [] : values.map((value): GivenAnswer => ({ questionId: question.id, ...value })),
    ),
  );
const ids = fc.constantFrom(
  ...asked.flatMap(({ id, options, rows }) => [
    id,
    ...options.map((option) => option.id),
    ...rows.map((row) => row.id),
  ]),
  gone,
  hidden.id,
  uploadId,
  'nobody',
  '__proto__',
  '',
);
const junk = fc.oneof(
  ids,
  fc.integer({ min: -1, max: 12 }),
  fc.constantFrom(
    null,
    true,
    1.5,
    2 ** 53,
    1e300,
    [],
    {},
    'yes',
    'no',
    'a@example.org',
    'a@b',
    '2024-02-30',
    '2024-02-29',
    '24:00',
    '09:05:59',
    'two\nlines',
    'nul \0',
    'x'.repeat(256),
    '😀'.repeat(255),
    '  ',
  ),
);
/** Sets a field, drops one, says an answer twice, or leaves one out. */
const blow = fc.record({
  at: fc.nat(30),
  field: fc.constantFrom('questionId', 'textValue', 'numberValue', 'optionId', 'rowId', 'rank', 'colour', 'the value'),
  kind: fc.constantFrom('set', 'set', 'set', 'drop', 'repeat', 'leave out', 'replace'),
  value: junk,
});
type Blow = typeof blow extends fc.Arbitrary<infer T> ? T : never;

function strike(answers: readonly unknown[], { at, field, kind, value }: Blow): unknown[] {
  const index = answers.length === 0 ? 0 : at % answers.length;
  const answer = answers[index];
  if (kind === 'repeat') return [...answers, answer];
  if (kind === 'leave out') return answers.filter((_, other) => other !== index);
  if (kind === 'replace' || typeof answer !== 'object' || answer === null) return answers.with(index, value);
  const own =
    field === 'the value'
      ? (['textValue', 'numberValue', 'optionId'].find((name) => name in answer) ?? 'textValue')
      : field;
  const rest = Object.entries(answer).filter(([name]) => name !== own);
  return answers.with(index, Object.fromEntries(kind === 'drop' ? rest : [...rest, [own, value]]));
}

const submission = fc
  .tuple(whole, fc.array(blow, { maxLength: 2 }))
  .map(([answers, blows]): unknown =>
    JSON.parse(
      JSON.stringify(
        blows.reduce<unknown[]>((struck, one) => (struck.length === 0 ? struck : strike(struck, one)), answers),
      ),
    ),
  );
