import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  definitionTextsOf,
  maxDefinitionBytes,
  refuseTooLargeDefinition,
} from '../../../../src/domain/questions/definition-size.ts';
import type { SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

/** With so many questions of about 200,000 bytes. */
function survey(count: number): SurveyWithQuestions {
  let made = blankSurvey();
  for (let n = 0; n < count; n += 1)
    made = withQuestion(made, {
      type: 'DROPDOWN',
      text: 'q',
      options: Array.from({ length: 200 }, (_, i) => ({ text: 'я'.repeat(450), value: `v${i}` })),
    }).survey;
  return made;
}

const change = (before: SurveyWithQuestions, after: SurveyWithQuestions) =>
  refuseTooLargeDefinition(before, definitionTextsOf(after));

describe('the size of a survey', () => {
  const [small, large, larger] = [survey(9), survey(11), survey(12)];

  it('is limited in bytes, not in characters', () => {
    assert.ok(
      JSON.stringify(larger.questions).length < maxDefinitionBytes &&
        Buffer.byteLength(JSON.stringify(large.questions)) > maxDefinitionBytes,
    );
    change(blankSurvey(), small);
    for (const [before, after] of [
      [small, large],
      [large, larger],
    ] as const)
      assert.throws(
        () => change(before, after),
        ({ code, details }: any) =>
          code === 'VALIDATION_ERROR' && /would take \d+ bytes as JSON, and may take 2097152/.test(details[0].message),
      );
  });

  it('includes removed parts, and may always become smaller', () => {
    const hidden = { ...larger, questions: larger.questions.map((question) => ({ ...question, isHidden: true })) };
    assert.throws(() => change(small, hidden));
    change(larger, large);
    change(larger, larger);
  });
});
