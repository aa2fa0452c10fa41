import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { changeCollector, deleteCollector } from '../../actors/collector-machine.ts';
import { collectorStates, isInvited } from '../../actors/submissions/refusals.ts';
import type { SurveyActors } from '../../actors/survey-actors.ts';
import type { CurrentSurvey } from '../../actors/survey-lookup.ts';
import {
  blankCollector,
  type Collector,
  type CollectorOpenness,
  collectorOpennessOf,
  isDefaultCollector,
} from '../../domain/collectors/collector.ts';
import { addCollector, nextCollectorCode, replaceCollector } from '../../domain/collectors/survey-collectors.ts';
import { opennessOf } from '../../domain/openness.ts';
import { isQuotaReached } from '../../domain/quotas/quota.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import { notFound } from '../../errors.ts';
import { definedFields } from '../../platform/defined-fields.ts';
import type { CollectorStore } from '../../stores/postgres/collectors.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import type { Intake } from '../../stores/redis/intake/intake.ts';
import { loadSurvey } from '../load-survey.ts';
import { changedInSurvey, createdInSurvey, objectInSurvey } from '../routing/audit.ts';
import { created, ok, pageInSlices, type Route, route } from '../routing/route.ts';
import {
  collectorChangeBody,
  collectorSchema,
  newCollectorBody,
  publicCollectorSchema,
} from '../schemas/collectors.ts';
import { deletedSchema } from '../schemas/common.ts';
import { pageFields, slicePage } from '../schemas/query-fields.ts';

export interface CollectorRoutesDeps {
  surveys: Pick<SurveyStore, 'load'>;
  actors: Pick<SurveyActors, 'announceUnknown' | 'change'>;
  intake: Pick<Intake, 'counts' | 'completedByCollector'>;
  now(): number;
  newId(): string;
}

/** Ten characters. */
const newLinkId = (): string => randomBytes(7).toString('base64url');

