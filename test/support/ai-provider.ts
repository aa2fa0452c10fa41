import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { breakdownOf, eventsOf } from './ai-events.ts';
import { type Ending, mismatchOf, readCall, replyOf, type SeenCall, synthesise } from './ai-wire.ts';

export type { SeenCall } from './ai-wire.ts';

/** Failures of the stand-in for a provider. */
export type Fault =
  | { status: number; headers?: Record<string, string>; body?: unknown }
  /** Well-formed, and this is what the model says. */
  | { text: string; ending?: Ending }
  /** No reply, ever. */
  | { hang: true }
  /** A reply that begins, and then a space now and then. */
  | { drip: true }
  /**
   * Hung up: before a word, in the middle of a body whose length is known, between chunks; of a stream of events also
   * by ending it as if all had been said.
   */
  | { cut: true | 'before' | 'chunks' | 'orderly' }
  /** Nothing more from the middle of a stream of events on. */
  | { stall: true }
  /** Says in the middle of a stream of events that it cannot go on. */
  | { breakdown: true }
  /** So many spaces. */
  | { bytes: number }
  | { refusal: true };

interface State {
  calls: SeenCall[];
  /** The next calls get these, one each. */
  faults: Fault[];
  /** Goes before `faults`. */
  faultOf: ((call: SeenCall) => Fault | undefined) | undefined;
  /**
   * Decides what a good reply holds; undefined: something that fits the schema. A reply that does not fit is refused,
   * as providers with strict schemas never send one.
   */
  answer: ((call: SeenCall) => unknown) | undefined;
  delayMs: number;
  /** No reply before this has come. */
  holdUntil: Promise<void> | undefined;
  /** Nothing more than half of a stream of events before this has come. */
  midway: Promise<void> | undefined;
  /** Bytes of endless replies that were taken from the stand-in. */
  floodedBytes: number;
  /** Requests that no provider serves, and the reasons of refused ones. */
  strays: string[];
}

export interface AiProviderServer extends State {
  /** Environment of a service that uses it for all four providers. */
  env: Record<string, string>;
  url: string;
  close(): Promise<void>;
}

class DisobedientReply {
  readonly value: unknown;
  constructor(value: unknown) {
    this.value = value;
  }
}

/** A reply of a model that does not keep to the schema it was sent. */
export const disobedient = (value: unknown) => new DisobedientReply(value);

export const standInKey = 'stand-in-key-0001';

