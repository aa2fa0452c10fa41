import { foldedTextOf, type PathAnswer, withSeconds } from './answers.ts';
import { type AnswerLeaf, type Condition, type KeyLeaf, otherOption, type TextTest } from './definition.ts';
import type { QuestionShapes } from './question-shape.ts';
import { folded } from './text-match.ts';

/** What is known where a condition is evaluated. Questions are named by their index in the designed order. */
export interface Known {
  /** The answer; undefined if there is none, or if the question is not on the path up to here. */
  answer(question: number): PathAnswer | undefined;
  isAnswered(question: number): boolean;
  metadata: Readonly<Record<string, unknown>> | undefined;
  invitation: Readonly<Record<string, unknown>> | undefined;
  /** The respondent's language tag in lower case. */
  language: string;
}

/** A compiled condition. Never throws. */
export type Test = (known: Known) => boolean;

/** Compiles a condition. Questions, options and rows that do not exist count as never answered and never chosen. */
export function compileCondition(condition: Condition, shapes: QuestionShapes): Test {
  const compileEach = (list: readonly Condition[]) => list.map((inner) => compileCondition(inner, shapes));
  if ('all' in condition) {
    const tests = compileEach(condition.all);
    return (known) => {
      for (const test of tests) if (!test(known)) return false;
      return true;
    };
  }
  if ('any' in condition) {
    const tests = compileEach(condition.any);
    return (known) => {
      for (const test of tests) if (test(known)) return true;
      return false;
    };
  }
  if ('not' in condition) {
    const test = compileCondition(condition.not, shapes);
    return (known) => !test(known);
  }
  if ('questionId' in condition) return compileAnswerLeaf(condition, shapes);
  if ('language' in condition) {
    const tags = condition.language.map((tag) => tag.toLowerCase());
    return ({ language }) => tags.some((tag) => language === tag || language.startsWith(`${tag}-`));
  }
  return compileKeyLeaf(condition);
}

/** The leaf's value without an answer. */
const valueUnanswered = ({ operator }: AnswerLeaf): boolean =>
  operator === 'notAnswered' || operator === 'isNoneOf' || operator === 'includesNone' || operator === 'notEquals';

function compileAnswerLeaf(leaf: AnswerLeaf, shapes: QuestionShapes): Test {
  const question = shapes.indexOf.get(leaf.questionId);
  const unanswered = valueUnanswered(leaf);
  if (question === undefined) return () => unanswered;
  if (leaf.rowId === undefined) {
    if (leaf.operator === 'answered') return (known) => known.isAnswered(question);
    if (leaf.operator === 'notAnswered') return (known) => !known.isAnswered(question);
  }
  const isTrueOf = compileAnswerTest(leaf, shapes, question);
  return (known) => {
    const answer = known.answer(question);
    return answer ? isTrueOf(answer) : unanswered;
  };
}

const noOptions: readonly number[] = [];

