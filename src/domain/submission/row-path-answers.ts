import { type PathAnswer, type PathAnswers, readAnswer } from '../path/answers.ts';
import type { QuestionShape, QuestionShapes } from '../path/question-shape.ts';
import type { AnswerRow } from '../questions/contract.ts';
import { registry } from '../questions/registry.ts';
import type { Question, SurveyWithQuestions } from '../survey.ts';

/** Decoded answers that are kept for a survey; most questions have few codes, and decoding takes half of a walk. */
const maxKeptAnswers = 4096;

/**
 * Stored rows as a source of answers for paths. Only questions that conditions, skips or `optionsFrom` name are decoded.
 * `shapes` must be compiled from the same version of the survey (`pathDefinitionOf`).
 */
export function createRowPathAnswers(
  survey: SurveyWithQuestions,
  { indexOf, shapes }: QuestionShapes,
): (row: AnswerRow) => PathAnswers {
  const stored = new Array<StoredQuestion>(shapes.length);
  for (const question of survey.questions) {
    const index = question.isHidden ? undefined : indexOf.get(question.id);
    if (index !== undefined) stored[index] = storedQuestion(question, shapes[index] as QuestionShape);
  }
  let kept = 0;

  function decode({ question, shape, kept: answers, codes }: StoredQuestion, row: AnswerRow): PathAnswer | undefined {
    const code = row.codes[codes[0] as number] ?? 0;
    const known = answers?.get(code);
    if (known) return known;
    const answer = readAnswer(shape, registry[question.type].write(question, row));
    if (answers && answer && kept < maxKeptAnswers) {
      answers.set(code, answer);
      kept += 1;
    }
    return answer;
  }

  return (row) => ({
    isAnswered: (index) => hasCode(stored[index] as StoredQuestion, row),
    answer(index) {
      const question = stored[index] as StoredQuestion;
      return hasCode(question, row) ? decode(question, row) : undefined;
    },
  });
}

interface StoredQuestion {
  question: Question;
  shape: QuestionShape;
  /** Code positions. */
  codes: readonly number[];
  /** Answers by code, if the code alone says the answer. */
  kept: Map<number, PathAnswer> | undefined;
}

function storedQuestion(question: Question, shape: QuestionShape): StoredQuestion {
  const [codes, numbers, texts] = [question.slots.codes, question.slots.numbers, question.slots.texts].map((slots) =>
    Object.values(slots),
  ) as [number[], number[], number[]];
  const isOneCode = codes.length === 1 && numbers.length === 0 && texts.length === 0;
  return { question, shape, codes, kept: isOneCode ? new Map() : undefined };
}

function hasCode({ codes }: StoredQuestion, row: AnswerRow): boolean {
  for (const slot of codes) if ((row.codes[slot] ?? 0) !== 0) return true;
  return false;
}
