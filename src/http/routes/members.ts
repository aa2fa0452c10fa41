import { z } from 'zod';
import { emailKey } from '../../auth/email.ts';
import type { Survey } from '../../domain/survey.ts';
import { notFound, tooManyConflicts, validationProblem } from '../../errors.ts';
import type { Member, MemberStore } from '../../stores/postgres/members.ts';
import type { UserStore } from '../../stores/postgres/users.ts';
import type { PermissionChange } from '../../stores/redis/permission-notifications.ts';
import { created, ok, page, type Route, route } from '../routing/route.ts';
import { emailField, memberRoleSchema, memberSchema } from '../schemas/accounts.ts';
import { idInputSchema } from '../schemas/common.ts';
import { presentSurvey } from '../schemas/present-survey.ts';
import { pageFields } from '../schemas/query-fields.ts';
import { surveySchema } from '../schemas/surveys.ts';

export interface MemberRoutesDeps {
  members: MemberStore;
  users: Pick<UserStore, 'findByEmail'>;
  rightsChanged(change: PermissionChange): void;
}

const common = { tag: 'Members', access: { kind: 'survey', right: 'own', by: 'id' }, limit: 'api' } as const;

/** Members of a survey: users with whom it is shared. */
export function memberRoutes(deps: MemberRoutesDeps): Route[] {
  return [listRoute(deps), addRoute(deps), putRoute(deps), removeRoute(deps)];
}

