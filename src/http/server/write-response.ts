import { Problem } from '../../errors.ts';
import type { Outcome } from '../routing/route.ts';
import type { Header, ReplyChannel } from './reply.ts';

const nosniff: Header = ['x-content-type-options', 'nosniff'];
const plainHeaders: readonly Header[] = [nosniff, ['cache-control', 'no-store']];
/** `x-accel-buffering` asks proxies not to buffer events. */
const eventHeaders: readonly Header[] = [
  ['content-type', 'text/event-stream; charset=utf-8'],
  ['x-accel-buffering', 'no'],
  ...plainHeaders,
];
const jsonHeaders: readonly Header[] = [['content-type', 'application/json; charset=utf-8'], ...plainHeaders];

export interface ResponseContext {
  isHead: boolean;
  requestId: string;
  /** It is not certain where the request ends and the next one begins. */
  mustClose?: boolean;
}

/** Writes an outcome or a problem; returns the HTTP status. */
export async function writeResponse(
  reply: ReplyChannel,
  outcome: Outcome | Problem,
  headers: Header[],
  context: ResponseContext,
): Promise<number> {
  if (outcome instanceof Problem) return writeProblem(reply, outcome, headers, context);
  if (outcome.kind === 'head') {
    reply.sendHead(outcome.status, [...outcome.headers, ...headers], outcome.contentLength);
    return outcome.status;
  }
  if (outcome.kind === 'events') {
    if (context.isHead) reply.sendHead(200, [...eventHeaders, ...headers]);
    else {
      const body = reply.open(200, [...eventHeaders, ...headers]);
      if (body) await outcome.begin(body);
    }
    return 200;
  }
  if (outcome.kind === 'stream') {
    const { status, source, totalBytes } = outcome;
    const allHeaders = [...outcome.headers, ...headers];
    if (context.isHead) reply.sendHead(status, allHeaders, totalBytes);
    else if (context.mustClose) await reply.collectAndClose(status, allHeaders, source);
    else await reply.stream(status, allHeaders, source, totalBytes);
    return status;
  }
  if (outcome.kind === 'bytes') {
    const { status, bytes } = outcome;
    await writeWhole(reply, { status, headers: [nosniff, ...outcome.headers, ...headers], body: bytes }, context);
  } else await writeWhole(reply, textReply(outcome, headers), context);
  return outcome.status;
}

/** A reply whose body is JSON or text; `headers` stand between those of the media type and those of the outcome. */
export function textReply(outcome: Outcome & { kind: 'json' | 'text' }, headers: readonly Header[]): TextReply {
  const type = outcome.kind === 'json' ? jsonHeaders : [['content-type', outcome.mediaType] as const, nosniff];
  return {
    status: outcome.status,
    headers: [...type, ...headers, ...(outcome.headers ?? [])],
    body: bodyText(outcome),
  };
}

export interface TextReply {
  status: number;
  headers: readonly Header[];
  body: string;
}

/** The body of a reply that has one as a whole. */
export function bodyText(outcome: Outcome): string {
  if (outcome.kind === 'json')
    return JSON.stringify({
      success: true,
      data: outcome.data,
      ...(outcome.pagination && { pagination: outcome.pagination }),
    });
  if (outcome.kind === 'text') return outcome.text;
  throw new Error(`an outcome of kind ${outcome.kind} has no text`);
}

/** The body of a refusal. */
export const problemText = ({ message, code, details }: Problem, requestId: string): string =>
  JSON.stringify({ success: false, message, code, requestId, ...(details && { details }) });

/** The buffers of a socket take a body of this size with its head; a larger one may have to wait for its reader. */
const maxBufferedBytes = 64 * 1024;

/** Resolves once the socket has taken the body, so that a server that stops does not cut it. */
async function writeWhole(
  reply: ReplyChannel,
  { status, headers, body }: Pick<TextReply, 'status' | 'headers'> & { body: string | Uint8Array },
  { isHead, mustClose = false }: ResponseContext,
): Promise<void> {
  if (mustClose && isHead) reply.sendHeadAndClose(status, headers, Buffer.byteLength(body));
  else if (mustClose) reply.sendAndClose(status, headers, body);
  else if (isHead) reply.sendHead(status, headers, Buffer.byteLength(body));
  else if (fitsBuffer(body)) reply.send(status, headers, body);
  else {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    await reply.stream(status, headers, [bytes], bytes.length);
  }
}

/** A character of a text takes three bytes at most, two of its units four. */
const fitsBuffer = (body: string | Uint8Array): boolean =>
  body.length * 3 <= maxBufferedBytes || Buffer.byteLength(body) <= maxBufferedBytes;

async function writeProblem(
  reply: ReplyChannel,
  problem: Problem,
  extraHeaders: Header[],
  context: ResponseContext,
): Promise<number> {
  const headers: Header[] = [...jsonHeaders, ...extraHeaders, ...problem.headers];
  if (problem.retryAfterSeconds !== undefined) headers.push(['retry-after', String(problem.retryAfterSeconds)]);
  if (problem.status === 401) headers.push(['www-authenticate', 'Bearer']);
  const { status } = problem;
  const body = problemText(problem, context.requestId);
  // The unread rest of a body would be taken for the next request.
  await writeWhole(
    reply,
    { status, headers, body },
    { ...context, mustClose: status === 413 || context.mustClose === true },
  );
  return problem.status;
}
