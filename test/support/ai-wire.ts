import type { IncomingMessage } from 'node:http';
import type {
  Message,
  MessageCreateParamsNonStreaming,
  MessageCreateParamsStreaming,
} from '@anthropic-ai/sdk/resources/messages';
import type {
  ChatCompletion,
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionCreateParamsStreaming,
} from 'openai/resources/chat/completions';
import { z } from 'zod';

export type Wire = 'openai' | 'azure' | 'gemini' | 'anthropic';

/** A request as it came, once it is known to be one that the real interface takes. */
export interface SeenCall {
  wire: Wire;
  path: string;
  key: string;
  model: string;
  system: string;
  /** The user's turns, in order. */
  user: string[];
  schema: any;
  /** The reply is to come as a stream of events. */
  isStream: boolean;
  /** The whole body as it arrived. */
  raw: string;
}

/** How a reply ends: whole, cut off at the most tokens, refused by the model, or kept back by a filter. */
export type Ending = 'whole' | 'length' | 'refusal' | 'filter';

/**
 * Refuses to compile a schema whose requests the SDK's own type would not have. Strict objects see to it that nothing
 * else is sent: no tools, no files.
 */
const typed = <T>(schema: z.ZodType<T>): z.ZodType<T> => schema;

const text = z.string().min(1);
const jsonSchema = z.record(z.string(), z.unknown());
const tokens = z.number().int().min(1).max(64_000);

const chatFields = {
  model: text,
  messages: z
    .array(
      z.discriminatedUnion('role', [
        z.strictObject({ role: z.literal('system'), content: text }),
        z.strictObject({ role: z.literal('user'), content: text }),
        z.strictObject({ role: z.literal('assistant'), content: text }),
      ]),
    )
    .min(2),
  response_format: z.strictObject({
    type: z.literal('json_schema'),
    json_schema: z.strictObject({
      name: z.string().regex(/^[\w-]{1,64}$/),
      strict: z.literal(true),
      schema: jsonSchema,
    }),
  }),
};
const effort = z.enum(['none', 'minimal', 'low', 'medium', 'high']).exactOptional();

/** The dated interface of Azure knows no effort. */
const chatForms = {
  openai: { ...chatFields, max_completion_tokens: tokens, reasoning_effort: effort },
  gemini: { ...chatFields, max_tokens: tokens, reasoning_effort: effort },
  azure: { ...chatFields, max_completion_tokens: tokens },
};
const streamed = { stream: z.literal(true), stream_options: z.strictObject({ include_usage: z.literal(true) }) };

const wholeChat = typed<ChatCompletionCreateParamsNonStreaming>;
const streamedChat = typed<ChatCompletionCreateParamsStreaming>;
const chatRequests = {
  openai: z.union([
    wholeChat(z.strictObject(chatForms.openai)),
    streamedChat(z.strictObject({ ...chatForms.openai, ...streamed })),
  ]),
  gemini: z.union([
    wholeChat(z.strictObject(chatForms.gemini)),
    streamedChat(z.strictObject({ ...chatForms.gemini, ...streamed })),
  ]),
  azure: z.union([
    wholeChat(z.strictObject(chatForms.azure)),
    streamedChat(z.strictObject({ ...chatForms.azure, ...streamed })),
  ]),
};

const messageForm = {
  model: text,
  max_tokens: tokens,
  system: text,
  messages: z.array(z.strictObject({ role: z.enum(['user', 'assistant']), content: text })).min(1),
  output_config: z.strictObject({
    format: z.strictObject({ type: z.literal('json_schema'), schema: jsonSchema }),
    effort: z.enum(['low', 'medium', 'high']).exactOptional(),
  }),
};
const messageRequest = z.union([
  typed<MessageCreateParamsNonStreaming>(z.strictObject(messageForm)),
  typed<MessageCreateParamsStreaming>(z.strictObject({ ...messageForm, stream: streamed.stream })),
]);

