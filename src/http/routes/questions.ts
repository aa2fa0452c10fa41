import { z } from 'zod';
import type { EditConflicts } from '../../actors/edit-conflicts.ts';
import { saveUnlessAnswered } from '../../actors/submissions/question-change.ts';
import type { SurveyActors } from '../../actors/survey-actors.ts';
import type { ChangeOptions, WordingChanges } from '../../actors/wording-changes.ts';
import { describeQuestion, newQuestionBody, questionChangeBody } from '../../domain/questions/question-definition.ts';
import { meansTheSame } from '../../domain/questions/question-meaning.ts';
import { settleChange } from '../../domain/settle-change.ts';
import { type Question, type SurveyWithQuestions, visibleQuestions } from '../../domain/survey.ts';
import {
  addQuestion,
  editQuestion,
  findQuestion,
  hideQuestion,
  maxQuestions,
  reorderQuestions,
} from '../../domain/survey-edits.ts';
import { notFound, tooManyConflicts } from '../../errors.ts';
import type { Intake } from '../../stores/redis/intake/intake.ts';
import { changedInSurvey, objectFromPath, objectInSurvey } from '../routing/audit.ts';
import { created, ok, type Route, route, withVersion } from '../routing/route.ts';
import { deletedSchema } from '../schemas/common.ts';
import { editQuery, removeConditionsQuery } from '../schemas/query-fields.ts';
import { questionReferenceSchema, questionSchema } from '../schemas/questions.ts';

export interface QuestionRoutesDeps {
  actors: SurveyActors;
  /** Whether any accepted response answers the question. */
  hasAnswers(question: Question): Promise<boolean>;
  freezeSubmissions: Intake['freeze'];
  wording: Pick<WordingChanges, 'change' | 'brokenBy'>;
  editConflicts: EditConflicts;
  newId(): string;
}

