import type { SlicedWork } from '../../platform/slices.ts';
import { givenAnswers, type PathContext, pathOfWalk, slicedWalk, type Walk } from '../path/path.ts';
import { createPiping } from '../path/piping.ts';
import { type Question, type SurveyWithQuestions, visibleOptions, visibleRows } from '../survey.ts';
import { directionOf } from '../translation/languages.ts';
import { compiledPathsOf } from './path-definition.ts';

/** The answers of a respondent so far, and all that came with them. Answers that nobody can give are left out. */
export interface Respondent extends Omit<PathContext, 'surveyLanguage'> {
  answers: readonly object[];
}

export interface Shown {
  /** The survey with its texts in the language that is shown. */
  survey: SurveyWithQuestions;
  language: string;
}

/** The walk of a respondent through the survey. */
export function respondentWalk(survey: SurveyWithQuestions, { answers, ...context }: Respondent): SlicedWork<Walk> {
  const compiled = compiledPathsOf(survey);
  return slicedWalk(compiled, givenAnswers(compiled, answers), { ...context, surveyLanguage: survey.language });
}

/**
 * A respondent's path with all texts rendered: translated, and with the answers in the places of their placeholders.
 * Nothing is stored. Linear in the size of the survey.
 */
export function* renderedPath(survey: SurveyWithQuestions, walk: Walk, shown: Shown) {
  const compiled = compiledPathsOf(survey);
  const path = pathOfWalk(compiled, walk);
  const texts = new Map(
    shown.survey.questions.flatMap(({ options, rows }) => [...options, ...rows].map(({ id, text }) => [id, text])),
  );
  const render = createPiping(compiled, walk, { language: shown.language, texts });
  const optional = (text: string | null) => (text === null ? null : render(text));
  const sections = new Map((shown.survey.sections ?? []).map((section) => [section.id, section]));
  const questions = new Map(shown.survey.questions.map((question) => [question.id, question]));
  const head = {
    id: survey.id,
    version: survey.version,
    language: shown.language,
    direction: directionOf(shown.language),
    title: render(shown.survey.title),
    description: optional(shown.survey.description),
    closingText: optional(shown.survey.appearance?.closingText ?? null),
  };
  const renderedSections = [];
  for (const { id, questions: steps } of path.sections) {
    const { title = '', description = null } = sections.get(id ?? '') ?? {};
    const section = { id, title: render(title), description: optional(description) };
    const renderedQuestions = [];
    for (const { id: questionId, optionIds, rowIds } of steps) {
      const question = questions.get(questionId);
      if (question) renderedQuestions.push(yield* renderedQuestion(question, { optionIds, rowIds }, render));
      yield;
    }
    renderedSections.push({ ...section, questions: renderedQuestions });
  }
  return { ...head, sections: renderedSections, next: path.next, outcome: path.outcome, progress: path.progress };
}

function* renderedQuestion(
  question: Question,
  { optionIds, rowIds }: { optionIds: readonly string[]; rowIds: readonly string[] },
  render: (text: string) => string,
) {
  const { id, type, text, description, isRequired, order, settings } = question;
  return {
    id,
    type,
    text: render(text),
    description: description === null ? null : render(description),
    isRequired,
    order,
    options: yield* renderedItems(visibleOptions(question), optionIds, render),
    settings: {
      ...settings,
      ...(question.rows.length > 0 && { rows: yield* renderedItems(visibleRows(question), rowIds, render) }),
    },
  };
}

function* renderedItems(
  items: readonly { id: string; text: string }[],
  ids: readonly string[],
  render: (text: string) => string,
): SlicedWork<{ id: string; text: string }[]> {
  const byId = new Map(items.map((item) => [item.id, item.text]));
  const rendered = [];
  for (const id of ids) {
    rendered.push({ id, text: render(byId.get(id) ?? '') });
    yield;
  }
  return rendered;
}