/** Insists on what the real interfaces insist on; a string says what is missing. */
export function readCall(request: IncomingMessage, raw: string): SeenCall | string {
  const { pathname: path, searchParams } = new URL(request.url ?? '', 'http://stand-in');
  const {
    authorization,
    accept,
    'content-type': type,
    'api-key': azureKey,
    'x-api-key': anthropicKey,
  } = request.headers;
  const bearer = /^Bearer (.+)$/.exec(authorization ?? '')?.[1];
  if (request.method !== 'POST' || type !== 'application/json') return 'only JSON is taken';
  const body: unknown = JSON.parse(raw);
  const isStream = (body as { stream?: unknown } | null)?.stream === true;
  if (isStream !== (accept === 'text/event-stream')) return 'a stream is asked for in the head and in the body';
  if (path === '/v1/messages') {
    if (!/^\d{4}-\d\d-\d\d$/.test(String(request.headers['anthropic-version']))) return 'anthropic-version is needed';
    return seenMessage(body, { path, raw, isStream, key: bearer ?? String(anthropicKey ?? '') });
  }
  const wire = (
    {
      '/v1/chat/completions': 'openai',
      '/v1beta/openai/chat/completions': 'gemini',
      '/openai/deployments/dep1/chat/completions': 'azure',
    } as const
  )[path];
  if (!wire) return `nothing is served at ${path}`;
  const version = searchParams.get('api-version');
  if (wire === 'azure' && (!/^\d{4}-\d\d-\d\d$/.test(version ?? '') || authorization !== undefined))
    return 'a dated api-version and no Bearer are needed';
  if (wire !== 'azure' && (version !== null || azureKey !== undefined)) return 'api-version and api-key are for Azure';
  return seenChat(wire, body, { path, raw, isStream, key: wire === 'azure' ? String(azureKey ?? '') : (bearer ?? '') });
}

type Came = Pick<SeenCall, 'path' | 'raw' | 'key' | 'isStream'>;

function seenChat(wire: Exclude<Wire, 'anthropic'>, body: unknown, came: Came): SeenCall | string {
  const read = chatRequests[wire].safeParse(body);
  if (!read.success) return read.error.message;
  const { model, messages, response_format: format } = read.data;
  const schema = format?.type === 'json_schema' ? format.json_schema.schema : undefined;
  const said = (wanted: string) => messages.flatMap(({ role, content }) => (role === wanted ? [String(content)] : []));
  return faultOf(schema, []) ?? { ...came, wire, model, system: said('system').join('\n'), user: said('user'), schema };
}

/** Keywords that Anthropic's schemas do not take; of `minItems` they take 0 and 1. */
const unknownToAnthropic = [
  'maxItems',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'multipleOf',
  'exclusiveMinimum',
  'exclusiveMaximum',
];

function seenMessage(body: unknown, came: Came): SeenCall | string {
  const read = messageRequest.safeParse(body);
  if (!read.success) return read.error.message;
  const { model, system, messages, output_config: output } = read.data;
  if (messages[0]?.role !== 'user' || messages.at(-1)?.role !== 'user')
    return 'the first and the last turn are the user’s';
  const schema = output?.format?.schema;
  return (
    faultOf(schema, unknownToAnthropic) ?? {
      ...came,
      wire: 'anthropic',
      model,
      system: String(system),
      user: messages.flatMap(({ role, content }) => (role === 'user' ? [String(content)] : [])),
      schema,
    }
  );
}

/** Strict schemas name all properties of an object as required and allow no others. */
function faultOf(schema: any, unknown: readonly string[]): string | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined;
  const foreign =
    unknown.find((keyword) => keyword in schema) ??
    (unknown.length > 0 && schema.minItems > 1 ? 'minItems' : undefined);
  if (foreign !== undefined) return `${foreign} is not taken`;
  const names = Object.keys(schema.properties ?? {});
  if (
    schema.type === 'object' &&
    (schema.additionalProperties !== false || names.some((name) => !schema.required?.includes(name)))
  )
    return 'an object of the schema is not strict';
  return [...Object.values(schema.properties ?? {}), schema.items, ...(schema.anyOf ?? [])]
    .map((part) => faultOf(part, unknown))
    .find((fault) => fault !== undefined);
}

