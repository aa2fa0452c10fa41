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
 * resolves with `data`, or `error` for a refusal.
 */
export function createSurveyClient({ origin, token, ...options }: SurveyClientOptions): SurveyClient {
  const client = createFetchClient<paths>({ ...options, baseUrl: `${origin.replace(/\/+$/, '')}/api/v1` });
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
  if (data !== undefined) return data.data;
  throw refusalOf(response, error);
}

/** The error for a reply that is no success: a refusal of the service, or what a proxy in front of it replied. */
export function refusalOf(response: Response, error: unknown): SurveyApiError {
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new SurveyApiError(
    response.status,
    isProblem(error) ? error : problemOfProxy(response),
    Number.isFinite(retryAfter) ? retryAfter : undefined,
  );
}

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
