import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { saveUnlessAnswered } from '../../actors/submissions/question-change.ts';
import type { SurveyActors } from '../../actors/survey-actors.ts';
import {
  changeQuestion,
  defineQuestion,
  describeQuestion,
  newQuestionBody,
  questionChangeBody,
} from '../../domain/questions/question-definition.ts';
import { meansTheSame } from '../../domain/questions/question-meaning.ts';
import { allocateSlots } from '../../domain/questions/slot-allocation.ts';
import { checkStepsIssue } from '../../domain/submission/answers.ts';
import { type Question, type SurveyWithQuestions, visibleQuestions } from '../../domain/survey.ts';
import { conflict, notFound, tooManyConflicts, validationProblem } from '../../errors.ts';
import type { Intake } from '../../stores/redis/intake/intake.ts';
import { fieldNamesOf, objectFromPath, objectInSurvey } from '../routing/audit.ts';
import { created, ok, type Route, route } from '../routing/route.ts';
import { deletedSchema } from '../schemas/common.ts';
import { questionSchema } from '../schemas/questions.ts';

export interface QuestionRoutesDeps {
  actors: SurveyActors;
  /** Whether any accepted response answers the question. */
  hasAnswers(question: Question): Promise<boolean>;
  freezeSubmissions: Intake['freeze'];
  now(): number;
  newId(): string;
}

const maxQuestions = 500;

export function questionRoutes(deps: QuestionRoutesDeps): Route[] {
  const changeWording = async (surveyId: string, decide: (current: SurveyWithQuestions) => SurveyWithQuestions) =>
    deps.actors.change(surveyId, (current) => {
      const next = decide(current);
      // Saving the present state keeps the version.
      if (isDeepStrictEqual(next.questions, current.questions)) return { survey: current, isWordingChanged: false };
      return { survey: { ...next, updatedAt: new Date(deps.now()) }, isWordingChanged: true };
    });
  return [
    route({
      method: 'POST',
      path: '/surveys/{surveyId}/questions',
      operationId: 'createQuestion',
      tag: 'Questions',
      summary: 'Add a question',
      description: 'Without `order` the question goes last; otherwise it takes that place and shifts those after it.',
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
        const survey = await changeWording(params['surveyId'] ?? '', (current) =>
          addQuestion(current, body, id, deps.newId),
        );
        return created(describeQuestion(findQuestion(survey, id)));
      },
    }),
    route({
      method: 'PUT',
      path: '/surveys/questions/{questionId}',
      operationId: 'changeQuestion',
      tag: 'Questions',
      summary: 'Change a question',
      description:
        'Options and rows are matched by id, else by value; those left out are hidden. A question that has answers keeps its type and the meaning of its options (409 HAS_RESPONSES): each option keeps its value, and on a scale (LIKERT_SCALE, the columns of a MATRIX) its point 1…n. On such a scale labels may change, new options go last, and a hidden option still counts at its point if it was chosen; `numberValue` names a point of the visible options.',
      access: { kind: 'survey', right: 'edit', by: 'questionId' },
      limit: 'api',
      body: questionChangeBody,
      reply: questionSchema,
      replyStatus: 200,
      audit: {
        action: 'question.changed',
        objectKind: 'question',
        describe: ({ params, survey, body }) => ({
          objectId: params['questionId'] ?? '',
          details: { surveyId: survey.id, fields: fieldNamesOf(body) },
        }),
      },
      handle: async ({ params, body, survey }) => {
        const id = params['questionId'] ?? '';
        // Another process may just have changed it.
        const cached = await deps.actors.sync(survey.id);
        if (!cached) throw notFound('question');
        const before = findQuestion(cached.survey, id);
        const isAnswered = await deps.hasAnswers(before);
        const edit = (current: SurveyWithQuestions) =>
          editQuestion(current, id, body, { isAnswered, newId: deps.newId });
        const isSafe = (current: SurveyWithQuestions) =>
          isAnswered || meansTheSame(findQuestion(current, id), findQuestion(edit(current), id));
        const save = (assertUnchanged: (current: SurveyWithQuestions) => void) =>
          changeWording(survey.id, (current) => {
            const next = edit(current);
            assertUnchanged(current);
            return next;
          });
        const assertSafe = (current: SurveyWithQuestions) => {
          if (!isSafe(current)) throw tooManyConflicts('survey');
        };
        const saved = isSafe(cached.survey) ? await save(assertSafe) : await saveUnlessAnswered(deps, before, save);
        return ok(describeQuestion(findQuestion(saved, id)));
      },
    }),
    route({
      method: 'DELETE',
      path: '/surveys/{surveyId}/questions/{questionId}',
      operationId: 'deleteQuestion',
      tag: 'Questions',
      summary: 'Delete a question',
      description: 'The question is hidden; its answers are kept.',
      access: { kind: 'survey', right: 'edit', by: 'surveyId' },
      limit: 'api',
      reply: deletedSchema,
      replyStatus: 200,
      audit: { action: 'question.deleted', objectKind: 'question', describe: objectInSurvey('questionId') },
      handle: async ({ params }) => {
        const id = params['questionId'] ?? '';
        await changeWording(params['surveyId'] ?? '', (current) => hideQuestion(current, id));
        return ok({ id, deleted: true });
      },
    }),
    route({
      method: 'POST',
      path: '/surveys/{surveyId}/questions/reorder',
      operationId: 'reorderQuestions',
      tag: 'Questions',
      summary: 'Put the questions in a new order',
      access: { kind: 'survey', right: 'edit', by: 'surveyId' },
      limit: 'api',
      reply: z.array(questionSchema),
      replyStatus: 200,
      audit: { action: 'questions.reordered', objectKind: 'survey', describe: objectFromPath('surveyId') },
      body: z.strictObject({ questionIds: z.array(z.string()).max(maxQuestions) }),
      handle: async ({ params, body }) => {
        const saved = await changeWording(params['surveyId'] ?? '', (current) =>
          reorderQuestions(current, body.questionIds),
        );
        return ok(visibleQuestions(saved).map(describeQuestion));
      },
    }),
  ];
}

