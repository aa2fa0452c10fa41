import { liveLimits } from '../live/live-limits.ts';

const {
  subscriptions,
  frameBytes,
  burst,
  perSecond,
  waitingCharacters,
  maxRefusedMessages,
  idleSeconds,
  stalledSeconds,
  checkSeconds,
  reconnectWithinMs,
} = liveLimits;

/** The text of the Live tag: tickets, messages, resuming, and why connections end. */
export function liveDescription(): string {
  return [
    'Changes of a survey as they happen. Everyone who may read a survey may subscribe to it, over a WebSocket (many surveys on one connection) or as server-sent events (one survey).',
    '### WebSocket',
    '`POST /live/tickets` gives a ticket that is valid for 60 seconds and one use. Connect to `{base_url}/live?ticket=…` with the subprotocol `survey.v1`; pages of other origins than the service’s own must be named in ' +
      'CORS_ORIGINS. Refusals before the connection is open are ordinary HTTP replies and count by address: 400 without the subprotocol, 401 without a valid ticket, 403 for an origin that is not listed, 429, 503. Then both sides send JSON texts: the client LiveClientMessage, the service LiveServerMessage.',
    table(
      ['the client sends', 'the service replies'],
      [
        [
          '`{"type":"subscribe","surveyId","channels":["responses","analytics","status","jobs"],"after"?}`',
          '`subscribed` with all `channels` of that survey and a `cursor`, or `error`. Subscribing again adds channels, and the `cursor` is then how far the responses have come; with `responses` and `after` they start over from there',
        ],
        ['`{"type":"unsubscribe","surveyId","channels"?}`', '`unsubscribed`; without `channels`, from all channels'],
        ['`{"type":"ping"}`', '`pong`'],
      ],
    ),
    table(
      ['channel', 'brings'],
      [
        [
          'responses',
          '`response` for each accepted submission: `responseId`, `isComplete`, `outcome`, `submittedAt`, `collectorId`, `answers` as `GET /responses/{id}` has them, and `cursor`, but neither respondent nor metadata. A response that is continued comes again with the same id',
        ],
        [
          'analytics',
          '`analytics` with the data of `GET /analytics/surveys/{id}`, at the start and after every change, at most once a second',
        ],
        [
          'status',
          '`status` at the start and whenever it, or the wording (`version`), changes; `reason` is set if it is CLOSED. Of surveys with active quotas by cell, `quotas` has `id`, `count` and `limit` of each; changed counts are sent at most once a second',
        ],
        [
          'jobs',
          '`job` with the progress (0–1) of exports and AI work of the survey, as it changes. What ended before the subscription, or while the connection was away, is not told: ask `GET /exports/{id}` or `GET /ai/jobs/{jobId}` after each `subscribed`',
        ],
      ],
    ),
    '### Resuming',
    'Responses come in the order of their acceptance, as soon as they are on disk; lists and analytics may show them a moment later. Keep the last `cursor` (of `subscribed`, then of each `response`) and send it as `after`: responses that were accepted since then come first, ' +
      'then the stream goes on without a gap. The last ten minutes are kept; while the intake is more than half full, as much of them as there is room for. If a cursor is older than what is kept, `missed` names the time range in which responses may be missing; read them as a list. It may be one moment (`from` equals `to`), of which mostly nothing is missing: the last response that the client got is kept no longer, and neither is whether others came with it. Deleted responses are not replayed. ' +
      'After a failure of the service a response can come twice: `responseId` and `cursor` together identify it.',
    '`lagged` tells a client that it read too slowly: `skipped` responses were held back and follow now. None is lost, and no other client waits. Of `analytics` and `status` such a client gets the newest when it has room again, and of jobs the end.',
    'When the service stops, `reconnect` says after how many milliseconds to reconnect (0–' +
      `${reconnectWithinMs}, different for each client), and the connection ends with 1012. Take a new ticket and subscribe with the last cursor.`,
    '### Errors and closed connections',
    table(
      ['what', 'cause'],
      [
        [
          '`error` NOT_FOUND or FORBIDDEN with `surveyId`',
          `the survey was deleted, or the right to read it has ended: that subscription ends, at once or within ${checkSeconds} seconds`,
        ],
        [
          '`error` UNAUTHORIZED, close 1008',
          `the session, API key or user is gone: at once or within ${checkSeconds} seconds`,
        ],
        [
          '`error` RATE_LIMITED',
          `more than ${subscriptions} surveys on one connection, or more than ${burst} messages at once and ${perSecond} a second after that, or more than ${waitingCharacters} characters of messages without a reply yet; close 1008 after ${maxRefusedMessages} refused messages`,
        ],
        ['close 1003', 'a binary frame'],
        [
          'cut off (1006)',
          `a frame above ${frameBytes / 1024} KiB, no sign of life for ${idleSeconds} seconds (WebSocket libraries answer pings by themselves), or 1 MiB that the client has not read, besides a longer message that it is reading`,
        ],
        ['close 1012', 'the service stops'],
      ],
    ),
    '### Server-sent events',
    '`GET /surveys/{id}/live?channels=responses,status` with the usual `Authorization`; without `channels` all but `jobs`. Events are named after the `type` of their message; the cursor of `subscribed` and of each response is the event’s `id`, so that `Last-Event-ID` (or `?after=`) resumes behind it. A comment is sent every five ' +
      'seconds while no event is; if nothing is left to send, it carries the present cursor as an `id` without an event, so that your cursor does not expire where responses are rare (browsers store it by themselves). When the service stops, the stream ends after a `retry` that differs for each client.',
    `A stream is cut off if its client takes nothing for ${stalledSeconds} seconds. If a client vanishes from the network while its stream is quiet, so little is sent that only the operating system ` +
      'notices, by packets that are not acknowledged: on Linux after a quarter of an hour, or as `net.ipv4.tcp_retries2` says. Where that matters, use the WebSocket, which must answer pings.',
  ].join('\n\n');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}
