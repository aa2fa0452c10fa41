import { z } from 'zod';
import type { Survey } from '../../domain/survey.ts';
import { notFound, tooManyConflicts, validationProblem } from '../../errors.ts';
import type { MemberStore } from '../../stores/postgres/members.ts';
import type { PermissionChange } from '../../stores/redis/permission-notifications.ts';
import { ok, type Route, route } from '../routing/route.ts';
import { idInputSchema } from '../schemas/common.ts';
import { presentSurvey } from '../schemas/present-survey.ts';
import { surveySchema } from '../schemas/surveys.ts';

export interface SurveyOwnerRouteDeps {
  members: Pick<MemberStore, 'transferOwnership'>;
  rightsChanged(change: PermissionChange): void;
  /** Exact count of accepted responses. */
  responseCount(surveyId: string): Promise<number>;
  now(): number;
}

/** Hands a survey over. */
export function surveyOwnerRoute(deps: SurveyOwnerRouteDeps): Route {
  return route({
    method: 'PUT',
    path: '/surveys/{id}/owner',
    tag: 'Members',
    summary: 'Hand a survey over to another user',
    description:
      'The new owner is an ADMIN or EDITOR who is not disabled; whether the survey was shared with them before does not matter. Whoever owned it until now stays a member with the role EDITOR, so that nobody loses sight of a survey by mistake, ' +
      'and can leave it with `DELETE /surveys/{id}/members/{userId}`. What they set up goes on for as long as they may see the survey: webhooks, live streams, files. Naming the present owner changes nothing.',
    access: { kind: 'survey', right: 'own', by: 'id' },
    limit: 'api',
    body: z.strictObject({ userId: idInputSchema }),
    reply: surveySchema,
    replyStatus: 200,
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
  // The rights of the call are looked at again when it comes again.
  if (outcome === 'changed meanwhile') throw tooManyConflicts('survey');
  rightsChanged({ surveyId: id });
  return outcome;
}
