import { Problem } from '../../errors.ts';
import type { Outcome } from '../routing/route.ts';
import type { ReplyChannel } from './reply.ts';

type Header = readonly [string, string];

const plainHeaders: readonly Header[] = [
  ['x-content-type-options', 'nosniff'],
  ['cache-control', 'no-store'],
];
/** Proxies are asked not to keep events back. */
const eventHeaders: readonly Header[] = [
  ['content-type', 'text/event-stream; charset=utf-8'],
  ['x-accel-buffering', 'no'],
  ...plainHeaders,
];
const jsonHeaders: readonly Header[] = [['content-type', 'application/json; charset=utf-8'], ...plainHeaders];

export interface ResponseContext {
  isHead: boolean;
  requestId: string;
  /** Nobody can be sure where this request ends and the next one begins, or that it ends at all. */
  mustClose?: boolean;
}

/** Writes an outcome or a problem; gives the status. */
export async function writeResponse(
  reply: ReplyChannel,
  outcome: Outcome | Problem,
  headers: Header[],
  context: ResponseContext,
): Promise<number> {
  if (outcome instanceof Problem) return writeProblem(reply, outcome, headers, context);
  if (outcome.kind === 'written') return 200;
  if (outcome.kind === 'events') {
    if (context.isHead) reply.sendHead(200, [...eventHeaders, ...headers]);
    else {
      const body = reply.open(200, [...eventHeaders, ...headers]);
      if (body) await outcome.begin(body);
    }
    return 200;
  }
  if (outcome.kind === 'stream') {
    if (context.isHead) reply.sendHead(outcome.status, [...outcome.headers, ...headers], outcome.totalBytes);
    else await reply.stream(outcome.status, [...outcome.headers, ...headers], outcome.source, outcome.totalBytes);
    return outcome.status;
  }
  const text = bodyText(outcome);
  const type: readonly Header[] =
    outcome.kind === 'json'
      ? jsonHeaders
      : [
          ['content-type', outcome.mediaType],
          ['x-content-type-options', 'nosniff'],
        ];
  writeText(reply, outcome.status, [...type, ...headers, ...(outcome.headers ?? [])], text, context);
  return outcome.status;
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

function writeText(
  reply: ReplyChannel,
  status: number,
  headers: Header[],
  text: string,
  { isHead, mustClose = false }: ResponseContext,
): void {
  if (mustClose) reply.sendAndClose(status, headers, text);
  else if (isHead) reply.sendHead(status, headers, Buffer.byteLength(text));
  else reply.send(status, headers, text);
}

function writeProblem(reply: ReplyChannel, problem: Problem, extraHeaders: Header[], context: ResponseContext): number {
  const headers: Header[] = [...jsonHeaders, ...extraHeaders, ...problem.headers];
  if (problem.retryAfterSeconds !== undefined) headers.push(['retry-after', String(problem.retryAfterSeconds)]);
  if (problem.status === 401) headers.push(['www-authenticate', 'Bearer']);
  const text = problemText(problem, context.requestId);
  // What was not read, or belongs to who knows what, would be taken for the next request.
  writeText(reply, problem.status, headers, text, {
    ...context,
    mustClose: problem.status === 413 || context.mustClose === true,
  });
  return problem.status;
}
