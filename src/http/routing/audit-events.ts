import type { Audit, AuditRecord } from '../../stores/postgres/audit.ts';
import { effectiveStatus } from '../schemas/present-survey.ts';
import type { Outcome, Route, RouteRequest } from './route.ts';

type AuditedObject = Pick<AuditRecord, 'objectId'> & Partial<Pick<AuditRecord, 'details'>>;

interface AuditEvent extends Pick<AuditRecord, 'action' | 'objectKind'> {
  /** `data`: of the reply, where it is JSON. Undefined: the call has changed nothing. */
  describe(call: RouteRequest, data: Record<string, unknown>): AuditedObject | undefined;
}

/** Names of what was changed, never the values: they may be wording that is to be deleted one day. */
const fieldNamesOf = (body: unknown): string[] => (typeof body === 'object' && body !== null ? Object.keys(body) : []);
const objectFromParam =
  (name: string): AuditEvent['describe'] =>
  (request) => ({ objectId: request.params[name] ?? '' });
const changedFields =
  (name: string): AuditEvent['describe'] =>
  (request, data) => ({
    objectId: request.params[name] ?? '',
    details: { fields: fieldNamesOf(request.body), ...statusChange(request, data) },
  });
const objectInSurvey =
  (name: string): AuditEvent['describe'] =>
  (request) => ({ objectId: request.params[name] ?? '', details: { surveyId: request.survey.id } });

/** The one value that says what happened to a survey, and is nobody's wording. That its time was over by now, though its row did not say so yet, is no deed. */
function statusChange(
  { survey }: RouteRequest,
  { status }: Record<string, unknown>,
): { status?: { from: unknown; to: unknown } } {
  const from = effectiveStatus(survey, Date.now());
  return status === from ? {} : { status: { from, to: status } };
}

/** What is recorded of calls by the table of routes itself; other handlers record for themselves, as they know more than the call says. */
export const auditEvents: Readonly<Record<string, AuditEvent>> = {
  'POST /surveys': {
    action: 'survey.created',
    objectKind: 'survey',
    describe: (_call, data) => ({ objectId: String(data['id']) }),
  },
  'PUT /surveys/{id}': { action: 'survey.changed', objectKind: 'survey', describe: changedFields('id') },
  'DELETE /surveys/{id}': { action: 'survey.deleted', objectKind: 'survey', describe: objectFromParam('id') },
  'POST /surveys/{id}/publish': {
    action: 'survey.published',
    objectKind: 'survey',
    describe: (request, data) => ({
      objectId: request.params['id'] ?? '',
      details: { ...statusChange(request, data) },
    }),
  },
  'POST /surveys/{id}/duplicate': {
    action: 'survey.duplicated',
    objectKind: 'survey',
    describe: (request, data) => ({
      objectId: String(data['id']),
      details: { from: request.params['id'], surveyId: request.params['id'] },
    }),
  },
  'POST /surveys/{id}/rotate-token': {
    action: 'survey.token-rotated',
    objectKind: 'survey',
    describe: objectFromParam('id'),
  },
  'PUT /surveys/{id}/owner': {
    action: 'survey.handed-over',
    objectKind: 'survey',
    describe: ({ survey: { id, ownerId } }, data) =>
      data['ownerId'] === ownerId ? undefined : { objectId: id, details: { from: ownerId, to: data['ownerId'] } },
  },
  'POST /surveys/{surveyId}/questions': {
    action: 'question.created',
    objectKind: 'question',
    describe: (request, data) => ({
      objectId: String(data['id']),
      details: { surveyId: request.survey.id, type: data['type'] },
    }),
  },
  'PUT /surveys/questions/{questionId}': {
    action: 'question.changed',
    objectKind: 'question',
    describe: (request) => ({
      objectId: request.params['questionId'] ?? '',
      details: { surveyId: request.survey.id, fields: fieldNamesOf(request.body) },
    }),
  },
  'DELETE /surveys/{surveyId}/questions/{questionId}': {
    action: 'question.deleted',
    objectKind: 'question',
    describe: objectInSurvey('questionId'),
  },
  'POST /surveys/{surveyId}/questions/reorder': {
    action: 'questions.reordered',
    objectKind: 'survey',
    describe: objectFromParam('surveyId'),
  },
  'DELETE /responses/{responseId}': {
    action: 'response.deleted',
    objectKind: 'response',
    describe: objectInSurvey('responseId'),
  },
  'GET /uploads/{uploadId}': {
    action: 'upload.downloaded',
    objectKind: 'upload',
    describe: objectInSurvey('uploadId'),
  },
  'POST /exports/surveys/{surveyId}': {
    action: 'export.requested',
    objectKind: 'export',
    describe: (request, data) => ({
      objectId: String(data['exportId']),
      details: { surveyId: request.survey.id, format: data['format'] },
    }),
  },
  'GET /exports/{exportId}/download': {
    action: 'export.downloaded',
    objectKind: 'export',
    describe: objectInSurvey('exportId'),
  },
  'DELETE /exports/{exportId}': {
    action: 'export.deleted',
    objectKind: 'export',
    describe: objectInSurvey('exportId'),
  },
  'POST /webhooks/{id}/test': { action: 'webhook.tested', objectKind: 'webhook', describe: objectFromParam('id') },
  'POST /webhooks/{id}/replay': { action: 'webhook.replayed', objectKind: 'webhook', describe: objectFromParam('id') },
  'POST /webhooks/{id}/deliveries/{deliveryId}/redeliver': {
    action: 'webhook.redelivered',
    objectKind: 'webhook',
    describe: (request) => ({
      objectId: request.params['id'] ?? '',
      details: { deliveryId: request.params['deliveryId'] },
    }),
  },
};

