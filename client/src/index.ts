import createFetchClient, { type Client, type ClientOptions } from 'openapi-fetch';
import type { components, paths } from './schema.ts';

export type { components, operations, paths } from './schema.ts';

/** A failure as the service replies it. */
export type ProblemBody = components['schemas']['Problem'];

export interface SurveyClientOptions extends Pick<ClientOptions, 'fetch'> {
  /** Such as http://127.0.0.1:3000, without a path. */
  origin: string;
  /** An access token or API key; a function is called before each request. Respondents need none. */
  token?: string | (() => string | Promise<string>) | undefined;
}

/** The paths under /api/v1; the OpenAPI document also describes those at the root. */
type ApiPaths = Omit<paths, `/health/${string}` | '/metrics'>;

export type SurveyClient = Client<ApiPaths>;

/**
 * A client whose paths, bodies and replies are those of the OpenAPI document: `client.GET('/surveys/{id}', { params })`
 * resolves with `data`, or `error` for a refusal. Without `parseAs`, `data` is the text of a reply of lines or CSV, and
 * any other file is an Error. A page instead of a reply, and a redirection, are those of a proxy: a SurveyApiError, whatever
 * `parseAs` says, except for uploads that are pages. No redirection is followed: a POST would become a GET.
 */
export function createSurveyClient({ origin, token, ...options }: SurveyClientOptions): SurveyClient {
  const client = createFetchClient<ApiPaths>({
    redirect: 'manual',
    ...options,
    baseUrl: `${origin.replace(/\/+$/, '')}/api/v1`,
  });
  client.use({
    async onResponse({ response, options, schemaPath }) {
      if (isRedirection(response)) {
        await response.body?.cancel();
        throw refusalOf(response, undefined);
      }
      if (!response.ok) return undefined;
      const kind = kindOf(response);
      const isAskedFor = options.parseAs !== 'json' && (kind !== 'page' || schemaPath === '/uploads/{uploadId}');
      if (kind === 'json' || isAskedFor) return undefined;
      if (kind === 'text') return textAsJson(response);
      await response.body?.cancel();
      throw kind === 'page'
        ? refusalOf(response, undefined)
        : new Error(`The reply is a file (${mediaTypeOf(response)}): give parseAs, such as blob`);
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

/** A refusal of the service, or what a proxy replied instead of it. */
export class SurveyApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: unknown;
  readonly requestId: string;
  /** When to try again, for 429 and 503. */
  readonly retryAfterSeconds: number | undefined;
  /** The reply is not one of the service: it says nothing about what was asked for. */
  readonly isForeign: boolean;

  constructor(
    status: number,
    { message, code, details, requestId }: Omit<ProblemBody, 'code'> & { code: string },
    retryAfterSeconds?: number,
    isForeign = false,
  ) {
    super(message);
    this.name = 'SurveyApiError';
    this.status = status;
    this.code = code;
    this.details = details;
    this.requestId = requestId;
    this.retryAfterSeconds = retryAfterSeconds;
    this.isForeign = isForeign;
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

/**
 * The error for a reply that is no success: a refusal of the service, its 304 or 416 of a file, or what a proxy in
 * front of it replied.
 */
export function refusalOf(response: Response, error: unknown): SurveyApiError {
  const own = isProblem(error) ? error : problemOfFile(response);
  return new SurveyApiError(
    response.status,
    own ?? problemOfProxy(response),
    secondsOf(response.headers.get('retry-after') ?? ''),
    own === undefined,
  );
}

/** Retry-After (RFC 9110 §10.2.3): seconds, or a date in GMT, which that of asctime does not say. */
function secondsOf(retryAfter: string): number | undefined {
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter);
  const date = /[a-z]$|[+-]\d\d:?\d\d$/i.test(retryAfter) ? retryAfter : `${retryAfter} GMT`;
  const untilMs = /^[a-z]/i.test(retryAfter) ? Date.parse(date) : Number.NaN;
  return Number.isNaN(untilMs) ? undefined : Math.max(0, Math.ceil((untilMs - Date.now()) / 1000));
}

const mediaTypeOf = ({ headers }: Response): string =>
  (headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';

/** A redirection that was not followed: browsers hide its status, which is then 0. */
const isRedirection = ({ status, type }: Response): boolean =>
  type === 'opaqueredirect' || [301, 302, 303, 307, 308].includes(status);

/** How a successful reply is read that is asked for as JSON; one without a body is as good as JSON. */
function kindOf(response: Response): 'json' | 'text' | 'page' | 'file' {
  const type = mediaTypeOf(response);
  if (response.status === 204 || response.headers.get('content-length') === '0' || /\bjson\b/.test(type)) return 'json';
  if (type === '' || type === 'text/html') return 'page';
  // An event stream may have no end.
  return type === 'application/x-ndjson' || (type.startsWith('text/') && type !== 'text/event-stream')
    ? 'text'
    : 'file';
}

/** The same reply with its text as a JSON string, which openapi-fetch gives as `data`. */
async function textAsJson(response: Response): Promise<Response> {
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  headers.delete('content-length');
  return new Response(JSON.stringify(await response.text()), { status, statusText, headers });
}

/** Proxies reply with codes and messages, too. */
const isProblem = (error: unknown): error is ProblemBody => {
  const { success, code, message }: { success?: unknown; code?: unknown; message?: unknown } = Object(error);
  return success === false && typeof code === 'string' && typeof message === 'string';
};

const proxyCodes: Readonly<Record<number, ProblemBody['code']>> = {
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  413: 'PAYLOAD_TOO_LARGE',
  429: 'RATE_LIMITED',
};

/** The replies about a file that have no body: the client has it already, or asked for bytes behind its end. */
function problemOfFile({ status, headers }: Response) {
  const requestId = headers.get('x-request-id');
  if (requestId === null || !headers.has('accept-ranges')) return undefined;
  const common = { success: false, requestId } as const;
  if (status === 304) return { ...common, message: 'The file is unchanged', code: 'NOT_MODIFIED' };
  return status === 416 ? { ...common, message: 'The file has no such range', code: 'VALIDATION_ERROR' } : undefined;
}

/** A page or an empty reply of a proxy, as the service would have said it. */
function problemOfProxy(response: Response): ProblemBody {
  const { status, headers } = response;
  return {
    success: false,
    message: isRedirection(response)
      ? 'The call was redirected, which is not followed: give the origin at which the service itself replies'
      : `The reply is not one of the survey service (status ${status})`,
    code: proxyCodes[status] ?? (status >= 400 && status < 500 ? 'VALIDATION_ERROR' : 'SERVICE_UNAVAILABLE'),
    requestId: headers.get('x-request-id') ?? '',
  };
}
