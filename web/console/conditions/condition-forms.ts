import { answerKindOf } from '../../../src/domain/path/answer-kinds.ts';
import type { AnswerLeaf, Condition, KeyLeaf } from '../../../src/domain/path/definition.ts';
import type { Operator } from '../../../src/domain/path/operators.ts';
import type { Question } from '../data/questions.ts';
import { operatorsOf } from './condition-words.ts';

/** What a leaf can be about besides questions. */
export type OtherSubject = 'metadata' | 'invitation' | 'language';

/** A leaf about a question, with the operands of its first fitting operator still empty. */
export function leafAbout(question: Question, operator: Operator = operatorsOf(question)[0] ?? 'answered'): AnswerLeaf {
  const row = question.settings.rows?.[0];
  const about = {
    questionId: question.id,
    ...(row && operator !== 'answered' && operator !== 'notAnswered' && { rowId: row.id }),
  };
  switch (operator) {
    case 'answered':
    case 'notAnswered':
      return { ...about, operator };
    case 'isAnyOf':
    case 'isNoneOf':
    case 'includesAny':
    case 'includesAll':
    case 'includesNone':
      return { ...about, operator, optionIds: [] } as AnswerLeaf;
    case 'countBetween':
      return { ...about, operator, min: 1 };
    case 'rankedAtMost':
      return { ...about, operator, optionId: question.options[0]?.id ?? '', rank: 1 };
    case 'between':
      return { ...about, operator };
    case 'equals':
    case 'notEquals':
      return { ...about, operator, value: isTextual(question) ? '' : Number.NaN };
    default:
      return { ...about, operator, value: '' };
  }
}

export const isTextual = ({ type }: Question): boolean => ['date', 'time'].includes(answerKindOf(type));

export const leafOf = (subject: OtherSubject): Condition =>
  subject === 'language'
    ? { language: [] }
    : ({ [subject]: '', operator: 'equalsText', value: '' } as unknown as KeyLeaf);

/** The leaf that a new condition begins with: about the last question that it may name, if there is one. */
export function firstCondition(questions: readonly Question[]): Condition {
  const last = questions.at(-1);
  return last ? leafAbout(last) : leafOf('metadata');
}

/** Whether nothing is left to be filled in. */
export function isComplete(condition: Condition): boolean {
  if ('all' in condition) return condition.all.length > 0 && condition.all.every(isComplete);
  if ('any' in condition) return condition.any.length > 0 && condition.any.every(isComplete);
  if ('not' in condition) return isComplete(condition.not);
  if ('language' in condition) return condition.language.length > 0;
  if ('questionId' in condition) return isLeafComplete(condition);
  const key = 'metadata' in condition ? condition.metadata : condition.invitation;
  return key.trim() !== '' && (!('value' in condition) || condition.value.trim() !== '');
}

function isLeafComplete(leaf: AnswerLeaf): boolean {
  if ('optionIds' in leaf) return leaf.optionIds.length > 0;
  if ('optionId' in leaf) return leaf.optionId !== '' && leaf.rank >= 1;
  if (leaf.operator === 'between' || leaf.operator === 'countBetween')
    return leaf.min !== undefined || leaf.max !== undefined;
  if (!('value' in leaf)) return true;
  return typeof leaf.value === 'number' ? !Number.isNaN(leaf.value) : leaf.value.trim() !== '';
}

/** The condition as a group, whose members can be negated, joined and removed; of one, where it is none. */
export const asGroup = (condition: Condition): Condition =>
  'all' in condition || 'any' in condition ? condition : { all: [condition] };

/** The condition without groups of one. */
export function plainCondition(condition: Condition): Condition {
  if ('all' in condition || 'any' in condition) {
    const list = ('all' in condition ? condition.all : condition.any).map(plainCondition);
    const [only] = list;
    if (list.length === 1 && only) return only;
    return 'all' in condition ? { all: list } : { any: list };
  }
  return 'not' in condition ? { not: plainCondition(condition.not) } : condition;
}
