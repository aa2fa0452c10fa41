import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import type { SubmissionOutcome } from '../../actors/submissions/request.ts';
import type { Submissions } from '../../actors/submissions/submit.ts';
import { Problem } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { isId } from '../../platform/ids.ts';
import { toProblem } from '../routing/dispatch.ts';
import type { RateLimits } from '../routing/rate-limits.ts';
import { defaultMaxBodyBytes, type Outcome } from '../routing/route.ts';
import { rateLimitKeyOf, socketAddressText } from '../server/client-address.ts';
import { corsHeaders } from '../server/cors.ts';
import { openReply } from '../server/reply.ts';
import { isRefusedHeader } from '../server/request-head.ts';
import { requestIdOf } from '../server/request-id.ts';
import { writeResponse } from '../server/write-response.ts';
import {
  acceptedReplyBody,
  idempotencyKeyPattern,
  rateLimitResetAt,
  readSubmissionRequest,
  replyToSubmission,
} from './submit-route.ts';

type Header = readonly [string, string];

export interface SubmitFastPathOptions {
  submit: Submissions;
  limits: Pick<RateLimits, 'consume'>;
  addressOf(socketAddress: string, forwardedFor: string | undefined): string;
  corsOrigins: readonly string[];
  log: Log;
  metrics: Pick<Metrics, 'requested' | 'refused'>;
}

/** A call on its way through the door. */
interface FastPathRequest {
  res: HttpResponse;
  startedAt: number;
  surveyId: string;
  address: string;
  head: FastPathHeaders;
  isOver: boolean;
}

export const submitPath = '/responses/surveys/{surveyId}/submit';
/**
 * A second, shorter way to the submit route for its usual calls, because most of what this service does is this one call: the same
 * reading, the same decision and the same replies, with less between them. It takes a call or leaves it to the general way, before
 * anything of it is used up. `track` is told when a call begins and, by the function that it gives, when it has ended.
 */
export function createSubmitFastPath(options: SubmitFastPathOptions) {
  return (res: HttpResponse, req: HttpRequest, trackRequest: () => () => void): boolean => {
    const surveyId = req.getParameter(0);
    const head = isId(surveyId) ? readFastPathHeaders(req) : undefined;
    if (!head) return false;
    const address = rateLimitKeyOf(options.addressOf(socketAddressText(res.getRemoteAddress()), head.forwardedFor));
    const request: FastPathRequest = { res, startedAt: performance.now(), surveyId, address, head, isOver: false };
    const finish = trackRequest();
    let isBodyComplete = false;
    res.onAborted(() => {
      request.isOver = true;
      if (!isBodyComplete) finish();
    });
    collectBody(res, (bytes) => {
      isBodyComplete = true;
      respond(options, request, bytes).then(finish, (error: unknown) => {
        finish();
        options.log.error({ err: error }, 'writing a reply failed');
      });
    });
    return true;
  };
}

export type SubmitFastPath = ReturnType<typeof createSubmitFastPath>;

interface FastPathHeaders {
  contentType: string | undefined;
  contentLength: number;
  idempotencyKey: string | undefined;
  surveyToken: string | undefined;
  forwardedFor: string | undefined;
  origin: string | undefined;
  requestId: string;
}

const jsonType = 'application/json';
const lengthPattern = /^\d{1,7}$/;

/** The headers that count; undefined when there is anything unusual about them, which the general way knows better. */
function readFastPathHeaders(req: HttpRequest): FastPathHeaders | undefined {
  // A query has nothing to say here.
  if (req.getQuery()) return undefined;
  let [contentType, contentLength, idempotencyKey, surveyToken, forwardedFor, origin, requestId, host]: (
    | string
    | undefined
  )[] = [];
  let isSimple = true;
  const once = (previous: string | undefined, value: string): string => {
    if (previous !== undefined) isSimple = false;
    return value;
  };
  req.forEach((name, value) => {
    if (isRefusedHeader(name, value)) isSimple = false;
    switch (name) {
      case 'host':
        return void (host = once(host, value));
      case 'content-type':
        return void (contentType = once(contentType, value));
      case 'content-length':
        return void (contentLength = once(contentLength, value));
      case 'idempotency-key':
        return void (idempotencyKey = once(idempotencyKey, value));
      case 'x-survey-token':
        return void (surveyToken = once(surveyToken, value));
      case 'x-forwarded-for':
        return void (forwardedFor = once(forwardedFor, value));
      case 'x-request-id':
        return void (requestId = once(requestId, value));
      case 'origin':
        return void (origin = once(origin, value));
      case 'transfer-encoding':
      case 'content-encoding':
        isSimple = false;
    }
  });
  if (
    !isSimple ||
    contentLength === undefined ||
    !lengthPattern.test(contentLength) ||
    Number(contentLength) > defaultMaxBodyBytes
  )
    return undefined;
  return {
    contentType,
    contentLength: Number(contentLength),
    idempotencyKey,
    surveyToken,
    forwardedFor,
    origin,
    requestId: requestIdOf(requestId),
  };
}

