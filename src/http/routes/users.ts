import { z } from 'zod';
import type { AccountGuard } from '../../auth/account-guard.ts';
import { emailKey } from '../../auth/email.ts';
import type { Passwords } from '../../auth/passwords.ts';
import { weaknessOf } from '../../auth/weak-passwords.ts';
import { notFound, validationProblem } from '../../errors.ts';
import type { User, UserChange, UserStore } from '../../stores/postgres/users.ts';
import type { PermissionChange } from '../../stores/redis/permission-notifications.ts';
import { objectFromPath } from '../routing/audit.ts';
import { sessionOf } from '../routing/principal.ts';
import { type AuditEvent, created, ok, page, type Route, type RouteRequest, route } from '../routing/route.ts';
import { emailField, newPasswordField, roleSchema, userSchema } from '../schemas/accounts.ts';
import { deletedSchema } from '../schemas/common.ts';
import { idsField, pageFields, searchField } from '../schemas/query-fields.ts';

export interface UserRoutesDeps {
  users: Pick<UserStore, 'find' | 'list' | 'create' | 'change' | 'remove'>;
  passwords: Pick<Passwords, 'hash' | 'check'>;
  accountGuard: Pick<AccountGuard, 'assertNotLocked' | 'failed'>;
  rightsChanged(change: PermissionChange): void;
  newId(): string;
}

const newUserBody = z.strictObject({ email: emailField, password: newPasswordField, role: roleSchema });
const userChangeBody = z
  .strictObject({
    email: emailField,
    password: newPasswordField,
    role: roleSchema,
    isDisabled: z.boolean(),
    apiKeyRequestsPerMinute: z
      .number()
      .int()
      .min(1)
      .max(1_000_000)
      .nullable()
      .describe('Calls a minute of all API keys of the user together; null: the ceiling of the settings'),
    keepApiKeys: z.boolean().describe('With a new password: the API keys of the user go on; by default they end'),
  })
  .partial()
  .refine((body) => Object.keys(body).length > 0, 'name at least one field')
  .refine((body) => body.keepApiKeys === undefined || body.password !== undefined, {
    path: ['keepApiKeys'],
    message: 'needs a new password beside it',
  });

const common = { tag: 'Users', access: { kind: 'admin' }, limit: 'api' } as const;
/** A stolen key must not be able to make itself users or passwords. */
const commonOfChanges = { ...common, access: { kind: 'admin', refusesKeys: true } } as const;