/** A server on loopback that speaks the wire protocols of the four providers. */
export async function startAiProvider(): Promise<AiProviderServer> {
  const state: State = {
    calls: [],
    faults: [],
    faultOf: undefined,
    answer: undefined,
    delayMs: 0,
    holdUntil: undefined,
    midway: undefined,
    floodedBytes: 0,
    strays: [],
  };
  const server = createServer((request, response) => {
    void serve(request, response, state);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env = {
    OPENAI_API_KEY: standInKey,
    OPENAI_BASE_URL: `${url}/v1`,
    ANTHROPIC_API_KEY: standInKey,
    ANTHROPIC_BASE_URL: url,
    GEMINI_API_KEY: standInKey,
    GEMINI_BASE_URL: `${url}/v1beta/openai/`,
    AZURE_OPENAI_API_KEY: standInKey,
    AZURE_OPENAI_ENDPOINT: url,
    AZURE_OPENAI_DEPLOYMENT: 'dep1',
  };
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return Object.assign(state, { env, url, close });
}

async function serve(request: IncomingMessage, response: ServerResponse, state: State): Promise<void> {
  const raw = await textOf(request);
  const call = readCall(request, raw);
  if (typeof call === 'string') {
    state.strays.push(`${request.method} ${request.url}: ${call}`);
    return send(response, 400, { error: { message: call } });
  }
  state.calls.push(call);
  const fault = state.faultOf ? state.faultOf(call) : state.faults.shift();
  if (state.delayMs > 0) await pause(state.delayMs);
  await state.holdUntil;
  if (call.key !== standInKey)
    return send(response, 401, {
      error: { message: `Incorrect API key provided: ${call.key}`, code: 'invalid_api_key' },
    });
  if (fault && 'status' in fault)
    return send(response, fault.status, fault.body ?? { error: { message: `failure of ${call.key}` } }, fault.headers);
  if (fault && 'hang' in fault) return;
  const mediaType = call.isStream ? eventsType : jsonType;
  if (fault && 'drip' in fault) return drip(response, mediaType);
  if (fault && 'cut' in fault && (fault.cut === 'before' || !call.isStream)) return cut(response, fault.cut);
  if (fault && 'bytes' in fault) return flood(response, { bytes: fault.bytes, mediaType }, state);
  const answer = state.answer?.(call) ?? synthesise(call.schema);
  const good = JSON.parse(JSON.stringify(answer instanceof DisobedientReply ? answer.value : answer));
  const mismatch = answer instanceof DisobedientReply ? undefined : mismatchOf(call.schema, good);
  if (mismatch !== undefined && !(fault && 'text' in fault)) {
    state.strays.push(`a reply that does not fit the schema sent: ${mismatch}`);
    return send(response, 400, { error: { message: `the stand-in's reply does not fit the schema: ${mismatch}` } });
  }
  const text = fault && 'text' in fault ? fault.text : JSON.stringify(good);
  const ending = fault && 'refusal' in fault ? 'refusal' : fault && 'text' in fault ? fault.ending : undefined;
  if (!call.isStream) return send(response, 200, replyOf(call, text, ending ?? 'whole'));
  const fate = {
    midway: fault && 'stall' in fault ? new Promise<never>(() => undefined) : state.midway,
    ...(fault && 'cut' in fault && { cut: fault.cut }),
    ...(fault && 'breakdown' in fault && { breakdown: breakdownOf(call) }),
  };
  await sendEvents(response, eventsOf(call, text, ending ?? 'whole'), fate);
}

const [jsonType, eventsType] = ['application/json', 'text/event-stream'];

/** Failures in the middle of a stream. */
interface Fate {
  midway: Promise<void> | undefined;
  cut?: unknown;
  breakdown?: string;
}

/** Each event leaves by itself. */
async function sendEvents(
  response: ServerResponse,
  events: readonly string[],
  { midway, cut: how, breakdown }: Fate,
): Promise<void> {
  response.writeHead(200, { 'content-type': `${eventsType}; charset=utf-8` });
  const half = Math.ceil(events.length / 2);
  for (const event of events.slice(0, half)) await written(response, event);
  await midway;
  if (breakdown !== undefined) return void response.end(breakdown);
  if (how === 'orderly') return void response.end();
  if (how !== undefined) return void response.destroy();
  for (const event of events.slice(half)) await written(response, event);
  response.end();
}

const written = (response: ServerResponse, text: string): Promise<void> =>
  new Promise((resolve) => response.write(text, () => resolve()));

function cut(response: ServerResponse, how: unknown): void {
  if (how === 'before') return void response.destroy();
  response
    .writeHead(200, { 'content-type': 'application/json', ...(how === true && { 'content-length': '5000' }) })
    .write('{"id":');
  setTimeout(() => response.destroy(), 20);
}

function drip(response: ServerResponse, mediaType: string): void {
  response.writeHead(200, { 'content-type': mediaType }).write('{');
  const timer = setInterval(() => response.write(' '), 50);
  response.once('close', () => clearInterval(timer));
}

function flood(
  response: ServerResponse,
  { bytes, mediaType }: { bytes: number; mediaType: string },
  state: State,
): void {
  response.writeHead(200, { 'content-type': mediaType });
  const chunk = Buffer.alloc(256 * 1024, 0x20);
  const more = (sent: number): void => {
    if (response.destroyed) return;
    if (sent >= bytes) return void response.end('{}');
    response.write(chunk, (error) => {
      if (error) return;
      state.floodedBytes += chunk.length;
      more(sent + chunk.length);
    });
  };
  more(0);
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(typeof body === 'string' ? body : JSON.stringify(body));
}
