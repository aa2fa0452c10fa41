import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenCall {
  wire: 'openai' | 'azure' | 'gemini' | 'anthropic';
  path: string;
  key: string;
  model: string;
  system: string;
  /** The user's turns, in order. */
  user: string[];
  schema: any;
  /** The whole body as it arrived. */
  raw: string;
}

/** What the stand-in does instead of answering well. */
export type Fault =
  | { status: number; headers?: Record<string, string>; body?: unknown }
  | { text: string }
  | { hang: true }
  | { cut: true }
  | { bytes: number }
  | { refusal: true };

export interface AiProviderServer {
  /** Environment of a service that uses it for all four providers. */
  env: Record<string, string>;
  url: string;
  calls: SeenCall[];
  /** The next calls get these, one each. */
  faults: Fault[];
  /** Decides what a good reply holds; undefined: something that fits the schema. */
  answer: ((call: SeenCall) => unknown) | undefined;
  delayMs: number;
  close(): Promise<void>;
}

export const standInKey = 'stand-in-key-0001';

/** A server on loopback that speaks the wire protocols of the four providers. */
export async function startAiProvider(): Promise<AiProviderServer> {
  const state = { calls: [] as SeenCall[], faults: [] as Fault[], answer: undefined as AiProviderServer['answer'], delayMs: 0 };
  const server = createServer((request, response) => {
    void serve(request, response, state);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env = {
    OPENAI_API_KEY: standInKey, OPENAI_BASE_URL: `${url}/v1`, ANTHROPIC_API_KEY: standInKey, ANTHROPIC_BASE_URL: url, GEMINI_API_KEY: standInKey, GEMINI_BASE_URL: `${url}/v1beta/openai/`,
    AZURE_OPENAI_API_KEY: standInKey, AZURE_OPENAI_ENDPOINT: url, AZURE_OPENAI_DEPLOYMENT: 'dep1',
  };
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return Object.assign(state, { env, url, close });
}

async function serve(request: IncomingMessage, response: ServerResponse, state: Pick<AiProviderServer, 'calls' | 'faults' | 'answer' | 'delayMs'>): Promise<void> {
  const raw = await textOf(request);
  const call = readCall(request, raw);
  if (typeof call === 'string') return send(response, 400, { error: { message: call } });
  state.calls.push(call);
  const fault = state.faults.shift();
  if (state.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, state.delayMs));
  if (call.key !== standInKey) return send(response, 401, { error: { message: `Incorrect API key provided: ${call.key}`, code: 'invalid_api_key' } });
  if (fault && 'status' in fault) return send(response, fault.status, fault.body ?? { error: { message: `failure of ${call.key}` } }, fault.headers);
  if (fault && 'hang' in fault) return;
  if (fault && 'cut' in fault) {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' }).write('{"id":');
    return void setTimeout(() => response.destroy(), 20);
  }
  if (fault && 'bytes' in fault) return flood(response, fault.bytes);
  const isRefused = fault !== undefined && 'refusal' in fault;
  const text = fault && 'text' in fault ? fault.text : JSON.stringify(state.answer?.(call) ?? synthesise(call.schema));
  send(response, 200, call.wire === 'anthropic' ? anthropicReply(call, text, isRefused) : chatReply(call, text, isRefused));
}

function flood(response: ServerResponse, bytes: number): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const chunk = Buffer.alloc(1024 * 1024, 0x20);
  const more = (sent: number): void => {
    if (response.destroyed) return;
    if (sent >= bytes) return void response.end('{}');
    response.write(chunk, () => more(sent + chunk.length));
  };
  more(0);
}

/** Insists on what the real interfaces insist on; a string says what is missing. */
function readCall(request: IncomingMessage, raw: string): SeenCall | string {
  const path = (request.url ?? '').split('?')[0] ?? '';
  const body = JSON.parse(raw === '' ? '{}' : raw);
  const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
  if (request.method !== 'POST' || request.headers['content-type'] !== 'application/json') return 'only JSON is taken';
  if (path === '/v1/messages') {
    if (!request.headers['anthropic-version'] || !(body.max_tokens > 0)) return 'version and max_tokens are needed';
    const apiKey = request.headers['x-api-key'];
    const key = bearer !== '' ? bearer : String(apiKey ?? '');
    return { wire: 'anthropic', path, key, model: body.model, system: body.system, user: userTurns(body), schema: body.output_config?.format?.schema, raw };
  }
  const wire = path === '/v1/chat/completions' ? 'openai' : path === '/v1beta/openai/chat/completions' ? 'gemini' : path === '/openai/deployments/dep1/chat/completions' ? 'azure' : undefined;
  if (!wire) return `nothing is served at ${path}`;
  if (wire === 'azure' && !(request.url ?? '').includes('api-version=')) return 'api-version is needed';
  const key = wire === 'azure' ? String(request.headers['api-key'] ?? '') : bearer;
  if (body.response_format?.json_schema?.strict !== true) return 'a strict schema is needed';
  const system = body.messages.filter(({ role }: any) => role === 'system').map(({ content }: any) => content).join('\n');
  return { wire, path, key, model: body.model, system, user: userTurns(body), schema: body.response_format.json_schema.schema, raw };
}

const userTurns = (body: any): string[] => body.messages.filter(({ role }: any) => role === 'user').map(({ content }: any) => String(content));

const chatReply = ({ model }: SeenCall, text: string, isRefused: boolean) => ({
  id: 'chatcmpl-1', object: 'chat.completion', created: 1_700_000_000, model,
  choices: [{ index: 0, finish_reason: 'stop', logprobs: null, message: { role: 'assistant', content: isRefused ? null : text, refusal: isRefused ? 'I cannot help with that.' : null } }],
  usage: { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 },
});

const anthropicReply = ({ model }: SeenCall, text: string, isRefused: boolean) => ({
  id: 'msg_1', type: 'message', role: 'assistant', model, content: isRefused ? [] : [{ type: 'text', text }], stop_reason: isRefused ? 'refusal' : 'end_turn', stop_sequence: null,
  usage: { input_tokens: 100, output_tokens: 50 },
});

/** A small value that fits a JSON schema. */
export function synthesise(schema: any, at = 0): unknown {
  if (schema.anyOf) return synthesise(schema.anyOf[0], at);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[at % schema.enum.length];
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === 'object') return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, property]) => [name, synthesise(property, at)]));
  if (type === 'array') return Array.from({ length: Math.max(schema.minItems ?? 0, 2) }, (_, index) => synthesise(schema.items, index));
  if (type === 'number' || type === 'integer') return schema.minimum ?? 1;
  if (type === 'boolean') return at % 2 === 0;
  return type === 'null' ? null : `text ${at + 1}`;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(typeof body === 'string' ? body : JSON.stringify(body));
}
