import { z } from 'zod';
import { isRoleWithin } from '../../auth/roles.ts';
import { conflict, notFound, Problem, validationProblem } from '../../errors.ts';
import { isId } from '../../platform/ids.ts';
import type { Secrets } from '../../platform/secrets.ts';
import type { Audit } from '../../stores/postgres/audit.ts';
import type { Webhook } from '../../stores/postgres/webhook-row.ts';
import { type EndpointLimits, maxOldSecrets, type WebhookStore } from '../../stores/postgres/webhooks.ts';
import { canonicalUrl, type Guard } from '../../webhooks/guard.ts';
import { makeSecret, secretContext } from '../../webhooks/sign.ts';
import { objectFromPath } from '../routing/audit.ts';
import type { Principal } from '../routing/principal.ts';
import { aboutSurvey, created, ok, page, type Route, type RouteRequest, route } from '../routing/route.ts';
import type { SurveyAccess } from '../routing/survey-access.ts';
import { deletedSchema, idInputSchema, idSchema } from '../schemas/common.ts';
import { pageFields } from '../schemas/query-fields.ts';
import { webhookEventSchema, webhookSchema, webhookWithSecretSchema } from '../schemas/webhooks.ts';

export interface WebhookRoutesDeps {
  webhooks: Pick<WebhookStore, 'find' | 'list' | 'create' | 'change' | 'rotate' | 'remove'>;
  access: Pick<SurveyAccess, 'find' | 'rightOf'>;
  guard: Pick<Guard, 'refusalOf' | 'check'>;
  secrets: Pick<Secrets, 'seal'>;
  audit: Pick<Audit, 'record'>;
  /** Maximum webhooks of a user and of a survey; an ADMIN may exceed them. */
  limits: EndpointLimits;
  now(): number;
  newId(): string;
}

const fiveDaysSeconds = 432_000;
const replacedSecretMs = 86_400_000;

const fields = {
  url: z
    .string()
    .min(1)
    .max(2048)
    .describe(
      'Stored in canonical form: the host in ASCII and lower case, without the default port, the rest percent-encoded. At most 2048 characters in that form',
    ),
  events: z
    .array(webhookEventSchema)
    .min(1)
    .max(20)
    .transform((events) => [...new Set(events)]),
  surveyId: idInputSchema.nullable(),
  description: z.string().max(1000).nullable(),
  isActive: z.boolean(),
  batch: z.boolean(),
  maxPerSecond: z.number().int().min(1).max(100_000).nullable(),
  maxAgeSeconds: z
    .number()
    .int()
    .min(60)
    .max(fiveDaysSeconds * 6),
  maxWaiting: z.number().int().min(100).max(1_000_000),
};
const newWebhookBody = z.strictObject({
  url: fields.url,
  events: fields.events,
  surveyId: fields.surveyId.default(null),
  description: fields.description.default(null),
  isActive: fields.isActive.default(true),
  batch: fields.batch.default(false),
  maxPerSecond: fields.maxPerSecond.default(null),
  maxAgeSeconds: fields.maxAgeSeconds.default(fiveDaysSeconds),
  maxWaiting: fields.maxWaiting.default(100_000),
});
const changeBody = z.strictObject(fields).partial();

const common = { tag: 'Webhooks', access: { kind: 'editor' }, limit: 'api' } as const;

/** Endpoints that receive events. */
export function webhookRoutes(deps: WebhookRoutesDeps): Route[] {
  return [listRoute(deps), createRoute(deps), getRoute(deps), changeRoute(deps), removeRoute(deps), rotateRoute(deps)];
}

/** The webhook of the path. NOT_FOUND for callers who do not own it, except an ADMIN. */
export async function webhookOf(
  { params, principal }: Pick<RouteRequest, 'params' | 'principal'>,
  webhooks: Pick<WebhookStore, 'find'>,
): Promise<Webhook> {
  const webhook = await webhooks.find(params['id'] ?? '');
  const isAllowed = webhook && (principal.role === 'ADMIN' || webhook.ownerId === principal.userId);
  if (!isAllowed) throw notFound('webhook');
  return webhook;
}

function listRoute({ webhooks }: WebhookRoutesDeps): Route {
  return route({
    ...common,
    method: 'GET',
    path: '/webhooks',
    operationId: 'listWebhooks',
    summary: 'List webhooks',
    description: "The caller's own webhooks, newest first; an ADMIN sees all.",
    query: z.strictObject({ ...pageFields(100), surveyId: idSchema.optional() }),
    reply: z.array(webhookSchema),
    replyStatus: 200,
    isPaged: true,
    handle: async ({ query, principal }) => {
      const { items, total } = await webhooks.list({
        ...query,
        ownerId: principal.role === 'ADMIN' ? null : principal.userId,
      });
      return page(items.map(presentWebhook), { page: query.page, limit: query.limit, total });
    },
  });
}

