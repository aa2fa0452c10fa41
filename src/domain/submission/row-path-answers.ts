import { type PathAnswer, type PathAnswers, readAnswer } from '../path/answers.ts';
import type { QuestionShape, QuestionShapes } from '../path/question-shape.ts';
import type { AnswerRow } from '../questions/contract.ts';
import { registry } from '../questions/registry.ts';
import type { Question, SurveyWithQuestions } from '../survey.ts';
import { isAnswered } from './compiled-question.ts';

/**
 * Decoded answers that are kept for a question and for a survey: most respondents give one of a few, and decoding takes
 * half of a walk.
 */
const maxKeptOfQuestion = 64;
const maxKeptAnswers = 4096;
/** Code positions of a question whose answers are kept. */
const maxKeyPositions = 16;

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
    if (!answers) return readAnswer(shape, registry[question.type].write(question, row));
    const key = keyOf(codes, row);
    const known = answers.get(key);
    if (known) return known;
    const answer = readAnswer(shape, registry[question.type].write(question, row));
    if (answer && answers.size < maxKeptOfQuestion && kept < maxKeptAnswers) {
      answers.set(key, answer);
      kept += 1;
    }
    return answer;
  }

  return (row) => ({
    isAnswered: (index) => isAnswered(row, stored[index] as StoredQuestion),
    answer(index) {
      const question = stored[index] as StoredQuestion;
      return isAnswered(row, question) ? decode(question, row) : undefined;
    },
  });
}

interface StoredQuestion {
  question: Question;
  shape: QuestionShape;
  /** Code positions. */
  codes: readonly number[];
  /** Answers by their codes, if a few codes alone say the answer. */
  kept: Map<number | string, PathAnswer> | undefined;
}

function storedQuestion(question: Question, shape: QuestionShape): StoredQuestion {
  const [codes, numbers, texts] = [question.slots.codes, question.slots.numbers, question.slots.texts].map((slots) =>
    Object.values(slots),
  ) as [number[], number[], number[]];
  const isCoded = codes.length <= maxKeyPositions && numbers.length === 0 && texts.length === 0;
  return { question, shape, codes, kept: isCoded ? new Map() : undefined };
}

/** `maxSmallCodes` codes below `smallCode` fit into one exact number. */
const [smallCode, maxSmallCodes] = [32, 10];

/** One number where the codes are few and small: texts take longer to make and to look up. */
function keyOf(codes: readonly number[], row: AnswerRow): number | string {
  if (codes.length > maxSmallCodes) return textKeyOf(codes, row);
  let key = 0;
  for (const slot of codes) {
    const code = row.codes[slot] ?? 0;
    if (code < 0 || code >= smallCode) return textKeyOf(codes, row);
    key = key * smallCode + code;
  }
  return key;
}

const textKeyOf = (codes: readonly number[], row: AnswerRow): string =>
  codes.map((slot) => row.codes[slot] ?? 0).join();
