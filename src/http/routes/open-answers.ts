import { z } from 'zod';
import { isOpenQuestion } from '../../domain/analytics/annotation-variables.ts';
import { sentiments } from '../../domain/analytics/sentiment.ts';
import { slotAt, textSlotAt } from '../../domain/questions/slots.ts';
import type { Question, SurveyWithQuestions } from '../../domain/survey.ts';
import { findQuestion } from '../../domain/survey-edits.ts';
import { validationProblem } from '../../errors.ts';
import type { AnnotationStore } from '../../stores/annotations.ts';
import type { ResponseRecord, ResponseStore } from '../../stores/clickhouse/responses.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { loadSurvey } from '../load-survey.ts';
import { ok, pageInSlices, type Route, route } from '../routing/route.ts';
import { answerAnnotationsSchema, maxThemesListed } from '../schemas/ai.ts';
import { conditionsOf } from '../schemas/analytics-variables.ts';
import { invertedRangeIssue, isRangeInverted } from '../schemas/query-fields.ts';
import { responseListFields } from '../schemas/response-query.ts';
import { openAnswerSchema } from '../schemas/responses.ts';
import { readingAudit } from './responses.ts';

export interface OpenAnswersRoutesDeps {
  responses: Pick<ResponseStore, 'list'>;
  surveys: Pick<SurveyStore, 'load'>;
  annotations: Pick<AnnotationStore, 'findByNames' | 'ofAnswers' | 'countsOf'>;
}

const maxPageSize = 200;

const listQuery = z
  .strictObject({
    ...responseListFields(maxPageSize),
    search: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('Only answers that contain this text, in upper or lower case'),
  })
  .refine((query) => !isRangeInverted(query), invertedRangeIssue);

export function openAnswersRoutes(deps: OpenAnswersRoutesDeps): Route[] {
  return [listRoute(deps), annotationsRoute(deps)];
}

function listRoute({ responses, surveys, annotations }: OpenAnswersRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/responses/surveys/{surveyId}/questions/{questionId}/texts',
    operationId: 'listOpenAnswers',
    tag: 'Responses',
    summary: 'List the answers to an open question, newest first',
    description:
      'Of a SHORT_TEXT or LONG_TEXT. Pages by `page`, or by `cursor`, which is stable while responses arrive. Responses of every outcome are listed unless `outcome` or a filter names some. ' +
      'With what the last finished AI analyses found in each answer.',
    access: { kind: 'survey', right: 'read', by: 'surveyId' },
    limit: 'api',
    query: listQuery,
    reply: z.array(openAnswerSchema),
    replyStatus: 200,
    isPaged: true,
    audit: readingAudit,
    handle: async ({ params, query, principal }) => {
      const survey = await loadSurvey(surveys, params['surveyId']);
      const question = openQuestionOf(survey, params['questionId']);
      const { filter, search, outcome: outcomes, page: pageNumber, ...selection } = query;
      const known = await annotations.findByNames(survey.id, { filters: filter });
      const slot = textSlotAt(question);
      const { records, rest, total, nextCursor } = await responses.list({
        ...selection,
        page: pageNumber,
        surveyId: survey.id,
        codeColumns: survey.slotCounts.codes,
        outcomes,
        conditions: await conditionsOf({ survey, known }, filter, 'filter'),
        text: { slot, presence: slotAt(question), search },
      });
      // Only what is shown is kept, because whole responses may be long.
      const shown = showAnswers(records, slot);
      if (rest) for await (const piece of rest) shown.push(...showAnswers(piece.records, slot));
      const found = await annotations.ofAnswers(
        survey.id,
        question.id,
        shown.map(({ responseId }) => responseId),
      );
      const answers = shown.map((answer) => {
        const { sentiment, themes = [] } = found.get(answer.responseId) ?? {};
        return { ...answer, sentiment: sentiments.find((name) => name === sentiment) ?? null, themes };
      });
      return pageInSlices(answers, { page: pageNumber, limit: query.limit, total, nextCursor }, principal.userId);
    },
  });
}

const showAnswers = (records: readonly ResponseRecord[], slot: number) =>
  records.map(({ responseId, row, submittedAt, language, outcome }) => ({
    responseId,
    text: row.texts[slot] ?? '',
    submittedAt: submittedAt.toISOString(),
    language,
    outcome,
  }));

function annotationsRoute({ surveys, annotations }: OpenAnswersRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/ai/surveys/{surveyId}/questions/{questionId}/annotations',
    operationId: 'getAnswerAnnotations',
    tag: 'AI',
    summary: 'Read what analyses found in the answers to a question',
    description: 'Of a SHORT_TEXT or LONG_TEXT. POST …/analyze starts an analysis.',
    access: { kind: 'survey', right: 'read', by: 'surveyId' },
    limit: 'api',
    reply: answerAnnotationsSchema,
    replyStatus: 200,
    handle: async ({ params }) => {
      const survey = await loadSurvey(surveys, params['surveyId']);
      const { id } = openQuestionOf(survey, params['questionId']);
      const [found, themes] = await Promise.all([
        annotations.countsOf(survey.id, id, { kind: 'sentiment', limit: sentiments.length }),
        annotations.countsOf(survey.id, id, { kind: 'theme', limit: maxThemesListed }),
      ]);
      const countOf = (name: string) => found?.find(({ value }) => value === name)?.count ?? 0;
      return ok({
        sentiment: found
          ? {
              positive: countOf('positive'),
              negative: countOf('negative'),
              neutral: countOf('neutral'),
              mixed: countOf('mixed'),
            }
          : null,
        themes: themes?.map(({ value, count }) => ({ name: value, count })) ?? null,
      });
    },
  });
}

/** Throws NOT_FOUND for an unknown question, and VALIDATION_ERROR for one whose answers are no free texts. */
function openQuestionOf(survey: SurveyWithQuestions, questionId = ''): Question {
  const question = findQuestion(survey, questionId);
  if (!isOpenQuestion(question))
    throw validationProblem([{ path: 'questionId', message: 'is not a SHORT_TEXT or LONG_TEXT question' }]);
  return question;
}
