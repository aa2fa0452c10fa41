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

/** A survey that was made of nothing that is in the service. */
export const surveyCreated: AuditEvent = {
  action: 'survey.created',
  objectKind: 'survey',
  describe: (_request, data) => ({ objectId: String(data['id']) }),
};

/** Every use of AI is recorded, since it sends data to a provider. */
export const aiUse: AuditEvent = {
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

/** The same routes; each records its audit event when its handler has succeeded. */
export function withAudit(routes: readonly Route[], audit: Pick<Audit, 'record'>): Route[] {
  const isDue = createAtMostOnce();
  return routes.map((entry) => {
    const { audit: event } = entry;
    if (!event || event === 'by handler') return entry;
    const { action, objectKind, intervalMs } = event;
    const isDueFor = ({ principal: { keyId, userId } }: RouteRequest, objectId: string) =>
      intervalMs === undefined || isDue(`${keyId ?? userId} ${action} ${objectId}`, intervalMs);
    const handle = async (request: RouteRequest): Promise<Outcome> => {
      const outcome = await entry.handle(request as RouteRequest<never, never>);
      if (!isAuditable(outcome, request)) return outcome;
      const data = outcome.kind === 'json' ? (outcome.data as Record<string, unknown>) : {};
      const recorded = event.describe(request as RouteRequest<never, never>, data, `${entry.method} ${entry.path}`);
      if (!recorded || !isDueFor(request, recorded.objectId)) return outcome;
      const details = { ...recorded.details, ...outcomeDetails(outcome) };
      await audit.record({ actor: request.principal, action, objectKind, ...recorded, details });
      return outcome;
    };
    return { ...entry, handle };
  });
}

/** A 304 or HEAD of a file is not recorded. Each part of it is, since a client that asks for all parts has the file. */
const isAuditable = (outcome: Outcome, { isHead }: Pick<RouteRequest, 'isHead'>): boolean =>
  outcome.kind === 'json' || (outcome.kind === 'stream' && !isHead);

function outcomeDetails(outcome: Outcome): Readonly<Record<string, unknown>> {
  if (outcome.kind === 'json') return outcome.auditDetails ?? {};
  const range =
    outcome.kind === 'stream' && outcome.status === 206
      ? outcome.headers.find(([name]) => name === 'content-range')
      : undefined;
  return range ? { range: range[1] } : {};
}
