import { z } from 'zod';
import { isId } from '../../ids.ts';
import type { Audit } from '../../stores/postgres/audit.ts';
import { pageFields } from '../query.ts';
import { page, route, type Route } from '../route.ts';
import { auditActionSchema, auditEntrySchema, auditObjectKindSchema } from '../schemas/people.ts';

export interface AuditRoutesDeps {
  audit: Pick<Audit, 'list'>;
}

const auditQuery = z.strictObject({
  ...pageFields(100),
  actorId: z.string().refine(isId, 'must be an id').optional(),
  action: auditActionSchema.optional(),
  objectKind: auditObjectKindSchema.optional(),
  objectId: z.string().min(1).max(200).optional(),
});

export function auditRoutes({ audit }: AuditRoutesDeps): Route[] {
  return [
    route({
      method: 'GET', path: '/audit', tag: 'Audit', summary: 'Who did what when', description: 'Newest first; entries are only ever added.',
      access: { kind: 'admin' }, limit: 'api', query: auditQuery, reply: z.array(auditEntrySchema), replyStatus: 200, isPaged: true,
      handle: async ({ query }) => {
        const { items, total } = await audit.list(query);
        return page(items.map((entry) => ({ ...entry, at: entry.at.toISOString() })), { page: query.page, limit: query.limit, total });
      },
    }),
  ];
}
