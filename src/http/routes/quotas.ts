import { z } from 'zod';
import type { SurveyActors } from '../../actors/survey-actors.ts';
import { withNotAskedBits } from '../../domain/not-asked.ts';
import type { CellQuota } from '../../domain/quotas/cell-quota.ts';
import {
  addQuotas,
  editQuota,
  findQuota,
  gridQuotas,
  newQuotaBody,
  quotaChangeBody,
  quotaGridBody,
  removeQuota,
} from '../../domain/quotas/quota-edits.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import { notFound } from '../../errors.ts';
import type { IntakeQuotas, QuotaCount } from '../../stores/redis/intake/quotas.ts';
import { changedInSurvey, createdInSurvey, objectFromPath, objectInSurvey } from '../routing/audit.ts';
import { created, ok, page, type Route, route } from '../routing/route.ts';
import { deletedSchema } from '../schemas/common.ts';
import { pageFields, slicePage } from '../schemas/query-fields.ts';
import { quotaSchema } from '../schemas/quotas.ts';

export interface QuotaRoutesDeps {
  actors: Pick<SurveyActors, 'announceUnknown' | 'change' | 'sync'>;
  counts: IntakeQuotas['counts'];
  now(): number;
  newId(): string;
}

const ofSurvey = {
  tag: 'Quotas',
  access: { kind: 'survey', right: 'edit', by: 'surveyId' },
  limit: 'api',
} as const;

const notCounted: QuotaCount = { count: 0, isCounting: true };

/** The API representation of a quota by cell. */
export function presentQuota(surveyId: string, quota: CellQuota, counts: ReadonlyMap<number, QuotaCount>) {
  const { id, code, name, limit, where, whenFull, isActive } = quota;
  const { count, isCounting } = isActive ? (counts.get(code) ?? notCounted) : { count: 0, isCounting: false };
  const share = limit === 0 ? null : count / limit;
  return { id, surveyId, name, limit, where, counts: quota.counts, whenFull, isActive, count, share, isCounting };
}

/** Quotas by cell. They make no version of the survey. */
export function quotaRoutes({ actors, counts, now, newId }: QuotaRoutesDeps): Route[] {
  const change = (surveyId: string, decide: (current: SurveyWithQuestions) => SurveyWithQuestions) =>
    actors.change(surveyId, (current) => ({
      survey: { ...withNotAskedBits(decide(current)), updatedAt: new Date(now()) },
      isWordingChanged: false,
    }));
  /** Quotas as they were saved. A reply that failed for want of the counts would be repeated, and save them twice. */
  const presentSaved = async (survey: SurveyWithQuestions, quotas: readonly CellQuota[]) => {
    const known = await counts(survey.id).catch(() => new Map<number, QuotaCount>());
    return quotas.map((quota) => presentQuota(survey.id, quota, known));
  };
  const presentSavedOne = async (survey: SurveyWithQuestions, id: string) =>
    (await presentSaved(survey, [findQuota(survey, id)]))[0];
  return [
    route({
      ...ofSurvey,
      access: { kind: 'survey', right: 'read', by: 'surveyId' },
      method: 'GET',
      path: '/surveys/{surveyId}/quotas',
      operationId: 'listQuotas',
      summary: 'List the quotas by cell with their counts',
      description:
        'Counts are exact and include what is not stored in ClickHouse yet. Seats of deleted responses come back when the stored responses are counted again: within a minute, or within an hour where ten million are stored, and after the counts of other surveys that were asked for before.',
      query: z.strictObject(pageFields(100)),
      reply: z.array(quotaSchema),
      isPaged: true,
      replyStatus: 200,
      handle: async ({ params, query }) => {
        const cached = await actors.sync(params['surveyId'] ?? '');
        if (!cached) throw notFound('survey');
        const { survey } = cached;
        const quotas = survey.quotas ?? [];
        await actors.announceUnknown(survey);
        const known = await counts(survey.id);
        const shown = slicePage(quotas, query).map((quota) => presentQuota(survey.id, quota, known));
        return page(shown, { page: query.page, limit: query.limit, total: quotas.length });
      },
    }),
    route({
      ...ofSurvey,
      method: 'POST',
      path: '/surveys/{surveyId}/quotas',
      operationId: 'createQuota',
      summary: 'Add a quota by cell',
      description: [
        'It is decided in the same step that makes a response durable, so it never takes one too many. A response that fits several quotas takes a seat in each or in none; of several full ones the first is named.',
        'Responses that are stored already count too: they are counted in the background (`isCounting`), and until then the quota refuses nobody.',
      ].join('\n\n'),
      body: newQuotaBody,
      reply: quotaSchema,
      replyStatus: 201,
      audit: { action: 'quota.created', objectKind: 'quota', describe: createdInSurvey },
      handle: async ({ params, body }) => {
        const id = newId();
        const survey = await change(params['surveyId'] ?? '', (current) => addQuotas(current, [{ ...body, id }]));
        return created(await presentSavedOne(survey, id));
      },
    }),
    route({
      ...ofSurvey,
      method: 'POST',
      path: '/surveys/{surveyId}/quotas/grid',
      operationId: 'createQuotaGrid',
      summary: 'Add interlocked quotas',
      description:
        'One quota for each combination of options of one to three questions (MULTIPLE_CHOICE, DROPDOWN, YES_NO, LIKERT_SCALE), with the same `limit`, or for the cells in `targets`. Replies with the new quotas.',
      body: quotaGridBody,
      reply: z.array(quotaSchema),
      replyStatus: 201,
      audit: { action: 'quotas.created', objectKind: 'survey', describe: objectFromPath('surveyId') },
      handle: async ({ params, body }) => {
        let ids: ReadonlySet<string> = new Set();
        const survey = await change(params['surveyId'] ?? '', (current) => {
          const given = gridQuotas(current, body).map((quota) => ({ ...quota, id: newId() }));
          ids = new Set(given.map(({ id }) => id));
          return addQuotas(current, given);
        });
        return created(await presentSaved(survey, survey.quotas?.filter(({ id }) => ids.has(id)) ?? []));
      },
    }),
    route({
      ...ofSurvey,
      method: 'PUT',
      path: '/surveys/{surveyId}/quotas/{quotaId}',
      operationId: 'changeQuota',
      summary: 'Change a quota by cell',
      description:
        'With another condition, another `counts` or made active again, it counts the stored responses anew. A limit below the count makes it full.',
      body: quotaChangeBody,
      reply: quotaSchema,
      replyStatus: 200,
      audit: { action: 'quota.changed', objectKind: 'quota', describe: changedInSurvey('quotaId') },
      handle: async ({ params, body }) => {
        const id = params['quotaId'] ?? '';
        const survey = await change(params['surveyId'] ?? '', (current) => editQuota(current, id, body));
        return ok(await presentSavedOne(survey, id));
      },
    }),
    route({
      ...ofSurvey,
      method: 'DELETE',
      path: '/surveys/{surveyId}/quotas/{quotaId}',
      operationId: 'deleteQuota',
      summary: 'Delete a quota by cell',
      description: 'Responses that it stored as OVER_QUOTA keep that outcome.',
      reply: deletedSchema,
      replyStatus: 200,
      audit: { action: 'quota.deleted', objectKind: 'quota', describe: objectInSurvey('quotaId') },
      handle: async ({ params }) => {
        const id = params['quotaId'] ?? '';
        await change(params['surveyId'] ?? '', (current) => removeQuota(current, id));
        return ok({ id, deleted: true });
      },
    }),
  ];
}
