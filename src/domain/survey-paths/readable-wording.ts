import { readable } from '../path/placeholders.ts';
import type { SurveyWithQuestions } from '../survey.ts';

/** Options or rows of a question. Those that would read alike stay as they are: often cells show nothing else of them. */
export function readableItems<Item extends { text: string }>(items: readonly Item[]): Item[] {
  const texts = items.map(({ text }) => readable(text));
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return items.map((item, place) => {
    const text = texts[place] ?? item.text;
    return counts.get(text) === 1 ? { ...item, text } : item;
  });
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