/** A reply of the provider's interface. */
export const replyOf = (call: SeenCall, content: string, ending: Ending): ChatCompletion | Message =>
  call.wire === 'anthropic' ? messageReply(call, content, ending) : chatReply(call, content, ending);

export function chatReply({ model }: SeenCall, content: string, ending: Ending): ChatCompletion {
  const isRefused = ending === 'refusal';
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model,
    choices: [
      {
        index: 0,
        finish_reason: ({ whole: 'stop', refusal: 'stop', length: 'length', filter: 'content_filter' } as const)[
          ending
        ],
        logprobs: null,
        message: {
          role: 'assistant',
          content: isRefused || ending === 'filter' ? null : content,
          refusal: isRefused ? 'I cannot help with that.' : null,
        },
      },
    ],
    usage: { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 },
  };
}

export function messageReply({ model }: SeenCall, content: string, ending: Ending): Message {
  const isRefused = ending === 'refusal' || ending === 'filter';
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model,
    content: isRefused ? [] : [{ type: 'text', text: content, citations: null }],
    stop_reason: isRefused ? 'refusal' : ending === 'length' ? 'max_tokens' : 'end_turn',
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
    usage: {
      input_tokens: 100,
      output_tokens: 50,
      cache_creation: null,
      cache_creation_input_tokens: null,
      cache_read_input_tokens: null,
      output_tokens_details: null,
      server_tool_use: null,
      inference_geo: null,
      service_tier: 'standard',
      speed: null,
    },
  };
}

/** Where a value does not fit a JSON schema, as a path; undefined where it fits. */
export function mismatchOf(schema: any, value: any, path = 'reply'): string | undefined {
  if (schema.anyOf) {
    const mismatches = schema.anyOf.map((option: any) => mismatchOf(option, value, path));
    return mismatches.includes(undefined) ? undefined : mismatches[0];
  }
  if (schema.const !== undefined) return value === schema.const ? undefined : path;
  if (schema.enum) return schema.enum.includes(value) ? undefined : path;
  const actual = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  const types = [schema.type].flat();
  if (!types.includes(actual) && !(types.includes('integer') && Number.isInteger(value))) return path;
  if (actual === 'array')
    return value.map((item: any, n: number) => mismatchOf(schema.items, item, `${path}.${n}`)).find(Boolean);
  if (actual !== 'object') return undefined;
  const { properties = {} } = schema;
  const names = new Set([...Object.keys(properties), ...Object.keys(value)]);
  for (const name of names) {
    const at = `${path}.${name}`;
    if (!(name in properties) || !(name in value)) return at;
    const mismatch = mismatchOf(properties[name], value[name], at);
    if (mismatch) return mismatch;
  }
  return undefined;
}

/** A small value that fits a JSON schema. */
export function synthesise(schema: any, at = 0): unknown {
  // What may be null is: places in lists would have to fit them.
  if (schema.anyOf) return synthesise(schema.anyOf.find(({ type }: any) => type === 'null') ?? schema.anyOf[0], at);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[at % schema.enum.length];
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === 'object')
    return Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([name, property]) => [name, synthesise(property, at)]),
    );
  if (type === 'array')
    return Array.from({ length: Math.max(schema.minItems ?? 0, 2) }, (_, index) => synthesise(schema.items, index));
  if (type === 'number' || type === 'integer') return schema.minimum ?? 1;
  if (type === 'boolean') return at % 2 === 0;
  return type === 'null' ? null : `text ${at + 1}`;
}
