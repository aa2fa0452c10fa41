import { compilePaths, givenAnswers, type Path, pathOfWalk, walkOf } from '../../../src/domain/path/path.ts';
import { createPiping } from '../../../src/domain/path/piping.ts';
import type { PageForm, PageQuestion } from '../../../src/http/page-state.ts';
import type { Answer, Entry } from './entries.ts';

/** A question as this respondent sees it: its options and rows are those offered, in the order shown. */
export interface ShownQuestion {
  id: string;
  type: string;
  text: string;
  description: string | null;
  isRequired: boolean;
  options: readonly ShownItem[];
  rows: readonly ShownItem[];
  settings: PageQuestion['settings'];
  fileKinds?: PageQuestion['fileKinds'];
}

export interface ShownItem {
  id: string;
  text: string;
}

/** What is shown at once. */
export interface ShownPage {
  /** Id of the section, or of the question where there is one a page. */
  key: string;
  title: string;
  description: string | null;
  questions: readonly ShownQuestion[];
}

export interface ShownSurvey {
  title: string;
  description: string | null;
  closingText: string | null;
  pages: readonly ShownPage[];
  outcome: Path['outcome'];
  /** Answered questions ÷ questions on the path. */
  progress: number;
}

/** On what the path depends besides the answers. */
export interface Circumstances {
  responseId: string;
  metadata: Readonly<Record<string, string>>;
  /**
   * What the service needs, since it knows more than this page: answers to questions wherever the path leads (`ask`), or
   * to all that a question on the path can offer (`offerAll`).
   */
  demanded: ReadonlyMap<string, 'ask' | 'offerAll'>;
}

/** Computes what the respondent sees, by the module that the service judges submissions with. */
export function createPages(form: PageForm, language: string) {
  const { survey, surveyLanguage } = form;
  const compiled = compilePaths(survey);
  const questions = new Map(survey.questions.map((question) => [question.id, question]));
  const sections = new Map(survey.sections.map((section) => [section.id, section]));
  const isOneByOne = survey.appearance.pageMode === 'QUESTION';

  return (answers: readonly QuestionAnswer[], { responseId, metadata, demanded }: Circumstances): ShownSurvey => {
    const context = { responseId, language, surveyLanguage, metadata, invitation: form.invitation ?? undefined };
    const given = givenAnswers(compiled, answers);
    const walk = walkOf(compiled, given, context);
    const judgedElsewhere = new Set(
      [...demanded.keys()].filter((id) => walk[demanded.get(id) ?? 'ask'](compiled.indexOf.get(id) ?? -1)),
    );
    const path = pathOfWalk(compiled, walk);
    const render = createPiping(compiled, walk, { language });
    const optional = (text: string | null | undefined) => (text ? render(text) : null);
    const pages = path.sections.flatMap(({ id, questions: steps }): ShownPage[] => {
      const section = sections.get(id ?? '');
      const head = { title: render(section?.title ?? ''), description: optional(section?.description) };
      const shown = steps.map(({ id: questionId, optionIds, rowIds }): ShownQuestion => {
        const question = questions.get(questionId) as PageQuestion;
        // What the service holds may have changed: it says again what it needs, and how much of it.
        const isJudged = !judgedElsewhere.has(questionId);
        return {
          ...question,
          text: render(question.text),
          description: optional(question.description),
          isRequired: question.isRequired && isJudged,
          settings: isJudged ? question.settings : { ...question.settings, minSelections: undefined },
          // A MATRIX shows its options in each row.
          options: inOrder(question.options, optionIds, (text) => render(text, 1 + rowIds.length)),
          rows: inOrder(question.settings.rows ?? [], rowIds, render),
        };
      });
      return isOneByOne
        ? shown.map((question, index) => ({
            key: question.id,
            ...(index === 0 ? head : { title: head.title, description: null }),
            questions: [question],
          }))
        : [{ key: id ?? '', ...head, questions: shown }];
    });
    return {
      title: render(survey.title),
      description: optional(survey.description),
      closingText: optional(survey.appearance.closingText),
      pages,
      outcome: path.outcome,
      progress: path.progress,
    };
  };
}

export interface QuestionAnswer extends Answer {
  questionId: string;
}

export const withQuestion = (questionId: string, answers: readonly Answer[]): QuestionAnswer[] =>
  answers.map((answer) => ({ questionId, ...answer }));

/** The entry with the answers that the question offers as it is shown; a ranking closes its gaps, as on the service. */
export function offeredOf({ options, rows }: ShownQuestion, entry: Entry): Entry {
  const isIn = (items: readonly ShownItem[], id: string | undefined) =>
    id === undefined || items.some((item) => item.id === id);
  const answers = entry.answers.filter(({ optionId, rowId }) => isIn(options, optionId) && isIn(rows, rowId));
  if (answers.length === entry.answers.length) return entry;
  return {
    ...entry,
    answers: answers.map((answer, index) => (answer.rank === undefined ? answer : { ...answer, rank: index + 1 })),
  };
}

function inOrder(
  items: readonly { id: string; text?: string | undefined }[],
  ids: readonly string[],
  render: (text: string) => string,
): ShownItem[] {
  const byId = new Map(items.map(({ id, text = '' }) => [id, text]));
  return ids.map((id) => ({ id, text: render(byId.get(id) ?? '') }));
}
