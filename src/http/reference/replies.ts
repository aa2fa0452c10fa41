import { conflictReasons, type ProblemCode, problemTable } from '../../errors.ts';
import type { OtherReply, Route } from '../routing/route.ts';
import { eventStreamMediaType } from '../routing/streamed-reply.ts';
import { acceptedJobSchema } from '../schemas/ai.ts';
import { paginationSchema } from '../schemas/common.ts';
import { refusalsOf } from './refusals.ts';
import { replyExamples } from './reply-examples.ts';
import type { JsonSchema, SchemaComponents } from './schema-components.ts';

const nonNegativeInteger: JsonSchema = { type: 'integer', minimum: 0 };

/** The headers that replies carry, as components. */
export const headers: Readonly<Record<string, { description: string; schema: JsonSchema }>> = {
  'X-Request-Id': {
    description:
      'Identifies this call in the service’s logs; the one that was sent, if it has 1 to 64 letters, digits, dots, hyphens and underscores',
    schema: { type: 'string' },
  },
  'X-RateLimit-Limit': { description: 'Calls a minute', schema: nonNegativeInteger },
  'X-RateLimit-Remaining': { description: 'Calls left in this window', schema: nonNegativeInteger },
  'X-RateLimit-Reset': { description: 'Unix seconds at which the window ends', schema: nonNegativeInteger },
  'Retry-After': { description: 'Seconds to wait', schema: nonNegativeInteger },
  'WWW-Authenticate': { description: 'How to authenticate: `Bearer`', schema: { type: 'string' } },
  'Content-Disposition': {
    description: 'An attachment, with its name in ASCII and in UTF-8',
    schema: { type: 'string' },
  },
  ETag: { description: 'Changes when the bytes change', schema: { type: 'string' } },
  'Accept-Ranges': { description: 'A range of bytes can be requested', schema: { const: 'bytes' } },
  'Content-Range': {
    description: 'The range that is sent, and the size of the file: `bytes 0-99/1234`; with 416 `bytes */1234`',
    schema: { type: 'string' },
  },
  'Idempotent-Replayed': { description: '`true` on the reply to a repeat', schema: { const: 'true' } },
};

