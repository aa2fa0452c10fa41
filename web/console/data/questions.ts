import type { Condition, OptionsFrom, Skip } from '../../../src/domain/path/definition.ts';
import { api, type components, dataOf, deleteWhileLeaving } from './api.ts';
import { queryClient } from './query-client.ts';
import { type SurveyWithQuestions, shownAs, surveyQuery } from './surveys.ts';

type Schemas = components['schemas'];
export type QuestionTypeName = Schemas['QuestionType'];

/** An option, or a row of a MATRIX. */
export interface Item {
  id: string;
  text: string;
  /** The stored value; undefined: the service makes one of the text. */
  value?: string | undefined;
  visibleIf?: Condition | null | undefined;
  isAnchored?: boolean | undefined;
}

export interface QuestionSettings {
  rows?: Item[] | undefined;
  [name: string]: unknown;
}

/** A question with the types of its conditions, which the reference describes by reference to themselves. */
export interface Question
  extends Omit<Schemas['Question'], 'visibleIf' | 'skips' | 'optionsFrom' | 'options' | 'settings' | 'isHidden'> {
  options: Item[];
  settings: QuestionSettings;
  visibleIf: Condition | null;
  skips: Skip[];
  optionsFrom: OptionsFrom | null;
}

/** Whether answers are free texts, which AI analyses read. */
export const isOpenQuestion = ({ type }: Pick<Question, 'type'>): boolean =>
  type === 'SHORT_TEXT' || type === 'LONG_TEXT';

export interface Section extends Omit<Schemas['Section'], 'visibleIf'> {
  visibleIf: Condition | null;
}

/** What a survey asks: the part of it that Build edits. */
export interface Definition {
  id: string;
  title: string;
  description: string | null;
  language: string;
  isShuffled: boolean;
  isAnonymous: boolean;
  appearance: Schemas['Appearance'];
  version: number;
  sections: Section[];
  questions: Question[];
}

export const definitionOf = (survey: SurveyWithQuestions): Definition => survey as unknown as Definition;

export interface EditOptions {
  /** The version of the survey that the editor saw. */
  ifUnchangedSince?: number;
  removeConditions?: boolean;
}

export const changeQuestion = (questionId: string, body: Record<string, unknown>, query: EditOptions) =>
  dataOf(
    api.PUT('/surveys/questions/{questionId}', { params: { path: { questionId }, query }, body: body as never }),
  ) as unknown as Promise<Question>;

export async function createQuestion(surveyId: string, body: object): Promise<Question> {
  const created = await dataOf(
    api.POST('/surveys/{surveyId}/questions', { params: { path: { surveyId } }, body: body as never }),
  );
  return created as unknown as Question;
}

export const deleteQuestion = (surveyId: string, questionId: string, query: EditOptions) =>
  dataOf(
    api.DELETE('/surveys/{surveyId}/questions/{questionId}', { params: { path: { surveyId, questionId }, query } }),
  );

/** What names a question: the places that its deletion would break. */
export const referencesTo = (surveyId: string, questionId: string) =>
  dataOf(
    api.GET('/surveys/{surveyId}/questions/{questionId}/references', { params: { path: { surveyId, questionId } } }),
  );

export async function createSection(surveyId: string, body: { title: string }): Promise<Section> {
  const created = await dataOf(api.POST('/surveys/{surveyId}/sections', { params: { path: { surveyId } }, body }));
  return created as unknown as Section;
}

export async function changeSection(
  surveyId: string,
  sectionId: string,
  body: object,
  query: EditOptions,
): Promise<Section> {
  const path = { surveyId, sectionId };
  const changed = await dataOf(
    api.PUT('/surveys/{surveyId}/sections/{sectionId}', { params: { path, query }, body: body as never }),
  );
  return changed as unknown as Section;
}

export const deleteSection = (surveyId: string, sectionId: string, query: Pick<EditOptions, 'removeConditions'>) =>
  dataOf(api.DELETE('/surveys/{surveyId}/sections/{sectionId}', { params: { path: { surveyId, sectionId }, query } }));

export async function changeSurveyTexts(id: string, body: object, query: EditOptions): Promise<Definition> {
  const changed = await dataOf(api.PUT('/surveys/{id}', { params: { path: { id }, query }, body: body as never }));
  return definitionOf(changed);
}

/** Deletes a question while the page is left. */
export const deleteQuestionWhileLeaving = (
  surveyId: string,
  id: string,
  { removeConditions }: Required<Pick<EditOptions, 'removeConditions'>>,
): Promise<void> => deleteWhileLeaving(`/surveys/${surveyId}/questions/${id}?removeConditions=${removeConditions}`);

/** Puts what the service has just replied for a question, a section or the survey into the survey that is shown. */
export function keepReply(
  surveyId: string,
  kind: 'question' | 'section' | 'survey',
  reply: Readonly<Record<string, unknown>>,
): void {
  queryClient.setQueryData(surveyQuery(surveyId).queryKey, (old) => {
    if (!old) return old;
    if (kind === 'survey') {
      const { title, description, isShuffled } = { ...old, ...reply };
      return { ...old, title, description, isShuffled };
    }
    const list = kind === 'question' ? 'questions' : 'sections';
    const things: readonly { id: string }[] = old[list];
    const changed = things.map((thing) => (thing.id === reply['id'] ? { ...thing, ...reply } : thing));
    return shownAs({ ...old, [list]: changed });
  });
}
