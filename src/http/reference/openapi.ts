import type { ProblemCode } from '../../errors.ts';
import { oneByOne } from '../../platform/slices.ts';
import type { Access, Route } from '../routing/route.ts';
import { problemSchema } from '../schemas/common.ts';
import { liveClientMessageSchema, liveServerMessageSchema } from '../schemas/live.ts';
import { webhookBodySchema } from '../schemas/webhooks.ts';
import { basePath } from '../server/server.ts';
import { introduction, tagDescriptions } from './descriptions.ts';
import { parametersOf } from './parameters.ts';
import { describeSettings } from './question-settings.ts';
import { headers, refusalReplies, repliesOf } from './replies.ts';
import { namedRequestExamples, requestExamples } from './request-examples.ts';
import { createSchemaComponents, type JsonSchema, type SchemaComponents } from './schema-components.ts';

export interface OpenApiOptions {
  /** The routes below the base address. */
  routes: readonly Route[];
  /** Routes at the root, beside the base address. */
  rootRoutes?: readonly Route[];
  /** The public origin of the service; without it, addresses are relative. */
  publicUrl?: string | undefined;
  version: string;
}

export interface OpenApiDocument {
  openapi: '3.1.0';
  info: { title: string; version: string; description: string; license: { name: string; identifier: string } };
  servers: { url: string; description?: string }[];
  tags: { name: string; description?: string }[];
  security: JsonSchema[];
  paths: Record<string, Record<string, unknown>>;
  webhooks: Record<string, unknown>;
  components: Record<'schemas' | 'responses' | 'headers' | 'securitySchemes', Record<string, unknown>>;
}

/**
 * Makes the OpenAPI 3.1.0 document from the events of webhooks and the routes, one by one: all of them take a quarter
 * of a second.
 */
export async function createOpenApi({
  routes,
  rootRoutes = [],
  publicUrl = '',
  version,
}: OpenApiOptions): Promise<OpenApiDocument> {
  await describeSettings();
  const components = createSchemaComponents();
  const problems = new Map<string, JsonSchema>();
  components.reply(problemSchema);
  const events = await oneByOne(webhookBodySchema.options, (option) => webhookOf(option, components));
  components.reply(liveServerMessageSchema);
  const all = [...routes, ...rootRoutes];
  // Every reply before any body: see createSchemaComponents.
  const replies = await oneByOne(all, (route) => repliesOf(route, components, problems));
  components.body(liveClientMessageSchema);
  const operations = await oneByOne(all, (route) => operationOf(route, components, replies.get(route) ?? {}));
  const operation = (route: Route) => operations.get(route) ?? {};
  const isLive = routes.some(({ path }) => path === '/live/tickets');
  const paths = {
    ...pathsOf(routes, operation),
    ...(isLive && { '/live': webSocketOperation((codes) => refusalReplies(codes, problems)) }),
    ...pathsOf(rootRoutes, operation, { servers: [{ url: publicUrl === '' ? '/' : publicUrl }] }),
  };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Survey service',
      version,
      description: introduction(),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: publicUrl + basePath }],
    tags: tagsOf(all),
    security: [{ bearer: [] }],
    paths,
    webhooks: Object.fromEntries([...events].map(([option, webhook]) => [eventOf(option), webhook])),
    components: {
      schemas: components.all(),
      responses: Object.fromEntries(problems),
      headers,
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'An access token from POST /auth/login, or an API key (`sk_…`).',
        },
      },
    },
  };
}

function tagsOf(routes: readonly Route[]): OpenApiDocument['tags'] {
  const used = new Set(routes.map(({ tag }) => tag));
  const described = Object.entries(tagDescriptions)
    .filter(([name]) => used.delete(name))
    .map(([name, text]) => ({ name, description: text() }));
  return [...described, ...[...used].map((name) => ({ name }))];
}

function pathsOf(
  routes: readonly Route[],
  operation: (route: Route) => JsonSchema,
  shared: JsonSchema = {},
): OpenApiDocument['paths'] {
  const paths: OpenApiDocument['paths'] = {};
  for (const route of routes)
    paths[route.path] = { ...(paths[route.path] ?? shared), [route.method.toLowerCase()]: operation(route) };
  return paths;
}

