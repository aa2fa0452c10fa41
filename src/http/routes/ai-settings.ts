import { z } from 'zod';
import { type Ai, aiKeyContext } from '../../ai/ai.ts';
import type { Provider } from '../../ai/providers/provider.ts';
import { providerNames, providerRegistry } from '../../ai/providers/registry.ts';
import { ask } from '../../ai/tasks/ask.ts';
import { parseReply } from '../../ai/tasks/parse-reply.ts';
import { notFound, Problem, validationProblem } from '../../errors.ts';
import type { Secrets } from '../../platform/secrets.ts';
import type { ProviderName } from '../../settings/ai-settings.ts';
import type { AiSettingsStore } from '../../stores/postgres/ai/settings.ts';
import type { Guard } from '../../webhooks/guard.ts';
import { aiUse, objectFromPath } from '../routing/audit.ts';
import { ok, page, type Route, route } from '../routing/route.ts';
import { providerSchema, providerSettingsSchema, providerTestSchema } from '../schemas/ai.ts';
import { pageFields, slicePage } from '../schemas/query-fields.ts';

export interface AiSettingsRoutesDeps extends Pick<Ai, 'find' | 'fromEnvironment' | 'providers'> {
  settingsStore: AiSettingsStore;
  secrets: Pick<Secrets, 'seal'>;
  guard: Pick<Guard, 'check'>;
}

const name = z.string().trim().min(1).max(200);
const body = z.strictObject({
  apiKey: z
    .string()
    .trim()
    .min(8)
    .max(512)
    .regex(/^[\x21-\x7e]+$/, 'must be a key without spaces'),
  endpoint: z
    .string()
    .max(2048)
    .optional()
    .describe(
      '`azure`: the URL of the resource. Otherwise a base URL in place of the provider’s own. Private addresses are refused unless WEBHOOK_ALLOW_PRIVATE is set',
    ),
  deployment: name.optional().describe('Only for `azure`'),
  models: z.strictObject({ high: name, low: name }).partial().optional(),
});

const common = { tag: 'AI', access: { kind: 'admin' }, limit: 'api' } as const;
const testTimeoutMs = 20_000;

