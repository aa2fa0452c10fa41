import { setTimeout as delay } from 'node:timers/promises';
import type { z } from 'zod';
import { envelopeSchema, sessionSchema } from './replies.ts';

/** The service said no, and would say it again. `details` is what it found, as JSON. */
export class RequestRefused extends Error {
  readonly status: number;
  constructor(call: string, status: number, said: string) {
    super(`${call} was refused with ${status}: ${said}`);
    this.name = 'Refusal';
    this.status = status;
  }
}

export type Credentials = { token: string } | { email: string; password: string };

export interface ApiOptions {
  /** Such as http://127.0.0.1:3000, without a path. */
  origin: string;
  credentials: Credentials;
  /** Called before a pause that the service asked for, or that a broken connection makes necessary. */
  onPause?(seconds: number, why: string): void;
  sleep?(ms: number): Promise<unknown>;
}

export interface CallOptions {
  body?: unknown;
  idempotencyKey?: string;
  /** No token is sent. */
  isPublic?: boolean;
}

export interface Reply<T> {
  data: T;
  /** The service had done this before, and did not do it again. */
  isReplay: boolean;
}

const maxPauses = 60;
const maxBrokenConnections = 30;

/**
 * Calls the public interface. 429 and 503 are waited out as their Retry-After says; a connection that breaks is tried again where the
 * call can be repeated safely; an expired session is opened anew. Everything else that is no success throws a Refusal.
 */
export function createApi({ origin, credentials, onPause, sleep = delay }: ApiOptions) {
  let token: string | undefined;
  const fetchOnce = (
    method: string,
    path: string,
    { body, idempotencyKey }: CallOptions,
    bearer: string | undefined,
  ): Promise<Response> =>
    fetch(`${origin}/api/v1${path}`, {
      method,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const pause = async (seconds: number, why: string): Promise<void> => {
    onPause?.(seconds, why);
    await sleep(seconds * 1000);
  };

  /** The first reply that is neither a request to wait nor a broken connection. */
  const send = async (method: string, path: string, options: CallOptions): Promise<Response> => {
    const isRepeatable = method === 'GET' || options.idempotencyKey !== undefined;
    for (let [pauses, broken] = [0, 0]; ; ) {
      const bearer = options.isPublic === true ? undefined : await openSession();
      try {
        const reply = await fetchOnce(method, path, options, bearer);
        if ((reply.status !== 429 && reply.status !== 503) || pauses++ >= maxPauses) return reply;
        await reply.arrayBuffer();
        await pause(retryAfter(reply), `${reply.status} from ${method} ${path}`);
      } catch (error) {
        if (!isRepeatable || broken++ >= maxBrokenConnections)
          throw new Error(`${method} ${origin}${path}: ${reasonOf(error)}`, { cause: error });
        await pause(1, `${reasonOf(error)} at ${method} ${path}`);
      }
    }
  };
  const call = async <T extends z.ZodType>(
    schema: T,
    [method, path]: readonly [string, string],
    options: CallOptions = {},
  ): Promise<Reply<z.output<T>>> => {
    let reply = await send(method, path, options);
    if (reply.status === 401 && options.isPublic !== true && 'email' in credentials) {
      token = undefined;
      reply = await send(method, path, options);
    }
    return {
      data: schema.parse(await dataOf(`${method} ${path}`, reply)),
      isReplay: reply.headers.get('idempotent-replayed') === 'true',
    };
  };
  const openSession = async (): Promise<string> => {
    if ('token' in credentials) return credentials.token;
    token ??= (await call(sessionSchema, ['POST', '/auth/login'], { body: credentials, isPublic: true })).data
      .accessToken;
    return token;
  };
  return { call };
}

export type Api = ReturnType<typeof createApi>;

const retryAfter = (reply: Response): number => Math.max(1, Number(reply.headers.get('retry-after')) || 1);

async function dataOf(name: string, reply: Response): Promise<unknown> {
  const text = await reply.text();
  const read = envelopeSchema.safeParse(parsed(text));
  if (!read.success) throw new RequestRefused(name, reply.status, `not a reply of the service: ${text.slice(0, 200)}`);
  if (read.data.success) return read.data.data;
  const { message, details } = read.data;
  throw new RequestRefused(
    name,
    reply.status,
    details === undefined ? message : `${message} ${JSON.stringify(details)}`,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What broke a connection: fetch itself only says that it failed. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return cause.message || ('code' in cause ? String(cause.code) : cause.name);
}
