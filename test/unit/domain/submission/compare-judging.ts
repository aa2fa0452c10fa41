import assert from 'node:assert/strict';
import { askedSurvey, createStatusReader } from '../../../../src/domain/analytics/asked.ts';
import { withNotAskedBits } from '../../../../src/domain/not-asked.ts';
import { invitationPrefix } from '../../../../src/domain/path/definition.ts';
import { shownOrder } from '../../../../src/domain/path/path.ts';
import type { AnswerRow, GivenAnswer } from '../../../../src/domain/questions/contract.ts';
import { checkAnswers, compileSurvey, readAnswers } from '../../../../src/domain/submission/answers.ts';
import { createFastSubmissionReader } from '../../../../src/domain/submission/fast-submission-reader.ts';
import { visibleRows } from '../../../../src/domain/survey.ts';
import { compiledPathsOf } from '../../../../src/domain/survey-paths/path-definition.ts';
import { runAtOnce } from '../../../../src/platform/slices.ts';
import { createChance } from '../../../fuzz/chance.ts';
import { type RandomPaths, randomPaths } from '../../../support/random-paths.ts';
import { slowPath } from '../../../support/slow-path.ts';

const uploads = new Map();

/** What is stored of answers, saved in parts and completed, against the path that a slow evaluator finds. */
export function compareJudging(count: number, seed = 1): Record<string, number> {
  const reached = { complete: 0, missing: 0, fast: 0, partial: 0 };
  for (let run = 0; run < count; run += 1) {
    const chance = createChance(seed * 1_000_003 + run);
    const random = randomPaths(seed * 1_000_003 + run, { questions: 1 + chance.below(9), sections: chance.below(4) });
    try {
      compareOne(random, chance, reached);
    } catch (error) {
      if (error instanceof Error) error.message += ` (seed ${seed}, run ${run})`;
      throw error;
    }
  }
  return reached;
}

type Chance = ReturnType<typeof createChance>;

