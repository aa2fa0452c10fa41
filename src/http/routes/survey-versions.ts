import { z } from 'zod';
import { describeQuestion } from '../../domain/questions/question-definition.ts';
import { describeSection } from '../../domain/survey-edits.ts';
import { notFound } from '../../errors.ts';
import type { SurveyVersions } from '../../stores/postgres/survey-versions.ts';
import { ok, page, type Route, route } from '../routing/route.ts';
import { pageFields } from '../schemas/query-fields.ts';
import { surveyVersionListItemSchema, surveyVersionSchema } from '../schemas/survey-versions.ts';

export interface SurveyVersionRoutesDeps {
  versions: Pick<SurveyVersions, 'list' | 'find'>;
}

const ofSurvey = { tag: 'Surveys', access: { kind: 'survey', right: 'read', by: 'id' }, limit: 'api' } as const;

/** What a survey asked before, and who changed what. */
export function surveyVersionRoutes({ versions }: SurveyVersionRoutesDeps): Route[] {
  return [
    route({
      ...ofSurvey,
      method: 'GET',
      path: '/surveys/{id}/versions',
      operationId: 'listSurveyVersions',
      summary: 'List the versions of a survey, and who made them',
      description:
        'Newest first. Kept are the newest 20, those that responses or exports name, and others for a day after they were replaced.',
      query: z.strictObject(pageFields(100)),
      reply: z.array(surveyVersionListItemSchema),
      replyStatus: 200,
      isPaged: true,
      handle: async ({ params, query }) => {
        const { items, total } = await versions.list(params['id'] ?? '', query);
        const shown = items.map(({ version, createdAt, changes }) => ({
          version,
          createdAt: createdAt.toISOString(),
          changes: changes.map((change) => ({ ...change, at: change.at.toISOString() })),
        }));
        return page(shown, { ...query, total });
      },
    }),
    route({
      ...ofSurvey,
      method: 'GET',
      path: '/surveys/{id}/versions/{version}',
      operationId: 'getSurveyVersion',
      summary: 'Read a version of a survey',
      description: 'Its texts, sections and questions as they were.',
      reply: surveyVersionSchema,
      replyStatus: 200,
      handle: async ({ params }) => {
        const text = params['version'] ?? '';
        const version = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
        const found = version === undefined ? undefined : await versions.find(params['id'] ?? '', version);
        if (version === undefined || !found) throw notFound('version');
        const { title, description, language, isShuffled = false, sections = [], questions } = found.definition;
        return ok({
          version,
          createdAt: found.createdAt.toISOString(),
          replacedAt: found.replacedAt?.toISOString() ?? null,
          title,
          description,
          language,
          isShuffled,
          sections: sections.map(describeSection),
          questions: questions.filter(({ isHidden }) => !isHidden).map(describeQuestion),
        });
      },
    }),
  ];
}