function createRoute(deps: WebhookRoutesDeps): Route {
  const { webhooks, secrets, now, newId } = deps;
  return route({
    ...common,
    method: 'POST',
    path: '/webhooks',
    operationId: 'createWebhook',
    summary: 'Create a webhook',
    description:
      'The reply has the `secret`, which is not shown again. Without `surveyId` the endpoint receives events of all surveys that its owner may read. More than `WEBHOOK_MAX_PER_USER` webhooks of a user or `WEBHOOK_MAX_PER_SURVEY` of a survey are a 409 TOO_MANY_WEBHOOKS, except for an ADMIN.',
    body: newWebhookBody,
    reply: webhookWithSecretSchema,
    replyStatus: 201,
    // For a survey that the caller may not read.
    refusals: ['NOT_FOUND'],
    audit: {
      action: 'webhook.created',
      objectKind: 'webhook',
      describe: (_request, data) => ({
        objectId: String(data['id']),
        details: { events: data['events'], surveyId: data['surveyId'] },
      }),
    },
    handle: async ({ body, principal }) => {
      const url = await allowedUrl(deps.guard, body.url);
      await assertSurveyAllowed(deps, principal, body.surveyId);
      const { batch, ...rest } = { ...body, url };
      const [id, secret, at] = [newId(), makeSecret(), new Date(now())];
      const webhook: Webhook = {
        ...rest,
        id,
        ownerId: principal.userId,
        scopeRole: scopeOf(principal),
        isBatch: batch,
        secretSealed: secrets.seal(secret, secretContext(id)),
        oldSecrets: [],
        failingSince: null,
        pausedUntil: null,
        disabledAt: null,
        disabledReason: null,
        createdAt: at,
        updatedAt: at,
      };
      assertWithinLimits(await webhooks.create(webhook, limitsFor(deps, principal)), deps.limits);
      return created({ ...presentWebhook(webhook), secret });
    },
  });
}

function getRoute({ webhooks }: WebhookRoutesDeps): Route {
  return route({
    ...common,
    method: 'GET',
    path: '/webhooks/{id}',
    operationId: 'getWebhook',
    summary: 'Get a webhook',
    description:
      '`disabledReason` says why nothing is sent: with `disabledAt` the service has switched the webhook off, without it the cause is temporary.',
    reply: webhookSchema,
    replyStatus: 200,
    handle: async (request) => ok(presentWebhook(await webhookOf(request, webhooks))),
  });
}

function changeRoute(deps: WebhookRoutesDeps): Route {
  const { webhooks, audit, now } = deps;
  return route({
    ...common,
    method: 'PUT',
    path: '/webhooks/{id}',
    operationId: 'changeWebhook',
    summary: 'Change a webhook',
    description:
      'Fields that are left out stay as they are. `isActive: true` also switches a webhook on that the service has switched off; waiting deliveries go on. Events that happen while a webhook is inactive are not recorded for it.',
    body: changeBody,
    reply: webhookSchema,
    replyStatus: 200,
    audit: 'by handler',
    handle: async (request) => {
      const { body, principal } = request;
      const before = await webhookOf(request, webhooks);
      const url = body.url === undefined ? undefined : await allowedUrl(deps.guard, body.url);
      await assertSurveyAllowed(deps, principal, body.surveyId);
      const { batch, ...given } = body;
      const scope = scopeOf(principal);
      const surveyId = body.surveyId === undefined ? before.surveyId : body.surveyId;
      const saved = await webhooks.change(
        before,
        {
          ...given,
          url,
          isBatch: batch,
          scopeRole: isRoleWithin(before.scopeRole, scope) ? undefined : scope,
        },
        {
          at: new Date(now()),
          limits: surveyId === before.surveyId ? undefined : limitsFor(deps, principal),
        },
      );
      if (typeof saved === 'string') assertWithinLimits(saved, deps.limits);
      if (saved === false) throw notFound('webhook');
      await audit.record({
        actor: principal,
        action: 'webhook.changed',
        objectKind: 'webhook',
        objectId: before.id,
        details: { fields: Object.keys(body), ...surveyDetails({ surveyId }) },
      });
      if (before.surveyId !== null && before.surveyId !== surveyId)
        await audit.record({
          actor: principal,
          action: 'webhook.changed',
          objectKind: 'webhook',
          objectId: before.id,
          details: { fields: ['surveyId'], ...surveyDetails(before) },
        });
      const shown = await webhooks.find(before.id);
      if (!shown) throw notFound('webhook');
      return ok(presentWebhook(shown));
    },
  });
}

function removeRoute({ webhooks }: WebhookRoutesDeps): Route {
  return route({
    ...common,
    method: 'DELETE',
    path: '/webhooks/{id}',
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook',
    description: 'Its deliveries are deleted too.',
    reply: deletedSchema,
    replyStatus: 200,
    audit: { action: 'webhook.deleted', objectKind: 'webhook', describe: objectFromPath('id') },
    handle: async (request) => {
      const webhook = await webhookOf(request, webhooks);
      const { id } = webhook;
      if (!(await webhooks.remove(id))) throw notFound('webhook');
      return aboutSurvey(webhook.surveyId, ok({ id, deleted: true }));
    },
  });
}

