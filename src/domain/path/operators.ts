import type { AnswerKind } from './answer-kinds.ts';
import type { AnswerTest } from './definition.ts';
import type { QuestionShape } from './question-shape.ts';

export type Operator = AnswerTest['operator'];

const oneOption: readonly Operator[] = ['isAnyOf', 'isNoneOf'];
const severalOptions: readonly Operator[] = ['includesAny', 'includesAll', 'includesNone', 'countBetween'];
const values: readonly Operator[] = ['between', 'equals', 'notEquals'];
const texts: readonly Operator[] = ['equalsText', 'containsText', 'startsWithText'];

const operatorsByKind: Readonly<Record<Exclude<AnswerKind, 'grid'>, readonly Operator[]>> = {
  choice: oneOption,
  yesNo: oneOption,
  points: [...oneOption, ...values],
  choices: severalOptions,
  ranks: ['rankedAtMost'],
  scale: values,
  number: values,
  date: values,
  time: values,
  text: texts,
  file: [],
};

/** The operators that fit a question, besides `answered` and `notAnswered`. */
export function fittingOperators(question: Pick<QuestionShape, 'kind' | 'isMultiple'>): readonly Operator[] {
  if (question.kind !== 'grid') return operatorsByKind[question.kind];
  return question.isMultiple ? severalOptions : oneOption;
}

const kindsThatGiveOptions: readonly AnswerKind[] = ['choice', 'choices', 'ranks', 'yesNo', 'points'];

/** Whether `optionsFrom` may name such a question, for the options that are selected there. */
export const givesOptions = (kind: AnswerKind): boolean => kindsThatGiveOptions.includes(kind);
