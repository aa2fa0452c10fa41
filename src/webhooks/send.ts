import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { createLruCache } from '../platform/lru-cache.ts';
import { BlockedAddress, type Guard } from './guard.ts';

export interface WebhookRequest {
  /** Whose connections are used. */
  endpointId: string;
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** How an attempt went. `response` holds the first 4 KiB of the reply. */
export type SendResult =
  | { kind: 'replied'; status: number; response: string; retryAfter: string | undefined; latencyMs: number }
  /** `status` is set where a reply began but did not end. */
  | {
      kind: 'failed';
      cause: 'blocked' | 'timeout' | 'connection';
      error: string;
      status: number | null;
      response: string | null;
      latencyMs: number;
    };

export type Send = (request: WebhookRequest) => Promise<SendResult>;

/** Keep-alive connections of one endpoint; never shared, so that an endpoint that hangs delays no other. */
interface EndpointAgent {
  http: http.Agent;
  https: https.Agent;
  /** Closes the connections that no request uses. */
  destroyFree(): void;
  destroy(): void;
}

/** Connections to one endpoint, and so requests to it at once. */
export const socketsPerEndpoint = 5;
/** Bound of a whole exchange. */
export const requestTimeoutMs = 15_000;
/** Endpoints whose connections are kept, beside those of requests under way. */
export const maxEndpoints = 1000;
/** What is read, and kept, of a reply. Past it the connection is closed. */
const maxReplyBytes = 4 * 1024;

function createEndpointAgent(): EndpointAgent {
  const options = {
    keepAlive: true,
    maxSockets: socketsPerEndpoint,
    maxFreeSockets: socketsPerEndpoint,
    keepAliveMsecs: 1000,
    timeout: 30_000,
  };
  const agents = { http: new http.Agent(options), https: new https.Agent(options) };
  return {
    ...agents,
    destroyFree() {
      for (const { freeSockets } of [agents.http, agents.https])
        for (const socket of Object.values(freeSockets).flat()) socket?.destroy();
    },
    destroy() {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

/**
 * The connections of the endpoints that have requests under way, and of those that had one most recently. Only the
 * latter are closed for lack of room.
 */
export function createAgentPool(maxIdle = maxEndpoints) {
  const busy = new Map<string, { agent: EndpointAgent; requests: number }>();
  const idle = createLruCache<EndpointAgent>(maxIdle, (agent) => agent.destroy());
  let isCut = false;
  const takeIdle = (endpointId: string): EndpointAgent => {
    const agent = idle.get(endpointId) ?? createEndpointAgent();
    idle.delete(endpointId);
    return agent;
  };
  return {
    /** The connections of an endpoint for one request, which calls `release` once it has ended. */
    take(endpointId: string): { agent: EndpointAgent; release: () => void } {
      const use = busy.get(endpointId) ?? { agent: takeIdle(endpointId), requests: 0 };
      busy.set(endpointId, use);
      use.requests += 1;
      return {
        agent: use.agent,
        release() {
          use.requests -= 1;
          if (use.requests > 0 || busy.get(endpointId) !== use) return;
          busy.delete(endpointId);
          idle.set(endpointId, use.agent);
        },
      };
    },
    /** Whether connections may have ended because they were cut here. */
    isCut: (): boolean => isCut,
    /** Cuts all connections, also those in use. */
    destroyAll(): void {
      isCut = true;
      for (const { agent } of busy.values()) agent.destroy();
      busy.clear();
      idle.clear();
    },
  };
}

export interface SenderOptions {
  guard: Pick<Guard, 'refusalOf' | 'lookup'>;
  agents: Pick<ReturnType<typeof createAgentPool>, 'take' | 'isCut'>;
  /** Bound of the whole exchange, from the look-up of the name to the end of the reply. */
  timeoutMs?: number;
  /** Further certificate authorities (PEM), for tests. */
  ca?: string;
}

/**
 * Posts to addresses that users entered. The address is checked and pinned (see `guard.ts`), redirects are not
 * followed, compressed replies are not unpacked, time and the size of the reply are bounded.
 */
export function createSender({ guard, agents, timeoutMs = requestTimeoutMs, ca }: SenderOptions): Send {
  /** `ifStale` gives the result where a kept connection is reset before its reply. */
  const once = (request: WebhookRequest, startedAt: number, ifStale?: () => Promise<SendResult>) =>
    new Promise<SendResult>((resolve) => {
      const url = new URL(request.url);
      const isTls = url.protocol === 'https:';
      const begin = isTls ? https.request : http.request;
      const { agent, release } = agents.take(request.endpointId);
      const outgoing = begin(url, {
        method: 'POST',
        agent: isTls ? agent.https : agent.http,
        lookup: guard.lookup,
        maxHeaderSize: 16_384,
        ...(ca !== undefined && { ca }),
        headers: {
          'content-type': 'application/json',
          'user-agent': 'survey-service-webhooks/1',
          'accept-encoding': 'identity',
          'content-length': String(Buffer.byteLength(request.body)),
          ...request.headers,
        },
      });
      let reply: { incoming: IncomingMessage; chunks: Buffer[]; bytes: number } | undefined;
      const finish = (sent: SendResult | Promise<SendResult>) => {
        clearTimeout(timer);
        resolve(sent);
      };
      const latencyMs = () => Math.round(performance.now() - startedAt);
      const fail = (cause: 'blocked' | 'timeout' | 'connection', error: string) =>
        finish({
          kind: 'failed',
          cause,
          error,
          status: reply?.incoming.statusCode ?? null,
          response: reply ? textOf(reply.chunks) : null,
          latencyMs: latencyMs(),
        });
      const timer = setTimeout(
        () => {
          fail('timeout', `no complete reply within ${timeoutMs / 1000} s`);
          outgoing.destroy();
        },
        Math.max(0, startedAt + timeoutMs - performance.now()),
      );
      const succeed = () =>
        reply &&
        finish({
          kind: 'replied',
          status: reply.incoming.statusCode ?? 0,
          response: textOf(reply.chunks),
          retryAfter: reply.incoming.headers['retry-after'],
          latencyMs: latencyMs(),
        });
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        if (error instanceof BlockedAddress) fail('blocked', error.message);
        else if (ifStale && !agents.isCut() && outgoing.reusedSocket && !reply && isReset(error)) {
          agent.destroyFree();
          finish(ifStale());
        } else fail('connection', errorTextOf(error));
      });
      // The only event where the server switches protocols. The end of a reply may arrive after it.
      outgoing.on('close', () => {
        release();
        if (!reply) fail('connection', 'the reply is not HTTP');
      });
      outgoing.on('response', (incoming) => {
        const state = { incoming, chunks: [] as Buffer[], bytes: 0 };
        reply = state;
        incoming.on('data', (chunk: Buffer) => {
          state.bytes += chunk.length;
          state.chunks.push(chunk);
          if (state.bytes <= maxReplyBytes) return;
          succeed();
          outgoing.destroy();
        });
        incoming.on('end', succeed);
        incoming.on('error', (error: NodeJS.ErrnoException) => fail('connection', errorTextOf(error)));
        incoming.on('aborted', () => fail('connection', 'the reply was cut'));
      });
      outgoing.end(request.body);
    });

  return async (request) => {
    const startedAt = performance.now();
    const refusal = guard.refusalOf(request.url);
    if (refusal !== undefined)
      return {
        kind: 'failed',
        cause: 'blocked',
        error: `the address ${refusal}`,
        status: null,
        response: null,
        latencyMs: 0,
      };
    // The server may have closed the kept connection just before the request was sent, or it got the request and died of
    // it: it is sent again once, on a new connection.
    return once(request, startedAt, () => once(request, startedAt));
  };
}

/** The first 4 KiB of a reply as text that PostgreSQL can store: no NUL, no half characters. */
function textOf(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).subarray(0, maxReplyBytes).toString('utf8').replaceAll('\u0000', '\ufffd');
}

const errorTexts: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was reset',
  ENOTFOUND: 'the name has no address',
  ENODATA: 'the name has no address',
  ETIMEDOUT: 'the connection timed out',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
};

const isReset = ({ code }: NodeJS.ErrnoException): boolean => code === 'ECONNRESET' || code === 'EPIPE';

/** By the code only: messages of the library may contain internal addresses. */
function errorTextOf(error: NodeJS.ErrnoException): string {
  const code = error.code ?? 'UNKNOWN';
  return errorTexts[code] ?? (code.startsWith('HPE_') ? 'the reply is not HTTP' : `the connection failed (${code})`);
}