export function collectorRoutes({ surveys, actors, intake, now, newId }: CollectorRoutesDeps): Route[] {
  const present = async (survey: SurveyWithQuestions, collectors: readonly Collector[]) => {
    const counts = await actors
      .announceUnknown(survey)
      .then(() => completedOf(intake, survey.id, collectors))
      .catch(() => undefined);
    return collectors.map((collector) => presentCollector(collector, counts?.get(collector.code) ?? null, now()));
  };
  const presentOne = async (survey: SurveyWithQuestions, id: string) =>
    (await present(survey, [findCollector(survey, id)]))[0];
  /** Collectors belong to no version of the survey, but every process must learn of a change: it makes a revision. */
  const save = (surveyId: string, edit: (survey: SurveyWithQuestions) => SurveyWithQuestions) =>
    actors.change(surveyId, (survey) => ({ survey: edit(survey), isWordingChanged: false }));

  return [
    route({
      method: 'GET',
      path: '/surveys/{id}/collectors',
      operationId: 'listCollectors',
      tag: 'Collectors',
      summary: 'List the collectors of a survey',
      description: 'The default collector first, then in the order in which they were made.',
      access: { kind: 'survey', right: 'read', by: 'id' },
      limit: 'api',
      query: z.strictObject(pageFields(100)),
      reply: z.array(collectorSchema),
      replyStatus: 200,
      isPaged: true,
      handle: async ({ params, query, principal }) => {
        const survey = await loadSurvey(surveys, params['id']);
        const collectors = (survey.collectors ?? []).filter(({ isDeleted }) => !isDeleted);
        const shown = await present(survey, slicePage(collectors, query));
        return pageInSlices(
          shown,
          { page: query.page, limit: query.limit, total: collectors.length },
          principal.userId,
        );
      },
    }),
    route({
      method: 'POST',
      path: '/surveys/{id}/collectors',
      operationId: 'createCollector',
      tag: 'Collectors',
      summary: 'Create a collector',
      description:
        'Every survey has an OPEN default collector, which takes submissions that name none. Responses keep the collector by which they came first. Collectors make no version of the survey. A survey has at most 1,000, deleted ones included; the first one besides the default collector takes one of the 1,000 places of its answers. The `metadata` of all collectors together takes at most 256 KiB as JSON. A `closesAt` in the past is 409 COLLECTOR_CLOSED.',
      access: { kind: 'survey', right: 'edit', by: 'id' },
      limit: 'api',
      body: newCollectorBody,
      reply: collectorSchema,
      replyStatus: 201,
      audit: { action: 'collector.created', objectKind: 'collector', describe: createdInSurvey },
      handle: async ({ params, body }) => {
        const id = newId();
        const survey = await save(params['id'] ?? '', (current) => {
          const code = nextCollectorCode(current.collectors ?? []);
          const blank = blankCollector({ id, surveyId: current.id, code, linkId: newLinkId(), nowMs: now() });
          return addCollector(
            current,
            changeCollector(blank, { ...definedFields(body), isActive: body.isActive ?? true }, now()),
          );
        });
        return created(await presentOne(survey, id));
      },
    }),
    route({
      method: 'GET',
      path: '/collectors/{collectorId}',
      operationId: 'getCollector',
      tag: 'Collectors',
      summary: 'Read a collector',
      access: { kind: 'survey', right: 'read', by: 'collectorId' },
      limit: 'api',
      reply: collectorSchema,
      replyStatus: 200,
      handle: async ({ params, survey }) =>
        ok(await presentOne(await loadSurvey(surveys, survey.id), params['collectorId'] ?? '')),
    }),
    route({
      method: 'PUT',
      path: '/collectors/{collectorId}',
      operationId: 'changeCollector',
      tag: 'Collectors',
      summary: 'Change a collector',
      description: `Takes any of the fields. \`isActive: true\` after \`closesAt\` is 409 COLLECTOR_CLOSED, unless the same request moves \`closesAt\`. Submissions to a collector that is not open get 409 COLLECTOR_CLOSED with \`details.state\` ${collectorStates.join(', ')}.`,
      access: { kind: 'survey', right: 'edit', by: 'collectorId' },
      limit: 'api',
      body: collectorChangeBody,
      reply: collectorSchema,
      replyStatus: 200,
      audit: { action: 'collector.changed', objectKind: 'collector', describe: changedInSurvey('collectorId') },
      handle: async ({ params, body, survey }) => {
        const id = params['collectorId'] ?? '';
        return ok(
          await presentOne(
            await save(survey.id, (current) =>
              replaceCollector(current, changeCollector(findCollector(current, id), definedFields(body), now())),
            ),
            id,
          ),
        );
      },
    }),
    route({
      method: 'DELETE',
      path: '/collectors/{collectorId}',
      operationId: 'deleteCollector',
      tag: 'Collectors',
      summary: 'Delete a collector',
      description:
        'Its responses stay, and go on naming it; submissions to it get 409 COLLECTOR_CLOSED. Its `metadata` is removed, and within two days the reference, language and metadata of its invitations without a response. The default collector cannot be deleted (409 DEFAULT_COLLECTOR): pause it instead.',
      access: { kind: 'survey', right: 'edit', by: 'collectorId' },
      limit: 'api',
      reply: deletedSchema,
      replyStatus: 200,
      audit: { action: 'collector.deleted', objectKind: 'collector', describe: objectInSurvey('collectorId') },
      handle: async ({ params, survey }) => {
        const id = params['collectorId'] ?? '';
        await save(survey.id, (current) =>
          replaceCollector(current, deleteCollector(findCollector(current, id), now())),
        );
        return ok({ id, deleted: true });
      },
    }),
  ];
}

export interface PublicCollectorDeps {
  collectors: Pick<CollectorStore, 'findByLink'>;
  currentSurvey: CurrentSurvey;
  intake: Pick<Intake, 'completedByCollector'>;
  now(): number;
}

