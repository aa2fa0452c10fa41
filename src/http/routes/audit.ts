import { z } from 'zod';
import { isId } from '../../ids.ts';
import type { Audit } from '../../stores/postgres/audit.ts';
import { pageFields } from '../query.ts';
import { page, route, type Route } from '../route.ts';
import { auditEntrySchema } from '../schemas/people.ts';

export interface AuditRoutesDeps {
  audit: Pick<Audit, 'list'>;
}

const word = z.string().min(1).max(200).optional();
const auditQuery = z.strictObject({
  ...pageFields(100),
  actorId: z.string().refine(isId, 'must be an id').optional(),
  action: word.describe('As in user.created'),
  objectKind: word,
  objectId: word,
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
