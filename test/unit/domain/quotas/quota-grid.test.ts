import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Condition } from '../../../../src/domain/path/definition.ts';
import { addQuotas, editQuota, gridQuotas } from '../../../../src/domain/quotas/quota-edits.ts';
import type { Question, SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { conditionInput } from '../../../../src/domain/survey-paths/path-inputs.ts';
import { Problem } from '../../../../src/errors.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

/** A survey with DROPDOWN questions of so many options each; `reads` says how often their lists were read. */
function surveyOf(sizes: readonly number[]): { survey: SurveyWithQuestions; reads: () => number } {
  const reads = { count: 0 };
  const questions = sizes.map((size, place): Question => {
    const options = Array.from({ length: size }, (_, index) => ({ text: `${place}.${index}` }));
    const { question } = withQuestion(blankSurvey(), { type: 'DROPDOWN', text: 'q', options });
    return Object.defineProperty({ ...question }, 'options', {
      get: () => {
        reads.count += 1;
        return question.options;
      },
    });
  });
  return { survey: { ...blankSurvey(), questions }, reads: () => reads.count };
}

/** What a grid of all questions is refused with. */
const refusalOf = ({ questions, ...survey }: SurveyWithQuestions): unknown => {
  try {
    gridQuotas({ ...survey, questions }, { questionIds: questions.map(({ id }) => id), limit: 5 });
    return undefined;
  } catch (error) {
    return Object(error).details;
  }
};

describe('a grid of quotas', () => {
  it('with too many cells is refused before any cell is made', () => {
    const { survey, reads } = surveyOf([60, 50, 40]);
    assert.deepEqual(refusalOf(survey), [{ path: 'questionIds', message: 'make 120000 cells, at most 1000' }]);
    assert.ok(reads() <= 3, `the options were read ${reads()} times`);
  });

  it('may have as many cells as a survey may have quotas', () => {
    const { survey } = surveyOf([10, 10, 10]);
    const ids = survey.questions.map(({ id }) => id);
    const cells = gridQuotas(survey, { questionIds: ids, limit: 5 });
    assert.deepEqual([cells.length, cells[999]?.name], [1000, '0.9 × 1.9 × 2.9']);
    assert.deepEqual(refusalOf(surveyOf([13, 11, 7]).survey), [
      { path: 'questionIds', message: 'make 1001 cells, at most 1000' },
    ]);
  });
});

describe('the conditions of all quotas together', () => {
  const { survey } = surveyOf([1]);
  const [question] = survey.questions;
  const sized = (length: number): Condition => ({
    any: Array.from({ length: 50 }, () => ({ metadata: 'k', operator: 'equalsText', value: 'x'.repeat(length) })),
  });
  const quota = (id: number, where: Condition) => ({ id: `${id}`, name: 'Cell', limit: 5, where });
  const full = addQuotas(
    survey,
    Array.from({ length: 39 }, (_, id) => quota(id, sized(980))),
  );

  it('take at most 2 MiB as JSON', () => {
    const tooLarge = ({ details }: any) =>
      /would take \d+ bytes as JSON, and may take 2097152/.test(details[0].message);
    assert.throws(() => addQuotas(full, [quota(40, sized(1000)), quota(41, sized(1000))]), tooLarge);
    const filled = addQuotas(full, [quota(40, sized(980)), quota(41, { metadata: 'k', operator: 'answered' })]);
    assert.throws(() => editQuota(filled, '41', { where: sized(1000) }), tooLarge);
  });

  it('may become smaller where they are too large from before', () => {
    const former = {
      ...full,
      quotas: full.quotas?.flatMap((each) => [each, { ...each, id: `${each.id} again` }]) ?? [],
    };
    assert.equal(editQuota(former, '0', { where: sized(1) }).quotas?.length, 78);
    assert.equal(editQuota(former, '0', { limit: 50 }).quotas?.[0]?.limit, 50);
    assert.throws(() => addQuotas(former, [quota(81, { metadata: 'k', operator: 'answered' })]));
  });

  it('name each option once, however often it was given', () => {
    const optionIds = question?.options.map(({ id }) => id) ?? [];
    const where = { questionId: question?.id ?? '', operator: 'isAnyOf' as const, optionIds };
    const given = { ...where, optionIds: Array(201).fill(optionIds[0]) };
    assert.deepEqual(conditionInput.parse({ not: given }), { not: where });
  });
});

describe('a changed quota', () => {
  const invited: Condition = { metadata: 'invitation:group', operator: 'answered' };
  const added = addQuotas(blankSurvey(), [{ id: 'quota', name: 'Cell', limit: 1, where: { language: ['en'] } }]);

  it('does not name the invitation by its stored key, unless it did before', () => {
    assert.throws(() => editQuota(added, 'quota', { where: invited }), Problem);
    const former = { ...added, quotas: added.quotas?.map((quota) => ({ ...quota, where: invited })) ?? [] };
    const [raised] = editQuota(former, 'quota', { limit: 2, where: invited }).quotas ?? [];
    assert.deepEqual([raised?.limit, raised?.where, raised?.version], [2, invited, 1]);
  });
});