function operationOf(route: Route, components: SchemaComponents, responses: JsonSchema): JsonSchema {
  const parameters = parametersOf(route);
  const body = requestBodyOf(route, components);
  return {
    ...(route.operationId !== undefined && { operationId: route.operationId }),
    tags: [route.tag],
    summary: route.summary,
    description: [route.description, rightText(route.access)].filter((text) => text !== undefined).join('\n\n'),
    ...(route.access.kind === 'public' && { security: route.takesBearer ? [{}, { bearer: [] }] : [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: body }),
    responses,
  };
}

function rightText(access: Access): string | undefined {
  switch (access.kind) {
    case 'public':
      return undefined;
    case 'user':
      return `For every signed-in caller${access.refusesKeys ? ', not with an API key' : ''}.`;
    case 'editor':
      return `For an ADMIN or EDITOR${access.refusesKeys ? ', not with an API key' : ''}.`;
    case 'admin':
      return `For an ADMIN${access.refusesKeys ? ', not with an API key' : ''}.`;
    case 'survey':
      return {
        read: 'For those who may read the survey.',
        edit: 'For those who may edit the survey.',
        own: `For the survey’s owner, and an ADMIN${access.orSelf === undefined ? '' : ', and for the user in question'}.`,
      }[access.right];
  }
}

function requestBodyOf(route: Route, components: SchemaComponents): JsonSchema | undefined {
  if (route.bodyMediaTypes)
    return { required: true, content: Object.fromEntries(route.bodyMediaTypes.map((type) => [type, {}])) };
  if (!route.body)
    return route.bodyKind === 'stream'
      ? { required: true, description: 'The file itself, with its Content-Type.', content: { '*/*': {} } }
      : undefined;
  const name = `${route.method} ${route.path}`;
  const [example, several] = [requestExamples[name], namedRequestExamples[name]];
  return {
    required: route.isBodyOptional !== true,
    content: {
      'application/json': {
        schema: components.body(route.body),
        ...(example !== undefined && { example }),
        ...(several && { examples: several }),
      },
    },
  };
}

const webhookHeaders = {
  'webhook-id':
    'The same on every attempt, so that repeats can be ignored: the id of the event, or that of the batch. A redelivery or replay puts events into other batches, so go by `id` of `data.events` there.',
  'webhook-timestamp': 'Unix seconds of this attempt.',
  'webhook-signature':
    'One signature for the secret and one for each secret that was replaced in the last 24 hours, separated by blanks: `v1,` and the base64 of HMAC-SHA-256 over `id.timestamp.body`, keyed with the decoded part after `whsec_`.',
};

type WebhookBody = (typeof webhookBodySchema.options)[number];

const eventOf = (body: WebhookBody) => body.shape.event.value;

/** Describes what webhook endpoints receive at an event. */
function webhookOf(body: WebhookBody, components: SchemaComponents): JsonSchema {
  const event = eventOf(body);
  return {
    post: {
      operationId: `on${event.replace(/(?:^|\.)(\w)/g, (_, first: string) => first.toUpperCase())}`,
      summary: event === 'batch' ? 'Several events at once, for endpoints with `batch`' : `The event ${event}`,
      parameters: Object.entries(webhookHeaders).map(([name, description]) => ({
        name,
        in: 'header',
        required: true,
        description,
        schema: { type: 'string' },
      })),
      requestBody: { required: true, content: { 'application/json': { schema: components.reply(body) } } },
      responses: {
        '2XX': { description: 'Received. Any other reply, and none within 15 seconds, leads to a retry.' },
      },
    },
  };
}

const webSocketRefusals: readonly ProblemCode[] = [
  'VALIDATION_ERROR',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'RATE_LIMITED',
  'INTERNAL_ERROR',
  'SERVICE_UNAVAILABLE',
];

/** The upgrade to the WebSocket as an operation, although it is not a route. */
function webSocketOperation(
  problemReplies: (codes: readonly ProblemCode[]) => Record<string, JsonSchema>,
): Record<string, unknown> {
  return {
    get: {
      operationId: 'openLive',
      tags: ['Live'],
      summary: 'Open the WebSocket',
      description:
        'Upgrades to a WebSocket. The messages are described under the Live tag, as LiveClientMessage and LiveServerMessage. The ticket identifies the caller: no other token is needed.',
      security: [],
      parameters: [
        {
          name: 'ticket',
          in: 'query',
          required: true,
          description: 'From `POST /live/tickets`',
          schema: { type: 'string' },
        },
        {
          name: 'Sec-WebSocket-Protocol',
          in: 'header',
          required: true,
          description: 'Contains `survey.v1`',
          schema: { type: 'string' },
        },
      ],
      responses: {
        '101': {
          description: 'The connection is open',
          headers: { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' } },
        },
        ...problemReplies(webSocketRefusals),
      },
    },
  };
}
