import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import type { SubmissionOutcome, Submissions } from '../actors/submissions.ts';
import { Problem } from '../errors.ts';
import { isId } from '../ids.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { answer } from './answer.ts';
import { limitKeyOf, socketText } from './client-address.ts';
import { corsHeaders } from './cors.ts';
import { asProblem } from './dispatch.ts';
import { isRefused } from './head.ts';
import type { Limits } from './limits.ts';
import { openReply } from './reply.ts';
import { requestIdOf } from './request-id.ts';
import { defaultMaxBodyBytes, type Outcome } from './route.ts';
import { acceptedText, conclude, keyPattern, readSubmissionCall, resetAt } from './routes/submit.ts';

type Header = readonly [string, string];

export interface SubmitDoorOptions {
  submit: Submissions;
  limits: Pick<Limits, 'consume'>;
  addressOf(socketAddress: string, forwardedFor: string | undefined): string;
  corsOrigins: readonly string[];
  log: Log;
  metrics: Pick<Metrics, 'requested' | 'refused'>;
}

/** A call on its way through the door. */
interface Passage {
  res: HttpResponse;
  startedAt: number;
  surveyId: string;
  address: string;
  head: Head;
  isOver: boolean;
}

export const submitPath = '/responses/surveys/{surveyId}/submit';
/**
 * A second, shorter way to the submit route for its usual calls, because most of what this service does is this one call: the same
 * reading, the same decision and the same replies, with less between them. It takes a call or leaves it to the general way, before
 * anything of it is used up. `track` is told when a call begins and, by the function that it gives, when it has ended.
 */
export function createSubmitDoor(options: SubmitDoorOptions) {
  return (res: HttpResponse, req: HttpRequest, track: () => () => void): boolean => {
    const surveyId = req.getParameter(0);
    const head = isId(surveyId) ? readHead(req) : undefined;
    if (!head) return false;
    const address = limitKeyOf(options.addressOf(socketText(res.getRemoteAddress()), head.forwardedFor));
    const passage: Passage = { res, startedAt: performance.now(), surveyId, address, head, isOver: false };
    const end = track();
    let isWhole = false;
    res.onAborted(() => {
      passage.isOver = true;
      if (!isWhole) end();
    });
    receive(res, (bytes) => {
      isWhole = true;
      take(options, passage, bytes).then(end, (error: unknown) => {
        end();
        options.log.error({ err: error }, 'a reply failed');
      });
    });
    return true;
  };
}

export type SubmitDoor = ReturnType<typeof createSubmitDoor>;

interface Head {
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
function readHead(req: HttpRequest): Head | undefined {
  // A query has nothing to say here.
  if (req.getQuery()) return undefined;
  let [contentType, contentLength, idempotencyKey, surveyToken, forwardedFor, origin, requestId, host]: (string | undefined)[] = [];
  let isUsual = true;
  const once = (known: string | undefined, value: string): string => {
    if (known !== undefined) isUsual = false;
    return value;
  };
  req.forEach((name, value) => {
    if (isRefused(name, value)) isUsual = false;
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
        isUsual = false;
    }
  });
  if (!isUsual || contentLength === undefined || !lengthPattern.test(contentLength) || Number(contentLength) > defaultMaxBodyBytes) return undefined;
  return { contentType, contentLength: Number(contentLength), idempotencyKey, surveyToken, forwardedFor, origin, requestId: requestIdOf(requestId) };
}

/** Gives the whole body: as uWS lends it when it comes in one piece, which is until the call returns. */
function receive(res: HttpResponse, whole: (bytes: Buffer) => void): void {
  let pieces: Buffer | undefined;
  res.onData((chunk, isLast) => {
    const piece = Buffer.from(chunk);
    if (isLast) return whole(pieces ? Buffer.concat([pieces, piece]) : piece);
    pieces = pieces ? Buffer.concat([pieces, piece]) : Buffer.from(piece);
  });
}

function take(options: SubmitDoorOptions, passage: Passage, bytes: Buffer): Promise<void> {
  return begin(options, passage, bytes).then(
    (outcome) => (outcome.kind === 'accepted' && !outcome.isReplay ? sendAccepted(options, passage, outcome) : sendOther(options, passage, conclude(outcome, passage.address, options.limits))),
    (error: unknown) => sendOther(options, passage, Promise.reject(error)),
  );
}

/** Reads the call at once, since its bytes are only lent; never throws, since that would end the process. */
function begin({ submit }: SubmitDoorOptions, { head, surveyId, address }: Passage, bytes: Buffer): Promise<SubmissionOutcome> {
  try {
    const { contentType, idempotencyKey, surveyToken } = head;
    const read = (given: Buffer) => readSubmissionCall({ surveyId, contentType, contentEncoding: undefined, idempotencyKey, surveyToken, address, bytes: given });
    const isUsual = contentType === jsonType && (idempotencyKey === undefined || keyPattern.test(idempotencyKey));
    return submit(isUsual ? { surveyId, idempotencyKey, surveyToken, address, bytes, read } : read(bytes));
  } catch (error) {
    return Promise.reject(error);
  }
}

function sendAccepted(options: SubmitDoorOptions, passage: Passage, { replyText, standing }: SubmissionOutcome & { kind: 'accepted' }): void {
  const { res, head } = passage;
  if (!passage.isOver) {
    passage.isOver = true;
    // One call into the server instead of seven: all headers travel as the tail of the status.
    let block = `201 Created\r\ncontent-type: application/json; charset=utf-8\r\nx-content-type-options: nosniff\r\nx-request-id: ${head.requestId}\r\nx-ratelimit-limit: ${standing.limit}\r\nx-ratelimit-remaining: ${standing.remaining}\r\nx-ratelimit-reset: ${resetAt(standing)}`;
    for (const [name, value] of corsHeaders(options.corsOrigins, head.origin, true)) block += `\r\n${name}: ${value}`;
    res.cork(() => {
      res.writeStatus(block);
      res.end(acceptedText(replyText));
    });
  }
  options.metrics.requested(submitPath, 201, (performance.now() - passage.startedAt) / 1000);
}

/** Refusals, repeats and what went wrong. */
async function sendOther(options: SubmitDoorOptions, passage: Passage, work: Promise<Outcome>): Promise<void> {
  const { res, head, startedAt } = passage;
  const { requestId } = head;
  const outcome = await work.catch((error: unknown) => asProblem(error, options.log, { requestId, route: submitPath }));
  if (outcome instanceof Problem) options.metrics.refused(outcome.code);
  const headers: Header[] = [['x-request-id', requestId], ...corsHeaders(options.corsOrigins, head.origin, true)];
  const status = passage.isOver ? 0 : await answer(openReply(res), outcome, headers, { isHead: false, requestId });
  options.metrics.requested(submitPath, status === 0 ? 499 : status, (performance.now() - startedAt) / 1000);
}