export function headersOf(names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

export const rateLimitHeaderNames = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;

/** All replies of a route by status; refusals are named components that `problems` collects. */
export function repliesOf(
  route: Route,
  components: SchemaComponents,
  problems: Map<string, JsonSchema>,
): Record<string, JsonSchema> {
  const rateLimitNames = route.limit === 'none' ? [] : rateLimitHeaderNames;
  const names = ['X-Request-Id', ...rateLimitNames, ...(route.limit === 'submit' ? ['Idempotent-Replayed'] : [])];
  const replies: Record<string, JsonSchema> = {};
  const add = ({ status, description, headers: extraHeaders = [] }: OtherReply, content?: JsonSchema) => {
    const known = replies[String(status)];
    if (known && content)
      replies[String(status)] = { ...known, content: { ...(known['content'] as JsonSchema), ...content } };
    else
      replies[String(status)] = {
        description,
        headers: headersOf([...names, ...extraHeaders]),
        ...(content && { content }),
      };
  };
  add(
    {
      status: route.replyStatus,
      description: descriptions[route.replyStatus] ?? 'Done',
      ...(isFile(route) && { headers: fileHeaders }),
    },
    contentOf(route, components),
  );
  for (const reply of otherRepliesOf(route))
    add(
      reply,
      reply.isEmpty
        ? undefined
        : reply.data
          ? json(envelope(components.reply(reply.data)))
          : contentWithoutEnvelope(reply.mediaType),
    );
  Object.assign(replies, refusalReplies(refusalsOf(route), problems));
  return replies;
}

/** References to the components that describe these codes, by status. */
export function refusalReplies(
  codes: readonly ProblemCode[],
  problems: Map<string, JsonSchema>,
): Record<string, JsonSchema> {
  return Object.fromEntries(
    [...byStatus(codes)].map(([status, all]) => [
      status,
      { $ref: `#/components/responses/${addProblemResponse(problems, all)}` },
    ]),
  );
}

const descriptions: Readonly<Record<number, string>> = {
  200: 'Done',
  201: 'Created',
  202: 'Accepted; the work goes on after the reply',
};

const isFile = ({ replyMediaType }: Route): boolean => replyMediaType === 'application/octet-stream';
const fileHeaders = ['Content-Disposition', 'ETag', 'Accept-Ranges'];

const streamedReply: OtherReply = {
  status: 200,
  description: 'Streamed while it is written',
  mediaType: eventStreamMediaType,
};

/** Further successful replies of a route: ranges of files and 304, and 202 for a job of AI that takes longer. */
export function otherRepliesOf(route: Route): readonly OtherReply[] {
  const { isStreamed = false, otherReplies: own = [] } = route;
  const otherReplies = isStreamed ? [...own, streamedReply] : own;
  if (isFile(route)) return [...otherReplies, ...rangeRepliesOf(route)];
  return route.asksProvider === 'in job'
    ? [...otherReplies, { status: 202, description: 'The work goes on after the reply', data: acceptedJobSchema }]
    : otherReplies;
}

const mediaTypesOf = ({ mediaTypes, replyMediaType = 'application/octet-stream' }: Route): readonly string[] =>
  mediaTypes ?? [replyMediaType];

/** Range and conditional replies of files: RFC 9110, sections 13 and 14. */
function rangeRepliesOf(route: Route): OtherReply[] {
  const ranges = mediaTypesOf(route).map(
    (mediaType): OtherReply => ({
      status: 206,
      description: 'The requested range of bytes',
      mediaType,
      headers: [...fileHeaders, 'Content-Range'],
    }),
  );
  return [
    ...ranges,
    {
      status: 304,
      description: 'The client has the file, as If-None-Match says',
      isEmpty: true,
      headers: ['ETag', 'Accept-Ranges'],
    },
    {
      status: 416,
      description: 'The range lies outside the file. Without a body',
      isEmpty: true,
      headers: ['ETag', 'Accept-Ranges', 'Content-Range'],
    },
  ];
}

const json = (schema: JsonSchema) => ({ 'application/json': { schema } });

function envelope(data: JsonSchema, pagination?: JsonSchema, isAlwaysPaged = false): JsonSchema {
  return {
    type: 'object',
    required: ['success', 'data', ...(isAlwaysPaged ? ['pagination'] : [])],
    properties: { success: { const: true }, data, ...(pagination && { pagination }) },
  };
}

function contentOf(route: Route, components: SchemaComponents): JsonSchema {
  if (route.reply) {
    const data = replyExamples[`${route.method} ${route.path}`];
    const { 'application/json': shown } = json(
      envelope(
        components.reply(route.reply),
        route.isPaged ? components.reply(paginationSchema) : undefined,
        route.isPaged === true,
      ),
    );
    return { 'application/json': { ...shown, ...(data !== undefined && { example: { success: true, data } }) } };
  }
  return Object.assign({}, ...mediaTypesOf(route).map(contentWithoutEnvelope));
}

function contentWithoutEnvelope(mediaType = 'application/octet-stream'): JsonSchema {
  return { [mediaType]: mediaType.startsWith('text/') ? { schema: { type: 'string' } } : {} };
}

function byStatus(codes: readonly ProblemCode[]): Map<string, ProblemCode[]> {
  const grouped = new Map<string, ProblemCode[]>();
  for (const code of codes) {
    const status = String(problemTable[code].status);
    grouped.set(status, [...(grouped.get(status) ?? []), code]);
  }
  return grouped;
}

/** CONFLICT always has a reason. */
function conflictDetails(codes: readonly ProblemCode[]): JsonSchema {
  if (!codes.includes('CONFLICT')) return {};
  return { details: { type: 'object', properties: { reason: { type: 'string', enum: conflictReasons } } } };
}

function addProblemResponse(problems: Map<string, JsonSchema>, codes: readonly ProblemCode[]): string {
  const name = codes.join('.');
  const status = problemTable[codes[0] ?? 'INTERNAL_ERROR'].status;
  const isWaiting = status === 429 || status === 503;
  problems.set(name, {
    description: codes.map((code) => `${code}: ${problemTable[code].message}`).join('. '),
    headers: headersOf([
      'X-Request-Id',
      ...rateLimitHeaderNames,
      ...(isWaiting ? ['Retry-After'] : []),
      ...(status === 401 ? ['WWW-Authenticate'] : []),
    ]),
    content: json({
      allOf: [
        { $ref: '#/components/schemas/Problem' },
        { type: 'object', properties: { code: { type: 'string', enum: codes }, ...conflictDetails(codes) } },
      ],
    }),
  });
  return name;
}