function compareOne({ survey: plain, answers, came }: RandomPaths, chance: Chance, reached: Record<string, number>) {
  const marked = withNotAskedBits(plain);
  const responseId = `00000000-0000-4000-8000-${String(chance.below(1_000_000)).padStart(12, '0')}`;
  const order = shownOrder(compiledPathsOf(marked), responseId);
  const isInOrder = order.every((index, place) => index === place);
  // Responses to former versions follow the designed order too.
  const survey = isInOrder && chance.is(0.5) ? marked : { ...marked, partialsMarkedFrom: marked.version };
  const isCompared = survey.questions.some(({ notAsked }) => notAsked !== undefined);
  const compiled = compileSurvey(survey);
  const metadata = {
    ...came.metadata,
    ...Object.fromEntries(Object.entries(came.invitation).map(([key, value]) => [invitationPrefix + key, value])),
  };
  const context = { language: came.language, metadata };
  const path = slowPath(survey, answers, came);
  const shown = new Map(path.sections.flatMap(({ questions }) => questions.map((one) => [one.id, one] as const)));
  const offers = ({ questionId, optionId, rowId }: GivenAnswer): boolean => {
    const step = shown.get(questionId);
    if (!step) return false;
    const option = survey.questions.find(({ id }) => id === questionId)?.options.find(({ id }) => id === optionId);
    return (
      (optionId === undefined || !option || step.optionIds.includes(optionId)) &&
      (rowId === undefined || step.rowIds.includes(rowId))
    );
  };
  const ids = survey.questions.map(({ id }) => id);
  const reader = createStatusReader(askedSurvey(survey));

  // In one body.
  const once = checkAnswers(compiled, answers, { isComplete: true, uploads, context });
  const strict = checkAnswers(compiled, answers, { isComplete: true, isStrict: true, uploads, context });
  const body = { answers, language: came.language, ...(Object.keys(came.metadata).length > 0 && { metadata }) };
  const fast = createFastSubmissionReader(compiled)(Buffer.from(JSON.stringify(body)));
  if (fast) {
    const judging = { isComplete: true, isStrict: false, context, answers: undefined };
    const judged = compiled.paths && runAtOnce(compiled.paths.judge(fast.row, judging));
    const isFine = !judged || judged.issues.length === 0;
    if (!compiled.paths) assert.ok(once.ok);
    assert.equal(isFine, once.ok, `fast ${JSON.stringify(judged)} general ${JSON.stringify(once)}`);
    if (once.ok) {
      reached['fast'] = (reached['fast'] ?? 0) + 1;
      assert.deepEqual(fast.row, once.row);
      assert.deepEqual(judged, once.path);
    }
  }
  // Saved in random parts, then completed.
  let saved: AnswerRow | undefined;
  const parts = ids
    .map((id) => ({ part: answers.filter(({ questionId }) => questionId === id), key: chance.below(1000) }))
    .sort((one, other) => one.key - other.key);
  const last = parts.splice(0, chance.below(parts.length + 1)).flatMap(({ part }) => part);
  for (const { part } of parts) {
    const checked = checkAnswers(compiled, part, {
      isComplete: false,
      uploads,
      context,
      previous: saved,
      responseId,
    });
    assert.ok(checked.ok, JSON.stringify(checked));
    saved = checked.row;
    checkMarks(saved, 'PARTIAL');
    reached['partial'] = (reached['partial'] ?? 0) + 1;
  }
  const merged = checkAnswers(compiled, last, { isComplete: true, uploads, context, previous: saved });

  const isOptionRefused = (given: readonly GivenAnswer[]) =>
    given.some((answer) => shown.has(answer.questionId) && !offersIn(answer));
  function offersIn(answer: GivenAnswer): boolean {
    const row = checkAnswers(compiled, [answer], { isComplete: false, uploads });
    if (!row.ok) return offers(answer);
    return readAnswers(compiled, row.row).every(offers);
  }
  const isMissing = path.sections.some(({ questions }) =>
    questions.some(({ id, isRequired, rowIds }) => {
      if (!isRequired) return false;
      const own = readAll()
        .filter(({ questionId }) => questionId === id)
        .filter(offers);
      return own.length === 0 || !rowIds.every((row) => own.some(({ rowId }) => rowId === row));
    }),
  );
  function readAll(): GivenAnswer[] {
    const all = checkAnswers(compiled, answers, { isComplete: false, uploads, context });
    assert.ok(all.ok);
    return readAnswers(compiled, all.row);
  }
  const expected = readAll().filter(offers).map(withoutRank);
  assert.equal(once.ok, !isMissing && !isOptionRefused(answers), `once ${JSON.stringify(once)}`);
  assert.equal(merged.ok, !isMissing && !isOptionRefused(last), `merged ${JSON.stringify(merged)}`);
  const isOff = readAll().some(({ questionId }) => !shown.has(questionId));
  assert.equal(strict.ok, once.ok && !isOff, `strict ${JSON.stringify(strict)}`);
  for (const done of [once, merged]) {
    if (!done.ok) {
      reached['missing'] = (reached['missing'] ?? 0) + 1;
      continue;
    }
    reached['complete'] = (reached['complete'] ?? 0) + 1;
    assert.deepEqual(readAnswers(compiled, done.row).map(withoutRank), expected);
    checkMarks(done.row, 'COMPLETED');
    if (done.path) {
      const off = new Set(readAll().flatMap(({ questionId }) => (shown.has(questionId) ? [] : [questionId])));
      assert.deepEqual(
        done.path.ignored,
        [...ids].filter((id) => off.has(id)),
      );
      assert.equal(done.path.isScreenedOut, path.outcome === 'SCREENED_OUT');
    }
  }
  function withoutRank({ rank: _, ...answer }: GivenAnswer) {
    return answer;
  }

  function checkMarks(row: AnswerRow, outcome: 'PARTIAL' | 'COMPLETED'): void {
    if (!isCompared) return;
    const now = readAnswers(compiled, row);
    const nowPath = slowPath(survey, now, came);
    const asked = new Map(nowPath.sections.flatMap(({ questions }) => questions.map((one) => [one.id, one] as const)));
    const statuses = reader({ row, outcome, surveyVersion: survey.version });
    const answered = new Set(now.map(({ questionId }) => questionId));
    const isReached = (index: number): boolean =>
      outcome === 'COMPLETED' ||
      order.indexOf(index) <= order.findLastIndex((other) => answered.has(ids[other] as string));
    for (const [index, question] of survey.questions.entries()) {
      const own = now.filter(({ questionId }) => questionId === question.id);
      const step = isReached(index) ? asked.get(question.id) : undefined;
      const expectedStatus = own.length > 0 ? 'ANSWERED' : step ? 'SKIPPED' : 'NOT_ASKED';
      assert.equal(statuses.of(question.id), expectedStatus, `status of ${question.id}`);
      for (const { id } of visibleRows(question)) {
        const isAnswered = own.some(({ rowId }) => rowId === id);
        assert.equal(
          statuses.ofRow(question.id, id),
          isAnswered ? 'ANSWERED' : step?.rowIds.includes(id) ? 'SKIPPED' : 'NOT_ASKED',
          `status of ${question.id} ${id} ${outcome}`,
        );
      }
    }
  }
}