function compileAnswerTest(
  leaf: AnswerLeaf,
  { shapes }: QuestionShapes,
  question: number,
): (answer: PathAnswer) => boolean {
  const { optionIndexes, rowIndexes, options, pointNear } = shapes[question] as QuestionShapes['shapes'][number];
  const row = leaf.rowId === undefined ? undefined : (rowIndexes.get(leaf.rowId) ?? -1);
  const chosen = ({ options: own, rows }: PathAnswer) => (row === undefined ? own : (rows[row] ?? noOptions));
  /** Which options are named, and how many of them. */
  const named = (ids: readonly string[]) => {
    const mask = new Uint8Array(options.length);
    for (const id of ids) {
      const index = optionIndexes.get(id);
      if (index !== undefined) mask[index] = 1;
    }
    return mask;
  };
  switch (leaf.operator) {
    case 'answered':
      return (answer) => chosen(answer).length > 0;
    case 'notAnswered':
      return (answer) => chosen(answer).length === 0;
    case 'isAnyOf':
    case 'isNoneOf': {
      const mask = named(leaf.optionIds);
      const namesOther = leaf.optionIds.includes(otherOption);
      const isAny = leaf.operator === 'isAnyOf';
      return (answer) => (hasNamed(chosen(answer), mask) || (namesOther && answer.isOther)) === isAny;
    }
    case 'includesAny':
    case 'includesNone': {
      const mask = named(leaf.optionIds);
      const isAny = leaf.operator === 'includesAny';
      return (answer) => hasNamed(chosen(answer), mask) === isAny;
    }
    case 'includesAll': {
      const mask = named(leaf.optionIds);
      const needed = new Set(leaf.optionIds).size;
      return (answer) => countNamed(chosen(answer), mask) === needed;
    }
    case 'countBetween': {
      const { min = 0, max = Number.POSITIVE_INFINITY } = leaf;
      return (answer) => {
        const count = chosen(answer).length;
        return count > 0 && count >= min && count <= max;
      };
    }
    case 'rankedAtMost': {
      const option = optionIndexes.get(leaf.optionId);
      return ({ options: own, ranks }) => {
        const place = option === undefined ? -1 : own.indexOf(option);
        return place >= 0 && (ranks[place] ?? 0) <= leaf.rank;
      };
    }
    case 'between':
      return compileBetween(leaf, pointNear);
    case 'equals':
    case 'notEquals': {
      const isEqual = compileEquals(typeof leaf.value === 'number' ? pointNear(leaf.value) : leaf.value);
      return leaf.operator === 'equals' ? isEqual : (answer) => !isEqual(answer);
    }
    default: {
      const matches = compileTextTest(leaf);
      return (answer) => matches(foldedTextOf(answer));
    }
  }
}

function hasNamed(chosen: readonly number[], mask: Uint8Array): boolean {
  for (const option of chosen) if (mask[option] === 1) return true;
  return false;
}

function countNamed(chosen: readonly number[], mask: Uint8Array): number {
  let count = 0;
  for (const option of chosen) if (mask[option] === 1) count += 1;
  return count;
}

type Ends = Extract<AnswerLeaf, { operator: 'between' }>;

/** Ends of another kind than the answer make it false. */
function compileBetween({ min, max }: Ends, pointNear: (end: number) => number): (answer: PathAnswer) => boolean {
  if (typeof min === 'string' || typeof max === 'string') {
    const low = typeof min === 'string' ? withSeconds(min) : undefined;
    const high = typeof max === 'string' ? withSeconds(max) : undefined;
    return ({ text }) => text !== '' && (low === undefined || text >= low) && (high === undefined || text <= high);
  }
  const low = min === undefined ? Number.NEGATIVE_INFINITY : pointNear(min);
  const high = max === undefined ? Number.POSITIVE_INFINITY : pointNear(max);
  return ({ number }) => number >= low && number <= high;
}

function compileEquals(value: number | string): (answer: PathAnswer) => boolean {
  if (typeof value === 'number') return ({ number }) => number === value;
  const text = withSeconds(value);
  return (answer) => answer.text === text;
}

function compileTextTest({ operator, value }: TextTest): (text: string) => boolean {
  const wanted = folded(value);
  switch (operator) {
    case 'equalsText':
      return (text) => text === wanted;
    case 'containsText':
      return (text) => text.includes(wanted);
    case 'startsWithText':
      return (text) => text.startsWith(wanted);
  }
}

function compileKeyLeaf(leaf: KeyLeaf): Test {
  const [source, key] =
    'metadata' in leaf ? (['metadata', leaf.metadata] as const) : (['invitation', leaf.invitation] as const);
  const textIn = (known: Known) => valueOfKey(known[source], key);
  if (leaf.operator === 'answered') return (known) => textIn(known) !== undefined;
  if (leaf.operator === 'notAnswered') return (known) => textIn(known) === undefined;
  const matches = compileTextTest(leaf as TextTest);
  return (known) => {
    const text = textIn(known);
    return text !== undefined && matches(folded(text));
  };
}

/** A value of the respondent's metadata or of the invitation's; undefined if it is missing or blank. */
export function valueOfKey(values: Known['metadata'], key: string): string | undefined {
  const value = values && Object.hasOwn(values, key) ? values[key] : undefined;
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}
