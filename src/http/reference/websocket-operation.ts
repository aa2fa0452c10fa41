import type { ProblemCode } from '../../errors.ts';
import type { JsonSchema } from './schema-components.ts';

const refusals: readonly ProblemCode[] = [
  'VALIDATION_ERROR',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'RATE_LIMITED',
  'INTERNAL_ERROR',
  'SERVICE_UNAVAILABLE',
];

/** The WebSocket as an operation, although it is no route: the upgrade and how it is refused. `refer` gives the reply for a code, by status. */
export function webSocketOperation(
  problemReplies: (codes: readonly ProblemCode[]) => Record<string, JsonSchema>,
): Record<string, unknown> {
  return {
    get: {
      operationId: 'getLive',
      tags: ['Live'],
      summary: 'Open the WebSocket',
      description:
        'Upgrades to a WebSocket; what both sides say then stands under the Live tag, as LiveClientMessage and LiveServerMessage. The ticket stands for who took it: no other token is needed.',
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
          description: 'Holds `survey.v1`',
          schema: { type: 'string' },
        },
      ],
      responses: {
        '101': {
          description: 'The connection stands',
          headers: { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' } },
        },
        ...problemReplies(refusals),
      },
    },
  };
}
