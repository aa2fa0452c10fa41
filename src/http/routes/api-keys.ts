import { z } from 'zod';
import { hashOpaqueToken, makeOpaqueToken } from '../../auth/opaque-tokens.ts';
import { isRoleWithin } from '../../auth/roles.ts';
import { notFound, Problem, validationProblem } from '../../errors.ts';
import type { ApiKey, ApiKeyStore } from '../../stores/postgres/api-keys.ts';
import type { UserStore } from '../../stores/postgres/users.ts';
import type { PermissionChange } from '../../stores/redis/permission-notifications.ts';
import { objectFromPath } from '../routing/audit.ts';
import { type Principal, sessionOf } from '../routing/principal.ts';
import { created, ok, page, type Route, route } from '../routing/route.ts';
import { apiKeySchema, roleSchema } from '../schemas/accounts.ts';
import { deletedSchema } from '../schemas/common.ts';
import { pageFields, timestampField } from '../schemas/query-fields.ts';

export interface ApiKeyRoutesDeps {
  apiKeys: Pick<ApiKeyStore, 'list' | 'create' | 'roleOf' | 'remove'>;
  users: Pick<UserStore, 'find'>;
  /** `requestsPerMinute`: of all keys of a user together. */
  keyLimits: { perUser: number; requestsPerMinute: number };
  rightsChanged(change: PermissionChange): void;
  newId(): string;
}

const newKeyBody = z.strictObject({
  name: z.string().trim().min(1).max(200),
  role: roleSchema,
  requestsPerMinute: z
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .nullable()
    .optional()
    .describe('Left out or null: the general limit. At most what all keys of the user may call together'),
  expiresAt: timestampField
    .refine((time) => time.getTime() > Date.now(), 'must be in the future')
    .nullable()
    .optional()
    .describe('From then on the key is refused; left out or null: it does not end by itself'),
});

const common = { tag: 'API keys', limit: 'api' } as const;

export function apiKeyRoutes(deps: ApiKeyRoutesDeps): Route[] {
  return [listRoute(deps), createRoute(deps), removeRoute(deps)];
}

function listRoute({ apiKeys }: ApiKeyRoutesDeps): Route {
  return route({
    ...common,
    method: 'GET',
    path: '/api-keys',
    operationId: 'listApiKeys',
    summary: 'List API keys',
    description: "The caller's own, newest first; an ADMIN sees everybody's.",
    access: { kind: 'user' },
    query: z.strictObject(pageFields(100)),
    reply: z.array(apiKeySchema),
    replyStatus: 200,
    isPaged: true,
    handle: async ({ query, principal }) => {
      const { items, total } = await apiKeys.list({ userId: visibleTo(principal), ...query });
      return page(items.map(presentKey), { ...query, total });
    },
  });
}

function createRoute({ apiKeys, users, keyLimits, newId }: ApiKeyRoutesDeps): Route {
  return route({
    ...common,
    method: 'POST',
    path: '/api-keys',
    operationId: 'createApiKey',
    summary: 'Create an API key',
    description:
      'The reply has the `key`, which is not shown again. A key acts as its user, with the lesser of both roles; its role cannot exceed that of the creator (FORBIDDEN), and a key cannot create keys. ' +
      `All keys of a user share a ceiling, which an ADMIN may raise (\`apiKeyRequestsPerMinute\` of the user). A user can have ${keyLimits.perUser} (CONFLICT, reason TOO_MANY_API_KEYS).`,
    // Otherwise a stolen key could create others that outlive it.
    access: { kind: 'editor', refusesKeys: true },
    body: newKeyBody,
    reply: apiKeySchema.extend({ key: z.string().describe('Shown here only') }),
    replyStatus: 201,
    audit: {
      action: 'api-key.created',
      objectKind: 'api-key',
      describe: ({ body }, data) => ({ objectId: String(data['id']), details: { role: body.role } }),
    },
    handle: async ({ body: { name, role, requestsPerMinute, expiresAt }, principal }) => {
      if (!isRoleWithin(role, principal.role))
        throw new Problem('FORBIDDEN', 'A key cannot have a stronger role than its creator');
      const user = await users.find(principal.userId);
      if (!user) throw notFound('user');
      const ceiling = user.apiKeyRequestsPerMinute ?? keyLimits.requestsPerMinute;
      if ((requestsPerMinute ?? 0) > ceiling)
        throw validationProblem([
          { path: 'requestsPerMinute', message: `must be at most ${ceiling}, which an ADMIN can raise for a user` },
        ]);
      const secret = makeOpaqueToken('apiKey');
      const key = await apiKeys.create(
        {
          id: newId(),
          userId: principal.userId,
          sessionId: sessionOf(principal),
          name,
          role,
          requestsPerMinute: requestsPerMinute ?? null,
          keyHash: hashOpaqueToken(secret),
          lastFour: secret.slice(-4),
          expiresAt: expiresAt ?? null,
        },
        keyLimits.perUser,
      );
      return created({ ...presentKey(key), key: secret });
    },
  });
}

function removeRoute({ apiKeys, rightsChanged }: ApiKeyRoutesDeps): Route {
  return route({
    ...common,
    method: 'DELETE',
    path: '/api-keys/{id}',
    operationId: 'deleteApiKey',
    summary: 'Delete an API key',
    description: 'It stops working within a second. A key cannot delete keys with a stronger role (FORBIDDEN).',
    access: { kind: 'user' },
    reply: deletedSchema,
    replyStatus: 200,
    audit: { action: 'api-key.deleted', objectKind: 'api-key', describe: objectFromPath('id') },
    handle: async ({ params, principal }) => {
      const id = params['id'] ?? '';
      const role = await apiKeys.roleOf(id, visibleTo(principal));
      // A key that may only read must not stop programs that write.
      if (role && principal.keyId !== null && !isRoleWithin(role, principal.role))
        throw new Problem('FORBIDDEN', 'An API key cannot delete a key with a stronger role');
      if (!role || !(await apiKeys.remove(id, visibleTo(principal)))) throw notFound('API key');
      rightsChanged({ keyId: id });
      return ok({ id, deleted: true });
    },
  });
}

const visibleTo = ({ role, userId }: Principal): string | null => (role === 'ADMIN' ? null : userId);

function presentKey({ id, userId, name, role, requestsPerMinute, lastFour, createdAt, lastUsedAt, expiresAt }: ApiKey) {
  return {
    id,
    userId,
    name,
    role,
    requestsPerMinute,
    lastFour,
    createdAt: createdAt.toISOString(),
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
    expiresAt: expiresAt?.toISOString() ?? null,
  };
}
