import type { SlicedWork } from '../../platform/slices.ts';
import { offeredPart, type PathAnswer, type PathAnswers } from './answers.ts';
import { compileCondition, type Known, type Test } from './conditions.ts';
import {
  type MatchedOptionsFrom,
  type PathDefinition,
  type PathItem,
  type Skip,
  skipToEnd,
  skipToScreenOut,
} from './definition.ts';
import { type QuestionShape, type QuestionShapes, shapeOf } from './question-shape.ts';
import { folded } from './text-match.ts';

/** What came with a respondent. */
export interface PathContext {
  /** Decides what is shuffled how; without it the designed order is shown. */
  responseId?: string | undefined;
  metadata?: Readonly<Record<string, unknown>> | undefined;
  /** The respondent's language tag; default: the survey's. */
  language?: string | undefined;
  surveyLanguage: string;
  /** Metadata of the invitation. */
  invitation?: Readonly<Record<string, unknown>> | undefined;
}

/** A survey version prepared for computing many paths. */
export interface CompiledPaths extends QuestionShapes {
  /** Sections in their designed order. */
  sections: readonly CompiledSection[];
  /** Questions in their designed order: first those without a section, then section by section. */
  questions: readonly CompiledQuestion[];
  /** The sections are shown in an order that follows from the response's id. */
  isShuffled: boolean;
  /** Whether two respondents may be asked different questions or offered different options. */
  isBranched: boolean;
}

export interface CompiledSection {
  id: string;
  isShuffled: boolean;
  isAnchored: boolean;
  visibleIf: Test | undefined;
  /** Indexes of its questions: `start` to `end` − 1. */
  start: number;
  end: number;
}

export interface CompiledQuestion {
  id: string;
  isRequired: boolean;
  /** Index of its section; −1 before the first. */
  section: number;
  /** Whether its options (rows) are shown in an order that follows from the response's id. */
  shufflesOptions: boolean;
  shufflesRows: boolean;
  isAnchored: boolean;
  visibleIf: Test | undefined;
  skips: readonly CompiledSkip[];
  /** Undefined if all are always offered. */
  optionRule: ItemRule | undefined;
  rowRule: ItemRule | undefined;
  /** Has a rule for its options or rows. */
  isDynamic: boolean;
}

interface CompiledSkip {
  test: Test;
  /** Index of the question to go on with; the number of questions for the end. */
  to: number;
  isScreenOut: boolean;
}

/** Which options (or rows) of a question are offered. */
interface ItemRule {
  tests: readonly (Test | undefined)[];
  from: CompiledOptionsFrom | undefined;
}

interface CompiledOptionsFrom {
  /** Index of the earlier question. */
  question: number;
  isSelected: boolean;
  /** By own item: index of the option of the earlier question that it stands for; −1 for none. */
  counterparts: readonly number[];
  /** By own item: whether it stays without a counterpart. */
  staysAlone: readonly boolean[];
}

/** Prepares a definition. Takes any: what does not exist counts as never answered, and skips to it as none. */
export function compilePaths(definition: PathDefinition): CompiledPaths {
  const { sections, questions, sectionOf } = inDesignedOrder(definition);
  const shapes = questions.map(shapeOf);
  const indexOf = new Map(questions.map(({ id }, index) => [id, index]));
  const known: QuestionShapes = { shapes, indexOf, texts: new Set() };
  const compiledSections = sections.map((section, place): CompiledSection => {
    const start = sectionOf.findIndex((own) => own >= place);
    const end = sectionOf.findIndex((own) => own > place);
    return {
      id: section.id,
      isShuffled: section.isShuffled === true,
      isAnchored: section.isAnchored === true,
      visibleIf: compileOptional(section.visibleIf, known),
      start: start < 0 ? questions.length : start,
      end: end < 0 ? questions.length : end,
    };
  });
  const startOf = new Map(compiledSections.map(({ id, start }) => [id, start]));
  const targetOf = (to: string): number | undefined =>
    to === skipToEnd || to === skipToScreenOut ? questions.length : (indexOf.get(to) ?? startOf.get(to));
  const compiled = questions.map((question, index): CompiledQuestion => {
    const shape = shapes[index] as QuestionShape;
    const from = question.optionsFrom && compileOptionsFrom(question.optionsFrom, shape, known);
    const optionRule = compileItems(shape.options, shape.kind === 'grid' ? undefined : from, known);
    const rowRule = compileItems(shape.rows, shape.kind === 'grid' ? from : undefined, known);
    return {
      id: question.id,
      isRequired: question.isRequired,
      section: sectionOf[index] ?? -1,
      shufflesOptions: question.settings.shuffleOptions === true,
      shufflesRows: question.settings.shuffleRows === true,
      isAnchored: question.isAnchored === true,
      visibleIf: compileOptional(question.visibleIf, known),
      skips: (question.skips ?? []).flatMap((skip) => compileSkip(skip, targetOf(skip.to), index, known)),
      optionRule,
      rowRule,
      isDynamic: optionRule !== undefined || rowRule !== undefined,
    };
  });
  return {
    ...known,
    sections: compiledSections,
    questions: compiled,
    isShuffled: definition.isShuffled === true,
    isBranched:
      compiledSections.some(({ visibleIf }) => visibleIf) ||
      compiled.some(({ visibleIf, skips, isDynamic }) => visibleIf || skips.length > 0 || isDynamic),
  };
}

