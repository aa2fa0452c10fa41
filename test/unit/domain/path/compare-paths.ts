import assert from 'node:assert/strict';
import fc from 'fast-check';
import { compilePaths, givenAnswers, type Path, pathOf } from '../../../../src/domain/path/path.ts';
import type { AnswerRow, GivenAnswer } from '../../../../src/domain/questions/contract.ts';
import { checkAnswers, compileSurvey } from '../../../../src/domain/submission/answers.ts';
import { createRowPathAnswers } from '../../../../src/domain/submission/row-path-answers.ts';
import type { SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { checkPaths } from '../../../../src/domain/survey-paths/path-checks.ts';
import { pathDefinitionOf } from '../../../../src/domain/survey-paths/path-definition.ts';
import { type RandomPaths, randomPaths } from '../../../support/random-paths.ts';
import { slowPath } from '../../../support/slow-path.ts';

const surveys = fc
  .record({
    seed: fc.integer({ min: 0 }),
    questions: fc.integer({ min: 1, max: 9 }),
    sections: fc.integer({ min: 0, max: 3 }),
  })
  .map(({ seed, ...size }) => randomPaths(seed, size));

/** Calls `check` with so many random surveys and answers. Every survey passes the checks of what authors send. */
function withSurveys(count: number, seed: number, check: (random: RandomPaths) => void): void {
  fc.assert(
    fc.property(surveys, (random) => {
      assert.deepEqual(checkPaths(random.survey), []);
      check(random);
    }),
    { numRuns: count, seed },
  );
}

function prepare({ survey, came }: Pick<RandomPaths, 'survey' | 'came'>) {
  const compiled = compilePaths(pathDefinitionOf(survey));
  const context = { ...came, surveyLanguage: 'en' };
  return {
    compiled,
    context,
    path: (answers: readonly unknown[]) => pathOf(compiled, givenAnswers(compiled, answers), context),
  };
}

/** Tells how often each outcome was reached, so that a caller sees that none is missing. */
export function compareWithSlowPaths(count: number, seed = 20_261_124): Record<Path['outcome'], number> {
  const outcomes = { OPEN: 0, COMPLETE: 0, SCREENED_OUT: 0 };
  withSurveys(count, seed, ({ survey, answers, came }) => {
    const path = prepare({ survey, came }).path(answers);
    assert.deepEqual(path, slowPath(survey, answers, came));
    outcomes[path.outcome] += 1;
  });
  return outcomes;
}

/** A survey as clients read it, and stored rows, give the same paths. */
export function compareSources(count: number, seed = 20_261_125): void {
  withSurveys(count, seed, ({ survey, answers, came }) => {
    const { compiled, context, path } = prepare({ survey, came });
    const expected = path(answers);
    const rowAnswers = createRowPathAnswers(survey, compiled);
    assert.deepEqual(pathOf(compiled, rowAnswers(rowOf(survey, [answers])), context), expected);
    const read = compilePaths(JSON.parse(JSON.stringify(pathDefinitionOf(survey))));
    assert.deepEqual(pathOf(read, givenAnswers(read, JSON.parse(JSON.stringify(answers))), context), expected);
  });
}

/** The row after these saves of a response. */
function rowOf(survey: SurveyWithQuestions, saves: readonly (readonly GivenAnswer[])[]): AnswerRow {
  const compiled = compileSurvey(survey);
  return saves.reduce<AnswerRow>((previous, answers) => {
    const checked = checkAnswers(compiled, answers, { isComplete: false, uploads: new Map(), previous });
    assert.ok(checked.ok, JSON.stringify(checked));
    return checked.row;
  }, compiled.emptyRow);
}

/** Saves of parts in any order end in the same path. */
export function compareOrdersOfSaves(count: number, seed = 20_261_126): void {
  withSurveys(count, seed, ({ survey, answers, came }) => {
    const { compiled, context, path } = prepare({ survey, came });
    const parts = survey.questions.map(({ id }) => answers.filter(({ questionId }) => questionId === id));
    const order = parts.map((part, index) => ({ part, key: (index * 7 + answers.length * 3) % (parts.length + 3) }));
    const saves = order.sort((one, other) => one.key - other.key).map(({ part }) => part);
    const row = rowOf(survey, saves);
    assert.deepEqual(pathOf(compiled, createRowPathAnswers(survey, compiled)(row), context), path(answers));
  });
}

/** Answers to later questions never change which of the earlier ones are on the path, and what they offer. */
export function comparePrefixes(count: number, seed = 20_261_127): void {
  withSurveys(count, seed, ({ survey, answers, came }) => {
    const { compiled, path } = prepare({ survey, came });
    const upTo = (from: Path, index: number) =>
      from.sections.flatMap(({ questions }) => questions).filter(({ id }) => (compiled.indexOf.get(id) ?? 0) <= index);
    const full = path(answers);
    for (const { id } of survey.questions) {
      const index = compiled.indexOf.get(id) as number;
      const before = answers.filter(({ questionId }) => (compiled.indexOf.get(questionId) as number) < index);
      assert.deepEqual(upTo(path(before), index), upTo(full, index));
    }
  });
}

const anything = fc.oneof(
  fc.constantFrom(null, undefined, true, Number.NaN, -0, Number.POSITIVE_INFINITY, '', 'other', '__proto__', {}, []),
  fc.double(),
  fc.string(),
  fc.array(fc.integer()),
);

/** Conditions that pass the checks never fail, whatever is answered and whatever comes with the respondent. */
export function evaluateAnything(count: number, seed = 20_261_128): void {
  const junk = fc.array(
    fc.oneof(
      anything,
      fc.record({
        question: fc.nat(10),
        option: fc.option(fc.nat(5)),
        row: fc.option(fc.nat(3)),
        extra: fc.record(
          { rank: anything, numberValue: anything, textValue: anything, optionId: anything, rowId: anything },
          { requiredKeys: [] },
        ),
      }),
    ),
    { maxLength: 12 },
  );
  const context = fc.record({
    responseId: fc.option(fc.string(), { nil: undefined }),
    metadata: fc.option(fc.dictionary(fc.constantFrom('source', '__proto__'), anything), { nil: undefined }),
    invitation: fc.option(fc.dictionary(fc.constantFrom('group'), anything), { nil: undefined }),
    language: fc.option(fc.string(), { nil: undefined }),
    surveyLanguage: fc.constant('en'),
  });
  fc.assert(
    fc.property(surveys, junk, context, ({ survey }, list, came) => {
      const compiled = compilePaths(pathDefinitionOf(survey));
      const answers = list.map((entry) => {
        if (typeof entry !== 'object' || entry === null || !('question' in entry)) return entry;
        const question = survey.questions[entry.question];
        return {
          questionId: question?.id,
          optionId: question?.options[entry.option ?? -1]?.id,
          rowId: question?.rows[entry.row ?? -1]?.id,
          ...entry.extra,
        };
      });
      const { progress, next, outcome, sections } = pathOf(compiled, givenAnswers(compiled, answers), came);
      assert.ok(progress >= 0 && progress <= 1);
      assert.equal(next !== null, outcome === 'OPEN');
      const ids = sections.flatMap(({ questions }) => questions.map(({ id }) => id));
      assert.equal(new Set(ids).size, ids.length);
    }),
    { numRuns: count, seed },
  );
}

/** Shuffling shows the same questions, options and rows, and changes nothing else that stays what it was. */
export function compareShuffled(count: number, seed = 20_261_129): void {
  const sorted = (path: Path) =>
    path.sections
      .flatMap(({ id, questions }) =>
        questions.map((step) => ({
          ...step,
          section: id,
          optionIds: step.optionIds.toSorted(),
          rowIds: step.rowIds.toSorted(),
        })),
      )
      .toSorted((one, other) => (one.id < other.id ? -1 : 1));
  withSurveys(count, seed, ({ survey, answers, came }) => {
    const shuffledSurvey = {
      ...survey,
      questions: survey.questions.map((question) => ({
        ...question,
        settings: { ...question.settings, shuffleOptions: true, shuffleRows: true },
      })),
    };
    const { compiled, context, path } = prepare({ survey: shuffledSurvey, came });
    const shown = (responseId: string) => pathOf(compiled, givenAnswers(compiled, answers), { ...context, responseId });
    const responseId = survey.id;
    assert.deepEqual(sorted(shown(responseId)), sorted(path(answers)));
    assert.deepEqual(shown(responseId), shown(responseId.toUpperCase()));
  });
}