export function aiSettingsRoutes(deps: AiSettingsRoutesDeps): Route[] {
  const { settingsStore } = deps;
  const present = (provider: ProviderName) => presentProvider(deps, provider);
  return [
    route({
      ...common,
      method: 'GET',
      path: '/ai/settings',
      operationId: 'listAiSettings',
      summary: 'List the AI providers with their settings',
      description:
        'Of keys only the last four characters are shown. Settings here take precedence over the environment, field by field.',
      query: z.strictObject(pageFields(100)),
      reply: z.array(providerSettingsSchema),
      replyStatus: 200,
      isPaged: true,
      handle: async ({ query }) =>
        page(await Promise.all(slicePage(providerNames, query).map(present)), {
          ...query,
          total: providerNames.length,
        }),
    }),
    route({
      ...common,
      method: 'PUT',
      path: '/ai/settings/{provider}',
      operationId: 'setAiSettings',
      summary: 'Configure an AI provider',
      body,
      description:
        'The key is needed. Other fields that are left out are taken from the environment. POST …/test checks the key.',
      reply: providerSettingsSchema,
      replyStatus: 200,
      audit: {
        action: 'ai-provider.changed',
        objectKind: 'ai-provider',
        describe: ({ params, body: settings }) => ({
          objectId: params['provider'] ?? '',
          details: { fields: Object.keys(settings) },
        }),
      },
      handle: async ({ params, body: settings, principal }) => {
        const provider = providerOf(params['provider']);
        await assertUsable(deps, provider, settings);
        await settingsStore.save(
          {
            provider,
            keySealed: deps.secrets.seal(settings.apiKey, aiKeyContext(provider)),
            keyLastFour: settings.apiKey.slice(-4),
            endpoint: settings.endpoint ?? null,
            deployment: settings.deployment ?? null,
            modelHigh: settings.models?.high ?? null,
            modelLow: settings.models?.low ?? null,
          },
          principal,
        );
        return ok(await present(provider));
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: '/ai/settings/{provider}/test',
      operationId: 'testAiProvider',
      summary: 'Test an AI provider',
      reply: providerTestSchema,
      replyStatus: 200,
      asksProvider: 'in reply',
      audit: aiUse,
      handle: async ({ params, principal }) =>
        ok(await testProvider(deps, { provider: providerOf(params['provider']), userId: principal.userId })),
    }),
    route({
      ...common,
      method: 'DELETE',
      path: '/ai/settings/{provider}',
      operationId: 'removeAiSettings',
      summary: 'Remove the settings of an AI provider',
      description: 'The environment counts again. The `id` of the reply is the provider.',
      reply: z.strictObject({ id: providerSchema, deleted: z.literal(true) }),
      replyStatus: 200,
      audit: {
        action: 'ai-provider.removed',
        objectKind: 'ai-provider',
        describe: objectFromPath('provider'),
      },
      handle: async ({ params }) => {
        const provider = providerOf(params['provider']);
        if (!(await settingsStore.remove(provider))) throw notFound('setting');
        return ok({ id: provider, deleted: true });
      },
    }),
  ];
}

function providerOf(text: string | undefined): ProviderName {
  const read = providerSchema.safeParse(text);
  if (!read.success) throw notFound('AI provider');
  return read.data;
}

/** Checks endpoint and deployment; the key is only checked by the test route. */
async function assertUsable(
  { guard, fromEnvironment }: AiSettingsRoutesDeps,
  provider: ProviderName,
  { endpoint, deployment }: z.output<typeof body>,
): Promise<void> {
  const environment = fromEnvironment(provider);
  const needed =
    provider === 'azure'
      ? ([
          ['endpoint', endpoint ?? environment.endpoint],
          ['deployment', deployment ?? environment.deployment],
        ] as const)
      : [];
  const missing = needed.filter(([, value]) => value === undefined);
  if (provider !== 'azure' && deployment !== undefined)
    throw validationProblem([{ path: 'deployment', message: 'is only for azure' }]);
  if (missing.length > 0) throw validationProblem(missing.map(([path]) => ({ path, message: 'is needed for azure' })));
  const refusal = endpoint === undefined ? undefined : await guard.check(endpoint);
  if (refusal !== undefined) throw validationProblem([{ path: 'endpoint', message: refusal }]);
}

async function presentProvider({ find, settingsStore }: AiSettingsRoutesDeps, provider: ProviderName) {
  const [found, row] = await Promise.all([find(provider).catch(undefinedIfUnreadable), settingsStore.find(provider)]);
  const defaults = providerRegistry[provider];
  const model = (own: string | undefined, fallback: string) =>
    found ? (own ?? found.deployment ?? (fallback || null)) : null;
  return {
    provider,
    isConfigured: found !== undefined,
    source: found?.source ?? null,
    keyLastFour: row?.keyLastFour ?? found?.apiKey?.slice(-4) ?? null,
    endpoint: found?.endpoint ?? found?.baseUrl ?? null,
    deployment: found?.deployment ?? null,
    models: { high: model(found?.modelHigh, defaults.high), low: model(found?.modelLow, defaults.low) },
    entered: {
      endpoint: row?.endpoint ?? null,
      // A former version stored deployments of other providers too.
      deployment: provider === 'azure' ? (row?.deployment ?? null) : null,
      models: { high: row?.modelHigh ?? null, low: row?.modelLow ?? null },
    },
  };
}

const testReplySchema = z.strictObject({ word: z.string() });

async function testProvider(
  { providers }: AiSettingsRoutesDeps,
  { provider, userId }: { provider: ProviderName; userId: string },
) {
  // A cached reply would say nothing about the provider.
  const chosen: Provider = { ...(await providers.pick(provider, { userId })), replyCache: undefined };
  const startedAt = performance.now();
  const task = {
    name: 'test',
    version: 1,
    tier: 'low',
    system: 'Reply with one word.',
    data: { say: 'hello' },
    schema: testReplySchema,
    read: (reply: unknown) => parseReply(testReplySchema, reply),
    maxOutputTokens: 200,
  } as const;
  const { model } = await ask(chosen, task, AbortSignal.timeout(testTimeoutMs));
  return { ok: true, latencyMs: Math.round(performance.now() - startedAt), model };
}

/** A stored key that cannot be decrypted counts as none, so that another can be entered. */
function undefinedIfUnreadable(error: unknown): undefined {
  if (error instanceof Problem && error.code === 'AI_KEY_INVALID') return undefined;
  throw error;
}
