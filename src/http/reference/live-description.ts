import { liveLimits } from '../live/live-limits.ts';

const {
  subscriptions,
  frameBytes,
  burst,
  perSecond,
  maxRefusedMessages,
  idleSeconds,
  stalledSeconds,
  checkSeconds,
  reconnectWithinMs,
} = liveLimits;

/** How live streams are used, from the ticket to coming back. */
export function liveDescription(): string {
  return [
    'What happens to a survey, as it happens. Whoever may read a survey may listen to it, over a WebSocket (many surveys on one connection) or as server-sent events (one survey).',
    '### WebSocket',
    '`POST /live/tickets` gives a ticket, good for 60 seconds and one use. Connect to `{base_url}/live?ticket=…` with the subprotocol `survey.v1`; pages of other origins than the service’s own must be named in ' +
      'CORS_ORIGINS. Refusals before the connection stands are ordinary replies, with their headers, and count by address: 400 without the subprotocol, 401 without a good ticket, 403 for a strange origin, 429, 503. Then both sides send JSON texts: the client LiveClientMessage, the service LiveServerMessage.',
    table(
      ['the client sends', 'the service answers'],
      [
        [
          '`{"type":"subscribe","surveyId","channels":["responses","analytics","status","jobs"],"after"?}`',
          '`subscribed` with all `channels` of that survey and a `cursor`, or `error`. Subscribing again adds channels; with `after` it starts the responses over from there',
        ],
        ['`{"type":"unsubscribe","surveyId","channels"?}`', '`unsubscribed`; without `channels`, from all of them'],
        ['`{"type":"ping"}`', '`pong`'],
      ],
    ),
    table(
      ['channel', 'brings'],
      [
        [
          'responses',
          '`response` for each accepted submission: `responseId`, `isComplete`, `submittedAt`, `answers` as `GET /responses/{id}` has them, and `cursor`; never who answered. A response that is continued comes again under its id',
        ],
        [
          'analytics',
          '`analytics` with what `GET /analytics/surveys/{id}` gives, at first and after every change, at most once a second',
        ],
        ['status', '`status` at first and whenever it changes; `reason` is set when it is CLOSED'],
        ['jobs', '`job` with the progress (0–1) of exports and AI work of the survey'],
      ],
    ),
    '### Going on after a break',
    'Responses come in the order of their acceptance, as soon as they are on disk: lists and analytics may have them a moment later. Keep the last `cursor` (of `subscribed`, then of each `response`) and send it as `after`: what was accepted since then comes first, ' +
      'then the stream goes on, without a gap. Reach: the last ten minutes; while the intake is more than half full, 100,000 responses of the shard at least. If a cursor is older than what is kept, `missed` names the time from which responses may be missing; read them as a list. Deleted responses are not replayed. ' +
      'After a failure of the service a response can come twice: take `responseId` with `cursor` as its name.',
    '`lagged` tells a client that it read too slowly: `skipped` responses were set aside and follow now. Nothing is lost, and nobody else waits.',
    'When the service stops, `reconnect` says after how many milliseconds to come back (0–' +
      `${reconnectWithinMs}, different for each client), and the connection ends with 1012. Take a new ticket and subscribe with the last cursor.`,
    '### Ends',
    table(
      ['what', 'why'],
      [
        [
          '`error` NOT_FOUND or FORBIDDEN with `surveyId`',
          `the survey was deleted, or the right to read it has ended: that subscription is over, at once or within ${checkSeconds} seconds`,
        ],
        [
          '`error` UNAUTHORIZED, close 1008',
          `the session, API key or user is gone: at once or within ${checkSeconds} seconds`,
        ],
        [
          '`error` RATE_LIMITED',
          `more than ${subscriptions} surveys on one connection, or more than ${burst} messages at once and ${perSecond} a second after that; close 1008 past ${maxRefusedMessages} such messages`,
        ],
        ['close 1003', 'a binary frame'],
        [
          'cut off (1006)',
          `a frame above ${frameBytes / 1024} KiB, no sign of life for ${idleSeconds} seconds (pings are answered by every WebSocket library by itself), or 1 MiB that the client leaves unread`,
        ],
        ['close 1012', 'the service stops'],
      ],
    ),
    '### Server-sent events',
    '`GET /surveys/{id}/live?channels=responses,status` with the usual `Authorization`; without `channels` all but `jobs`. Events are named after the `type` of their message; the cursor of `subscribed` and of each response is the event’s `id`, so that `Last-Event-ID` (or `?after=`) goes on behind it. Comments come every five ' +
      'seconds while it is quiet; while you have been sent all there is, they bring the present cursor as an `id` without an event, so that yours stays young where responses are rare (browsers keep it by themselves). On a stop the stream ends after a `retry` of its own for each client.',
    `A stream whose client takes nothing of what is sent for ${stalledSeconds} seconds is cut off. A client that is gone from the network without a word takes nothing either, but of a quiet stream so little is sent that only the system ` +
      'of the service notices, by what nobody acknowledges: on Linux after a quarter of an hour, or as its setting `net.ipv4.tcp_retries2` says. Where that matters, use the WebSocket: it must answer pings.',
  ].join('\n\n');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}