/** Sections in order, and questions by section; `sectionOf`: index of the section of each question, or −1. */
function inDesignedOrder({ sections = [], questions }: PathDefinition) {
  const placeOf = new Map(sections.map(({ id }, place) => [id, place]));
  const placed = questions
    .map((question) => ({ question, section: placeOf.get(question.sectionId ?? '') ?? -1 }))
    .sort((one, other) => one.section - other.section);
  return {
    sections,
    questions: placed.map(({ question }) => question),
    sectionOf: placed.map(({ section }) => section),
  };
}

const compileOptional = (condition: PathItem['visibleIf'], known: QuestionShapes): Test | undefined =>
  condition ? compileCondition(condition, known) : undefined;

function compileSkip(skip: Skip, to: number | undefined, index: number, known: QuestionShapes): CompiledSkip[] {
  if (to === undefined || to <= index) return [];
  return [{ test: compileCondition(skip.if, known), to, isScreenOut: skip.to === skipToScreenOut }];
}

function compileItems(
  items: readonly PathItem[],
  from: CompiledOptionsFrom | undefined | null,
  known: QuestionShapes,
): ItemRule | undefined {
  if (!from && !items.some(({ visibleIf }) => visibleIf)) return undefined;
  return { tests: items.map(({ visibleIf }) => compileOptional(visibleIf, known)), from: from ?? undefined };
}

function compileOptionsFrom(
  { questionId, which, matches }: MatchedOptionsFrom,
  shape: QuestionShape,
  { shapes, indexOf }: QuestionShapes,
): CompiledOptionsFrom {
  const question = indexOf.get(questionId) ?? -1;
  const source = shapes[question];
  const fromOf = new Map(matches.map(({ optionId, from }) => [optionId, source?.optionIndexes.get(from) ?? -1]));
  const items = shape.kind === 'grid' ? shape.rows : shape.options;
  return {
    question,
    isSelected: which === 'selected',
    counterparts: items.map(({ id }) => fromOf.get(id) ?? -1),
    staysAlone: items.map(({ isAnchored }) => isAnchored === true),
  };
}

/**
 * A respondent's way through a survey: which questions, options and rows are on the path. Questions, options and rows
 * are named by their indexes in `CompiledPaths`.
 */
export class Walk implements Known {
  readonly responseId: PathContext['responseId'];
  readonly metadata: Known['metadata'];
  readonly invitation: Known['invitation'];
  readonly language: string;
  /** 1 for each question on the path. */
  readonly onPath: Uint8Array;
  /** By question: 1 for each option (row) that is offered; undefined if all are. */
  readonly offeredOptions: (Uint8Array | undefined)[];
  readonly offeredRows: (Uint8Array | undefined)[];
  /** A skip to SCREEN_OUT ended the path. */
  isScreenedOut = false;
  readonly #compiled: CompiledPaths;
  readonly #source: PathAnswers;
  /** Answers that were read; null: none. */
  readonly #answers: (PathAnswer | null | undefined)[];
  readonly #folded = new Map<string, string>();

  constructor(compiled: CompiledPaths, source: PathAnswers, context: PathContext) {
    const count = compiled.questions.length;
    this.#compiled = compiled;
    this.#source = source;
    this.#answers = new Array(count);
    this.responseId = context.responseId;
    this.metadata = context.metadata;
    this.invitation = context.invitation;
    this.language = (context.language ?? context.surveyLanguage).toLowerCase();
    this.onPath = new Uint8Array(count);
    this.offeredOptions = new Array(count);
    this.offeredRows = new Array(count);
  }

  folded(text: string): string {
    let known = this.#folded.get(text);
    if (known === undefined) {
      known = folded(text);
      this.#folded.set(text, known);
    }
    return known;
  }

  /** The part of the answer that is offered; undefined without one, or if the question is not on the path. */
  answer(question: number): PathAnswer | undefined {
    const known = this.#answers[question];
    if (known !== undefined) return known ?? undefined;
    if (this.onPath[question] !== 1) return undefined;
    const answer = this.#read(question);
    this.#answers[question] = answer ?? null;
    return answer;
  }

