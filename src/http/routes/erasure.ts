import { z } from 'zod';
import type { ResponseErasure } from '../../actors/erasure.ts';
import { validationProblem } from '../../errors.ts';
import { accepted, ok, type Route, route } from '../routing/route.ts';
import { countSchema } from '../schemas/common.ts';

export interface ErasureRoutesDeps {
  erasure: Pick<ResponseErasure, 'eraseRespondent'>;
}

const replySchema = z
  .strictObject({
    id: z.string().describe('The respondent'),
    deleted: z.boolean().describe('`true` once nothing of the respondent is left'),
    responses: countSchema.describe('Those that were deleted by this call'),
    isFinished: z.boolean().describe('The same as `deleted`'),
  })
  .meta({ id: 'Erasure', description: 'What was erased.' });

export function erasureRoutes({ erasure }: ErasureRoutesDeps): Route[] {
  return [
    route({
      method: 'DELETE',
      path: '/surveys/{id}/respondents/{respondent}',
      tag: 'Responses',
      summary: 'Erase everything that one respondent has sent',
      description:
        'Deletes the responses that name this `respondent`, with their uploads. Export files that may show them expire at once, and one that is being made fails and says why. 202 with `isFinished: false` when there are more than one call deletes (5000 at least): call again. ' +
        'What was accepted before the call is erased; content leaves the disks within about an hour.',
      access: { kind: 'survey', right: 'edit', by: 'id' },
      limit: 'api',
      reply: replySchema,
      replyStatus: 200,
      otherReplies: [{ status: 202, description: 'Some are left: call again', data: replySchema }],
      refusals: ['VALIDATION_ERROR'],
      audit: {
        action: 'respondent.erased',
        objectKind: 'survey',
        // The respondent is not named: the audit outlives what was erased.
        describe: ({ survey }, data) => ({ objectId: survey.id, details: { deleted: data['responses'] } }),
      },
      handle: async ({ params, survey }) => {
        const respondent = params['respondent'] ?? '';
        if ([...respondent].length > 200)
          throw validationProblem([{ path: 'respondent', message: 'must have at most 200 characters' }]);
        const { removed, isFinished } = await erasure.eraseRespondent(survey.id, respondent);
        const data = { id: respondent, deleted: isFinished, responses: removed, isFinished };
        return isFinished ? ok(data) : accepted(data);
      },
    }),
  ];
}
