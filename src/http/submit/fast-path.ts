import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import type { SubmissionOutcome } from '../../actors/submissions/request.ts';
import type { Submissions } from '../../actors/submissions/submit.ts';
import { Problem } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { isId } from '../../platform/ids.ts';
import { toProblem } from '../routing/dispatch.ts';
import { defaultMaxBodyBytes, type Outcome } from '../routing/route.ts';
import { type BodyBudget, type BodyPieces, createBodyPieces } from '../server/body-pieces.ts';
import { rateLimitKeyOf, socketAddressText } from '../server/client-address.ts';
import { corsHeaders } from '../server/cors.ts';
import { type Header, headerLines, openReply, sendReply } from '../server/reply.ts';
import { isVisibleAscii, requestIdOf } from '../server/request-head.ts';
import { writeResponse } from '../server/write-response.ts';
import {
  acceptedHead,
  acceptedReply,
  failureOfSubmission,
  replyToSubmission,
  type SubmissionReplyDeps,
} from './reply.ts';
import { idempotencyKeyPattern, readSubmissionRequest, type SubmissionCall, submitPath } from './submit-route.ts';

export interface SubmitFastPathOptions extends SubmissionReplyDeps {
  submit: Submissions;
  addressOf(socketAddress: string, forwardedFor: string | undefined): string;
  bodyBudget: BodyBudget;
  corsOrigins: readonly string[];
  log: Log;
  metrics: Pick<Metrics, 'requested' | 'refused'>;
}

/** The request context of a submission on the fast path. */
interface FastPathRequest {
  res: HttpResponse;
  /** `performance.now()` */
  startedAt: number;
  requestId: string;
  origin: string | undefined;
  call: SubmissionCall;
  /** Replied to, or broken off by the client. */
  isOver: boolean;
}

/**
 * A shorter path for submissions with usual headers, because most of what this service does is this one call: same
 * reading, same decision, same replies, with less between them (docs/decisions/005; `npm test -- e2e/submit-fast-path`
 * compares both paths). Returns false, with nothing read, if the call must take the general path. `trackRequest` is
 * called at the begin, and its result when the call has ended.
 */
export function createSubmitFastPath(options: SubmitFastPathOptions) {
  return (res: HttpResponse, req: HttpRequest, trackRequest: () => () => void): boolean => {
    const surveyId = req.getParameter(0);
    const headers = isId(surveyId) ? readFastPathHeaders(req) : undefined;
    if (!surveyId || !headers) return false;
    const address = options.addressOf(socketAddressText(res.getRemoteAddress()), headers.forwardedFor);
    const request: FastPathRequest = {
      res,
      startedAt: performance.now(),
      requestId: requestIdOf(headers.requestId),
      origin: headers.origin,
      call: {
        surveyId,
        contentType: headers.contentType,
        contentEncoding: undefined,
        idempotencyKey: headers.idempotencyKey,
        surveyToken: headers.surveyToken,
        address: rateLimitKeyOf(address),
      },
      isOver: false,
    };
    const finish = trackRequest();
    let isBodyComplete = false;
    const discard = collectBody(options.bodyBudget, request, (body) => {
      isBodyComplete = true;
      respond(options, request, body).then(finish, (error: unknown) => {
        finish();
        options.log.error({ err: error }, 'writing a reply failed');
      });
    });
    res.onAborted(() => {
      request.isOver = true;
      discard();
      if (!isBodyComplete) finish();
    });
    return true;
  };
}

export type SubmitFastPath = ReturnType<typeof createSubmitFastPath>;

/** The headers that matter on the fast path. */
interface FastPathHeaders {
  host: string | undefined;
  contentType: string | undefined;
  contentLength: string | undefined;
  idempotencyKey: string | undefined;
  surveyToken: string | undefined;
  forwardedFor: string | undefined;
  requestId: string | undefined;
  origin: string | undefined;
}

const lengthPattern = /^\d{1,7}$/;

/**
 * The headers that matter; other headers are ignored. Undefined if the call must take the general path: a query, a
 * repeated header, a value with other than visible ASCII, a body that is chunked, compressed, too large or of unknown
 * length.
 */
