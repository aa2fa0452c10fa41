import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { urlToHttpOptions } from 'node:url';
import type { Guard } from '../../webhooks/guard.ts';
import type { CompletionRequest } from './provider.ts';

export interface BoundedFetchOptions {
  /** Bytes of a reply; a longer one is cut off and fails. A stream of events, which wraps each word, may have several times as many. */
  maxReplyBytes: number;
  /** From when a request leaves until its reply has come whole, or a stream of events begins. */
  timeoutMs: number;
  /** Set for addresses that were entered in-app: checks every address that is connected to, written out or behind a name. */
  guard?: Pick<Guard, 'refusalOf' | 'lookup'> | undefined;
  /** Of nobody who has another guard, or none. */
  connections?: Connections;
}

/** What an SDK hands on to the fetch as it was given it. */
export interface DeferredRequestInit extends Omit<RequestInit, 'body' | 'headers' | 'method' | 'signal'> {
  /** Resolves when the request, of which all is ready, may leave; it fails as this does. */
  begin?: CompletionRequest['begin'] | undefined;
}

/** A connection that rested for longer is not used again: the other side may give it up just then. None does as soon as this. */
const maxIdleMs = 500;

/** Connections that calls have one after the other, each checked by the guard when it was opened. */
export function createConnections() {
  const options = { keepAlive: true, timeout: maxIdleMs, scheduling: 'lifo' } as const;
  return { http: new HttpAgent(options), https: new HttpsAgent(options) };
}

export type Connections = ReturnType<typeof createConnections>;

/** A reply that broke off, or was broken off as too long, after it had begun. */
export class BrokenReply extends Error {
  override name = 'BrokenConnection';
}

const streamType = 'text/event-stream';
const streamFactor = 4;
/** The SDKs look through an event from its beginning with every piece of it. */
const maxEventBytes = 256 * 1024;

/**
 * A `fetch` for the SDKs that reads a reply whole, up to a limit, and follows no redirects: a key must not be sent on, and no
 * provider's reply may fill the memory. A stream of events that was asked for is given on as it comes, up to its limit.
 */
export function createBoundedFetch({
  maxReplyBytes,
  timeoutMs,
  guard,
  connections = createConnections(),
}: BoundedFetchOptions): typeof fetch {
  return async (input, init: RequestInit & DeferredRequestInit = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const refusal = guard?.refusalOf(url.href);
    const [send, agent] =
      url.protocol === 'https:' ? [httpsRequest, connections.https] : [httpRequest, connections.http];
    const headers = Object.fromEntries(new Headers(init.headers));
    const options = {
      ...urlToHttpOptions(url),
      method: init.method ?? 'GET',
      headers,
      agent,
      ...(guard && { lookup: guard.lookup }),
      ...(init.signal && { signal: init.signal }),
    };
    await init.begin?.();
    if (refusal !== undefined) throw new TypeError(`the address ${refusal}`);
    return new Promise<Response>((resolve, reject) => {
      const request = send(options);
      const broken = (error: Error): void => {
        reject(error);
        request.destroy();
      };
      const limit = setTimeout(() => broken(new Error('the call timed out')), timeoutMs);
      request.on('close', () => clearTimeout(limit));
      request.on('error', reject);
      request.on('response', (reply) => {
        if (headers['accept'] === streamType && isStream(reply)) {
          clearTimeout(limit);
          return resolve(responseOf(reply, ReadableStream.from(pieces(reply, maxReplyBytes * streamFactor))));
        }
        readWhole(reply, maxReplyBytes)
          .then((body) => resolve(responseOf(reply, body)))
          .catch(broken);
      });
      request.end(typeof init.body === 'string' ? init.body : undefined);
    });
  };
}

const isStream = ({ statusCode, headers }: IncomingMessage): boolean =>
  statusCode === 200 && headers['content-type']?.startsWith(streamType) === true;

async function* pieces(reply: IncomingMessage, maxBytes: number): AsyncGenerator<Uint8Array> {
  try {
    let [size, eventAt] = [0, 0];
    for await (const chunk of reply as AsyncIterable<Buffer>) {
      const end = Math.max(chunk.lastIndexOf('\n\n'), chunk.lastIndexOf('\n\r\n'));
      if (end >= 0) eventAt = size + end;
      size += chunk.length;
      if (size > maxBytes) throw new Error(`the reply is longer than ${maxBytes} bytes`);
      if (size - eventAt > maxEventBytes) throw new Error(`an event is longer than ${maxEventBytes} bytes`);
      yield new Uint8Array(chunk);
    }
  } catch (error) {
    throw new BrokenReply('the reply broke off', { cause: error });
  }
}

/** Straight from its events: an iterator gives the end of a reply some turns after it has come. */
function readWhole(reply: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    reply.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) reply.destroy(new Error(`the reply is longer than ${maxBytes} bytes`));
      else chunks.push(chunk);
    });
    reply.on('end', () => resolve(Buffer.concat(chunks)));
    reply.on('error', reject);
    reply.on('close', () => reject(new Error('the reply broke off')));
  });
}

const statusesWithoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

/** Of a whole body the SDKs ask for the words or the JSON, which they are given without a stream between: making one takes longer than reading. */
function responseOf(reply: IncomingMessage, body: Buffer | ReadableStream<Uint8Array>): Response {
  const headers = new Headers();
  for (const [name, value] of Object.entries(reply.headers))
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  const given = reply.statusCode ?? 502;
  // A redirect is a failure like any other status that is no success; a status that there is not is one of a broken gateway.
  const status = given < 200 || given > 599 ? 502 : given;
  const response = new Response(statusesWithoutBody.has(status) || !(body instanceof ReadableStream) ? null : body, {
    status,
    headers,
  });
  if (body instanceof ReadableStream) return response;
  // What came with such a status is none, as every fetch has it.
  const text = async (): Promise<string> => (statusesWithoutBody.has(status) ? '' : new TextDecoder().decode(body));
  return Object.assign(response, { text, json: async (): Promise<unknown> => JSON.parse(await text()) });
}
