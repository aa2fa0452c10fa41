import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Guard } from '../webhooks/guard.ts';

export interface BoundedFetchOptions {
  /** Bytes of a reply; a longer one is cut off and fails. */
  maxReplyBytes: number;
  /** Set for addresses that were entered in-app: checks every address that is connected to, written out or behind a name. */
  guard?: Pick<Guard, 'refusalOf' | 'lookup'> | undefined;
  /** Of nobody who has another guard, or none. */
  connections?: Connections;
}

/** A connection that rested for longer is not used again: the other side may give it up just then. None does as soon as this. */
const mostRestMs = 500;

/** Connections that calls have one after the other, each checked by the guard when it was opened. */
export function createConnections() {
  const options = { keepAlive: true, timeout: mostRestMs, scheduling: 'lifo' } as const;
  return { http: new HttpAgent(options), https: new HttpsAgent(options) };
}

export type Connections = ReturnType<typeof createConnections>;

/**
 * A `fetch` for the SDKs that reads a reply whole, up to a limit, and follows no redirects: a key must not be sent on, and no
 * provider's reply may fill the memory.
 */
export function createBoundedFetch({ maxReplyBytes, guard, connections = createConnections() }: BoundedFetchOptions): typeof fetch {
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const refusal = guard?.refusalOf(url.href);
    if (refusal !== undefined) throw new TypeError(`the address ${refusal}`);
    const [send, agent] = url.protocol === 'https:' ? [httpsRequest, connections.https] : [httpRequest, connections.http];
    const headers = Object.fromEntries(new Headers(init.headers));
    return new Promise<Response>((resolve, reject) => {
      const request = send(url, { method: init.method ?? 'GET', headers, agent, ...(guard && { lookup: guard.lookup }), ...(init.signal && { signal: init.signal }) });
      request.on('error', reject);
      request.on('response', (reply) => {
        readWhole(reply, maxReplyBytes)
          .then((body) => resolve(responseOf(reply, body)))
          .catch((error: Error) => {
            request.destroy();
            reject(error);
          });
      });
      request.end(typeof init.body === 'string' ? init.body : undefined);
    });
  };
}

async function readWhole(reply: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of reply) {
    size += (chunk as Buffer).length;
    if (size > maxBytes) throw new Error(`the reply is longer than ${maxBytes} bytes`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

function responseOf(reply: IncomingMessage, body: Buffer): Response {
  const headers = new Headers();
  for (const [name, value] of Object.entries(reply.headers)) if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  const given = reply.statusCode ?? 502;
  // A redirect is a failure like any other status that is no success; a status that there is not is one of a broken gateway.
  const status = given < 200 || given > 599 ? 502 : given;
  return new Response(bodiless.has(status) ? null : new Uint8Array(body), { status, headers });
}
