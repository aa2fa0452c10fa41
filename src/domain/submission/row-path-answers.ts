import type { PathAnswers } from '../path/path.ts';
import type { QuestionShapes } from '../path/question-shape.ts';
import type { AnswerRow, QuestionType } from '../questions/contract.ts';
import { registry } from '../questions/registry.ts';
import type { Question, SurveyWithQuestions } from '../survey.ts';

interface StoredQuestion {
  question: Question;
  type: QuestionType;
  codes: readonly number[];
}

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
    if (index === undefined) continue;
    stored[index] = { question, type: registry[question.type], codes: Object.values(question.slots.codes) };
  }
  return (row) => ({
    isAnswered(index) {
      for (const slot of (stored[index] as StoredQuestion).codes) if ((row.codes[slot] ?? 0) !== 0) return true;
      return false;
    },
    given(index) {
      const { question, type } = stored[index] as StoredQuestion;
      return type.write(question, row);
    },
  });
}
