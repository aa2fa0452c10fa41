import { z } from 'zod';
import { decodeLiveCursor } from '../../domain/live-cursor.ts';
import { validationProblem } from '../../errors.ts';
import { type Tickets, ticketSeconds } from '../../stores/redis/websocket-tickets.ts';
import type { Channel, Session } from '../live/session.ts';
import type { Principal } from '../routing/principal.ts';
import { created, type Route, route } from '../routing/route.ts';
import { channelSchema, liveTicketSchema } from '../schemas/live.ts';
import type { StreamingBody } from '../server/reply.ts';

export interface LiveRoutesDeps {
  tickets: Tickets<Principal>;
  openEventStream(principal: Principal, body: StreamingBody): Session;
  /** Throws RATE_LIMITED for a user who has as many live streams as allowed. */
  admit(userId: string): void;
}

const streamQuery = z.strictObject({
  channels: z
    .string()
    .default('responses,analytics,status')
    .transform((text) => text.split(',').map((name) => name.trim()))
    .pipe(z.array(channelSchema).min(1))
    .describe('Of `responses`, `analytics`, `status` and `jobs`, separated by commas'),
  after: z.string().max(200).optional().describe('As the header Last-Event-ID, for clients that cannot set it'),
});

export function liveRoutes({ tickets, openEventStream, admit }: LiveRoutesDeps): Route[] {
  return [
    route({
      method: 'POST',
      path: '/live/tickets',
      operationId: 'createLiveTicket',
      tag: 'Live',
      summary: 'Get a ticket for the WebSocket',
      access: { kind: 'user' },
      limit: 'api',
      reply: liveTicketSchema,
      replyStatus: 201,
      handle: async ({ principal }) =>
        created({ ticket: await tickets.issue(principal), expiresInSeconds: ticketSeconds }),
    }),
    route({
      method: 'GET',
      path: '/surveys/{id}/live',
      operationId: 'streamSurvey',
      tag: 'Live',
      summary: 'Subscribe to a survey with server-sent events',
      description: [
        'Each event is named after the `type` of a LiveServerMessage, which is its data. `subscribed` and responses have their cursor as `id`: sent back as `Last-Event-ID`, it resumes the stream without a gap. While nothing is left to send, heartbeats move the id on without an event, so that it does not expire where responses are rare.',
        'The stream ends when the session or the right to read the survey ends. A user can have LIVE_STREAMS_PER_USER streams (100), WebSockets included, in one process (429).',
      ].join('\n\n'),
      access: { kind: 'survey', right: 'read', by: 'id' },
      limit: 'api',
      query: streamQuery,
      reply: null,
      replyMediaType: 'text/event-stream',
      replyStatus: 200,
      handle: async ({ params, query, principal, header }) => {
        // A client that has received nothing yet may send an empty header.
        const resumed = header('last-event-id');
        const after = resumed || query.after || undefined;
        if (after !== undefined && !decodeLiveCursor(after))
          throw validationProblem([
            { path: resumed ? 'Last-Event-ID' : 'after', message: 'is not a cursor of this service' },
          ]);
        admit(principal.userId);
        return {
          kind: 'events',
          begin: (body) =>
            begin(openEventStream(principal, body), body, {
              surveyId: params['id'] ?? '',
              channels: query.channels,
              after,
            }),
        };
      },
    }),
  ];
}

function begin(
  session: Session,
  body: StreamingBody,
  request: { surveyId: string; channels: Channel[]; after: string | undefined },
): void {
  session.subscribe(request).catch(() => {
    // The survey was deleted meanwhile, or a store is away: the client reconnects.
    session.sendProblem('SERVICE_UNAVAILABLE', 'The stream could not begin', request.surveyId);
    body.end();
  });
}
