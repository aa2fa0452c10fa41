import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { interpretQuestion } from '../../../../src/domain/analytics/statistics.ts';
import type { AnswerRow, CountResult, GivenAnswer } from '../../../../src/domain/questions/contract.ts';
import { changeQuestion } from '../../../../src/domain/questions/question-definition.ts';
import { registry } from '../../../../src/domain/questions/registry.ts';
import { allocateSlots } from '../../../../src/domain/questions/slot-allocation.ts';
import { questionTypeNames } from '../../../../src/domain/questions/type-names.ts';
import { checkAnswers, compileSurvey, readAnswers } from '../../../../src/domain/submission/answers.ts';
import { fullSurvey, nextId } from '../../../support/questions.ts';
import { uploadsFor, valid } from '../submission/valid-answers.ts';
import { countRows } from './count-rows.ts';

const { survey, questions } = fullSurvey();
const compiled = compileSurvey(survey);
const uploads = uploadsFor(questions.FILE_UPLOAD);
const check = (answers: unknown, isComplete = true) => checkAnswers(compiled, answers, { isComplete, uploads });

const textOf = (answer: object) => JSON.stringify(Object.entries(answer).sort());
const byText = (a: object, b: object) => (textOf(a) < textOf(b) ? -1 : 1);

const leavesOf = (distribution: Record<string, number | Record<string, number>>): number =>
  Object.values(distribution).reduce<number>(
    (sum, value) => sum + (typeof value === 'number' ? value : leavesOf(value)),
    0,
  );
const isNear = (actual: number | null, expected: number) =>
  assert.ok(actual !== null && Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);

describe('every question type', () => {
  it('is in the registry under the name of the specification', () => {
    assert.equal(questionTypeNames.length, 17);
    assert.deepEqual(Object.keys(registry).sort(), [...questionTypeNames].sort());
  });

  for (const type of questionTypeNames) {
    const question = questions[type];

    it(`${type} stores a valid answer and returns it unchanged`, () => {
      fc.assert(
        fc.property(valid[type](question), (values) => {
          const answers = values.map((value) => ({ questionId: question.id, ...value }));
          const checked = check(answers);
          assert.ok(checked.ok, JSON.stringify(checked));
          assert.ok(checked.row.codes.every((code) => Number.isInteger(code) && code >= 0 && code <= 65_535));
          assert.deepEqual(
            readAnswers(compiled, JSON.parse(JSON.stringify(checked.row))).sort(byText),
            [...answers].sort(byText),
          );
        }),
        { numRuns: 50 },
      );
    });

    it(`${type} refuses values of another kind, unexpected values and unknown fields`, () => {
      const refused = (value: object, field: string) => {
        const checked = check([{ questionId: question.id, ...value }]);
        assert.ok(!checked.ok, `${JSON.stringify(value)} was taken`);
        assert.ok(
          checked.issues.some(({ path }) => path === field || path.startsWith(`${field}.`)),
          JSON.stringify(checked.issues),
        );
      };
      refused({}, 'answers.0');
      refused({ textValue: 'a', numberValue: 1 }, 'answers.0');
      refused({ optionId: nextId() }, 'answers.0.optionId');
      refused({ numberValue: 1e9 }, 'answers.0');
      refused({ numberValue: Number.POSITIVE_INFINITY }, 'answers.0.numberValue');
      refused({ numberValue: 2 ** 53 }, 'answers.0.numberValue');
      refused({ textValue: 'bad \ud800 text' }, 'answers.0.textValue');
      refused({ textValue: 'bad \0 text' }, 'answers.0.textValue');
      refused({ textValue: 'x', colour: 1 }, 'answers.0.colour');
    });

    it(`${type} has zero counts without answers, and shows every possible value`, () => {
      const entry = registry[type];
      const plan = entry.countPlan(question);
      const statistic = entry.statistic(question, plan.requests.map(emptyResult), 0);
      assert.ok(plan.base.length > 0);
      for (const value of Object.values(statistic.distribution))
        assert.ok(typeof value === 'number' ? value === 0 : Object.values(value).every((count) => count === 0));
      assert.equal(statistic.averageValue, null);
      if (entry.optionSource !== 'none') assert.ok(Object.keys(statistic.distribution).length > 0);
    });

    it(`${type} counts every stored answer once, and as many respondents as answered`, () => {
      const responses = fc.array(fc.option(valid[type](question), { nil: [] }), { maxLength: 12 });
      fc.assert(
        fc.property(responses, (given) => {
          const rows = given.map((values) => rowOf(values.map((value) => ({ questionId: question.id, ...value }))));
          const plan = registry[type].countPlan(question);
          const { base, results } = countRows(plan, rows);
          const statistic = interpretQuestion(
            question,
            results,
            { base, partBases: (plan.parts ?? []).map(() => base) },
            rows.length,
          );
          assert.equal(statistic.responseCount, given.filter((values) => values.length > 0).length);
          assert.equal(statistic.responseCount + statistic.skippedCount, rows.length);
          if (statistic.topWords) assert.deepEqual(statistic.distribution, {});
          else
            assert.equal(
              leavesOf(statistic.distribution),
              given.reduce((sum, values) => sum + values.length, 0),
            );
          const numbers = given.flatMap((values) => values.flatMap(({ numberValue }) => numberValue ?? []));
          if (numbers.length > 0)
            isNear(statistic.averageValue, numbers.reduce((sum, value) => sum + value, 0) / numbers.length);
        }),
        { numRuns: 30 },
      );
    });

    it(`${type} keeps its positions when options and rows are added or removed, and shares none`, () => {
      const settings =
        question.rows.length > 0
          ? { rows: [{ text: 'Brand new' }, ...question.rows.slice(1).map(({ id, text }) => ({ id, text }))] }
          : {};
      const changed = changeQuestion(
        question,
        {
          text: 'Worded anew',
          settings,
          ...(registry[type].optionSource === 'author' && {
            options: [...question.options.slice(1).map(({ id, text }) => ({ id, text })), { text: 'Brand new' }],
          }),
        },
        { hasAnswers: true, newId: nextId },
      );
      assert.ok('question' in changed, JSON.stringify(changed));
      const { slots, counts } = allocateSlots(changed.question, survey.slotCounts);
      for (const kind of ['codes', 'numbers', 'texts'] as const) {
        assert.deepEqual({ ...slots[kind], ...question.slots[kind] }, slots[kind]);
        const others = survey.questions
          .filter(({ id }) => id !== question.id)
          .flatMap((other) => Object.values(other.slots[kind]));
        const own = Object.values(slots[kind]);
        assert.equal(new Set([...own, ...others]).size, own.length + others.length);
        assert.ok(counts[kind] >= survey.slotCounts[kind] && own.every((slot) => slot < counts[kind]));
      }
    });
  }

  function rowOf(answers: GivenAnswer[]): AnswerRow {
    const checked = check(answers, false);
    assert.ok(checked.ok, JSON.stringify(checked));
    return checked.row;
  }

  function emptyResult(request: { kind: CountResult['kind'] }): CountResult {
    if (request.kind === 'codes') return { kind: 'codes', counts: new Map() };
    if (request.kind === 'bits') return { kind: 'bits', counts: [] };
    if (request.kind === 'text') return { kind: 'text', counts: [] };
    return {
      kind: 'number',
      moments: { count: 0, average: null, median: null, standardDeviation: null, min: null, max: null, bins: [] },
    };
  }
});
