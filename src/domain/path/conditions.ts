import type { SlicedWork } from '../../platform/slices.ts';
import { type PathAnswer, withSeconds } from './answers.ts';
import {
  type AnswerLeaf,
  type Condition,
  invitationKeyOf,
  type KeyLeaf,
  type KeySubject,
  otherOption,
  type TextTest,
} from './definition.ts';
import { isLanguageForm } from './language-form.ts';
import type { QuestionShape, QuestionShapes } from './question-shape.ts';
import { containsText, folded } from './text-match.ts';

/** What is known where a condition is evaluated. Questions are named by their index in the designed order. */
export interface Known {
  /** The answer; undefined if there is none, or if the question is not on the path up to here. */
  answer(question: number): PathAnswer | undefined;
  isAnswered(question: number): boolean;
  /** A text for comparison. Many conditions may read one. */
  folded(text: string): string;
  metadata: Readonly<Record<string, unknown>> | undefined;
  invitation: Readonly<Record<string, unknown>> | undefined;
  /** The respondent's language tag in lower case. */
  language: string;
}

/** A compiled condition. Never throws. */
export type Test = (known: Known) => boolean;

/** Compiles a condition. Questions, options and rows that do not exist count as never answered and never chosen. */
export function compileCondition(condition: Condition, shapes: QuestionShapes): Test {
  const node = compileNode(condition, shapes);
  return (known) => evaluate(node, known);
}

/** Folds answers for conditions, and gives way after each: 10,000 characters may take a millisecond. */
export function* foldTexts(questions: Iterable<number>, known: Pick<Known, 'answer' | 'folded'>): SlicedWork<void> {
  for (const question of questions) {
    const answer = known.answer(question);
    if (!answer) continue;
    known.folded(answer.text);
    yield;
  }
}

const noMask = new Uint8Array(0);
const noNodes: readonly Node[] = [];
const [nowhere, unbounded] = [-1, Number.POSITIVE_INFINITY];

/**
 * A compiled condition as data. All nodes have the same fields, whatever they need of them: one function that evaluates
 * objects of one shape takes half the time of a closure for each leaf.
 */
class Node {
  readonly operator: NodeOperator;
  /** all, any */
  inner = noNodes;
  /** Index of the question; −1 for other leaves. */
  question = nowhere;
  /** Index of the row of a MATRIX; −1 without one. */
  row = nowhere;
  /** The comparison must give this for the node to be true; a leaf without an answer is true if this is false. */
  expected = true;
  /** 1 for each option that is named. */
  mask = noMask;
  namesOther = false;
  /** Index of the option of a RANKING. */
  option = nowhere;
  /** Ends of numbers and counts, both included. */
  low = -unbounded;
  high = unbounded;
  /** Ends of texts; undefined: none. */
  lowText: string | undefined = undefined;
  highText: string | undefined = undefined;
  text = '';
  /** `text` once it was compared: folding all of a survey takes long, and most walks compare few. */
  foldedText: string | undefined = undefined;
  /** Leaves about something else than answers. */
  test: Test | undefined = undefined;

  constructor(operator: NodeOperator) {
    this.operator = operator;
  }
}

type NodeOperator =
  | 'all'
  | 'any'
  | 'test'
  | 'answered'
  | 'rowAnswered'
  | 'chosen'
  | 'allChosen'
  | 'count'
  | 'rank'
  | 'number'
  | 'textBetween'
  | 'text'
  | TextTest['operator'];

const nodeOf = (operator: NodeOperator, fields: Partial<Omit<Node, 'operator'>>): Node =>
  Object.assign(new Node(operator), fields);

function compileNode(condition: Condition, shapes: QuestionShapes): Node {
  const each = (list: readonly Condition[]) => list.map((inner) => compileNode(inner, shapes));
  if ('all' in condition) return nodeOf('all', { inner: each(condition.all) });
  if ('any' in condition) return nodeOf('any', { inner: each(condition.any) });
  if ('not' in condition) return nodeOf('all', { inner: each([condition.not]), expected: false });
  if ('questionId' in condition) return compileAnswerLeaf(condition, shapes);
  return nodeOf('test', { test: 'language' in condition ? languageTest(condition.language) : keyTest(condition) });
}

function evaluate(node: Node, known: Known): boolean {
  switch (node.operator) {
    case 'all':
      for (const inner of node.inner) if (!evaluate(inner, known)) return !node.expected;
      return node.expected;
    case 'any':
      for (const inner of node.inner) if (evaluate(inner, known)) return node.expected;
      return !node.expected;
    case 'test':
      return node.test?.(known) === true;
    case 'answered':
      return known.isAnswered(node.question) === node.expected;
    default: {
      const answer = known.answer(node.question);
      return answer === undefined ? !node.expected : isTrueOf(node, answer, known);
    }
  }
}

const noOptions: readonly number[] = [];

/** Whether a leaf about an answer is true of one. */
function isTrueOf(node: Node, answer: PathAnswer, known: Known): boolean {
  const chosen = node.row < 0 ? answer.options : (answer.rows[node.row] ?? noOptions);
  switch (node.operator) {
    case 'chosen':
      return (countNamed(chosen, node.mask) > 0 || (node.namesOther && answer.isOther)) === node.expected;
    case 'number':
      return (answer.number >= node.low && answer.number <= node.high) === node.expected;
    case 'allChosen':
      return countNamed(chosen, node.mask) >= node.low;
    case 'count':
      return chosen.length > 0 && chosen.length >= node.low && chosen.length <= node.high;
    case 'rowAnswered':
      return chosen.length > 0 === node.expected;
    case 'rank': {
      const place = answer.options.indexOf(node.option);
      return place >= 0 && (answer.ranks[place] ?? unbounded) <= node.high;
    }
    case 'text':
      return (answer.text === node.text) === node.expected;
    case 'textBetween':
      return (
        answer.text !== '' &&
        (node.lowText === undefined || answer.text >= node.lowText) &&
        (node.highText === undefined || answer.text <= node.highText)
      );
    case 'equalsText':
    case 'containsText':
    case 'startsWithText':
      node.foldedText ??= folded(node.text);
      return textMatches(node.operator, known.folded(answer.text), node.foldedText);
    default:
      return false;
  }
}