  /** Whether a question on the path has an answer. */
  isAnswered(question: number): boolean {
    if (this.onPath[question] !== 1) return false;
    return this.#compiled.questions[question]?.isDynamic === true
      ? this.answer(question) !== undefined
      : this.#source.isAnswered(question);
  }

  /** Whether a question on the path has all the answers that a required one needs: every offered row of a MATRIX. */
  isSatisfied(question: number): boolean {
    if (!this.isAnswered(question)) return false;
    const shape = this.#compiled.shapes[question];
    if (shape?.kind !== 'grid') return true;
    const mask = this.offeredRows[question];
    return this.answer(question)?.rows.every((row, index) => row.length > 0 || (mask && mask[index] !== 1)) === true;
  }

  /** Asks a question wherever the path leads, with all that it can offer. False if that changes nothing. */
  ask(question: number): boolean {
    const isPassed = this.onPath[question] === 0;
    if (isPassed) this.onPath[question] = 1;
    return this.offerAll(question) || isPassed;
  }

  /** Offers all options and rows of a question on the path. False if that changes nothing. */
  offerAll(question: number): boolean {
    if (this.onPath[question] !== 1 || !(this.offeredOptions[question] ?? this.offeredRows[question])) return false;
    this.offeredOptions[question] = undefined;
    this.offeredRows[question] = undefined;
    this.#answers[question] = undefined;
    return true;
  }

  #read(question: number): PathAnswer | undefined {
    const answer = this.#source.answer(question);
    const options = this.offeredOptions[question];
    const rows = this.offeredRows[question];
    if (!answer || (!options && !rows)) return answer;
    const offered = { options, rows };
    if (this.#source.counts?.(question, offered) === false) return undefined;
    return offeredPart(this.#compiled.shapes[question] as QuestionShape, answer, offered);
  }

  /**
   * Walks, in one pass over the questions in their designed order, and gives way before each condition: one on long
   * texts may take some milliseconds.
   */
  *run(): SlicedWork<this> {
    const { questions, sections } = this.#compiled;
    let passed = -1;
    let index = 0;
    while (index < questions.length) {
      const question = questions[index] as CompiledQuestion;
      // Reading an array at −1 is slow: it took a fifth of a long walk.
      const section = question.section < 0 ? undefined : sections[question.section];
      if (section && question.section !== passed) {
        passed = question.section;
        yield;
        if (section.visibleIf && !section.visibleIf(this)) {
          index = section.end;
          continue;
        }
      }
      if (question.visibleIf) yield;
      if (
        (question.visibleIf && !question.visibleIf(this)) ||
        (question.isDynamic && !(yield* this.#offer(index, question)))
      ) {
        index += 1;
        continue;
      }
      this.onPath[index] = 1;
      index += 1;
      for (const { test, to, isScreenOut } of question.skips) {
        yield;
        if (!test(this)) continue;
        if (isScreenOut) this.isScreenedOut = true;
        index = to;
        break;
      }
    }
    return this;
  }

  /** Works out what a question offers; false if it offers nothing. */
  *#offer(index: number, { optionRule, rowRule }: CompiledQuestion): SlicedWork<boolean> {
    const options = optionRule && (yield* this.#offered(optionRule));
    const rows = rowRule && (yield* this.#offered(rowRule));
    this.offeredOptions[index] = options;
    this.offeredRows[index] = rows;
    return (!options || options.includes(1)) && (!rows || rows.includes(1));
  }

  *#offered({ tests, from }: ItemRule): SlicedWork<Uint8Array> {
    const mask = from ? this.#offeredFrom(from) : new Uint8Array(tests.length).fill(1);
    for (const [item, test] of tests.entries()) {
      if (!test || mask[item] !== 1) continue;
      yield;
      if (!test(this)) mask[item] = 0;
    }
    return mask;
  }

  #offeredFrom({ question, isSelected, counterparts, staysAlone }: CompiledOptionsFrom): Uint8Array {
    const mask = new Uint8Array(counterparts.length);
    const isShown = question >= 0 && this.onPath[question] === 1;
    const selected = new Set(isShown ? this.answer(question)?.options : []);
    const shown = isShown ? this.offeredOptions[question] : undefined;
    for (const [item, counterpart] of counterparts.entries()) {
      const isOffered =
        counterpart < 0
          ? staysAlone[item] === true
          : isShown && (!shown || shown[counterpart] === 1) && selected.has(counterpart) === isSelected;
      if (isOffered) mask[item] = 1;
    }
    return mask;
  }
}
