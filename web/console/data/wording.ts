import { readable } from '../../../src/domain/path/placeholders.ts';
import { readableItems } from '../../../src/domain/survey-paths/readable-wording.ts';
import type { Question } from './questions.ts';

/** Questions as those who read answers see them: the wordings of their texts, options and rows are readable. */
export const readableQuestions = (questions: readonly Question[]): Question[] =>
  questions.map((question) => {
    const { rows } = question.settings;
    return {
      ...question,
      text: readable(question.text),
      options: readableItems(question.options),
      settings: rows ? { ...question.settings, rows: readableItems(rows) } : question.settings,
    };
  });
