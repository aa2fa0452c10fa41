import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { interpretQuestion } from '../../../../src/domain/analytics/statistics.ts';
import { blankSurvey } from '../../../../src/domain/blank-survey.ts';
import type { CountRequest, CountResult } from '../../../../src/domain/questions/contract.ts';
import {
  defineQuestion,
  describeQuestion,
  newQuestionBody,
} from '../../../../src/domain/questions/question-definition.ts';
import { registry } from '../../../../src/domain/questions/registry.ts';
import { allocateSlots } from '../../../../src/domain/questions/slot-allocation.ts';
import { questionTypeNames } from '../../../../src/domain/questions/type-names.ts';
import { readSubmission } from '../../../../src/domain/submission/submission.ts';
import type { Question, SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { questionStatisticSchema } from '../../../../src/http/schemas/analytics.ts';
import { presentSurveyWithQuestions } from '../../../../src/http/schemas/present-survey.ts';
import { questionSchema } from '../../../../src/http/schemas/questions.ts';
import { submissionBodySchema } from '../../../../src/http/schemas/responses.ts';
import { surveyListItemSchema, surveyWithQuestionsSchema } from '../../../../src/http/schemas/surveys.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { everyType, type TypeName } from '../../../support/every-type.ts';
import { compareReaders, isTaken } from '../../../support/submission-bodies.ts';

const surveyId = newId();

function questionOf(type: TypeName): Question {
  const defined = defineQuestion(newQuestionBody.parse({ type, ...everyType[type] }), {
    id: newId(),
    surveyId,
    order: 0,
    newId: () => newId(),
  });
  if ('issues' in defined) throw new Error(JSON.stringify(defined.issues));
  return { ...defined.question, slots: allocateSlots(defined.question, { codes: 0, numbers: 0, texts: 0 }).slots };
}

const noneOf = (request: CountRequest): CountResult => {
  if (request.kind === 'codes') return { kind: 'codes', counts: new Map() };
  if (request.kind === 'bits') return { kind: 'bits', counts: [] };
  if (request.kind === 'text') return { kind: 'text', counts: [] };
  return {
    kind: 'number',
    moments: { count: 0, average: null, median: null, standardDeviation: null, min: null, max: null, bins: [] },
  };
};

describe('the schemas of replies', () => {
  it('fit a question of every type and its statistics', () => {
    for (const type of questionTypeNames) {
      const question = questionOf(type);
      const shown = questionSchema.safeParse(describeQuestion(question));
      assert.ok(shown.success, `${type}: ${shown.error?.message}`);
      const statistic = interpretQuestion(
        question,
        registry[type].countPlan(question).requests.map(noneOf),
        { base: 0, partBases: [] },
        0,
      );
      const counted = questionStatisticSchema.safeParse(statistic);
      assert.ok(counted.success, `${type}: ${counted.error?.message}`);
    }
  });

  it('notice a setting, an option or a row that the type does not have', () => {
    const matrix = describeQuestion(questionOf('MATRIX'));
    const nps = describeQuestion(questionOf('NPS'));
    for (const wrong of [
      { ...nps, settings: { min: 0 } },
      { ...nps, options: matrix.options },
      { ...nps, type: 'DROPDOWN' },
      { ...matrix, options: [] },
      { ...matrix, settings: { multiple: false } },
      { ...matrix, settings: { ...matrix.settings, rows: [] } },
      { ...nps, order: -1 },
      { ...nps, isHidden: false },
      { ...nps, id: nps.id.toUpperCase() },
    ])
      assert.equal(questionSchema.safeParse(wrong).success, false, JSON.stringify(wrong));
  });

  it('fit a survey, and notice an extra field, a missing one, and a time without milliseconds', () => {
    const survey: SurveyWithQuestions = {
      ...blankSurvey(surveyId, newId(), Date.UTC(2026, 0, 15)),
      visibility: 'PRIVATE',
      accessToken: 'token',
      questions: [questionOf('NPS')],
    };
    const shown = presentSurveyWithQuestions(survey, { responseCount: 3, nowMs: 0, right: 'own' });
    assert.ok(surveyWithQuestionsSchema.safeParse(shown).success);
    const { version: _, ...short } = shown;
    for (const wrong of [
      short,
      { ...shown, revision: 1 },
      { ...shown, createdAt: '2026-01-15T00:00:00Z' },
      { ...shown, responseQuota: 0 },
    ])
      assert.equal(surveyWithQuestionsSchema.safeParse(wrong).success, false);
    const { questions: _questions, sections: _sections, right: _right, accessToken, ...item } = shown;
    assert.ok(surveyListItemSchema.safeParse(item).success);
    assert.equal(surveyListItemSchema.safeParse({ ...item, accessToken }).success, false, 'lists do not show tokens');
  });
});

describe('a respondent', () => {
  const read = (respondent: string): [string | undefined, number] => {
    const findings: { path: string; message: string }[] = [];
    return [readSubmission({ answers: [], respondent }, findings)?.respondent, findings.length];
  };

  it('may be an empty text, which counts as none, but not blanks or dots alone', () => {
    assert.deepEqual(
      [read(''), read('Ann'), read('...')],
      [
        [undefined, 0],
        ['Ann', 0],
        ['...', 0],
      ],
    );
    for (const text of [' ', '\t', '\u3000', '.', '..', 'x'.repeat(201)])
      assert.equal(read(text)[1], 1, JSON.stringify(text));
  });
});

describe('the start of a submission', () => {
  it('must be a real time with a zone', () => {
    const problems = (startedAt: string): number => {
      const findings: { path: string; message: string }[] = [];
      readSubmission({ answers: [], startedAt }, findings);
      return findings.length;
    };
    assert.deepEqual(
      ['2024-02-29T10:00:00Z', '2026-01-31T23:59+02:00', '2026-01-15T09:30:00.123456Z'].map(problems),
      [0, 0, 0],
    );
    assert.deepEqual(
      ['2023-02-29T10:00:00Z', '2026-02-30T10:00:00Z', '2026-04-31T10:00Z', '2026-01-00T10:00Z'].map(problems),
      [1, 1, 1, 1],
    );
  });
});

describe('the documented body of a submission', () => {
  // Thousands of them: test/fuzz/submissions.
  it('accepts exactly what the reader by hand accepts', () => {
    const { taken, refused } = compareReaders(300);
    assert.ok(taken > 50 && refused > 50, `${taken} were taken, ${refused} refused`);
  });

  it('is an object, and agrees with the reader on everything else that JSON can hold', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (value) =>
        assert.equal(submissionBodySchema.safeParse(value).success, isTaken(value)),
      ),
      { numRuns: 200, seed: 20260115 },
    );
    for (const value of [
      { answers: [] },
      { answers: Array.from({ length: 5000 }, () => ({ questionId: 'a', numberValue: 1 })) },
    ])
      assert.deepEqual([submissionBodySchema.safeParse(value).success, isTaken(value)], [true, true]);
    const many = { answers: Array.from({ length: 5001 }, () => ({ questionId: 'a', numberValue: 1 })) };
    assert.deepEqual([submissionBodySchema.safeParse(many).success, isTaken(many)], [false, false]);
  });
});
