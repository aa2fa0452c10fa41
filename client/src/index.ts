import createFetchClient, { type Client, type ClientOptions } from 'openapi-fetch';
import type { components, paths } from './schema.ts';

export type { components, operations, paths } from './schema.ts';

/** A failure as the service replies it. */
export type ProblemBody = components['schemas']['Problem'];

export interface SurveyClientOptions extends Pick<ClientOptions, 'fetch'> {
  /** Such as http://127.0.0.1:3000, without a path. */
  origin: string;
  /** An access token or API key; a function is called before each request. Respondents need none. */
  token?: string | (() => string | Promise<string>);
}

export type SurveyClient = Client<paths>;

/**
 * A client whose paths, bodies and replies are those of the OpenAPI document: `client.GET('/surveys/{id}', { params })`
 * resolves with `data`, or `error` for a refusal. Throws a SurveyApiError where a successful reply is not said to be
 * JSON, as that of a proxy.
 */
export function createSurveyClient({ origin, token, ...options }: SurveyClientOptions): SurveyClient {
  const client = createFetchClient<paths>({ ...options, baseUrl: `${origin.replace(/\/+$/, '')}/api/v1` });
  client.use({
    async onResponse({ response, options }) {
      if (response.ok && options.parseAs === 'json' && isPage(response)) {
        await response.body?.cancel();
        throw refusalOf(response, undefined);
      }
      return undefined;
    },
  });
  if (token !== undefined)
    client.use({
      async onRequest({ request }) {
        request.headers.set('authorization', `Bearer ${typeof token === 'string' ? token : await token()}`);
        return request;
      },
    });
  return client;
}

/** A refusal of the service. */
export class SurveyApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: unknown;
  readonly requestId: string;
  /** When to try again, for 429 and 503. */
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, { message, code, details, requestId }: ProblemBody, retryAfterSeconds?: number) {
    super(message);
    this.name = 'SurveyApiError';
    this.status = status;
    this.code = code;
    this.details = details;
    this.requestId = requestId;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** What openapi-fetch resolves with. */
interface Result<Body> {
  data?: Body | undefined;
  error?: unknown;
  response: Response;
}

/** The `data` of a successful reply. Throws a SurveyApiError for a refusal. */
export async function dataOf<Data>(call: Promise<Result<{ data: Data }>>): Promise<Data> {
  const { data, error, response } = await call;
  if (hasData(data)) return data.data;
  throw refusalOf(response, error);
}

/** A proxy may reply with any JSON. */
const hasData = <Body extends object>(body: Body | undefined): body is Body =>
  typeof body === 'object' && body !== null && 'data' in body;

/** The error for a reply that is no success: a refusal of the service, or what a proxy in front of it replied. */
export function refusalOf(response: Response, error: unknown): SurveyApiError {
  return new SurveyApiError(
    response.status,
    isProblem(error) ? error : problemOfProxy(response),
    secondsOf(response.headers.get('retry-after') ?? ''),
  );
}

/** Retry-After (RFC 9110 §10.2.3): seconds, or a date. */
function secondsOf(retryAfter: string): number | undefined {
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter);
  const untilMs = /^[a-z]/i.test(retryAfter) ? Date.parse(retryAfter) : Number.NaN;
  return Number.isNaN(untilMs) ? undefined : Math.max(0, Math.ceil((untilMs - Date.now()) / 1000));
}

/** Whether it has a body that is not said to be JSON. */
const isPage = ({ status, headers }: Response): boolean =>
  status !== 204 && headers.get('content-length') !== '0' && !/\bjson\b/i.test(headers.get('content-type') ?? '');

const isProblem = (error: unknown): error is ProblemBody =>
  typeof error === 'object' && error !== null && 'code' in error && 'message' in error;

const proxyCodes: Readonly<Record<number, ProblemBody['code']>> = {
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  413: 'PAYLOAD_TOO_LARGE',
  429: 'RATE_LIMITED',
};

/** A page or an empty reply of a proxy, as the service would have said it. */
function problemOfProxy({ status, headers }: Response): ProblemBody {
  return {
    success: false,
    message: `The reply is not one of the survey service (status ${status})`,
    code: proxyCodes[status] ?? (status >= 400 && status < 500 ? 'VALIDATION_ERROR' : 'SERVICE_UNAVAILABLE'),
    requestId: headers.get('x-request-id') ?? '',
  };
}
