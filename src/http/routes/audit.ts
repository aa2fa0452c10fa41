import { z } from 'zod';
import { isId } from '../../platform/ids.ts';
import type { Audit } from '../../stores/postgres/audit.ts';
import { page, type Route, route } from '../routing/route.ts';
import { auditActionSchema, auditEntrySchema, auditObjectKindSchema } from '../schemas/accounts.ts';
import { pageFields } from '../schemas/query-fields.ts';

export interface AuditRoutesDeps {
  audit: Pick<Audit, 'list'>;
}

const auditQuery = z.strictObject({
  ...pageFields(100),
  actorId: z
    .string()
    .refine(isId, 'must be an id')
    .optional()
    .describe('Only what this user did, also with an API key'),
  action: auditActionSchema.optional().describe('Only deeds of this kind'),
  objectKind: auditObjectKindSchema.optional().describe('Only deeds to objects of this kind'),
  objectId: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(
      'Only deeds to the object itself: of a survey neither those to its questions and responses nor those to its files, which `surveyId` finds',
    ),
  surveyId: z
    .string()
    .refine(isId, 'must be an id')
    .optional()
    .describe(
      'Only what was done to this survey and to all that is in it: questions, translations, responses, files, uploads, analyses by AI and webhooks, but for those of webhooks for all surveys. A duplicate is found with the source too. Surveys that were deleted can be asked for too',
    ),
});

export function auditRoutes({ audit }: AuditRoutesDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/audit',
      tag: 'Audit',
      summary: 'Who did what when',
      description:
        'Newest first; entries are only ever added. `details` names what a deed concerns beside its object: `surveyId`; `fields` that were given; where the status changed `status {from, to}`. ' +
        'What the service does by itself has the `actorKind` SYSTEM: `survey.closed` with the `reason` QUOTA or ENDED, and `responses.expired`. A change by somebody that closes a survey, such as a lower quota, leaves both entries.',
      access: { kind: 'admin' },
      limit: 'api',
      query: auditQuery,
      reply: z.array(auditEntrySchema),
      replyStatus: 200,
      isPaged: true,
      handle: async ({ query }) => {
        const { items, total } = await audit.list(query);
        return page(
          items.map((entry) => ({ ...entry, at: entry.at.toISOString() })),
          { page: query.page, limit: query.limit, total },
        );
      },
    }),
  ];
}