/** Gives the whole body: as uWS lends it when it comes in one piece, which is until the call returns. */
function collectBody(res: HttpResponse, onBody: (bytes: Buffer) => void): void {
  let chunks: Buffer | undefined;
  res.onData((chunk, isLast) => {
    const bytes = Buffer.from(chunk);
    if (isLast) return onBody(chunks ? Buffer.concat([chunks, bytes]) : bytes);
    chunks = chunks ? Buffer.concat([chunks, bytes]) : Buffer.from(bytes);
  });
}

function respond(options: SubmitFastPathOptions, request: FastPathRequest, bytes: Buffer): Promise<void> {
  return submitBody(options, request, bytes).then(
    (outcome) =>
      outcome.kind === 'accepted' && !outcome.isReplay
        ? sendAccepted(options, request, outcome)
        : sendGeneralReply(options, request, replyToSubmission(outcome, request.address, options.limits)),
    (error: unknown) => sendGeneralReply(options, request, Promise.reject(error)),
  );
}

/** Reads the call at once, since its bytes are only lent; never throws, since that would end the process. */
function submitBody(
  { submit }: SubmitFastPathOptions,
  { head, surveyId, address }: FastPathRequest,
  bytes: Buffer,
): Promise<SubmissionOutcome> {
  try {
    const { contentType, idempotencyKey, surveyToken } = head;
    const read = (body: Buffer) =>
      readSubmissionRequest({
        surveyId,
        contentType,
        contentEncoding: undefined,
        idempotencyKey,
        surveyToken,
        address,
        bytes: body,
      });
    const isSimple =
      contentType === jsonType && (idempotencyKey === undefined || idempotencyKeyPattern.test(idempotencyKey));
    return submit(isSimple ? { surveyId, idempotencyKey, surveyToken, address, bytes, read } : read(bytes));
  } catch (error) {
    return Promise.reject(error);
  }
}

function sendAccepted(
  options: SubmitFastPathOptions,
  request: FastPathRequest,
  { replyText, rateLimit }: SubmissionOutcome & { kind: 'accepted' },
): void {
  const { res, head } = request;
  if (!request.isOver) {
    request.isOver = true;
    // One call into the server instead of seven: all headers travel as the tail of the status.
    let statusAndHeaders = `201 Created\r\ncontent-type: application/json; charset=utf-8\r\nx-content-type-options: nosniff\r\nx-request-id: ${head.requestId}\r\nx-ratelimit-limit: ${rateLimit.limit}\r\nx-ratelimit-remaining: ${rateLimit.remaining}\r\nx-ratelimit-reset: ${rateLimitResetAt(rateLimit)}`;
    for (const [name, value] of corsHeaders(options.corsOrigins, head.origin, true))
      statusAndHeaders += `\r\n${name}: ${value}`;
    res.cork(() => {
      res.writeStatus(statusAndHeaders);
      res.end(acceptedReplyBody(replyText));
    });
  }
  options.metrics.requested(submitPath, 201, (performance.now() - request.startedAt) / 1000);
}

/** Refusals, repeats and what went wrong. */
async function sendGeneralReply(
  options: SubmitFastPathOptions,
  request: FastPathRequest,
  pending: Promise<Outcome>,
): Promise<void> {
  const { res, head, startedAt } = request;
  const { requestId } = head;
  const outcome = await pending.catch((error: unknown) =>
    toProblem(error, options.log, { requestId, route: submitPath }),
  );
  if (outcome instanceof Problem) options.metrics.refused(outcome.code);
  const headers: Header[] = [['x-request-id', requestId], ...corsHeaders(options.corsOrigins, head.origin, true)];
  const status = request.isOver
    ? 0
    : await writeResponse(openReply(res), outcome, headers, { isHead: false, requestId });
  options.metrics.requested(submitPath, status === 0 ? 499 : status, (performance.now() - startedAt) / 1000);
}
