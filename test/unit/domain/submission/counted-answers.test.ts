import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Condition } from '../../../../src/domain/path/definition.ts';
import type { AnswerRow, GivenAnswer } from '../../../../src/domain/questions/contract.ts';
import { changeQuestion } from '../../../../src/domain/questions/question-definition.ts';
import type { CellQuota } from '../../../../src/domain/quotas/cell-quota.ts';
import { fittingQuotas } from '../../../../src/domain/quotas/fitting-quotas.ts';
import { type CompiledSurvey, checkAnswers, compileSurvey } from '../../../../src/domain/submission/answers.ts';
import type { Question, SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { respondentWalk } from '../../../../src/domain/survey-paths/rendered-path.ts';
import { runAtOnce } from '../../../../src/platform/slices.ts';
import { type QuestionSketch, saysYes, surveyOf, withFields, yes, yesNo } from '../../../support/path-surveys.ts';
import { nextId } from '../../../support/questions.ts';

const labels = ['a', 'b', 'c', 'd', 'e'].map((value) => ({ text: value, value }));
const context = { language: 'en', metadata: {} };
const uploads = new Map();

const quotaOf = (where: Condition, counts: CellQuota['counts']): CellQuota => ({
  id: nextId(),
  code: 1,
  name: 'Cell',
  limit: 2,
  where,
  counts,
  whenFull: 'OVER_QUOTA',
  isActive: true,
  version: 1,
});

/** The survey after an author has left out all but the first options of a question with answers. */
function withoutLast(survey: SurveyWithQuestions, { id }: Question, kept: number): SurveyWithQuestions {
  const question = survey.questions.find((other) => other.id === id) as Question;
  const options = question.options.slice(0, kept).map(({ text, value, ...rest }) => ({ id: rest.id, text, value }));
  const changed = changeQuestion(question, { options }, { hasAnswers: true, newId: nextId });
  assert.ok('question' in changed);
  return { ...withFields(survey, id, changed.question), version: survey.version + 1 };
}

function submit(
  survey: SurveyWithQuestions,
  answers: readonly GivenAnswer[],
  { isComplete = true, previous }: { isComplete?: boolean; previous?: AnswerRow } = {},
) {
  const checked = checkAnswers(compileSurvey(survey), answers, { isComplete, uploads, context, previous });
  assert.ok(checked.ok, JSON.stringify(checked));
  return { row: checked.row, cells: checked.path?.cells };
}

const countAgain = (survey: SurveyWithQuestions, row: AnswerRow, isStarted = false) =>
  cellsBy(compileSurvey(survey), row, isStarted);

const cellsBy = ({ paths }: CompiledSurvey, row: AnswerRow, isStarted: boolean) =>
  paths && runAtOnce(paths.cells(row, context, { isStarted }));

interface Case {
  sketch: QuestionSketch;
  where: (question: Question) => Condition;
  answers: (question: Question) => GivenAnswer[];
  /** Options that stay. */
  kept: number;
}

const chosen = ({ id, options, rows }: Question, ...places: number[]): GivenAnswer[] =>
  places.map((place) => ({
    questionId: id,
    optionId: options[place]?.id as string,
    ...(rows[0] && { rowId: rows[0].id }),
  }));

const cases: Record<string, Case> = {
  'the points of a LIKERT_SCALE': {
    sketch: { type: 'LIKERT_SCALE' },
    where: ({ id }) => ({ questionId: id, operator: 'between', min: 4 }),
    answers: ({ id }) => [{ questionId: id, numberValue: 5 }],
    kept: 4,
  },
  'the number of choices': {
    sketch: { type: 'CHECKBOXES', options: labels },
    where: ({ id }) => ({ questionId: id, operator: 'countBetween', min: 3 }),
    answers: (question) => chosen(question, 2, 3, 4),
    kept: 3,
  },
  'whether a row of a MATRIX is answered': {
    sketch: { type: 'MATRIX', options: labels, settings: { rows: [{ text: 'one' }] } },
    where: ({ id, rows }) => ({ questionId: id, rowId: rows[0]?.id as string, operator: 'answered' }),
    answers: (question) => chosen(question, 4),
    kept: 4,
  },
};

const bothCounts = ['COMPLETED', 'STARTED'] as const;
const [completed, started] = [false, true];

/** Calls it for each case and kind of quota, in a survey whose last question is asked by a condition and in one without. */
function forEachCase(
  check: (surveys: {
    before: SurveyWithQuestions;
    after: SurveyWithQuestions;
    answers: GivenAnswer[];
    /** Answers another question. */
    more: GivenAnswer[];
    isStartedCounted: boolean;
  }) => void,
): void {
  for (const { sketch, where, answers, kept } of Object.values(cases))
    for (const counts of bothCounts)
      for (const isBranched of [true, false]) {
        const { survey, questions } = surveyOf([
          sketch,
          yesNo,
          (before) => ({ ...yesNo, ...(isBranched && { visibleIf: saysYes(before[1]) }) }),
        ]);
        const [asked, branch] = questions as [Question, Question];
        const before = { ...survey, quotas: [quotaOf(where(asked), counts)] };
        const after = withoutLast(before, asked, kept);
        check({ before, after, answers: answers(asked), more: [yes(branch)], isStartedCounted: counts === 'STARTED' });
      }
}

describe('a quota by cell, after an option was removed', () => {
  it('counts stored responses as before', () => {
    forEachCase(({ before, after, answers, isStartedCounted }) => {
      const whole = submit(before, answers);
      assert.deepEqual([whole.cells, countAgain(before, whole.row, completed)], [[1], [1]]);
      assert.deepEqual(countAgain(after, whole.row, completed), [1]);
      const part = submit(before, answers, { isComplete: false });
      assert.deepEqual(part.cells, [1]);
      assert.deepEqual(countAgain(after, part.row, started), isStartedCounted ? [1] : []);
    });
  });

  it('counts responses that go on the same at once as later', () => {
    forEachCase(({ before, after, answers, more, isStartedCounted }) => {
      const part = submit(before, answers, { isComplete: false });
      for (const isComplete of [true, false]) {
        const { row, cells } = submit(after, more, { isComplete, previous: part.row });
        const again = countAgain(after, row, !isComplete);
        assert.deepEqual([cells, again], [[1], isComplete || isStartedCounted ? [1] : []]);
      }
    });
  });

  it('does not count it in what goes on where conditions decide which options are offered', () => {
    const { survey, questions } = surveyOf([
      yesNo,
      { type: 'CHECKBOXES', options: labels },
      (before) => ({
        type: 'CHECKBOXES',
        options: labels.map((label, index) => ({ ...label, ...(index === 0 && { visibleIf: saysYes(before[0]) }) })),
      }),
    ]);
    const [branch, , asked] = questions as [Question, Question, Question];
    const where: Condition = { questionId: asked.id, operator: 'countBetween', min: 2 };
    const before = { ...survey, quotas: [quotaOf(where, 'STARTED')] };
    const part = submit(before, chosen(asked, 1, 4), { isComplete: false });
    const after = withoutLast(before, asked, 4);
    assert.deepEqual([part.cells, countAgain(after, part.row, started)], [[1], []]);
    for (const isComplete of [true, false]) {
      const { row, cells } = submit(after, [yes(branch)], { isComplete, previous: part.row });
      assert.deepEqual([cells, countAgain(after, row, !isComplete)], [[], []]);
    }
  });
});

describe('a quota by cell that names the invitation, in a survey that became anonymous', () => {
  it('counts nobody, at once as later', () => {
    for (const where of [{ invitation: 'group' }, { metadata: 'invitation:group' }]) {
      const { survey } = surveyOf([yesNo]);
      const quota = quotaOf({ ...where, operator: 'answered' }, 'COMPLETED');
      const compiled = compileSurvey({ ...survey, isAnonymous: true, quotas: [quota] });
      const invited = { ...context, invitation: { group: 'A' } };
      const checked = checkAnswers(compiled, [], { isComplete: true, uploads, context: invited });
      assert.ok(checked.ok);
      assert.deepEqual(checked.path?.cells, []);
      assert.deepEqual(cellsBy(compiled, checked.row, completed), []);
    }
  });

  it('is on the path that is shown to whom it counts, and to nobody else', () => {
    const { survey, questions } = surveyOf([
      { ...yesNo, visibleIf: { invitation: 'group', operator: 'answered' } },
      yesNo,
    ]);
    const [asked] = questions as [Question, Question];
    const answers = [yes(asked)];
    for (const [operator, counted] of [['notAnswered', [1]] as const, ['answered', []] as const]) {
      const quota = quotaOf({ all: [{ invitation: 'group', operator }, saysYes(asked)] }, 'COMPLETED');
      const anonymous = { ...survey, isAnonymous: true, quotas: [quota] };
      const invited = { ...context, invitation: { group: 'A' } };
      const checked = checkAnswers(compileSurvey(anonymous), answers, { isComplete: true, uploads, context: invited });
      assert.ok(checked.ok);
      assert.deepEqual(checked.path?.cells, counted);
      const walk = runAtOnce(respondentWalk(anonymous, { ...invited, answers }));
      const fitting = runAtOnce(fittingQuotas(anonymous, walk));
      assert.deepEqual(
        fitting.map(({ code }) => code),
        counted,
      );
    }
  });
});

describe('a complete response by an invitation to an anonymous survey without quotas by cell', () => {
  it('has its answers read as often as one by a link', () => {
    const { survey, questions } = surveyOf([yesNo, (before) => ({ ...yesNo, visibleIf: saysYes(before[0]) })]);
    const compiled = compileSurvey({ ...survey, isAnonymous: true });
    const readsFor = (invitation?: Record<string, string>) => {
      const checked = checkAnswers(compiled, questions.map(yes), { isComplete: true, uploads, context });
      assert.ok(checked.ok);
      let reads = 0;
      const codes = new Proxy(checked.row.codes, {
        get: (target, name) => {
          reads += 1;
          return Reflect.get(target, name);
        },
      });
      assert.ok(compiled.paths);
      const judging = {
        isComplete: true,
        isStrict: false,
        answers: undefined,
        context: { ...context, ...(invitation && { invitation }) },
      };
      runAtOnce(compiled.paths.judge({ ...checked.row, codes }, judging));
      return reads;
    };
    const byLink = readsFor();
    assert.ok(byLink > 0);
    assert.equal(readsFor({ group: 'A' }), byLink);
  });
});