function findQuestion(survey: SurveyWithQuestions, id: string): Question {
  const found = survey.questions.find((question) => question.id === id && !question.isHidden);
  if (!found) throw notFound('question');
  return found;
}

/** Numbers the visible questions 0, 1, 2 … in this order; questions that keep their place are not copied. */
function withOrder(survey: SurveyWithQuestions, ordered: readonly Question[]): SurveyWithQuestions {
  const hidden = survey.questions.filter(
    (question) => question.isHidden && !ordered.some((other) => other.id === question.id),
  );
  return {
    ...survey,
    questions: [
      ...ordered.map((question, order) => (question.order === order ? question : { ...question, order })),
      ...hidden,
    ],
  };
}

function withSlots(
  survey: SurveyWithQuestions,
  question: Question,
): { survey: SurveyWithQuestions; question: Question } {
  const { slots, counts } = allocateSlots(question, survey.slotCounts);
  return { survey: { ...survey, slotCounts: counts }, question: { ...question, slots } };
}

function addQuestion(
  current: SurveyWithQuestions,
  body: z.output<typeof newQuestionBody>,
  id: string,
  newId: () => string,
): SurveyWithQuestions {
  const visible = visibleQuestions(current);
  if (visible.length >= maxQuestions)
    throw validationProblem([{ path: '', message: `a survey has at most ${maxQuestions} questions` }]);
  const order = Math.min(body.order ?? visible.length, visible.length);
  const defined = defineQuestion(body, { id, surveyId: current.id, order, newId });
  if ('issues' in defined) throw validationProblem(defined.issues);
  const { survey, question } = withSlots(current, defined.question);
  return checkable(withOrder(survey, [...visible.slice(0, order), question, ...visible.slice(order)]));
}

/** The survey, if its answers can be checked in time. */
function checkable(survey: SurveyWithQuestions): SurveyWithQuestions {
  const issue = checkStepsIssue(visibleQuestions(survey));
  if (issue) throw validationProblem([issue]);
  return survey;
}

/** The survey with the changed question. Throws VALIDATION_ERROR or HAS_RESPONSES. */
export function editQuestion(
  current: SurveyWithQuestions,
  id: string,
  body: z.output<typeof questionChangeBody>,
  { isAnswered, newId }: { isAnswered: boolean; newId(): string },
): SurveyWithQuestions {
  const changed = changeQuestion(findQuestion(current, id), body, { hasAnswers: isAnswered, newId });
  if ('issues' in changed) throw validationProblem(changed.issues);
  if ('hasResponses' in changed) throw conflict('HAS_RESPONSES', changed.hasResponses);
  const { survey, question } = withSlots(current, changed.question);
  const others = visibleQuestions(current).filter((other) => other.id !== id);
  const order = Math.min(body.order ?? findQuestion(current, id).order, others.length);
  return checkable(withOrder(survey, [...others.slice(0, order), question, ...others.slice(order)]));
}

function hideQuestion(current: SurveyWithQuestions, id: string): SurveyWithQuestions {
  const hidden = { ...findQuestion(current, id), isHidden: true };
  const rest = visibleQuestions(current).filter((other) => other.id !== id);
  const placed = withOrder(current, rest);
  return { ...placed, questions: [...placed.questions, hidden] };
}

function reorderQuestions(current: SurveyWithQuestions, ids: readonly string[]): SurveyWithQuestions {
  const byId = new Map(visibleQuestions(current).map((question) => [question.id, question]));
  if (ids.length !== byId.size || new Set(ids).size !== ids.length || ids.some((id) => !byId.has(id)))
    throw validationProblem([{ path: 'questionIds', message: 'must name every question of the survey exactly once' }]);
  return withOrder(
    current,
    ids.flatMap((id) => byId.get(id) ?? []),
  );
}