function readFastPathHeaders(req: HttpRequest): FastPathHeaders | undefined {
  if (req.getQuery()) return undefined;
  const headers: FastPathHeaders = {
    host: undefined,
    contentType: undefined,
    contentLength: undefined,
    idempotencyKey: undefined,
    surveyToken: undefined,
    forwardedFor: undefined,
    requestId: undefined,
    origin: undefined,
  };
  let isUsual = true;
  const once = (field: keyof FastPathHeaders, value: string): void => {
    if (headers[field] !== undefined) isUsual = false;
    headers[field] = value;
  };
  req.forEach((name, value) => {
    if (!isVisibleAscii(value)) isUsual = false;
    // Comparing names one by one takes a quarter of the time of looking them up in an object and a map.
    switch (name) {
      case 'host':
        once('host', value);
        break;
      case 'content-type':
        once('contentType', value);
        break;
      case 'content-length':
        once('contentLength', value);
        break;
      case 'idempotency-key':
        once('idempotencyKey', value);
        break;
      case 'x-survey-token':
        once('surveyToken', value);
        break;
      case 'x-forwarded-for':
        once('forwardedFor', value);
        break;
      case 'x-request-id':
        once('requestId', value);
        break;
      case 'origin':
        once('origin', value);
        break;
      case 'transfer-encoding':
      case 'content-encoding':
        isUsual = false;
    }
  });
  const { contentLength = '' } = headers;
  return isUsual && lengthPattern.test(contentLength) && Number(contentLength) <= defaultMaxBodyBytes
    ? headers
    : undefined;
}

/**
 * Hands over the whole body, or why it is not taken. One that comes in one piece is not copied: uWS takes its memory
 * back when `onBody` returns. Gives a function that forgets what has come of it.
 */
function collectBody(
  budget: BodyBudget,
  { res, call }: FastPathRequest,
  onBody: (body: Buffer | Problem) => void,
): () => void {
  let pieces: BodyPieces | undefined;
  let isOver = false;
  res.onData((chunk, isLast) => {
    if (isOver) return;
    if (isLast) return onBody(pieces ? pieces.endWith(chunk) : Buffer.from(chunk));
    pieces ??= createBodyPieces(budget, call.address);
    const problem = pieces.add(chunk);
    if (!problem) return;
    isOver = true;
    onBody(problem);
  });
  return () => pieces?.discard();
}

function respond(options: SubmitFastPathOptions, request: FastPathRequest, body: Buffer | Problem): Promise<void> {
  if (body instanceof Problem) return sendGeneralReply(options, request, Promise.reject(body));
  return submitBody(options, request.call, body).then(
    (outcome) =>
      outcome.kind === 'accepted'
        ? sendAccepted(options, request, outcome)
        : sendGeneralReply(options, request, replyToSubmission(outcome, request.call, options)),
    (error: unknown) =>
      sendGeneralReply(options, request, Promise.reject(failureOfSubmission(error, request.call, options))),
  );
}

/**
 * Reads the bytes before it returns, since they are only lent until then. Never throws, since that would end the
 * process.
 */
function submitBody(
  { submit }: SubmitFastPathOptions,
  call: SubmissionCall,
  bytes: Buffer,
): Promise<SubmissionOutcome> {
  try {
    const { contentType, idempotencyKey } = call;
    const isUsual =
      contentType === 'application/json' &&
      (idempotencyKey === undefined || idempotencyKeyPattern.test(idempotencyKey));
    if (!isUsual) return submit(readSubmissionRequest(call, bytes));
    const { surveyId, surveyToken, address } = call;
    const read = (body: Buffer) => readSubmissionRequest(call, body);
    return submit({ surveyId, idempotencyKey, surveyToken, address, bytes, read });
  } catch (error) {
    return Promise.reject(error);
  }
}

function sendAccepted(
  options: SubmitFastPathOptions,
  request: FastPathRequest,
  outcome: SubmissionOutcome & { kind: 'accepted' },
): void {
  if (!request.isOver) {
    request.isOver = true;
    const { text, headers } = acceptedReply(outcome);
    // None of these values can hold a line break.
    const head = acceptedHead + headerLines(standardHeaders(options, request)) + headerLines(headers);
    sendReply(request.res, head, text);
  }
  options.metrics.requested(submitPath, 201, (performance.now() - request.startedAt) / 1000);
}

/** Sends a refusal, or what an error became. */
async function sendGeneralReply(
  options: SubmitFastPathOptions,
  request: FastPathRequest,
  pending: Promise<Outcome>,
): Promise<void> {
  const { res, requestId, startedAt } = request;
  const outcome = await pending.catch((error: unknown) =>
    toProblem(error, options.log, { requestId, route: submitPath }),
  );
  if (outcome instanceof Problem) options.metrics.refused(outcome.code);
  const status = request.isOver
    ? 499
    : await writeResponse(openReply(res), outcome, standardHeaders(options, request), { isHead: false, requestId });
  options.metrics.requested(submitPath, status, (performance.now() - startedAt) / 1000);
}

const standardHeaders = ({ corsOrigins }: SubmitFastPathOptions, { requestId, origin }: FastPathRequest): Header[] => [
  ['x-request-id', requestId],
  ...corsHeaders(corsOrigins, origin, true),
];