export function questionRoutes(deps: QuestionRoutesDeps): Route[] {
  const { change: changeWording } = deps.wording;
  return [
    route({
      method: 'POST',
      path: '/surveys/{surveyId}/questions',
      operationId: 'createQuestion',
      tag: 'Questions',
      summary: 'Add a question',
      description:
        'Without `order` the question goes last in its section, or before the first section without `sectionId`; otherwise it takes that place and shifts those after it. Questions lie in the order of their sections, so a place outside of the section becomes the nearest one in it.',
      access: { kind: 'survey', right: 'edit', by: 'surveyId' },
      limit: 'api',
      body: newQuestionBody,
      reply: questionSchema,
      replyStatus: 201,
      audit: {
        action: 'question.created',
        objectKind: 'question',
        describe: ({ survey }, data) => ({
          objectId: String(data['id']),
          details: { surveyId: survey.id, type: data['type'] },
        }),
      },
      handle: async ({ params, body }) => {
        const id = deps.newId();
        const { survey, madeVersion } = await changeWording(params['surveyId'] ?? '', (current) =>
          addQuestion(current, body, { id, newId: deps.newId }),
        );
        return withVersion(madeVersion, created(describeQuestion(findQuestion(survey, id))));
      },
    }),
    route({
      method: 'PUT',
      path: '/surveys/questions/{questionId}',
      operationId: 'changeQuestion',
      tag: 'Questions',
      summary: 'Change a question',
      description:
        'Options and rows are matched by id, else by value; those left out are hidden. A question that has answers keeps its type and the meaning of its options (409 HAS_RESPONSES): each option keeps its value, and on a scale (LIKERT_SCALE, the columns of a MATRIX) its point 1…n. On such a scale labels may change, new options go last, and a hidden option still counts at its point if it was chosen; `numberValue` names a point of the visible options. Omitted conditions, skips and `optionsFrom` stay; null (`skips`: an empty list) removes them. In another section a question goes last, unless `order` is given. 409 CONDITION_BROKEN if conditions, skips, `optionsFrom` or placeholders elsewhere in the survey would then name what is not there, not earlier, or of another kind; `details.broken` lists them.',
      access: { kind: 'survey', right: 'edit', by: 'questionId' },
      limit: 'api',
      query: editQuery,
      body: questionChangeBody,
      reply: questionSchema,
      replyStatus: 200,
      audit: { action: 'question.changed', objectKind: 'question', describe: changedInSurvey('questionId') },
      handle: async ({ params, query, body, survey }) => {
        const id = params['questionId'] ?? '';
        // Another process may just have changed it.
        const cached = await deps.actors.sync(survey.id);
        if (!cached) throw notFound('question');
        const before = findQuestion(cached.survey, id);
        const isAnswered = await deps.hasAnswers(before);
        const assertUnchanged = await deps.editConflicts.check(survey.id, query.ifUnchangedSince, contentOf(id));
        const edit = (current: SurveyWithQuestions) => {
          assertUnchanged(current);
          return editQuestion(current, id, body, { isAnswered, newId: deps.newId });
        };
        // What is refused for its conditions freezes no submissions.
        settleChange(cached.survey, edit(cached.survey), query);
        const isSafe = (current: SurveyWithQuestions) =>
          isAnswered || meansTheSame(findQuestion(current, id), findQuestion(edit(current), id));
        const save = (beforeSave: NonNullable<ChangeOptions['beforeSave']>) =>
          changeWording(survey.id, edit, { ...query, beforeSave });
        const assertSafe = (current: SurveyWithQuestions) => {
          if (!isSafe(current)) throw tooManyConflicts('survey');
        };
        const saved = isSafe(cached.survey) ? await save(assertSafe) : await saveUnlessAnswered(deps, before, save);
        return withVersion(saved.madeVersion, ok(describeQuestion(findQuestion(saved.survey, id))));
      },
    }),
    route({
      method: 'GET',
      path: '/surveys/{surveyId}/questions/{questionId}/references',
      operationId: 'findQuestionReferences',
      tag: 'Questions',
      summary: 'Find what names a question',
      description:
        'The conditions, skips, `optionsFrom`, placeholders (also those of translations) and quotas that the deletion of the question would break: without `removeConditions=true` it is refused, and says the same in `details`. An empty list: nothing names the question.',
      access: { kind: 'survey', right: 'read', by: 'surveyId' },
      limit: 'api',
      reply: z.strictObject({ broken: z.array(questionReferenceSchema) }),
      replyStatus: 200,
      handle: async ({ params }) => {
        const [surveyId = '', id = ''] = [params['surveyId'], params['questionId']];
        const cached = await deps.actors.sync(surveyId);
        if (!cached) throw notFound('survey');
        const broken = await deps.wording.brokenBy(cached.survey, (current) => hideQuestion(current, id));
        return ok({ broken });
      },
    }),
    route({
      method: 'DELETE',
      path: '/surveys/{surveyId}/questions/{questionId}',
      operationId: 'deleteQuestion',
      tag: 'Questions',
      summary: 'Delete a question',
      description:
        'The question is hidden; its answers are kept. 409 CONDITION_BROKEN if conditions, skips, `optionsFrom`, placeholders or quotas name it.',
      access: { kind: 'survey', right: 'edit', by: 'surveyId' },
      limit: 'api',
      query: editQuery,
      reply: deletedSchema,
      replyStatus: 200,
      audit: { action: 'question.deleted', objectKind: 'question', describe: objectInSurvey('questionId') },
      handle: async ({ params, query }) => {
        const [surveyId = '', id = ''] = [params['surveyId'], params['questionId']];
        const assertUnchanged = await deps.editConflicts.check(surveyId, query.ifUnchangedSince, contentOf(id));
        const edit = (current: SurveyWithQuestions) => {
          assertUnchanged(current);
          return hideQuestion(current, id);
        };
        const { madeVersion } = await changeWording(surveyId, edit, query);
        return withVersion(madeVersion, ok({ id, deleted: true }));
      },
    }),
    route({
      method: 'POST',
      path: '/surveys/{surveyId}/questions/reorder',
      operationId: 'reorderQuestions',
      tag: 'Questions',
      summary: 'Put the questions in a new order',
      description:
        'Each question stays in its section, and the sections keep their order. 409 CONDITION_BROKEN if a condition, skip or placeholder would then name a later question.',
      access: { kind: 'survey', right: 'edit', by: 'surveyId' },
      limit: 'api',
      reply: z.array(questionSchema),
      replyStatus: 200,
      audit: { action: 'questions.reordered', objectKind: 'survey', describe: objectFromPath('surveyId') },
      query: removeConditionsQuery,
      body: z.strictObject({ questionIds: z.array(z.string()).max(maxQuestions) }),
      handle: async ({ params, query, body }) => {
        const edit = (current: SurveyWithQuestions) => reorderQuestions(current, body.questionIds);
        const { survey, madeVersion } = await changeWording(params['surveyId'] ?? '', edit, query);
        return withVersion(madeVersion, ok(visibleQuestions(survey).map(describeQuestion)));
      },
    }),
  ];
}

/** A question of a version of the survey without its place, which changes with those before it. */
const contentOf =
  (id: string) =>
  ({ questions }: Pick<SurveyWithQuestions, 'questions'>) => {
    const question = questions.find((other) => other.id === id && !other.isHidden);
    return question && { ...describeQuestion(question), order: 0 };
  };
