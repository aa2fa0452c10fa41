import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { urlToHttpOptions } from 'node:url';
import type { Guard } from '../../webhooks/guard.ts';

export interface BoundedFetchOptions {
  /**
   * A longer reply is cut off and fails. A stream of events, which wraps each word, may be `streamFactor` times as
   * long.
   */
  maxReplyBytes: number;
  /** Time limit, from sending a request to the end of its reply or the beginning of a stream of events. */
  timeoutMs: number;
  /**
   * Set for addresses that users entered: checks every address before it is connected to, literal or resolved from a
   * name.
   */
  guard?: Pick<Guard, 'refusalOf' | 'lookup'> | undefined;
  /** Must not be shared between fetches with different guards. */
  connections?: Connections;
}

/**
 * Connections that were idle for longer are not reused, because the server may be closing them. Servers keep them
 * longer than this.
 */
const maxIdleMs = 500;

/** Pools of connections that calls reuse; the guard checks a connection when it is opened. */
export function createConnections() {
  const options = { keepAlive: true, timeout: maxIdleMs, scheduling: 'lifo' } as const;
  return { http: new HttpAgent(options), https: new HttpsAgent(options) };
}

export type Connections = ReturnType<typeof createConnections>;

/** A streamed reply that broke off after it had begun, or was cut off because it was too long. */
export class BrokenReply extends Error {
  override name = 'BrokenConnection';
}

const streamType = 'text/event-stream';
const streamFactor = 4;
/** Longer events are refused, because the SDKs scan an event from its beginning with every piece that arrives. */
const maxEventBytes = 256 * 1024;

/**
 * Creates a `fetch` for the SDKs that reads replies up to a maximum length and follows no redirects: keys must not be
 * sent to another address, and no reply may fill the memory. A requested stream of events is passed on as it arrives,
 * up to its maximum length.
 */
export function createBoundedFetch({
  maxReplyBytes,
  timeoutMs,
  guard,
  connections = createConnections(),
}: BoundedFetchOptions): typeof fetch {
  return async (input, init = {}) => {
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
    if (refusal !== undefined) throw new TypeError(`the address ${refusal}`);
    return new Promise<Response>((resolve, reject) => {
      const request = send(options);
      const broken = (error: Error): void => {
        reject(error);
        request.destroy();
      };
      const limit = setTimeout(() => broken(new Error('the call timed out')), timeoutMs);
      let hasReply = false;
      request.on('close', () => {
        clearTimeout(limit);
        // The only event where the server switches protocols. The body of a reply may arrive after it.
        if (!hasReply) reject(new Error('the connection ended without a reply'));
      });
      request.on('error', reject);
      request.on('response', (reply) => {
        hasReply = true;
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
    // The last two bytes, because the blank line behind an event may be split between chunks.
    let tail = Buffer.alloc(0);
    for await (const chunk of reply as AsyncIterable<Buffer>) {
      const recent = Buffer.concat([tail, chunk]);
      const end = Math.max(recent.lastIndexOf('\n\n'), recent.lastIndexOf('\n\r\n'));
      if (end >= 0) eventAt = size - tail.length + end;
      tail = recent.subarray(-2);
      size += chunk.length;
      if (size > maxBytes) throw new Error(`the reply is longer than ${maxBytes} bytes`);
      if (size - eventAt > maxEventBytes) throw new Error(`an event is longer than ${maxEventBytes} bytes`);
      yield new Uint8Array(chunk);
    }
  } catch (error) {
    throw new BrokenReply('the reply broke off', { cause: error });
  }
}

/** Reads by events, because an async iterator reports the end of a reply some turns of the event loop later. */
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

/**
 * Builds the Response. For a whole body `text` and `json` are replaced, because reading through a stream takes longer
 * than reading the reply.
 */
function responseOf(reply: IncomingMessage, body: Buffer | ReadableStream<Uint8Array>): Response {
  const headers = new Headers();
  for (const [name, value] of Object.entries(reply.headers))
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  const given = reply.statusCode ?? 502;
  // Redirects fail like any other status that is no success; an invalid status is taken as 502.
  const status = given < 200 || given > 599 ? 502 : given;
  const response = new Response(statusesWithoutBody.has(status) || !(body instanceof ReadableStream) ? null : body, {
    status,
    headers,
  });
  if (body instanceof ReadableStream) return response;
  // A reply with such a status has no body, as in every fetch.
  const text = async (): Promise<string> => (statusesWithoutBody.has(status) ? '' : new TextDecoder().decode(body));
  return Object.assign(response, { text, json: async (): Promise<unknown> => JSON.parse(await text()) });
}
