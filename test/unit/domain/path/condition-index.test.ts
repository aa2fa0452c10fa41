import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { indexConditions } from '../../../../src/domain/path/condition-index.ts';
import { compileCondition } from '../../../../src/domain/path/conditions.ts';
import type { Condition } from '../../../../src/domain/path/definition.ts';
import { compilePaths, givenAnswers, walkOf } from '../../../../src/domain/path/path.ts';
import { pathDefinitionOf } from '../../../../src/domain/survey-paths/path-definition.ts';
import { runAtOnce } from '../../../../src/platform/slices.ts';
import { createChance } from '../../../fuzz/chance.ts';
import { surveyOf } from '../../../support/path-surveys.ts';
import { randomCondition, randomPaths } from '../../../support/random-paths.ts';

describe('many conditions that are evaluated together', () => {
  it('are true where each of them is', () => {
    let trueOnes = 0;
    for (let seed = 0; seed < 400; seed += 1) {
      const { survey, answers, came } = randomPaths(seed, { questions: 1 + (seed % 9), sections: seed % 3 });
      const chance = createChance(seed);
      const conditions = Array.from({ length: seed % 80 }, (): Condition => {
        const one = () => randomCondition(chance, survey.questions);
        return chance.is(0.5) ? { all: [one(), { all: [one(), one()] }] } : one();
      });
      const compiled = compilePaths(pathDefinitionOf(survey));
      const known = walkOf(compiled, givenAnswers(compiled, answers), { ...came, surveyLanguage: 'en' });
      const expected = conditions.flatMap((condition, place) =>
        compileCondition(condition, compiled)(known) ? [place] : [],
      );
      assert.deepEqual(runAtOnce(indexConditions(conditions, compiled)(known)), expected, `seed ${seed}`);
      trueOnes += expected.length;
    }
    assert.ok(trueOnes > 1000, `${trueOnes} were true`);
  });

  it('may name more questions than have bitmaps, and options that are not there', () => {
    const options = ['ant', 'bee'].map((text) => ({ text, value: text }));
    const { survey, questions } = surveyOf(
      Array.from({ length: 30 }, () => ({ type: 'MULTIPLE_CHOICE' as const, options })),
    );
    const compiled = compilePaths(pathDefinitionOf(survey));
    const answers = questions.map(({ id, options: own }) => ({ questionId: id, optionId: own[0]?.id }));
    const known = walkOf(compiled, givenAnswers(compiled, answers), { surveyLanguage: 'en' });
    const chose = (question: number, option: number): Condition => ({
      questionId: questions[question]?.id ?? '',
      operator: 'isAnyOf',
      optionIds: [questions[question]?.options[option]?.id ?? ''],
    });
    const conditions: Condition[] = [
      ...questions.map((_, index) => chose(index, index % 2)),
      { all: questions.map((_, index) => chose(index, 0)) },
      { questionId: questions[0]?.id ?? '', operator: 'isAnyOf', optionIds: ['gone'] },
      { questionId: 'gone', operator: 'isAnyOf', optionIds: ['gone'] },
    ];
    const even = questions.flatMap((_, index) => (index % 2 === 0 ? [index] : []));
    assert.deepEqual(runAtOnce(indexConditions(conditions, compiled)(known)), [...even, 30]);
  });

  it('read the answers to a question once, however many name it', () => {
    const { survey, questions } = surveyOf([{ type: 'CHECKBOXES', options: [{ text: 'ant' }] }, { type: 'YES_NO' }]);
    const [ticks, other] = questions.map(({ id }) => id);
    const optionId = questions[0]?.options[0]?.id;
    let reads = 0;
    const answers = Array.from({ length: 100 }, () => ({
      questionId: ticks,
      get optionId() {
        reads += 1;
        return optionId;
      },
    }));
    const conditions = Array.from(
      { length: 50 },
      (): Condition => ({
        all: [
          { questionId: ticks ?? '', operator: 'answered' },
          { questionId: other ?? '', operator: 'notAnswered' },
        ],
      }),
    );
    const readsOf = (count: number): number => {
      reads = 0;
      const compiled = compilePaths(pathDefinitionOf(survey));
      const known = walkOf(compiled, givenAnswers(compiled, answers), { surveyLanguage: 'en' });
      assert.equal(runAtOnce(indexConditions(conditions.slice(0, count), compiled)(known)).length, count);
      return reads;
    };
    assert.equal(readsOf(50), readsOf(1));
  });
});