function listRoute({ members }: MemberRoutesDeps): Route {
  return route({
    ...common,
    method: 'GET',
    path: '/surveys/{id}/members',
    operationId: 'listMembers',
    summary: 'List the members of a survey',
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

function addRoute(deps: MemberRoutesDeps): Route {
  const { users } = deps;
  return route({
    ...common,
    method: 'POST',
    path: '/surveys/{id}/members',
    operationId: 'addMember',
    summary: 'Share a survey with a user by e-mail address',
    description:
      'As PUT with the id of the user, which only an ADMIN can look up. A user who is a member already gets the role.',
    body: z.strictObject({ email: emailField, role: memberRoleSchema }),
    reply: memberSchema,
    replyStatus: 201,
    audit: {
      action: 'member.set',
      objectKind: 'survey',
      describe: ({ survey, body }, data) => ({
        objectId: survey.id,
        details: { userId: data['userId'], role: body.role },
      }),
    },
    handle: async ({ body: { email, role }, survey }) => {
      const user = await users.findByEmail(emailKey(email));
      if (!user) throw validationProblem([{ path: 'email', message: 'is not the address of a user' }]);
      if (user.id === survey.ownerId)
        throw validationProblem([{ path: 'email', message: 'the owner has the survey already' }]);
      return created(await putMember(deps, { surveyId: survey.id, userId: user.id, role }));
    },
  });
}

function putRoute(deps: MemberRoutesDeps): Route {
  return route({
    ...common,
    method: 'PUT',
    path: '/surveys/{id}/members/{userId}',
    operationId: 'setMember',
    summary: 'Share a survey with a user',
    description:
      'An EDITOR may change the survey, a VIEWER may read it. A user whose own role is VIEWER may only read, whatever the role as a member.',
    body: z.strictObject({ role: memberRoleSchema }),
    reply: memberSchema,
    replyStatus: 200,
    audit: {
      action: 'member.set',
      objectKind: 'survey',
      describe: ({ survey, params, body }) => ({
        objectId: survey.id,
        details: { userId: params['userId'], role: body.role },
      }),
    },
    handle: async ({ params, body, survey }) => {
      const userId = params['userId'] ?? '';
      if (userId === survey.ownerId)
        throw validationProblem([{ path: 'userId', message: 'the owner has the survey already' }]);
      return ok(await putMember(deps, { surveyId: survey.id, userId, role: body.role }));
    },
  });
}

function removeRoute({ members, rightsChanged }: MemberRoutesDeps): Route {
  return route({
    ...common,
    method: 'DELETE',
    path: '/surveys/{id}/members/{userId}',
    operationId: 'removeMember',
    summary: 'Remove a member, or leave a survey',
    description: 'Members leave a survey with their own id, in a session: an API key cannot leave for its user.',
    access: { ...common.access, orSelf: 'userId' },
    reply: z.object({ id: z.uuid().describe("The user's id"), deleted: z.literal(true) }),
    replyStatus: 200,
    audit: {
      action: 'member.removed',
      objectKind: 'survey',
      describe: ({ survey, params: { userId }, principal }) => ({
        objectId: survey.id,
        action: userId === principal.userId ? 'member.left' : 'member.removed',
        details: { userId },
      }),
    },
    handle: async ({ params, survey }) => {
      const userId = params['userId'] ?? '';
      if (!(await members.remove(survey.id, userId))) throw notFound('member');
      rightsChanged({ surveyId: survey.id });
      return ok({ id: userId, deleted: true });
    },
  });
}

async function putMember(
  { members, rightsChanged }: MemberRoutesDeps,
  { surveyId, userId, role }: { surveyId: string; userId: string; role: Member['role'] },
) {
  const outcome = await members.put(surveyId, userId, role);
  if (outcome === 'unknown user') throw notFound('user');
  // A repeat of the call checks the rights again.
  if (outcome === 'changed meanwhile') throw tooManyConflicts('survey');
  rightsChanged({ surveyId });
  return presentMember(outcome);
}

function presentMember({ userId, email, role, addedAt }: Member) {
  return { userId, email, role, addedAt: addedAt.toISOString() };
}

export interface SurveyOwnerRouteDeps {
  members: Pick<MemberStore, 'transferOwnership'>;
  rightsChanged(change: PermissionChange): void;
  /** Exact count of accepted responses. */
  responseCount(surveyId: string): Promise<number>;
  now(): number;
}

/** The route that changes the owner of a survey. */
export function surveyOwnerRoute(deps: SurveyOwnerRouteDeps): Route {
  return route({
    method: 'PUT',
    path: '/surveys/{id}/owner',
    operationId: 'setOwner',
    tag: 'Members',
    summary: 'Hand a survey over to another user',
    description:
      'The new owner must be an ADMIN or EDITOR who is not disabled, member or not. The former owner stays a member with the role EDITOR, so that nobody loses access by mistake, ' +
      'and can leave with `DELETE /surveys/{id}/members/{userId}`. Webhooks, live streams and files of the former owner go on for as long as they may read the survey. Naming the present owner changes nothing.',
    access: { kind: 'survey', right: 'own', by: 'id' },
    limit: 'api',
    body: z.strictObject({ userId: idInputSchema }),
    reply: surveySchema,
    replyStatus: 200,
    audit: {
      action: 'survey.handed-over',
      objectKind: 'survey',
      describe: ({ survey: { id, ownerId } }, data) =>
        data['ownerId'] === ownerId ? undefined : { objectId: id, details: { from: ownerId, to: data['ownerId'] } },
    },
    handle: async ({ body: { userId }, survey }) => {
      const saved = survey.ownerId === userId ? survey : await handOver(deps, survey, userId);
      return ok(
        presentSurvey(saved, {
          responseCount: await deps.responseCount(survey.id),
          nowMs: deps.now(),
          isTokenShown: true,
        }),
      );
    },
  });
}

async function handOver(
  { members, rightsChanged, now }: SurveyOwnerRouteDeps,
  { id, ownerId }: Survey,
  toUserId: string,
): Promise<Survey> {
  const outcome = await members.transferOwnership({ surveyId: id, fromUserId: ownerId, toUserId, at: new Date(now()) });
  if (outcome === 'unknown user') throw notFound('user');
  if (outcome === 'may own nothing')
    throw validationProblem([{ path: 'userId', message: 'must be an ADMIN or EDITOR who is not disabled' }]);
  // A repeat of the call checks the rights again.
  if (outcome === 'changed meanwhile') throw tooManyConflicts('survey');
  rightsChanged({ surveyId: id });
  return outcome;
}
