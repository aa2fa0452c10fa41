import type { Audit, AuditRecord } from '../stores/postgres/audit.ts';
import { statusNow } from './present.ts';
import type { Call, Outcome, Route } from './route.ts';

type Recorded = Pick<AuditRecord, 'objectId'> & Partial<Pick<AuditRecord, 'details'>>;

interface Deed extends Pick<AuditRecord, 'action' | 'objectKind'> {
  /** `data`: of the reply, where it is JSON. Undefined: the call has changed nothing. */
  read(call: Call, data: Record<string, unknown>): Recorded | undefined;
}

/** Names of what was changed, never the values: they may be wording that is to be deleted one day. */
const fieldsOf = (body: unknown): string[] => (typeof body === 'object' && body !== null ? Object.keys(body) : []);
const byParam = (name: string): Deed['read'] => (call) => ({ objectId: call.params[name] ?? '' });
const changed = (name: string): Deed['read'] => (call, data) => ({ objectId: call.params[name] ?? '', details: { fields: fieldsOf(call.body), ...moved(call, data) } });
const inSurvey = (name: string): Deed['read'] => (call) => ({ objectId: call.params[name] ?? '', details: { surveyId: call.survey.id } });

/** The one value that says what happened to a survey, and is nobody's wording. That its time was over by now, though its row did not say so yet, is no deed. */
function moved({ survey }: Call, { status }: Record<string, unknown>): { status?: { from: unknown; to: unknown } } {
  const from = statusNow(survey, Date.now());
  return status === from ? {} : { status: { from, to: status } };
}

/** What is recorded of calls by the table of routes itself; other handlers record for themselves, as they know more than the call says. */
export const deeds: Readonly<Record<string, Deed>> = {
  'POST /surveys': { action: 'survey.created', objectKind: 'survey', read: (_call, data) => ({ objectId: String(data['id']) }) },
  'PUT /surveys/{id}': { action: 'survey.changed', objectKind: 'survey', read: changed('id') },
  'DELETE /surveys/{id}': { action: 'survey.deleted', objectKind: 'survey', read: byParam('id') },
  'POST /surveys/{id}/publish': { action: 'survey.published', objectKind: 'survey', read: (call, data) => ({ objectId: call.params['id'] ?? '', details: { ...moved(call, data) } }) },
  'POST /surveys/{id}/duplicate': { action: 'survey.duplicated', objectKind: 'survey', read: (call, data) => ({ objectId: String(data['id']), details: { from: call.params['id'], surveyId: call.params['id'] } }) },
  'POST /surveys/{id}/rotate-token': { action: 'survey.token-rotated', objectKind: 'survey', read: byParam('id') },
  'PUT /surveys/{id}/owner': {
    action: 'survey.handed-over', objectKind: 'survey',
    read: ({ survey: { id, ownerId } }, data) => (data['ownerId'] === ownerId ? undefined : { objectId: id, details: { from: ownerId, to: data['ownerId'] } }),
  },
  'POST /surveys/{surveyId}/questions': {
    action: 'question.created', objectKind: 'question', read: (call, data) => ({ objectId: String(data['id']), details: { surveyId: call.survey.id, type: data['type'] } }),
  },
  'PUT /surveys/questions/{questionId}': {
    action: 'question.changed', objectKind: 'question', read: (call) => ({ objectId: call.params['questionId'] ?? '', details: { surveyId: call.survey.id, fields: fieldsOf(call.body) } }),
  },
  'DELETE /surveys/{surveyId}/questions/{questionId}': { action: 'question.deleted', objectKind: 'question', read: inSurvey('questionId') },
  'POST /surveys/{surveyId}/questions/reorder': { action: 'questions.reordered', objectKind: 'survey', read: byParam('surveyId') },
  'DELETE /responses/{responseId}': { action: 'response.deleted', objectKind: 'response', read: inSurvey('responseId') },
  'GET /uploads/{uploadId}': { action: 'upload.downloaded', objectKind: 'upload', read: inSurvey('uploadId') },
  'POST /exports/surveys/{surveyId}': {
    action: 'export.requested', objectKind: 'export', read: (call, data) => ({ objectId: String(data['exportId']), details: { surveyId: call.survey.id, format: data['format'] } }),
  },
  'GET /exports/{exportId}/download': { action: 'export.downloaded', objectKind: 'export', read: inSurvey('exportId') },
  'DELETE /exports/{exportId}': { action: 'export.deleted', objectKind: 'export', read: inSurvey('exportId') },
  'POST /webhooks/{id}/test': { action: 'webhook.tested', objectKind: 'webhook', read: byParam('id') },
  'POST /webhooks/{id}/replay': { action: 'webhook.replayed', objectKind: 'webhook', read: byParam('id') },
  'POST /webhooks/{id}/deliveries/{deliveryId}/redeliver': {
    action: 'webhook.redelivered', objectKind: 'webhook', read: (call) => ({ objectId: call.params['id'] ?? '', details: { deliveryId: call.params['deliveryId'] } }),
  },
};

/** Every use of AI sends something to somebody else. */
const aiDeed: Deed = {
  action: 'ai.used', objectKind: 'ai',
  read: ({ params, survey }: Pick<Call, 'params'> & Partial<Pick<Call, 'survey'>>) =>
    ({ objectId: params['id'] ?? params['surveyId'] ?? params['questionId'] ?? Object.values(params)[0] ?? 'none', ...(survey && { details: { surveyId: survey.id } }) }),
};

export function deedOf({ method, path }: Pick<Route, 'method' | 'path'>): Deed | undefined {
  const isAiUse = method !== 'GET' && path.startsWith('/ai/') && (!path.startsWith('/ai/settings') || path.endsWith('/test'));
  return deeds[`${method} ${path}`] ?? (isAiUse ? aiDeed : undefined);
}

/** The same routes, which write what was done into the audit once it is done. */
export function withAudit(routes: readonly Route[], audit: Pick<Audit, 'record'>): Route[] {
  return routes.map((entry) => {
    const deed = deedOf(entry);
    if (!deed) return entry;
    const { action, objectKind, read } = deed;
    const handle = async (call: Call): Promise<Outcome> => {
      const outcome = await entry.handle(call as Call<never, never>);
      if (!isDeed(outcome)) return outcome;
      const recorded = read(call, outcome.kind === 'json' ? (outcome.data as Record<string, unknown>) : {});
      if (!recorded) return outcome;
      const details = { ...recorded.details, ...surveyOf(outcome), ...rangeOf(outcome), ...(deed === aiDeed && { call: `${entry.method} ${entry.path}` }) };
      await audit.record({ actor: call.principal, action, objectKind, ...recorded, details });
      return outcome;
    };
    return { ...entry, handle };
  });
}

/** The news that nothing has changed is no deed. A part of a file is one: who asks for all parts has the file. */
const isDeed = (outcome: Outcome): boolean => outcome.kind === 'json' || outcome.kind === 'stream';

const surveyOf = (outcome: Outcome): { surveyId?: string } => (outcome.kind === 'json' && outcome.surveyId !== undefined ? { surveyId: outcome.surveyId } : {});

function rangeOf(outcome: Outcome): { range?: string } {
  const range = outcome.kind === 'stream' && outcome.status === 206 ? outcome.headers.find(([name]) => name === 'content-range') : undefined;
  return range ? { range: range[1] } : {};
}