function countNamed(chosen: readonly number[], mask: Uint8Array): number {
  let count = 0;
  for (const option of chosen) if (mask[option] === 1) count += 1;
  return count;
}

/** Both texts folded. */
function textMatches(operator: TextTest['operator'], text: string, wanted: string): boolean {
  if (operator === 'equalsText') return text === wanted;
  return operator === 'containsText' ? containsText(text, wanted) : text.startsWith(wanted);
}

function compileAnswerLeaf(leaf: AnswerLeaf, { shapes, indexOf, texts }: QuestionShapes): Node {
  const question = indexOf.get(leaf.questionId) ?? nowhere;
  const shape = shapes[question];
  const row = leaf.rowId === undefined ? nowhere : (shape?.rowIndexes.get(leaf.rowId) ?? unbounded);
  const about = { question, row };
  switch (leaf.operator) {
    case 'answered':
      return nodeOf(leaf.rowId === undefined ? 'answered' : 'rowAnswered', about);
    case 'notAnswered':
      return nodeOf(leaf.rowId === undefined ? 'answered' : 'rowAnswered', { ...about, expected: false });
    case 'isAnyOf':
    case 'includesAny':
      return nodeOf('chosen', { ...about, ...namedOptions(leaf.optionIds, shape) });
    case 'isNoneOf':
    case 'includesNone':
      return nodeOf('chosen', { ...about, ...namedOptions(leaf.optionIds, shape), expected: false });
    case 'includesAll':
      // Options that do not exist are never chosen.
      return nodeOf('allChosen', {
        ...about,
        ...namedOptions(leaf.optionIds, shape),
        low: new Set(leaf.optionIds).size,
      });
    case 'countBetween':
      return nodeOf('count', { ...about, ...endsOf(leaf) });
    case 'rankedAtMost':
      return nodeOf('rank', { ...about, option: shape?.optionIndexes.get(leaf.optionId) ?? nowhere, high: leaf.rank });
    case 'between':
      return typeof (leaf.min ?? leaf.max) === 'string'
        ? nodeOf('textBetween', { ...about, lowText: textEnd(leaf.min), highText: textEnd(leaf.max) })
        : nodeOf('number', { ...about, ...endsOf(leaf, shape) });
    case 'equals':
      return equalsNode(leaf.value, shape, about);
    case 'notEquals':
      return equalsNode(leaf.value, shape, { ...about, expected: false });
    default:
      if (shape) texts.add(question);
      return nodeOf(leaf.operator, { ...about, text: leaf.value });
  }
}

function namedOptions(ids: readonly string[], shape: QuestionShape | undefined): Pick<Node, 'mask' | 'namesOther'> {
  const mask = new Uint8Array(shape?.options.length ?? 0);
  for (const id of ids) {
    const index = shape?.optionIndexes.get(id);
    if (index !== undefined) mask[index] = 1;
  }
  return { mask, namesOther: ids.includes(otherOption) };
}

interface Ends {
  min?: number | string | undefined;
  max?: number | string | undefined;
}

const textEnd = (end: number | string | undefined): string | undefined =>
  typeof end === 'string' ? withSeconds(end) : undefined;

/** Ends on a scale are its points where they are meant to be. */
function endsOf({ min, max }: Ends, shape?: QuestionShape): Partial<Pick<Node, 'low' | 'high'>> {
  const numberOf = (end: number) => shape?.pointNear(end) ?? end;
  return {
    ...(typeof min === 'number' && { low: numberOf(min) }),
    ...(typeof max === 'number' && { high: numberOf(max) }),
  };
}

const equalsNode = (
  value: number | string,
  shape: QuestionShape | undefined,
  fields: Partial<Omit<Node, 'operator'>>,
): Node =>
  typeof value === 'number'
    ? nodeOf('number', { ...fields, ...endsOf({ min: value, max: value }, shape) })
    : nodeOf('text', { ...fields, text: withSeconds(value) });

function languageTest(languages: readonly string[]): Test {
  const tags = languages.map((tag) => tag.toLowerCase());
  return ({ language }) => tags.some((tag) => isLanguageForm(language, tag));
}

function keyTest(leaf: KeyLeaf): Test {
  const textIn = keyReader(leaf);
  if (leaf.operator === 'answered') return (known) => textIn(known) !== undefined;
  if (leaf.operator === 'notAnswered') return (known) => textIn(known) === undefined;
  const { operator, value } = leaf as TextTest;
  let wanted: string | undefined;
  return (known) => {
    const text = textIn(known);
    if (text === undefined) return false;
    wanted ??= folded(value);
    return textMatches(operator, known.folded(text), wanted);
  };
}

/** Reads a value of the respondent's metadata or of the invitation's; undefined if it is missing or blank. */
export function keyReader(subject: KeySubject): (known: Pick<Known, 'metadata' | 'invitation'>) => string | undefined {
  const key = invitationKeyOf(subject);
  if (key !== undefined) return ({ invitation }) => valueOfKey(invitation, key);
  return 'metadata' in subject ? ({ metadata }) => valueOfKey(metadata, subject.metadata) : () => undefined;
}

function valueOfKey(values: Known['metadata'], key: string): string | undefined {
  const value = values && Object.hasOwn(values, key) ? values[key] : undefined;
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}
