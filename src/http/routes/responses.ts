import { z } from 'zod';
import type { ConsistentReads } from '../../actors/consistent-reads.ts';
import type { ResponseErasure } from '../../actors/erasure/erasure.ts';
import { askedSurvey, createStatusReader } from '../../domain/analytics/asked.ts';
import { collectorIdOf } from '../../domain/collectors/survey-collectors.ts';
import { isCompleteOutcome } from '../../domain/outcome.ts';
import { type CompiledSurvey, compileSurvey, readAnswers } from '../../domain/submission/answers.ts';
import { notFound } from '../../errors.ts';
import type { AnnotationStore } from '../../stores/annotations.ts';
import type { ResponsePage, ResponseRecord, ResponseStore } from '../../stores/clickhouse/responses.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { loadSurvey } from '../load-survey.ts';
import { objectFromPath } from '../routing/audit.ts';
import { ok, page, pageInPieces, type Route, route } from '../routing/route.ts';
import { conditionsOf } from '../schemas/analytics-variables.ts';
import { deletedSchema, idSchema } from '../schemas/common.ts';
import { invertedRangeIssue, isRangeInverted } from '../schemas/query-fields.ts';
import { responseListFields } from '../schemas/response-query.ts';
import { responseSchema, wholeResponseSchema } from '../schemas/responses.ts';

export interface ResponseRoutesDeps {
  responses: Pick<ResponseStore, 'list'>;
  reading: Pick<ConsistentReads, 'find'>;
  surveys: Pick<SurveyStore, 'load'>;
  erasure: Pick<ResponseErasure, 'eraseOne'>;
  annotations: Pick<AnnotationStore, 'findByNames'>;
}

/** A reader who pages through all responses is recorded once an hour. */
export const readingAudit = {
  action: 'responses.read',
  objectKind: 'survey',
  describe: objectFromPath('surveyId'),
  intervalMs: 3_600_000,
} as const;

const listQuery = z
  .strictObject(responseListFields(1000))
  .refine((query) => !isRangeInverted(query), invertedRangeIssue);

const severalSurveysText =
  'Where several surveys hold the id, which a client made and used again after 48 hours, the call is for the one that `surveyId` names, otherwise for the one that got it last, of those on which the caller has the right; the responses of the others stay as they are.';
const responseQuery = z.strictObject({
  surveyId: idSchema.optional().describe('The survey of the response, where other surveys may hold the same id'),
});

/** A stored response as the API shows it. */
export function presentResponse(survey: CompiledSurvey, record: ResponseRecord) {
  return {
    id: record.responseId,
    surveyId: record.surveyId,
    surveyVersion: record.surveyVersion,
    collectorId: collectorIdOf(survey.collectors, record.row.codes) ?? null,
    answers: readAnswers(survey, record.row),
    isComplete: isCompleteOutcome(record.outcome),
    outcome: record.outcome,
    submittedAt: record.submittedAt.toISOString(),
    completedAt: record.completedAt?.toISOString() ?? null,
    durationSeconds: record.durationMs === null ? null : record.durationMs / 1000,
    language: record.language,
    respondent: record.respondent === '' ? null : record.respondent,
    metadata: record.metadata,
  };
}

/** The questions of the survey that a respondent was not asked. */
function notAskedOf({ survey, visible }: CompiledSurvey, record: ResponseRecord): string[] {
  const statuses = createStatusReader(askedSurvey(survey))(record);
  return visible.map(({ question }) => question.id).filter((id) => statuses.of(id) === 'NOT_ASKED');
}

async function* presentPieces<Shown>(
  present: (piece: readonly ResponseRecord[]) => Shown[],
  first: readonly ResponseRecord[],
  rest: NonNullable<ResponsePage['rest']>,
): AsyncGenerator<Shown[]> {
  yield present(first);
  for await (const { records } of rest) yield present(records);
}

