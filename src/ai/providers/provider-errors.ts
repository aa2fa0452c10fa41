import { Problem, type ProblemCode } from '../../errors.ts';
import { InvalidReply, RefusedReply } from './provider.ts';

const maxRetryAfterSeconds = 3600;
const defaultRetryAfterSeconds = 30;

/**
 * Maps the failure of a call to a Problem, by the HTTP status, which the errors of all SDKs carry. The provider's own
 * message becomes the cause and is not shown: it may quote the key or the request.
 */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const status = numberField(error, 'status');
  const errorText = wordsOf(error);
  const code = codeOf(status, errorText);
  const limit = code === 'AI_RATE_LIMITED' || status === 503 || status === 529 ? retryAfter(error) : undefined;
  return new Problem(code, messageOf(code, error, status), {
    cause: error,
    ...(limit !== undefined && { retryAfterSeconds: limit }),
  });
}

/**
 * The same for a call with a signal: returns the reason of the caller who aborted it; a time limit is a failure of the
 * provider.
 */
export function callFailure(error: unknown, signal: AbortSignal): unknown {
  if (!signal.aborted) return problemOf(error);
  const reason: unknown = signal.reason;
  return reason instanceof Error && reason.name === 'TimeoutError' ? problemOf(reason) : reason;
}

/** Whether a repeated call may succeed: the provider broke down, was silent or could not be reached. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof Problem) || error.code !== 'AI_PROVIDER_ERROR' || error.cause === undefined) return false;
  const status = numberField(error.cause, 'status');
  return status === undefined
    ? connectionError.test(kindOf(error.cause)) || /Timeout/.test(kindOf(error.cause))
    : status >= 500 || status === 408;
}

/** Whether the provider refused a call with an HTTP status, for which it does not charge. */
export const isRefusedByStatus = (error: unknown): boolean =>
  error instanceof Problem && numberField(error.cause, 'status') !== undefined;

/** A name in a refusal; texts may quote the key or the request. */
const isName = (value: unknown): value is string => typeof value === 'string' && /^[\w.:[\]-]{1,100}$/.test(value);

/** Gives what may be logged of a refusal: its status, the names of its cause, and the provider’s id of the call. */
export function loggableRefusal(error: unknown): Record<string, string | number> {
  const cause = error instanceof Problem ? error.cause : undefined;
  const names = ['code', 'type', 'param', 'requestID'].flatMap((name) => {
    const value = field(cause, name);
    return isName(value) ? [[name, value] as const] : [];
  });
  return { status: numberField(cause, 'status') ?? 0, ...Object.fromEntries(names) };
}

/**
 * Whether the provider refused the content that was sent, or had no valid reply to it; undefined for failures that do
 * not concern the content.
 */
export function contentVerdictOf(error: unknown): 'refused' | 'unfit' | undefined {
  if (error instanceof InvalidReply) return 'unfit';
  if (error instanceof RefusedReply) return 'refused';
  return error instanceof Problem && isContentFilter(error.cause) ? 'refused' : undefined;
}

const isContentFilter = (error: unknown): boolean =>
  numberField(error, 'status') === 400 && /content_filter/.test(wordsOf(error));

/** Refusals of a model: it is unknown, not available in the region, or not to this account. */
const modelRefused =
  /unsupported_country|region|location is not supported|request not allowed|model_not_found|unknown model|access to (?:the )?model|model .*not (?:exist|found|supported)/i;

function codeOf(status: number | undefined, errorText: string): ProblemCode {
  // Some providers use 429 for this, but waiting does not help.
  if (isWithoutCredit(status, errorText)) return 'AI_PROVIDER_ERROR';
  if (status === 404 || ((status === 400 || status === 403) && modelRefused.test(errorText)))
    return 'AI_MODEL_UNAVAILABLE';
  // Gemini refuses a wrong key as an invalid argument.
  if (status === 401 || status === 403 || (status === 400 && /api[ _]key/i.test(errorText))) return 'AI_KEY_INVALID';
  return status === 429 ? 'AI_RATE_LIMITED' : 'AI_PROVIDER_ERROR';
}

const isWithoutCredit = (status: number | undefined, errorText: string): boolean =>
  status === 402 ||
  ((status === 400 || status === 429) &&
    /insufficient_quota|credit balance is too low|credits are depleted/i.test(errorText));

function messageOf(code: ProblemCode, error: unknown, status: number | undefined): string | undefined {
  if (code !== 'AI_PROVIDER_ERROR') return undefined;
  if (isWithoutCredit(status, wordsOf(error))) return 'The account with the AI provider has no credit left';
  if (isContentFilter(error)) return 'The AI provider refused the content';
  if (/Timeout/.test(kindOf(error))) return 'The AI provider did not answer in time';
  if (status !== undefined) return `The AI provider failed with status ${status}`;
  return connectionError.test(kindOf(error))
    ? 'The AI provider could not be reached, or broke off'
    : 'The AI provider did not reply as its interface does';
}

/** Failures within a stream have no status and the base class of the SDK's errors. */
const connectionError = /Connection|^APIError /;

/** Characters. */
const maxWords = 2000;

/** Class and name of an error; the SDKs use the same names. */
const kindOf = (error: unknown): string => (error instanceof Error ? `${error.constructor.name} ${error.name}` : '');

/** Whole seconds, from a header, or from the message where the provider sends no header. */
function retryAfter(error: unknown): number {
  const headers = field(error, 'headers');
  const given = (name: string) => (headers instanceof Headers ? headers.get(name) : null) ?? '';
  const candidates = [
    secondsOf(given('retry-after-ms')) / 1000,
    secondsOf(given('retry-after')),
    secondsOf(/retry in ([\d.]+)s/i.exec(wordsOf(error))?.[1] ?? ''),
  ];
  return Math.min(
    Math.max(1, Math.ceil(candidates.find(Number.isFinite) ?? defaultRetryAfterSeconds)),
    maxRetryAfterSeconds,
  );
}

/** Seconds of a number or an HTTP date; NaN for other texts. */
const secondsOf = (text: string): number =>
  /^\d+(\.\d+)?$/.test(text)
    ? Number(text)
    : /^[A-Z][a-z]{2}, /.test(text)
      ? (Date.parse(text) - Date.now()) / 1000
      : Number.NaN;

/** The beginning of what the provider says; searches in it take time that grows faster than its length. */
function wordsOf(error: unknown): string {
  const code = field(error, 'code');
  return `${typeof code === 'string' ? code : ''} ${error instanceof Error ? error.message : ''}`.slice(0, maxWords);
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function numberField(value: unknown, name: string): number | undefined {
  const found = field(value, name);
  return typeof found === 'number' ? found : undefined;
}