/** What a link of a collector stands for. */
export function publicCollectorRoute({ collectors, currentSurvey, intake, now }: PublicCollectorDeps): Route {
  return route({
    method: 'GET',
    path: '/public/collectors/{link}',
    operationId: 'getPublicCollector',
    tag: 'Public',
    summary: 'Find the survey of a collector’s link',
    description:
      'By the `linkId` of the collector, while it and its survey take responses; a PRIVATE survey only with its token in `X-Survey-Token`. Otherwise 404.',
    access: { kind: 'public' },
    limit: 'api',
    reply: publicCollectorSchema,
    replyStatus: 200,
    readsSurveyToken: true,
    handle: async ({ params, header }) => {
      const found = await collectors.findByLink(params['link'] ?? '');
      const cached = found && (await currentSurvey(found.surveyId));
      const collector = cached?.compiled.collectors.byId.get(found?.id ?? '');
      const isOpen =
        cached !== undefined &&
        collector !== undefined &&
        isInvited(cached.survey, header('x-survey-token')) &&
        opennessOf(cached.survey, now()) === 'open' &&
        collectorOpennessOf(collector, now()) === 'open' &&
        !(await isCollectorFull(intake, collector));
      if (!isOpen) throw notFound('collector');
      return ok({
        surveyId: collector.surveyId,
        collectorId: collector.id,
        kind: collector.kind,
        language: collector.language,
      });
    },
  });
}

/** Whether a collector has all the complete responses that its quota asks for. */
export async function isCollectorFull(
  intake: Pick<Intake, 'completedByCollector'>,
  { surveyId, code, responseQuota }: Collector,
): Promise<boolean> {
  if (responseQuota === null) return false;
  const completed = await intake.completedByCollector(surveyId, [code]);
  return isQuotaReached(responseQuota, completed?.get(code) ?? 0);
}

function findCollector({ collectors = [] }: SurveyWithQuestions, id: string): Collector {
  const found = collectors.find((collector) => collector.id === id && !collector.isDeleted);
  if (!found) throw notFound('collector');
  return found;
}

/**
 * Complete responses by collector code; a survey that does not count them by collector has the default one alone.
 * Undefined where the intake does not know the survey.
 */
async function completedOf(
  intake: CollectorRoutesDeps['intake'],
  surveyId: string,
  collectors: readonly Collector[],
): Promise<ReadonlyMap<number, number> | undefined> {
  const byCollector = await intake.completedByCollector(
    surveyId,
    collectors.map(({ code }) => code),
  );
  if (byCollector) return byCollector;
  const counts = await intake.counts(surveyId);
  return counts && new Map(collectors.map(({ code }) => [code, code === 0 ? counts.completed : 0]));
}

const stateNames = {
  open: 'OPEN',
  paused: 'PAUSED',
  scheduled: 'NOT_OPEN_YET',
  ended: 'ENDED',
  deleted: 'ENDED',
} as const satisfies Record<CollectorOpenness, string>;

function presentCollector(collector: Collector, completeResponses: number | null, nowMs: number) {
  const { opensAt, closesAt, createdAt, updatedAt, responseQuota } = collector;
  const openness = collectorOpennessOf(collector, nowMs);
  const isFull = completeResponses !== null && isQuotaReached(responseQuota, completeResponses);
  return {
    id: collector.id,
    surveyId: collector.surveyId,
    linkId: collector.linkId,
    name: collector.name,
    kind: collector.kind,
    isDefault: isDefaultCollector(collector),
    isActive: collector.isActive,
    state: openness === 'open' && isFull ? 'QUOTA_REACHED' : stateNames[openness],
    opensAt: opensAt?.toISOString() ?? null,
    closesAt: closesAt?.toISOString() ?? null,
    responseQuota,
    completeResponses,
    language: collector.language,
    metadata: collector.metadata,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}