function rotateRoute({ webhooks, secrets, now }: WebhookRoutesDeps): Route {
  const rotate = (id: string, secret: string): Promise<boolean> => {
    const nowMs = now();
    return webhooks.rotate(id, secrets.seal(secret, secretContext(id)), {
      oldUntil: new Date(nowMs + replacedSecretMs),
      now: new Date(nowMs),
    });
  };
  const assertRotated = async (request: Pick<RouteRequest, 'params' | 'principal'>, secret: string): Promise<void> => {
    const { id } = await webhookOf(request, webhooks);
    if (await rotate(id, secret)) return;
    const { oldSecrets } = await webhookOf(request, webhooks);
    const nowMs = now();
    const ends = oldSecrets.map(({ until }) => until.getTime()).filter((until) => until > nowMs);
    // One has expired since.
    if (ends.length < maxOldSecrets && (await rotate(id, secret))) return;
    const waitMs = ends.length === 0 ? 0 : Math.min(...ends) - nowMs;
    throw new Problem(
      'RATE_LIMITED',
      `${maxOldSecrets} replaced secrets still sign: wait until the first of them expires`,
      { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) },
    );
  };
  return route({
    ...common,
    method: 'POST',
    path: '/webhooks/{id}/rotate-secret',
    operationId: 'rotateWebhookSecret',
    summary: "Replace a webhook's secret",
    description: `The reply has the new \`secret\`, which is not shown again. Each replaced secret also signs deliveries for 24 hours. While ${maxOldSecrets} replaced secrets sign, another rotation is a 429.`,
    reply: webhookWithSecretSchema,
    replyStatus: 200,
    audit: { action: 'webhook.secret-rotated', objectKind: 'webhook', describe: objectFromPath('id') },
    handle: async (request) => {
      const secret = makeSecret();
      await assertRotated(request, secret);
      const rotated = await webhookOf(request, webhooks);
      return aboutSurvey(rotated.surveyId, ok({ ...presentWebhook(rotated), secret }));
    },
  });
}

const limitsFor = ({ limits }: Pick<WebhookRoutesDeps, 'limits'>, { role }: Principal): EndpointLimits | undefined =>
  role === 'ADMIN' ? undefined : limits;

function assertWithinLimits(reached: keyof EndpointLimits | undefined, limits: EndpointLimits): void {
  if (reached === undefined) return;
  throw conflict(
    'TOO_MANY_WEBHOOKS',
    reached === 'perUser'
      ? `You have ${limits.perUser} webhooks, which is the most; an ADMIN may create more`
      : `The survey has ${limits.perSurvey} webhooks, which is the most; an ADMIN may create more`,
  );
}

/** A webhook for all surveys is not listed in the audit of any. */
const surveyDetails = ({ surveyId }: Pick<Webhook, 'surveyId'>): { surveyId?: string } =>
  surveyId === null ? {} : { surveyId };

/**
 * The webhook of an ADMIN receives events of all surveys, others only of surveys that the owner owns or is a member of.
 */
const scopeOf = ({ role }: Principal): Webhook['scopeRole'] => (role === 'ADMIN' ? 'ADMIN' : 'EDITOR');

/** The canonical address, which must pass the guard now and at every delivery. */
async function allowedUrl(guard: WebhookRoutesDeps['guard'], text: string): Promise<string> {
  const refuse = (message: string | undefined): void => {
    if (message !== undefined) throw validationProblem([{ path: 'url', message }]);
  };
  refuse(guard.refusalOf(text));
  const url = canonicalUrl(text);
  refuse(await guard.check(url));
  return url;
}

async function assertSurveyAllowed(
  { access }: Pick<WebhookRoutesDeps, 'access'>,
  principal: Principal,
  surveyId: string | null | undefined,
): Promise<void> {
  if (surveyId === undefined || surveyId === null) return;
  const survey = isId(surveyId) ? await access.find('surveyId', surveyId) : undefined;
  const right = survey && (await access.rightOf(principal, survey));
  if (right === undefined) throw notFound('survey');
  if (right === 'read') throw new Problem('FORBIDDEN');
}

/** Whether deliveries are sent now. */
export const isSending = ({ isActive, blockedReason }: Webhook): boolean =>
  isActive && (blockedReason ?? null) === null;

function presentWebhook(webhook: Webhook) {
  const {
    id,
    url,
    events,
    surveyId,
    description,
    isActive,
    isBatch,
    maxPerSecond,
    maxAgeSeconds,
    maxWaiting,
    ownerId,
    disabledAt,
    createdAt,
    updatedAt,
  } = webhook;
  // A temporary cause does not change `isActive`: a client that writes back what it has read must not switch the
  // endpoint off.
  const disabledReason = isActive ? (webhook.blockedReason ?? null) : webhook.disabledReason;
  return {
    id,
    url,
    events,
    surveyId,
    description,
    isActive,
    batch: isBatch,
    maxPerSecond,
    maxAgeSeconds,
    maxWaiting,
    ownerId,
    disabledAt: disabledAt?.toISOString() ?? null,
    disabledReason,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}
