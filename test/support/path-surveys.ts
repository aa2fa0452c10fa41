import type { Condition, Section } from '../../src/domain/path/definition.ts';
import { compilePaths, givenAnswers, type PathContext, pathOf, type Walk, walkOf } from '../../src/domain/path/path.ts';
import type { Question, SurveyWithQuestions } from '../../src/domain/survey.ts';
import { pathDefinitionOf } from '../../src/domain/survey-paths/path-definition.ts';
import { blankSurvey, nextId, withQuestion } from './questions.ts';

type Body = Parameters<typeof withQuestion>[1];
/** A question as an author sends it, without its text, and its path fields. */
export type QuestionSketch = Omit<Body, 'text'> &
  Partial<Pick<Question, 'text' | 'sectionId' | 'visibleIf' | 'skips' | 'optionsFrom'>>;

/** A survey of these questions in order; each may look at those before it. */
export function surveyOf(
  sketches: readonly (QuestionSketch | ((before: readonly Question[]) => QuestionSketch))[],
  sections: readonly Section[] = [],
): { survey: SurveyWithQuestions; questions: Question[] } {
  let survey: SurveyWithQuestions = { ...blankSurvey(), ...(sections.length > 0 && { sections }) };
  for (const sketch of sketches) {
    const { sectionId, visibleIf, skips, optionsFrom, ...body } =
      typeof sketch === 'function' ? sketch(survey.questions) : sketch;
    const added = withQuestion(survey, { text: 'A question', ...body });
    const question: Question = {
      ...added.question,
      ...(sectionId !== undefined && { sectionId }),
      ...(visibleIf && { visibleIf }),
      ...(skips && { skips }),
      ...(optionsFrom && { optionsFrom }),
    };
    survey = { ...added.survey, questions: [...survey.questions, question] };
  }
  return { survey, questions: [...survey.questions] };
}

export const sectionOf = (order: number, fields: Partial<Section> = {}): Section => ({
  id: nextId(),
  title: '',
  description: null,
  order,
  isShuffled: false,
  visibleIf: null,
  ...fields,
});

export const withFields = (
  survey: SurveyWithQuestions,
  id: string,
  fields: Partial<Question>,
): SurveyWithQuestions => ({
  ...survey,
  questions: survey.questions.map((question) => (question.id === id ? { ...question, ...fields } : question)),
});

const inEnglish: PathContext = { surveyLanguage: 'en' };

export function pathIn(survey: SurveyWithQuestions, answers: readonly unknown[], context: Partial<PathContext> = {}) {
  const compiled = compilePaths(pathDefinitionOf(survey));
  return pathOf(compiled, givenAnswers(compiled, answers), { ...inEnglish, ...context });
}

export function walkIn(
  survey: SurveyWithQuestions,
  answers: readonly unknown[],
  context: Partial<PathContext> = {},
): Walk {
  const compiled = compilePaths(pathDefinitionOf(survey));
  return walkOf(compiled, givenAnswers(compiled, answers), { ...inEnglish, ...context });
}

/** Ids of the questions on a path, in the order shown. */
export const questionIdsOf = ({ sections }: ReturnType<typeof pathIn>): string[] =>
  sections.flatMap(({ questions }) => questions.map(({ id }) => id));

/** Options, or rows, as an author sends them. */
export const labels = ['ant', 'bee', 'cat'].map((text) => ({ text, value: text }));
export const yesNo = { type: 'YES_NO' } as const;

export const yes = ({ id }: Question) => ({ questionId: id, textValue: 'yes' });
export const no = ({ id }: Question) => ({ questionId: id, textValue: 'no' });
/** An answer that chooses the option of this value. */
export const option = ({ id, options }: Question, value: string) => ({
  questionId: id,
  optionId: options.find((item) => item.value === value)?.id,
});

const is = ({ id, options }: Question, value: string): Condition => ({
  questionId: id,
  operator: 'isAnyOf',
  optionIds: options.filter((item) => item.value === value).map((item) => item.id),
});
export const saysYes = (question: Question | undefined): Condition => is(question as Question, 'yes');

export const idsOf = (questions: readonly (Question | undefined)[]) => questions.map((question) => question?.id);
