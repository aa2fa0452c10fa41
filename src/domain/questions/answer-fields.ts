import type { PlacedAnswer, ReadContext } from './contract.ts';

/** The first answer of a single-answer question; reports every further one. */
export function singleAnswer(answers: readonly PlacedAnswer[], context: ReadContext): PlacedAnswer {
  for (let n = 1; n < answers.length; n += 1)
    context.report(answers[n]?.index ?? 0, '', 'this question takes one answer');
  return answers[0] as PlacedAnswer;
}

type ValueField = 'textValue' | 'numberValue' | 'optionId';

/** Fields that an answer to a question type may have besides `questionId`. */
export interface AllowedFields {
  value: readonly ValueField[];
  row?: boolean;
  rank?: boolean;
}

/**
 * Reports fields that the type does not use; true if there are none. Fields are checked one by one, which is faster
 * than a loop over keys.
 */
export function refuseExtraFields(
  { index, answer }: PlacedAnswer,
  allowed: AllowedFields,
  context: ReadContext,
): boolean {
  const { textValue, numberValue, optionId, rowId, rank } = answer;
  let isFine = true;
  if (textValue !== undefined && !allowed.value.includes('textValue'))
    isFine = refuseValue(index, 'textValue', allowed, context);
  if (numberValue !== undefined && !allowed.value.includes('numberValue'))
    isFine = refuseValue(index, 'numberValue', allowed, context);
  if (optionId !== undefined && !allowed.value.includes('optionId'))
    isFine = refuseValue(index, 'optionId', allowed, context);
  if (rowId !== undefined && allowed.row !== true) {
    context.report(index, 'rowId', 'this question has no rows');
    isFine = false;
  }
  if (rank !== undefined && allowed.rank !== true) {
    context.report(index, 'rank', 'this question has no ranks');
    isFine = false;
  }
  return isFine;
}

function refuseValue(index: number, field: ValueField, { value }: AllowedFields, context: ReadContext): false {
  context.report(index, field, `does not fit this question: ${value.join(' or ')} does`);
  return false;
}
