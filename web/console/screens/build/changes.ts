import { useState } from 'react';
import { readable } from '../../../../src/domain/path/placeholders.ts';
import { isWaiting } from '../../app/deletions.ts';
import { toastFailure } from '../../app/toasts.tsx';
import { queryClient } from '../../data/query-client.ts';
import {
  changeQuestion,
  changeSection,
  createQuestion,
  createSection,
  type Definition,
  definitionOf,
  deleteSection,
  type Item,
  type Question,
  type QuestionTypeName,
  referencesTo,
} from '../../data/questions.ts';
import { refreshSurvey } from '../../data/survey-reads.ts';
import { showAs, surveyQuery } from '../../data/surveys.ts';
import { deleteQuestionInAMoment } from './deletions.ts';
import type { BrokenPlace } from './draft.ts';
import { brokenPlacesOf } from './editing.ts';
import { editingOf } from './editings.ts';
import { arrangedAs, orderInSurvey, type Place, withMove } from './outline-rows.ts';
import { typeOf } from './question-types.ts';

/** A change that would break conditions; the author decides whether they go with it. */
export interface BreakingChange {
  title: string;
  broken: readonly BrokenPlace[];
  /** The same change, which removes them. */
  confirm(): Promise<void>;
}

/** The last move of each survey that is under way: they are sent one by one, since a later one shall not be overtaken. */
const moves = new Map<string, Promise<void>>();

/** Questions about which the service is being asked what names them: a second key deletes them no second time. */
const asking = new Set<string>();

/** The changes of a survey's structure. Each shows itself at once and is taken back if the service refuses it. */
export function useChanges(surveyId: string) {
  const [breaking, setBreaking] = useState<BreakingChange>();

  const run = async (title: string, change: (options: { removeConditions?: boolean }) => Promise<unknown>) => {
    try {
      await change({});
    } catch (error) {
      const broken = brokenPlacesOf(error);
      if (broken)
        setBreaking({
          title,
          broken,
          confirm: async () => {
            await change({ removeConditions: true });
            await refreshSurvey(surveyId);
          },
        });
      else toastFailure(error);
    }
  };

  const add = async (body: object): Promise<Question | undefined> => {
    try {
      const question = await createQuestion(surveyId, body);
      await refreshSurvey(surveyId);
      return question;
    } catch (error) {
      toastFailure(error);
      return undefined;
    }
  };

  const addSection = async (): Promise<string | undefined> => {
    try {
      const { id } = await createSection(surveyId, { title: 'New section' });
      await refreshSurvey(surveyId);
      return id;
    } catch (error) {
      toastFailure(error);
      return undefined;
    }
  };

  /** Of a question the target is counted among the others that are shown. */
  const move = async (id: string, shownTarget: Place | { order: number }) => {
    const { queryKey } = surveyQuery(surveyId);
    const known = queryClient.getQueryData(queryKey);
    if (!known) return;
    const target = 'sectionId' in shownTarget ? placeOfMoved(definitionOf(known), id, shownTarget) : shownTarget;
    const moved = withMove(definitionOf(known), id, target);
    // Until the last of several moves is done, every read would show the question at the place of an earlier one.
    showAs(surveyId, (read) => arrangedAs(definitionOf(read), moved) as unknown as typeof read);
    queryClient.setQueryData(queryKey, moved as unknown as typeof known);
    const send = (options: { removeConditions?: boolean }) =>
      'sectionId' in target ? changeQuestion(id, { ...target }, options) : changeSection(surveyId, id, target, options);
    const before = moves.get(surveyId);
    const isLast = () => moves.get(surveyId) === turn;
    const turn: Promise<void> = (async () => {
      await before;
      await editingOf(surveyId).saveAll();
      await run('Move it?', send);
      if (!isLast()) return;
      moves.delete(surveyId);
      showAs(surveyId, undefined);
      await refreshSurvey(surveyId).catch(() => undefined);
    })();
    moves.set(surveyId, turn);
    await turn;
  };

  const remove = async (question: Question) => {
    const { id, text } = question;
    if (asking.has(id)) return;
    asking.add(id);
    try {
      // What is being typed may name the question too.
      await editingOf(surveyId).saveAll();
      const { broken: references } = await referencesTo(surveyId, id);
      const isDeletedToo = ({ questionId }: BrokenPlace) => questionId !== undefined && isWaiting(questionId);
      const broken = references.filter((reference) => !isDeletedToo(reference));
      const unasked = references.filter(isDeletedToo);
      // The author has agreed to lose the others, but may have kept a question of these by Undo.
      const isLost = (reference: BrokenPlace) => isDeletedToo(reference) || !isThere(surveyId, reference.questionId);
      const removesConditions = () => references.length > 0 && unasked.every(isLost);
      const start = async () => deleteQuestionInAMoment(surveyId, question, { removesConditions });
      if (broken.length === 0) await start();
      else setBreaking({ title: `Delete “${readable(text)}”?`, broken, confirm: start });
    } catch (error) {
      toastFailure(error);
    } finally {
      asking.delete(id);
    }
  };

  const removeSection = async (id: string) => {
    const editing = editingOf(surveyId);
    await editing.flush();
    editing.discard(id);
    await run('Delete the section?', (options) => deleteSection(surveyId, id, options));
    await refreshSurvey(surveyId).catch(() => undefined);
  };

  return { add, addSection, move, remove, removeSection, breaking, closeBreaking: () => setBreaking(undefined) };
}

const isThere = (surveyId: string, questionId: string | undefined): boolean =>
  queryClient.getQueryData(surveyQuery(surveyId).queryKey)?.questions.some(({ id }) => id === questionId) === true;

/** The place of a question among all others of the survey. */
function placeOfMoved({ questions, ...survey }: Definition, id: string, { sectionId, order }: Place): Place {
  const others = { ...survey, questions: questions.filter((question) => question.id !== id) };
  return { sectionId, order: orderInSurvey(others, order, (other) => !isWaiting(other)) };
}

/** The body of a new question of a type. */
export const newQuestionOf = (type: QuestionTypeName, place: Place) => ({
  type,
  text: 'New question',
  ...typeOf(type).initial,
  ...place,
});

const copyOfItem = ({ text, value, visibleIf, isAnchored }: Item) => ({ text, value, visibleIf, isAnchored });

/** The body of a copy of a question, which stands right after it. */
export function copyOf(question: Question): object {
  const { type, text, description, isRequired, isAnchored, sectionId, visibleIf, optionsFrom, settings } = question;
  const { rows } = settings;
  return {
    type,
    text,
    description,
    isRequired,
    isAnchored,
    sectionId,
    visibleIf,
    optionsFrom,
    order: question.order + 1,
    // A skip that names the question itself would name the original.
    skips: question.skips.filter((skip) => !JSON.stringify(skip).includes(question.id)),
    settings: { ...settings, ...(rows && { rows: rows.map(copyOfItem) }) },
    ...(typeOf(type).options && { options: question.options.map(copyOfItem) }),
  };
}
