import { createAtMostOnce } from '../../platform/at-most-once.ts';
import type { Audit } from '../../stores/postgres/audit.ts';
import type { AuditEvent, Outcome, Route, RouteRequest } from './route.ts';

/** Names of the fields that a body sets. */
export const fieldNamesOf = (body: unknown): string[] =>
  typeof body === 'object' && body !== null ? Object.keys(body) : [];

/** The object is named by the path. */
export const objectFromPath =
  (name: string): AuditEvent['describe'] =>
  ({ params }) => ({ objectId: params[name] ?? '' });

/** The object is named by the path and belongs to a survey. */
export const objectInSurvey =
  (name: string): AuditEvent['describe'] =>
  ({ params, survey }) => ({ objectId: params[name] ?? '', details: { surveyId: survey.id } });

/** The object was made in a survey. */
export const createdInSurvey: AuditEvent['describe'] = ({ survey }, data) => ({
  objectId: String(data['id']),
  details: { surveyId: survey.id },
});

/** The object is named by the path and belongs to a survey; the body sets fields of it. */
export const changedInSurvey =
  (name: string): AuditEvent['describe'] =>
  ({ params, body, survey }) => ({
    objectId: params[name] ?? '',
    details: { surveyId: survey.id, fields: fieldNamesOf(body) },
  });

/** A survey that was made of nothing that is in the service. */
export const surveyCreated: AuditEvent = {
  action: 'survey.created',
  objectKind: 'survey',
  describe: (_request, data) => ({ objectId: String(data['id']) }),
};

/** A call under /ai that changes something and sends nothing to a provider. */
export const aiChange: AuditEvent = {
  action: 'ai.used',
  objectKind: 'ai',
  describe: (
    { params, survey }: Pick<RouteRequest, 'params'> & Partial<Pick<RouteRequest, 'survey'>>,
    _data,
    call,
  ) => ({
    objectId: params['id'] ?? params['surveyId'] ?? params['questionId'] ?? Object.values(params)[0] ?? 'none',
    details: { ...(survey && { surveyId: survey.id }), call },
  }),
};

/** A call for which a provider may be asked: a failed one is recorded too, since answers may have been sent. */
export const aiUse: AuditEvent = { ...aiChange, isRecordedOnFailure: true };

/** The same routes; each records its audit event when its handler has succeeded, or failed if it says so. */
export function withAudit(routes: readonly Route[], audit: Pick<Audit, 'record'>): Route[] {
  const isDue = createAtMostOnce();
  return routes.map((entry) => {
    const { audit: event } = entry;
    if (!event || event === 'by handler') return entry;
    const { action, objectKind, intervalMs, isRecordedOnFailure = false } = event;
    const isDueFor = ({ principal: { keyId, userId } }: RouteRequest, objectId: string) =>
      intervalMs === undefined || isDue(`${keyId ?? userId} ${action} ${objectId}`, intervalMs);
    const record = async (
      request: RouteRequest,
      data: Record<string, unknown>,
      furtherDetails: Readonly<Record<string, unknown>>,
    ): Promise<void> => {
      const recorded = event.describe(request as RouteRequest<never, never>, data, `${entry.method} ${entry.path}`);
      if (!recorded || !isDueFor(request, recorded.objectId)) return;
      const details = { ...recorded.details, ...furtherDetails };
      await audit.record({ actor: request.principal, action, objectKind, ...recorded, details });
    };
    const outcomeOf = async (request: RouteRequest): Promise<Outcome> => {
      try {
        return await entry.handle(request as RouteRequest<never, never>);
      } catch (error) {
        if (isRecordedOnFailure) await record(request, {}, { failed: true });
        throw error;
      }
    };
    const handle = async (request: RouteRequest): Promise<Outcome> => {
      const outcome = await outcomeOf(request);
      if (isAuditable(outcome, request)) await record(request, dataOf(outcome), outcomeDetails(outcome));
      return outcome;
    };
    return { ...entry, handle };
  });
}

const dataOf = (outcome: Outcome): Record<string, unknown> =>
  outcome.kind === 'json' ? (outcome.data as Record<string, unknown>) : {};

/** A 304 or HEAD of a file is not recorded. Each part of it is, since a client that asks for all parts has the file. */
const isAuditable = (outcome: Outcome, { isHead }: Pick<RouteRequest, 'isHead'>): boolean =>
  outcome.kind === 'json' || outcome.kind === 'bytes' || (outcome.kind === 'stream' && !isHead);

function outcomeDetails(outcome: Outcome): Readonly<Record<string, unknown>> {
  if (outcome.kind === 'json') return outcome.auditDetails ?? {};
  const range =
    outcome.kind === 'stream' && outcome.status === 206
      ? outcome.headers.find(([name]) => name === 'content-range')
      : undefined;
  return range ? { range: range[1] } : {};
}
