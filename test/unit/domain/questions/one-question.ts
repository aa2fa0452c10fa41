import type { GivenAnswer } from '../../../../src/domain/questions/contract.ts';
import { checkAnswers, compileSurvey, readAnswers } from '../../../../src/domain/submission/answers.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';
import type { Values } from '../submission/valid-answers.ts';

/** A survey with one question, ready to be answered. */
export function one(body: Parameters<typeof withQuestion>[1]) {
  const { survey, question } = withQuestion(blankSurvey(), body);
  const compiled = compileSurvey(survey);
  const check = (values: Values) =>
    checkAnswers(
      compiled,
      values.map((value) => ({ questionId: question.id, ...value })),
      { isComplete: true, uploads: new Map() },
    );
  return {
    question,
    check,
    /** What is read back of valid answers. */
    store(values: Values): GivenAnswer[] {
      const checked = check(values);
      if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
      return readAnswers(compiled, checked.row);
    },
  };
}