export function responseRoutes(deps: ResponseRoutesDeps): Route[] {
  const loadCompiled = async (surveyId: string): Promise<CompiledSurvey> =>
    compileSurvey(await loadSurvey(deps.surveys, surveyId));
  return [
    route({
      method: 'GET',
      path: '/responses/surveys/{surveyId}',
      operationId: 'listResponses',
      tag: 'Responses',
      summary: 'List responses, newest first',
      description:
        'Pages by `page`, or by `cursor`, which is stable while responses arrive. A response is listed within two seconds of its acceptance. A page of more than 4 MiB is sent while it is read: where that fails, the reply breaks off.',
      access: { kind: 'survey', right: 'read', by: 'surveyId' },
      limit: 'api',
      query: listQuery,
      reply: z.array(responseSchema),
      replyStatus: 200,
      isPaged: true,
      audit: readingAudit,
      handle: async ({ params, query }) => {
        const compiled = await loadCompiled(params['surveyId'] ?? '');
        const { survey } = compiled;
        const { filter, outcome: outcomes, ...selection } = query;
        const known = await deps.annotations.findByNames(survey.id, { filters: filter });
        const { records, rest, total, nextCursor } = await deps.responses.list({
          ...selection,
          surveyId: survey.id,
          codeColumns: survey.slotCounts.codes,
          outcomes,
          conditions: await conditionsOf({ survey, known }, filter, 'filter'),
        });
        const present = (piece: readonly ResponseRecord[]) => piece.map((record) => presentResponse(compiled, record));
        const pagination = { page: query.page, limit: query.limit, total, nextCursor };
        return rest
          ? pageInPieces(presentPieces(present, records, rest), pagination)
          : page(present(records), pagination);
      },
    }),
    route({
      method: 'GET',
      path: '/responses/{responseId}',
      operationId: 'getResponse',
      tag: 'Responses',
      summary: 'Read one response',
      description: `Finds a response as soon as it is accepted. ${severalSurveysText}`,
      access: { kind: 'survey', right: 'read', by: 'responseId', chosenBy: 'surveyId' },
      limit: 'api',
      query: responseQuery.extend({
        include: z.literal('notAsked').optional().describe('A further field of the reply'),
      }),
      reply: wholeResponseSchema,
      replyStatus: 200,
      handle: async ({ params, survey, query: { include } }) => {
        const record = await deps.reading.find(survey.id, params['responseId'] ?? '');
        if (!record) throw notFound('response');
        const compiled = await loadCompiled(survey.id);
        const response = presentResponse(compiled, record);
        return ok(include === undefined ? response : { ...response, notAsked: notAskedOf(compiled, record) });
      },
    }),
    route({
      method: 'DELETE',
      path: '/responses/{responseId}',
      operationId: 'deleteResponse',
      tag: 'Responses',
      summary: 'Delete one response for good',
      description:
        'From the reply on no list, statistic or crosstab shows it (if the response store is away or more than 5 seconds behind: as soon as it has caught up). It no longer counts for the quota; a survey that was closed by its quota stays closed. Export files that may show the response (requested since it was accepted, for a range with its date) ' +
        'expire at once; a running export fails with the reason and can be requested again. An id made by a client that was used again after 48 hours names several responses: all of them in this survey are deleted, dead letters too. ' +
        severalSurveysText,
      access: { kind: 'survey', right: 'edit', by: 'responseId', chosenBy: 'surveyId' },
      limit: 'api',
      query: responseQuery,
      reply: deletedSchema,
      replyStatus: 200,
      audit: 'by handler',
      handle: async ({ params, survey, principal }) => {
        const surveyId = survey.id;
        const responseId = params['responseId'] ?? '';
        // A dead letter has no record.
        const record = await deps.reading.find(surveyId, responseId);
        const stored = record && {
          surveyId,
          responseId,
          outcome: record.outcome,
          submittedAtMs: record.submittedAt.getTime(),
        };
        if (!(await deps.erasure.eraseOne({ surveyId, responseId }, principal, stored))) throw notFound('response');
        return ok({ id: responseId, deleted: true });
      },
    }),
  ];
}
