import { setTimeout as delay } from 'node:timers/promises';
import type { z } from 'zod';
import { type Analytics, analyticsSchema, envelopeSchema, sessionSchema } from './replies.ts';

/** A refusal of the service that a repetition would not change. */
export class RequestRefused extends Error {
  readonly status: number;
  constructor(call: string, status: number, reason: string) {
    super(`${call} was refused with ${status}: ${reason}`);
    this.name = 'RequestRefused';
    this.status = status;
  }
}

export type Credentials = { token: string } | { email: string; password: string };

export interface ApiOptions {
  /** Such as http://127.0.0.1:3000, without a path. */
  origin: string;
  credentials: Credentials;
  /** Called before a pause that the service requests (Retry-After) or that follows a broken connection. */
  onPause?(seconds: number, why: string): void;
  sleep?(ms: number): Promise<unknown>;
}

export interface CallOptions {
  body?: unknown;
  idempotencyKey?: string;
  /** The call may be repeated after a 503, as GET and calls with an idempotency key may. */
  changesNothing?: true;
  /** Sends no token. */
  isPublic?: boolean;
}

export interface Reply<T> {
  data: T;
  /** Whether the service recognised a repeat by its idempotency key. */
  isReplay: boolean;
}

/** A reply whose body has arrived. */
interface WholeReply {
  status: number;
  headers: Headers;
  text: string;
}

const maxPauses = 60;
const maxBrokenConnections = 30;

/**
 * Calls the public interface. Waits as Retry-After says on 429, repeats safe calls after a 503 or a broken connection,
 * and logs in again when the session has expired. Other calls may have been carried out all the same: they end with an
 * Error. Throws RequestRefused for other failures.
 */
export function createApi({ origin, credentials, onPause, sleep = delay }: ApiOptions) {
  let token: string | undefined;
  const fetchOnce = async (
    method: string,
    path: string,
    { body, idempotencyKey }: CallOptions,
    bearer: string | undefined,
  ): Promise<WholeReply> => {
    const reply = await fetch(`${origin}/api/v1${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: reply.status, headers: reply.headers, text: await reply.text() };
  };
  const pause = async (seconds: number, why: string): Promise<void> => {
    onPause?.(seconds, why);
    await sleep(seconds * 1000);
  };

  /** Repeats until a reply is neither 429 nor 503, within the limits above. */
  const send = async (method: string, path: string, options: CallOptions): Promise<WholeReply> => {
    const isRepeatable = method === 'GET' || options.idempotencyKey !== undefined;
    for (let [pauses, broken] = [0, 0]; ; ) {
      const bearer = options.isPublic === true ? undefined : await openSession();
      try {
        const reply = await fetchOnce(method, path, options, bearer);
        if (reply.status === 503 && !isRepeatable && !options.changesNothing)
          throw new Error(
            'the service replied with 503, and may have carried out the call all the same: look whether the survey or question is there, and go on with --survey',
          );
        if ((reply.status !== 429 && reply.status !== 503) || pauses++ >= maxPauses) return reply;
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
      data: schema.parse(dataOf(`${method} ${path}`, reply)),
      isReplay: reply.headers.get('idempotent-replayed') === 'true',
    };
  };
  const openSession = async (): Promise<string> => {
    if ('token' in credentials) return credentials.token;
    token ??= (
      await call(sessionSchema, ['POST', '/auth/login'], {
        body: credentials,
        isPublic: true,
        changesNothing: true,
      })
    ).data.accessToken;
    return token;
  };
  return { call };
}

export type Api = ReturnType<typeof createApi>;

const retryAfter = ({ headers }: WholeReply): number => Math.max(1, Number(headers.get('retry-after')) || 1);

function dataOf(name: string, { status, text }: WholeReply): unknown {
  const read = envelopeSchema.safeParse(parsed(text));
  if (!read.success) throw new RequestRefused(name, status, `not a reply of the service: ${text.slice(0, 200)}`);
  if (read.data.success) return read.data.data;
  const { message, details } = read.data;
  throw new RequestRefused(name, status, details === undefined ? message : `${message} ${JSON.stringify(details)}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The cause of a broken connection; the message of fetch itself is only “fetch failed”. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return cause.message || ('code' in cause ? String(cause.code) : cause.name);
}

/** Stays below the general limit of 100 calls a minute. */
const pollIntervalMs = 1000;
const maxWaitMs = 60_000;

/** Polls until analytics counts the expected number of responses, or until no further one has come for a minute. */
export async function waitForAnalytics(api: Api, surveyId: string, expected: number): Promise<Analytics> {
  let [shown, since] = [-1, performance.now()];
  for (;;) {
    const { data } = await api.call(analyticsSchema, ['GET', `/analytics/surveys/${surveyId}`]);
    if (data.totalResponses > shown) [shown, since] = [data.totalResponses, performance.now()];
    if (shown >= expected || performance.now() - since > maxWaitMs) return data;
    await delay(pollIntervalMs);
  }
}
