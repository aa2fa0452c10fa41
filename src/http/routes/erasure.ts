import { z } from 'zod';
import type { ResponseErasure } from '../../actors/erasure/erasure.ts';
import { validationProblem } from '../../errors.ts';
import { accepted, ok, type Route, route } from '../routing/route.ts';
import { countSchema } from '../schemas/common.ts';

export interface ErasureRoutesDeps {
  erasure: Pick<ResponseErasure, 'eraseRespondent'>;
}

const replySchema = z
  .strictObject({
    id: z.string().describe('The respondent'),
    deleted: z.boolean().describe('`true` if nothing of the respondent is left'),
    responses: countSchema.describe('Number of responses that this call deleted'),
    isFinished: z.boolean().describe('The same as `deleted`'),
  })
  .meta({ id: 'Erasure', description: 'The reply to an erasure.' });

export function erasureRoutes({ erasure }: ErasureRoutesDeps): Route[] {
  return [
    route({
      method: 'DELETE',
      path: '/surveys/{id}/respondents/{respondent}',
      operationId: 'eraseRespondent',
      tag: 'Responses',
      summary: 'Erase everything that a respondent has sent',
      description:
        'Deletes the responses that name this `respondent`, with their uploads, and, unless the survey is anonymous, those by invitations that have the respondent as `reference`; then reference, language and metadata of these invitations are erased. Export files that may show them expire at once, and a running export fails with the reason. 202 with `isFinished: false` if one call cannot delete all (it deletes at least 5000): call again. ' +
        'Everything that was accepted before the call is erased; the content leaves the disks within about an hour.',
      access: { kind: 'survey', right: 'edit', by: 'id' },
      limit: 'api',
      reply: replySchema,
      replyStatus: 200,
      otherReplies: [{ status: 202, description: 'Responses are left: call again', data: replySchema }],
      audit: 'by handler',
      handle: async ({ params, survey, principal }) => {
        const respondent = params['respondent'] ?? '';
        if ([...respondent].length > 200)
          throw validationProblem([{ path: 'respondent', message: 'must have at most 200 characters' }]);
        const { removed, isFinished } = await erasure.eraseRespondent(survey.id, respondent, principal);
        const data = { id: respondent, deleted: isFinished, responses: removed, isFinished };
        return isFinished ? ok(data) : accepted(data);
      },
    }),
  ];
}
