import { readable } from '../path/placeholders.ts';
import type { SurveyWithQuestions } from '../survey.ts';

/** Options or rows of a question. Those that would read alike stay as they are: often cells show nothing else of them. */
export function readableItems<Item extends { text: string }>(items: readonly Item[]): Item[] {
  const counts = new Map<string, number>();
  for (const { text } of items) counts.set(readable(text), (counts.get(readable(text)) ?? 0) + 1);
  return items.map((item) => (counts.get(readable(item.text)) === 1 ? { ...item, text: readable(item.text) } : item));
}

/** A survey whose title, questions, options and rows are worded as they read where nothing can be inserted. */
export const withReadableWording = (survey: SurveyWithQuestions): SurveyWithQuestions => ({
  ...survey,
  title: readable(survey.title),
  questions: survey.questions.map((question) => ({
    ...question,
    text: readable(question.text),
    options: readableItems(question.options),
    rows: readableItems(question.rows),
  })),
});
