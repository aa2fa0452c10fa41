import { z } from 'zod';
import type { GivenAnswer } from '../../../../src/domain/questions/contract.ts';
import {
  type Question,
  type SurveyWithQuestions,
  visibleOptions,
  visibleQuestions,
  visibleRows,
} from '../../../../src/domain/survey.ts';
import type { TypeName } from '../../../support/every-type.ts';

/** What the hand-written checker takes for a survey of `everyType`, said a second time as a schema. */
export function answersTwin(
  survey: SurveyWithQuestions,
  { isComplete, uploadId }: { isComplete: boolean; uploadId: string },
) {
  const questions = visibleQuestions(survey);
  return z
    .array(answerSchema(questions, uploadId))
    .max(5000)
    .superRefine((answers: readonly GivenAnswer[], context) => {
      for (const question of questions) {
        const own = answers.filter(({ questionId }) => questionId === question.id);
        const isRight =
          own.length === 0
            ? !(isComplete && question.isRequired)
            : (together[question.type] ?? isSingle)(own, question);
        const isWhole =
          !isComplete ||
          !question.isRequired ||
          question.type !== 'MATRIX' ||
          own.length === visibleRows(question).length;
        if (!isRight || !isWhole) context.addIssue({ code: 'custom', message: question.type });
      }
    });
}

/** One answer, held against the shapes that its question takes. */
function answerSchema(questions: readonly Question[], uploadId: string) {
  const shapes = new Map(
    questions.map((question) => [
      question.id,
      z.union(
        answerSchemas[question.type](question, uploadId).map((fields) =>
          z.strictObject({ questionId: z.string(), ...fields }),
        ),
      ),
    ]),
  );
  return z.looseObject({ questionId: z.enum([...shapes.keys()]) }).superRefine((answer, context) => {
    if (!shapes.get(answer.questionId)?.safeParse(answer).success)
      context.addIssue({ code: 'custom', message: 'shape' });
  });
}

type Fields = Record<string, z.ZodType>;

const plain = z.string().refine((text) => text.isWellFormed() && !text.includes('\0'));
const longest = (count: number) => (text: string) => [...text].length <= count;
const optionOf = (question: Question) => z.enum(visibleOptions(question).map(({ id }) => id));
const byOption = (question: Question): Fields[] => [{ optionId: optionOf(question) }];
const whole = (min: number, max: number): Fields[] => [{ numberValue: z.number().int().min(min).max(max) }];
const text = (schema: z.ZodType): Fields[] => [{ textValue: schema }];

const answerSchemas: Record<TypeName, (question: Question, uploadId: string) => Fields[]> = {
  MULTIPLE_CHOICE: (question) => [
    ...byOption(question),
    ...text(plain.refine((value) => value.trim() !== '').refine(longest(500))),
  ],
  DROPDOWN: byOption,
  CHECKBOXES: byOption,
  YES_NO: (question) => [...byOption(question), ...text(z.enum(['yes', 'no']))],
  LIKERT_SCALE: (question) => [...byOption(question), ...whole(1, visibleOptions(question).length)],
  RATING_SCALE: () => whole(1, 5),
  NPS: () => whole(0, 10),
  SLIDER: () => whole(0, 100),
  NUMBER: () => whole(0, 150),
  MATRIX: (question) => [{ optionId: optionOf(question), rowId: z.enum(visibleRows(question).map(({ id }) => id)) }],
  RANKING: (question) => [
    { optionId: optionOf(question), rank: z.number().int().min(1).max(visibleOptions(question).length).optional() },
  ],
  SHORT_TEXT: () =>
    text(
      plain
        .min(1)
        .regex(/^[^\r\n]+$/)
        .refine(longest(255)),
    ),
  LONG_TEXT: () => text(plain.min(1).refine(longest(10_000))),
  EMAIL: () => text(z.email()),
  DATE: () => text(z.iso.date().refine((day) => !day.startsWith('0000'))),
  TIME: () => text(z.string().regex(/^([01][0-9]|2[0-3])(:[0-5][0-9]){1,2}$/)),
  FILE_UPLOAD: (_question, uploadId) => text(z.literal(uploadId)),
};

const isSingle = (answers: readonly GivenAnswer[]): boolean => answers.length === 1;
const areDistinct = (values: readonly unknown[]): boolean => new Set(values).size === values.length;

/** Rules over all the answers to one question, where it takes more than one. */
const together: Partial<Record<TypeName, (answers: readonly GivenAnswer[], question: Question) => boolean>> = {
  CHECKBOXES: (answers, { settings }) =>
    areDistinct(answers.map(({ optionId }) => optionId)) &&
    answers.length >= Number(settings['minSelections'] ?? 0) &&
    answers.length <= Number(settings['maxSelections'] ?? 200),
  MATRIX: (answers) => areDistinct(answers.map(({ rowId }) => rowId)),
  RANKING(answers) {
    const ranks = answers.flatMap(({ rank }) => rank ?? []);
    const isInOrder =
      ranks.length === 0 ||
      (ranks.length === answers.length && ranks.toSorted((a, b) => a - b).every((rank, index) => rank === index + 1));
    return areDistinct(answers.map(({ optionId }) => optionId)) && isInOrder;
  },
};
