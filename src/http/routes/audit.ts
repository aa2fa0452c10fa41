import { z } from 'zod';
import type { Audit } from '../../stores/postgres/audit.ts';
import { page, type Route, route } from '../routing/route.ts';
import { auditActionSchema, auditEntrySchema, auditObjectKindSchema } from '../schemas/accounts.ts';
import { idSchema } from '../schemas/common.ts';
import { pageFields, startField, untilField } from '../schemas/query-fields.ts';

export interface AuditRoutesDeps {
  audit: Pick<Audit, 'list'>;
}

const auditQuery = z.strictObject({
  ...pageFields(100),
  actorId: idSchema.optional().describe('Only what this user did, also with an API key'),
  action: auditActionSchema.optional().describe('Only events with this action'),
  objectKind: auditObjectKindSchema.optional().describe('Only events about objects of this kind'),
  objectId: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(
      'Only events about the object itself: for a survey not those about its questions, responses and files, which `surveyId` finds',
    ),
  surveyId: idSchema
    .optional()
    .describe(
      'Only events about this survey and all that is in it: questions, translations, responses, files, uploads, AI analyses and webhooks, except webhooks for all surveys. A duplicate is also found with its source. Works for deleted surveys too',
    ),
  since: startField.optional(),
  until: untilField.optional(),
});

export function auditRoutes({ audit }: AuditRoutesDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/audit',
      operationId: 'listAuditEvents',
      tag: 'Audit',
      summary: 'Who did what when',
      description:
        'Newest first; events are never changed or removed. `details` has `surveyId`, the names of changed `fields`, and `status {from, to}` if the status changed. ' +
        'The `actorKind` SYSTEM stands for the service itself (`survey.closed` with the `reason` QUOTA or ENDED, `responses.expired`, and what ADMIN_RESET does), and for callers that it does not know (`session.refused`, `session.token-reused`, `api-key.refused`). `respondent.erased` does not name the respondent; it has `responseIds`, at most 500 in one event. A call that closes a survey, such as a lower quota, leaves both events.',
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
