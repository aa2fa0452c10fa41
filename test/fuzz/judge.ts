import assert from 'node:assert/strict';
import { type ProblemCode, problemTable } from '../../src/errors.ts';
import type { Method } from '../../src/http/routing/route.ts';
import { problemSchema } from '../../src/http/schemas/common.ts';
import { assertConforms } from '../support/conform.ts';
import { type FuzzRequest, isBeyondParser } from './requests.ts';
import { bytesOf, type WireOutcome, type WireReply } from './wire.ts';

/** How an outcome violates the contract; undefined when it does not. */
export function faultOf(request: FuzzRequest, outcome: WireOutcome): string | undefined {
  // 502 and 503 come from other systems, which may ignore the invalid part.
  if (request.isBroken)
    return typeof outcome !== 'string' && outcome.status >= 500 && ![502, 503, 505].includes(outcome.status)
      ? `status ${outcome.status}`
      : undefined;
  // The parser closes or keeps silent on what is no HTTP to it, before there is a request.
  if (typeof outcome === 'string' || isOfParser(outcome))
    return isBeyondParser(request)
      ? undefined
      : typeof outcome === 'string'
        ? outcome
        : `the parser refused with ${outcome.status}`;
  try {
    assertKept(request, outcome);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** For a report: enough to send it again. */
export function shownRequest(request: FuzzRequest): string {
  return JSON.stringify(bytesOf(request).toString('latin1').slice(0, 1500));
}

/** A refusal before the request was read has no JSON and no request id. */
const isOfParser = ({ status, headers }: WireReply) =>
  [400, 431, 505].includes(status) && headers.get('x-request-id') === null;

/** A file has the type that its uploader gave it, whatever is in it. */
export function isJsonReply(
  { method, route }: FuzzRequest,
  { status, headers }: Pick<WireReply, 'status' | 'headers'>,
): boolean {
  const isFile = status < 300 && method === 'GET' && route?.includes('/uploads/{uploadId}') === true;
  return !isFile && headers.get('content-type')?.startsWith('application/json') === true;
}

function assertKept(request: FuzzRequest, { status, headers, body }: WireReply): void {
  assert.notEqual(status, 500, `500: ${body.toString().slice(0, 300)}`);
  const text = body.toString();
  const isJson = isJsonReply(request, { status, headers });
  const reply = { status, headers, body: isJson && text !== '' ? JSON.parse(text) : text };
  assert.match(headers.get('x-request-id') ?? '', /^[A-Za-z0-9._-]{1,64}$/, 'X-Request-Id');
  if (request.method === 'HEAD' || status < 300) {
    if (request.route !== undefined && request.method !== 'HEAD')
      assertConforms(request.route as `${Method} ${string}`, reply);
    return;
  }
  if (status === 304 || status === 416) return;
  const problem = problemSchema.parse(reply.body);
  assert.equal(problemTable[problem.code as ProblemCode].status, status);
  assert.equal(problem.requestId, headers.get('x-request-id'));
  assert.doesNotMatch(
    text,
    /\bat .+\.(js|ts):\d+|node_modules|ECONNREFUSED|Unexpected token|DB::Exception|ReplyError/,
    'something of the inside is told',
  );
  if (request.route !== undefined) assertConforms(request.route as `${Method} ${string}`, reply);
}