/** A user as the interface shows it. */
export function presentUser({ createdAt, updatedAt, ...user }: User) {
  const { id, email, role, isDisabled, apiKeyRequestsPerMinute, mustChangePassword } = user;
  return {
    id,
    email,
    role,
    isDisabled,
    apiKeyRequestsPerMinute,
    mustChangePassword,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}

export function userRoutes(deps: UserRoutesDeps): Route[] {
  return [listRoute(deps), createRoute(deps), readRoute(deps), changeRoute(deps), removeRoute(deps)];
}

/** For a new password of one's own: somebody else may have chosen the current one. */
export const notCurrentPassword = 'must differ from the current password';

/** Throws VALIDATION_ERROR for a password that says the address of its user. */
export function assertNotOwnAddress(password: string, email: string, path = 'password'): void {
  const message = weaknessOf(password, email);
  if (message !== undefined) throw validationProblem([{ path, message }]);
}

function listRoute({ users }: UserRoutesDeps): Route {
  return route({
    ...common,
    method: 'GET',
    path: '/users',
    operationId: 'listUsers',
    summary: 'List users',
    description: 'Newest first.',
    query: z.strictObject({
      ...pageFields(100),
      id: idsField,
      search: searchField('the e-mail address'),
    }),
    reply: z.array(userSchema),
    replyStatus: 200,
    isPaged: true,
    handle: async ({ query: { id: ids, search, ...selection } }) => {
      const { items, total } = await users.list({ ...selection, ids, search });
      return page(items.map(presentUser), { ...selection, total });
    },
  });
}

function createRoute({ users, passwords, newId }: UserRoutesDeps): Route {
  return route({
    ...commonOfChanges,
    method: 'POST',
    path: '/users',
    operationId: 'createUser',
    summary: 'Create a user',
    description: 'E-mail addresses are unique regardless of case and Unicode compatibility forms.',
    body: newUserBody,
    reply: userSchema,
    replyStatus: 201,
    audit: {
      action: 'user.created',
      objectKind: 'user',
      describe: ({ body }, data) => ({ objectId: String(data['id']), details: { role: body.role } }),
    },
    handle: async ({ body: { email, password, role }, principal }) => {
      assertNotOwnAddress(password, email);
      const passwordHash = await passwords.hash(password);
      const user = await users.create(
        { id: newId(), email, emailKey: emailKey(email), passwordHash, role, mustChangePassword: true },
        principal,
      );
      return created(presentUser(user));
    },
  });
}

function readRoute({ users }: UserRoutesDeps): Route {
  return route({
    ...common,
    method: 'GET',
    path: '/users/{id}',
    operationId: 'getUser',
    summary: 'Read a user',
    reply: userSchema,
    replyStatus: 200,
    handle: async ({ params }) => {
      const user = await users.find(params['id'] ?? '');
      if (!user) throw notFound('user');
      return ok(presentUser(user));
    },
  });
}

function changeRoute({ users, passwords, accountGuard, rightsChanged }: UserRoutesDeps): Route {
  return route({
    ...commonOfChanges,
    method: 'PUT',
    path: '/users/{id}',
    operationId: 'changeUser',
    summary: 'Change a user',
    description:
      'A new password ends the sessions of the user and, without `keepApiKeys`, deletes its API keys; a new password of one’s own must differ from the current one. `isDisabled` ends the sessions, and cancels the AI jobs as the role VIEWER does; a disabled user can neither sign in nor use API keys. Changes take effect within a second. The last active ADMIN cannot be disabled ' +
      'or lose the role (CONFLICT, reason LAST_ADMIN). Calls with a new password of one’s own that are refused for another reason than the password count as failures of POST /auth/password do.',
    body: userChangeBody,
    reply: userSchema,
    replyStatus: 200,
    audit: { action: 'user.changed', objectKind: 'user', describe: changedFields },
    handle: async ({ params, body, principal }) => {
      const { email, password, role, isDisabled, apiKeyRequestsPerMinute, keepApiKeys } = body;
      const isOwn = params['id'] === principal.userId;
      if (password !== undefined) {
        const user = await users.find(params['id'] ?? '');
        assertNotOwnAddress(password, email ?? user?.email ?? '');
        if (isOwn) {
          await accountGuard.assertNotLocked(sessionOf(principal), '');
          if ((await passwords.check(password, user?.passwordHash)).isMatch)
            throw validationProblem([{ path: 'password', message: notCurrentPassword }]);
        }
      }
      const change: UserChange = {
        ...(email !== undefined && { email: { text: email, key: emailKey(email) } }),
        ...(role !== undefined && { role }),
        ...(isDisabled !== undefined && { isDisabled }),
        ...(apiKeyRequestsPerMinute !== undefined && { apiKeyRequestsPerMinute }),
        endsApiKeys: password !== undefined && keepApiKeys !== true,
      };
      const passwordChange = async () =>
        password !== undefined && { passwordHash: await passwords.hash(password), mustChangePassword: !isOwn };
      const changeUser = async () =>
        users.change(params['id'] ?? '', { ...change, ...(await passwordChange()) }, principal);
      const user = await changeUser().catch(async (error: unknown) => {
        // A refusal tells that the password is not the current one and changes nothing: otherwise it could be guessed.
        if (isOwn && password !== undefined) await accountGuard.failed(sessionOf(principal), '');
        throw error;
      });
      rightsChanged({ userId: user.id });
      return ok(presentUser(user));
    },
  });
}

/** Names of the changed fields; values only where they are not personal data. */
function changedFields({
  params,
  body,
}: Pick<RouteRequest<z.output<typeof userChangeBody>>, 'params' | 'body'>): ReturnType<AuditEvent['describe']> {
  const { role, isDisabled } = body;
  const details = {
    fields: Object.keys(body),
    ...(role !== undefined && { role }),
    ...(isDisabled !== undefined && { isDisabled }),
  };
  return { objectId: params['id'] ?? '', details };
}

function removeRoute({ users, rightsChanged }: UserRoutesDeps): Route {
  return route({
    ...commonOfChanges,
    method: 'DELETE',
    path: '/users/{id}',
    operationId: 'deleteUser',
    summary: 'Delete a user',
    description:
      'Surveys and webhooks of the user go to the calling ADMIN (to the longest-standing other ADMIN if callers delete themselves), and the audit has a `survey.handed-over` for each survey: webhooks bound to these surveys go on, others are switched off. Export files go to the owners of their surveys. The last active ADMIN cannot be deleted (CONFLICT, reason LAST_ADMIN).',
    reply: deletedSchema,
    replyStatus: 200,
    audit: { action: 'user.deleted', objectKind: 'user', describe: objectFromPath('id') },
    handle: async ({ params, principal }) => {
      const id = params['id'] ?? '';
      const heirId = await users.remove(id, principal);
      rightsChanged({ userId: id });
      return { ...ok({ id, deleted: true }), auditDetails: { heirId } };
    },
  });
}
