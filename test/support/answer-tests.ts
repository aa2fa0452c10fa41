import type { AnswerTest, Condition } from '../../src/domain/path/definition.ts';
import type { Question } from '../../src/domain/survey.ts';
import { pathIn, type QuestionSketch, questionIdsOf, surveyOf } from './path-surveys.ts';

const idIn = (items: Question['options'], value: string): string =>
  items.find((item) => item.value === value)?.id ?? value;
const idOf = ({ options }: Question, value: string): string => idIn(options, value);

/** Whether a question is asked after the answers to another one; values of options stand for their ids. */
export function holds(
  sketch: QuestionSketch,
  answers: readonly Record<string, unknown>[],
  test: AnswerTest & { rowId?: string },
): boolean {
  let asked: Question | undefined;
  const { survey, questions } = surveyOf([
    sketch,
    ([question]) => {
      asked = question;
      return { type: 'NPS', visibleIf: withIds(question as Question, test) };
    },
  ]);
  const given = answers.map((answer) => ({
    ...answer,
    questionId: asked?.id,
    ...(typeof answer['optionId'] === 'string' && { optionId: idOf(asked as Question, answer['optionId']) }),
    ...(typeof answer['rowId'] === 'string' && { rowId: idIn((asked as Question).rows, answer['rowId']) }),
  }));
  return questionIdsOf(pathIn(survey, given)).includes(questions[1]?.id ?? '');
}

function withIds(question: Question, { rowId, ...test }: AnswerTest & { rowId?: string }): Condition {
  return {
    questionId: question.id,
    ...test,
    ...(rowId !== undefined && { rowId: idIn(question.rows, rowId) }),
    ...('optionIds' in test && { optionIds: test.optionIds.map((value) => idOf(question, value)) }),
    ...('optionId' in test && { optionId: idOf(question, test.optionId) }),
  } as Condition;
}