/** Every use of AI sends something to somebody else. */
const aiAuditEvent: AuditEvent = {
  action: 'ai.used',
  objectKind: 'ai',
  describe: ({ params, survey }: Pick<RouteRequest, 'params'> & Partial<Pick<RouteRequest, 'survey'>>) => ({
    objectId: params['id'] ?? params['surveyId'] ?? params['questionId'] ?? Object.values(params)[0] ?? 'none',
    ...(survey && { details: { surveyId: survey.id } }),
  }),
};

export function auditEventOf({ method, path }: Pick<Route, 'method' | 'path'>): AuditEvent | undefined {
  const isAiUse =
    method !== 'GET' && path.startsWith('/ai/') && (!path.startsWith('/ai/settings') || path.endsWith('/test'));
  return auditEvents[`${method} ${path}`] ?? (isAiUse ? aiAuditEvent : undefined);
}

/** The same routes, which write what was done into the audit once it is done. */
export function withAudit(routes: readonly Route[], audit: Pick<Audit, 'record'>): Route[] {
  return routes.map((entry) => {
    const auditEvent = auditEventOf(entry);
    if (!auditEvent) return entry;
    const { action, objectKind, describe } = auditEvent;
    const handle = async (request: RouteRequest): Promise<Outcome> => {
      const outcome = await entry.handle(request as RouteRequest<never, never>);
      if (!isAuditable(outcome)) return outcome;
      const recorded = describe(request, outcome.kind === 'json' ? (outcome.data as Record<string, unknown>) : {});
      if (!recorded) return outcome;
      const details = {
        ...recorded.details,
        ...surveyDetails(outcome),
        ...rangeDetails(outcome),
        ...(auditEvent === aiAuditEvent && { call: `${entry.method} ${entry.path}` }),
      };
      await audit.record({ actor: request.principal, action, objectKind, ...recorded, details });
      return outcome;
    };
    return { ...entry, handle };
  });
}

/** The news that nothing has changed is no deed. A part of a file is one: who asks for all parts has the file. */
const isAuditable = (outcome: Outcome): boolean => outcome.kind === 'json' || outcome.kind === 'stream';

const surveyDetails = (outcome: Outcome): { surveyId?: string } =>
  outcome.kind === 'json' && outcome.surveyId !== undefined ? { surveyId: outcome.surveyId } : {};

function rangeDetails(outcome: Outcome): { range?: string } {
  const range =
    outcome.kind === 'stream' && outcome.status === 206
      ? outcome.headers.find(([name]) => name === 'content-range')
      : undefined;
  return range ? { range: range[1] } : {};
}
