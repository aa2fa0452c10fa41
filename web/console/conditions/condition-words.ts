import { answerKindOf } from '../../../src/domain/path/answer-kinds.ts';
import type { AnswerLeaf, Condition, KeyLeaf } from '../../../src/domain/path/definition.ts';
import { fittingOperators, type Operator } from '../../../src/domain/path/operators.ts';
import { readable } from '../../../src/domain/path/placeholders.ts';
import type { Definition, Question } from '../data/questions.ts';

/** A sentence in parts: what the author named stands out. */
export interface Word {
  text: string;
  isNamed: boolean;
}

const plain = (text: string): Word => ({ text, isNamed: false });
const named = (text: string): Word => ({ text, isNamed: true });

/** Operators that fit a question, with its presence last. */
export function operatorsOf({ type, settings }: Question): readonly Operator[] {
  const own = fittingOperators({ kind: answerKindOf(type), isMultiple: settings['multiple'] === true });
  return [...own, 'answered', 'notAnswered'];
}

export const operatorNames: Readonly<Record<Operator, string>> = {
  isAnyOf: 'is',
  isNoneOf: 'is not',
  includesAny: 'includes one of',
  includesAll: 'includes all of',
  includesNone: 'includes none of',
  countBetween: 'has a number of choices',
  rankedAtMost: 'ranks',
  between: 'is between',
  equals: 'equals',
  notEquals: 'does not equal',
  equalsText: 'is the text',
  containsText: 'contains',
  startsWithText: 'starts with',
  answered: 'is answered',
  notAnswered: 'is not answered',
};

/** What a value of a link or invitation is compared by. */
export const keyOperatorName = (operator: KeyLeaf['operator']): string => {
  if (operator === 'answered') return 'is given';
  return operator === 'notAnswered' ? 'is not given' : operatorNames[operator];
};

/** A condition as a sentence without a full stop: “*Which dish?* is *Soup*”. */
export function sentenceOf(survey: Definition, condition: Condition, isInner = false): Word[] {
  if ('all' in condition) return joined(survey, condition.all, ' and ', isInner);
  if ('any' in condition) return joined(survey, condition.any, ' or ', isInner);
  if ('not' in condition) return [plain('not ('), ...sentenceOf(survey, condition.not), plain(')')];
  if ('language' in condition) return [plain('the language is '), named(condition.language.join(' or '))];
  if ('questionId' in condition) return leafSentence(survey, condition);
  return keySentence(condition);
}

function joined(survey: Definition, list: readonly Condition[], word: string, isInner: boolean): Word[] {
  const words = list.flatMap((inner, index) => [
    ...(index > 0 ? [plain(word)] : []),
    ...sentenceOf(survey, inner, true),
  ]);
  return isInner && list.length > 1 ? [plain('('), ...words, plain(')')] : words;
}

function leafSentence(survey: Definition, leaf: AnswerLeaf): Word[] {
  const question = survey.questions.find(({ id }) => id === leaf.questionId);
  const row = question?.settings.rows?.find(({ id }) => id === leaf.rowId);
  const subject = named(
    question ? readable(`${question.text}${row ? `: ${row.text}` : ''}`) : 'a question that is gone',
  );
  const optionText = (id: string) =>
    id === 'other'
      ? 'Other'
      : readable(question?.options.find((option) => option.id === id)?.text ?? 'an option that is gone');
  const verb = operatorNames[leaf.operator];
  switch (leaf.operator) {
    case 'isAnyOf':
    case 'isNoneOf':
    case 'includesAny':
      return [
        subject,
        plain(` ${leaf.optionIds.length === 1 && leaf.operator === 'includesAny' ? 'includes' : verb} `),
        ...listWords(leaf.optionIds.map(optionText), ' or '),
      ];
    case 'includesAll':
    case 'includesNone':
      return [subject, plain(` ${verb} `), ...listWords(leaf.optionIds.map(optionText), ' and ')];
    case 'countBetween':
      return [subject, plain(' has '), named(rangeText(leaf.min, leaf.max)), plain(' choices')];
    case 'rankedAtMost':
      return [
        subject,
        plain(' ranks '),
        named(optionText(leaf.optionId)),
        plain(leaf.rank === 1 ? ' first' : ` among the first ${leaf.rank}`),
      ];
    case 'between':
      return [subject, plain(' is '), named(rangeText(leaf.min, leaf.max))];
    case 'answered':
    case 'notAnswered':
      return [subject, plain(` ${verb}`)];
    default:
      return [subject, plain(` ${verb} `), named(String(leaf.value))];
  }
}

function keySentence(leaf: KeyLeaf): Word[] {
  const subject =
    'metadata' in leaf
      ? [plain('the link’s '), named(leaf.metadata)]
      : [plain('the invitation’s '), named(leaf.invitation)];
  const verb = plain(` ${keyOperatorName(leaf.operator)}`);
  return 'value' in leaf ? [...subject, verb, plain(' '), named(leaf.value)] : [...subject, verb];
}

const listWords = (items: readonly string[], word: string): Word[] =>
  items.flatMap((item, index) => [...(index > 0 ? [plain(word)] : []), named(item)]);

function rangeText(min: number | string | undefined, max: number | string | undefined): string {
  if (min === max && min !== undefined) return String(min);
  if (min === undefined) return `at most ${max}`;
  return max === undefined ? `at least ${min}` : `from ${min} to ${max}`;
}

export const textOfWords = (words: readonly Word[]): string =>
  words.map(({ text, isNamed }) => (isNamed ? `“${text}”` : text)).join('');
