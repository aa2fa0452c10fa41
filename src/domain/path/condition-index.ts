import type { SlicedWork } from '../../platform/slices.ts';
import { compileCondition, foldTexts, type Known, type Test } from './conditions.ts';
import { type AnswerLeaf, type Condition, otherOption } from './definition.ts';
import type { QuestionShape, QuestionShapes } from './question-shape.ts';

/** Finds the places, ascending, of the conditions that are true. Never throws. */
export type ConditionIndex = (known: Known) => SlicedWork<number[]>;

/** Questions with bitmaps: each takes a bit for every option and condition. */
const maxIndexedQuestions = 12;

/** By option of a question the conditions that its choice leaves open: bit n of word w is condition 32 w + n. */
interface OptionBitmaps {
  question: number;
  /** Conditions of which no indexed part is about this question. */
  unconcerned: Uint32Array;
  byOption: readonly Uint32Array[];
  other: Uint32Array;
}

/** An `isAnyOf` or `includesAny` that must be true for its condition to be. */
type ChoiceLeaf = AnswerLeaf & { optionIds: readonly string[] };

/**
 * Prepares many conditions, as those of a survey's quotas by cell, for being evaluated together. Most of them ask for
 * an option of a few questions: one bitmap for each answer says which conditions it leaves open, and only what else
 * these ask is evaluated one by one. A thousand interlocked cells of three questions take three bitmaps of 32 words.
 */
export function indexConditions(conditions: readonly Condition[], shapes: QuestionShapes): ConditionIndex {
  const parts = conditions.map((condition) => partsOf(condition, shapes));
  const indexed = mostNamed(parts.flatMap(({ choices }) => [...choices.keys()]));
  const bitmaps = indexed.map((question) => bitmapsOf(question, parts, shapes.shapes[question] as QuestionShape));
  const texts = new Set<number>();
  const rests = parts.map(({ choices, rest }): Test | undefined => {
    const all = [...rest, ...[...choices].flatMap(([question, leaf]) => (indexed.includes(question) ? [] : [leaf]))];
    return all.length === 0 ? undefined : compileCondition({ all }, { ...shapes, texts });
  });
  const words = Math.ceil(conditions.length / 32);
  return function* (known) {
    yield* foldTexts(texts, known);
    const open = new Uint32Array(words).fill(0xff_ff_ff_ff);
    if (conditions.length % 32 > 0) open[words - 1] = 2 ** (conditions.length % 32) - 1;
    for (const each of bitmaps) narrow(open, each, known);
    const found: number[] = [];
    for (let word = 0; word < words; word += 1)
      for (let bits = open[word] as number; bits !== 0; bits &= bits - 1) {
        const place = word * 32 + 31 - Math.clz32(bits & -bits);
        const rest = rests[place];
        if (rest) yield;
        if (rest?.(known) !== false) found.push(place);
      }
    return found;
  };
}

function narrow(open: Uint32Array, { question, unconcerned, byOption, other }: OptionBitmaps, known: Known): void {
  const answer = known.answer(question);
  const options = answer?.options ?? [];
  for (let word = 0; word < open.length; word += 1) {
    let left = unconcerned[word] as number;
    for (const option of options) left |= byOption[option]?.[word] ?? 0;
    if (answer?.isOther === true) left |= other[word] as number;
    open[word] = (open[word] as number) & left;
  }
}

interface ConditionParts {
  /** At most one by the question's index. */
  choices: Map<number, ChoiceLeaf>;
  /** What must be true besides. */
  rest: Condition[];
}

function partsOf(condition: Condition, { shapes, indexOf }: QuestionShapes): ConditionParts {
  const parts: ConditionParts = { choices: new Map(), rest: [] };
  for (const part of conjuncts(condition)) {
    const question = isChoiceLeaf(part) ? indexOf.get(part.questionId) : undefined;
    if (question === undefined || shapes[question]?.kind === 'grid' || parts.choices.has(question))
      parts.rest.push(part);
    else parts.choices.set(question, part as ChoiceLeaf);
  }
  return parts;
}

const conjuncts = (condition: Condition): Condition[] =>
  'all' in condition ? condition.all.flatMap(conjuncts) : [condition];

const isChoiceLeaf = (condition: Condition): condition is ChoiceLeaf =>
  'questionId' in condition &&
  condition.rowId === undefined &&
  (condition.operator === 'isAnyOf' || condition.operator === 'includesAny');

/** Those that are named most often, each once. */
function mostNamed(questions: readonly number[]): number[] {
  const counts = new Map<number, number>();
  for (const question of questions) counts.set(question, (counts.get(question) ?? 0) + 1);
  return [...counts]
    .sort(([, one], [, other]) => other - one)
    .slice(0, maxIndexedQuestions)
    .map(([question]) => question);
}

function bitmapsOf(
  question: number,
  parts: readonly ConditionParts[],
  { options, optionIndexes }: QuestionShape,
): OptionBitmaps {
  const blank = () => new Uint32Array(Math.ceil(parts.length / 32));
  const [unconcerned, other, byOption] = [blank(), blank(), options.map(blank)];
  const mark = (bitmap: Uint32Array | undefined, place: number) => {
    if (bitmap) bitmap[place >>> 5] = (bitmap[place >>> 5] as number) | (1 << (place & 31));
  };
  for (const [place, { choices }] of parts.entries()) {
    const leaf = choices.get(question);
    if (!leaf) mark(unconcerned, place);
    for (const id of leaf?.optionIds ?? []) {
      const option = optionIndexes.get(id);
      if (option !== undefined) mark(byOption[option], place);
      if (id === otherOption) mark(other, place);
    }
  }
  return { question, unconcerned, byOption, other };
}
