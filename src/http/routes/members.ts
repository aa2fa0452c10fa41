import { z } from 'zod';
import { notFound, validationProblem } from '../../errors.ts';
import type { Audit } from '../../stores/postgres/audit.ts';
import type { Member, MemberStore } from '../../stores/postgres/members.ts';
import type { PermissionChange } from '../../stores/redis/permission-notifications.ts';
import { ok, page, type Route, route } from '../routing/route.ts';
import { memberRoleSchema, memberSchema } from '../schemas/accounts.ts';
import { pageFields } from '../schemas/query-fields.ts';

export interface MemberRoutesDeps {
  members: MemberStore;
  audit: Pick<Audit, 'record'>;
  rightsChanged(change: PermissionChange): void;
}

const common = { tag: 'Members', access: { kind: 'survey', right: 'own', by: 'id' }, limit: 'api' } as const;

/** With whom a survey is shared. */
export function memberRoutes(deps: MemberRoutesDeps): Route[] {
  return [listRoute(deps), putRoute(deps), removeRoute(deps)];
}

function listRoute({ members }: MemberRoutesDeps): Route {
  return route({
    ...common,
    method: 'GET',
    path: '/surveys/{id}/members',
    summary: 'List those with whom a survey is shared',
    query: z.strictObject(pageFields(100)),
    reply: z.array(memberSchema),
    replyStatus: 200,
    isPaged: true,
    handle: async ({ query, survey }) => {
      const { items, total } = await members.list({ surveyId: survey.id, ...query });
      return page(items.map(presentMember), { ...query, total });
    },
  });
}

function putRoute({ members, audit, rightsChanged }: MemberRoutesDeps): Route {
  return route({
    ...common,
    method: 'PUT',
    path: '/surveys/{id}/members/{userId}',
    summary: 'Share a survey with a user',
    description:
      'An EDITOR may change the survey, a VIEWER reads it. A user whose own role is VIEWER only reads, whatever is shared.',
    body: z.strictObject({ role: memberRoleSchema }),
    reply: memberSchema,
    replyStatus: 200,
    handle: async ({ params, body, survey, principal }) => {
      const userId = params['userId'] ?? '';
      if (userId === survey.ownerId)
        throw validationProblem([{ path: 'userId', message: 'the owner has the survey already' }]);
      const member = await members.put(survey.id, userId, body.role);
      if (!member) throw notFound('user');
      rightsChanged({ surveyId: survey.id });
      await audit.record({
        actor: principal,
        action: 'member.set',
        objectKind: 'survey',
        objectId: survey.id,
        details: { userId, role: body.role },
      });
      return ok(presentMember(member));
    },
  });
}

function removeRoute({ members, audit, rightsChanged }: MemberRoutesDeps): Route {
  return route({
    ...common,
    method: 'DELETE',
    path: '/surveys/{id}/members/{userId}',
    summary: 'End the sharing of a survey with a user, or leave it',
    description: 'Members leave a survey by naming themselves, signed in: an API key cannot leave for its user.',
    access: { ...common.access, orSelf: 'userId' },
    reply: z.object({ id: z.uuid().describe("The user's id"), deleted: z.literal(true) }),
    replyStatus: 200,
    handle: async ({ params, survey, principal }) => {
      const userId = params['userId'] ?? '';
      if (!(await members.remove(survey.id, userId))) throw notFound('member');
      rightsChanged({ surveyId: survey.id });
      await audit.record({
        actor: principal,
        action: userId === principal.userId ? 'member.left' : 'member.removed',
        objectKind: 'survey',
        objectId: survey.id,
        details: { userId },
      });
      return ok({ id: userId, deleted: true });
    },
  });
}

function presentMember({ userId, email, role, addedAt }: Member) {
  return { userId, email, role, addedAt: addedAt.toISOString() };
}
