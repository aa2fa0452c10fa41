import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { auditActions } from '../../../src/stores/postgres/audit-actions.ts';
import { api, type components, pageOf } from './api.ts';

export type AuditEntry = components['schemas']['AuditEntry'];
export type AuditAction = components['schemas']['AuditAction'];
export { auditActions };

interface AuditQuery {
  actorId?: string | undefined;
  action?: AuditAction | undefined;
  surveyId?: string | undefined;
  /** The first and, not included, the last moment, as ISO 8601. */
  since?: string | undefined;
  until?: string | undefined;
  page: number;
  limit: number;
}

/** A page of events, newest first. ADMIN only. */
export const auditQuery = (query: AuditQuery) =>
  queryOptions({
    queryKey: ['audit', query],
    queryFn: ({ signal }) => pageOf(api.GET('/audit', { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });
