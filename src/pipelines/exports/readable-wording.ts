import { readable } from '../../domain/path/placeholders.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';

const readableItem = <Item extends { text: string }>(item: Item): Item => ({ ...item, text: readable(item.text) });

/** A survey whose titles, questions, options and rows are worded as they read where nothing can be inserted. */
export const withReadableWording = (survey: SurveyWithQuestions): SurveyWithQuestions => ({
  ...survey,
  title: readable(survey.title),
  questions: survey.questions.map((question) => ({
    ...readableItem(question),
    options: question.options.map(readableItem),
    rows: question.rows.map(readableItem),
  })),
});
