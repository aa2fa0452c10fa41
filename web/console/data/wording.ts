import { readable } from '../../../src/domain/path/placeholders.ts';
import type { Item, Question } from './questions.ts';

const readableItem = <T extends Item>(item: T): T => ({ ...item, text: readable(item.text) });

/** Questions as those who read answers see them: the wordings of their texts, options and rows are readable. */
export const readableQuestions = (questions: readonly Question[]): Question[] =>
  questions.map((question) => {
    const { rows } = question.settings;
    return {
      ...question,
      text: readable(question.text),
      options: question.options.map(readableItem),
      settings: rows ? { ...question.settings, rows: rows.map(readableItem) } : question.settings,
    };
  });
