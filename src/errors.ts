/**
 * The problem table: every refusal that the service can give, with its HTTP status and its default wording.
 * A refusal is thrown as a `Problem`; any other error becomes INTERNAL_ERROR.
 */
export const problemTable = {
  VALIDATION_ERROR: { status: 400, message: 'The request is not valid' },
  UNAUTHORIZED: { status: 401, message: 'A valid access token is needed' },
  FORBIDDEN: { status: 403, message: 'Your rights do not allow this' },
  NOT_FOUND: { status: 404, message: 'There is no such resource' },
  METHOD_NOT_ALLOWED: { status: 405, message: 'This path does not take this method' },
  CONFLICT: { status: 409, message: 'The present state does not allow this' },
  AI_DISABLED: { status: 409, message: 'AI is switched off for this survey' },
  PAYLOAD_TOO_LARGE: { status: 413, message: 'The body is larger than allowed' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: 'The body must be application/json' },
  RATE_LIMITED: { status: 429, message: 'Too many requests' },
  INTERNAL_ERROR: { status: 500, message: 'The service made a mistake' },
  AI_KEY_INVALID: { status: 502, message: 'The AI provider refused the key' },
  AI_MODEL_UNAVAILABLE: { status: 502, message: 'The AI model is unknown or not available to this account or region' },
  AI_PROVIDER_ERROR: { status: 502, message: 'The AI provider failed' },
  SERVICE_UNAVAILABLE: { status: 503, message: 'The service cannot take this right now' },
  AI_NOT_CONFIGURED: { status: 503, message: 'The AI provider has no key' },
  AI_RATE_LIMITED: { status: 503, message: 'The AI provider is at its limit' },
} as const satisfies Record<string, { status: number; message: string }>;

export type ProblemCode = keyof typeof problemTable;

/** Why a CONFLICT was given; sent as `details.reason`. */
export const conflictReasons = [
  'SURVEY_NOT_ACTIVE',
  'QUOTA_REACHED',
  'SURVEY_NOT_OPEN_YET',
  'SURVEY_ENDED',
  'ALREADY_COMPLETE',
  'IDEMPOTENCY_MISMATCH',
  'EXPORT_NOT_READY',
  'HAS_RESPONSES',
  'EMAIL_TAKEN',
  'LAST_ADMIN',
  'TOO_MANY_API_KEYS',
  'ALREADY_DECIDED',
  'ALREADY_SAVED',
  'CONVERSATION_CHANGED',
  'NO_RESPONSES',
  'NOT_ACCEPTED',
  'QUESTION_CHANGED',
  'CHANGED_MEANWHILE',
  'CONDITION_BROKEN',
  'VERSION_GONE',
  'TOO_MANY_WEBHOOKS',
  'WEBHOOK_NOT_ACTIVE',
  'COLLECTOR_CLOSED',
  'DEFAULT_COLLECTOR',
  'INVITATION_USED',
  'INVITATION_REVOKED',
  'INVITATION_EXPIRED',
] as const;
export type ConflictReason = (typeof conflictReasons)[number];

/** Why a submission was refused with FORBIDDEN or NOT_FOUND, which have no reason otherwise; sent as `details.reason`. */
export type SubmissionReason = 'SURVEY_TOKEN_NEEDED' | 'WRONG_RESUME_TOKEN' | 'RESPONSE_NOT_FOUND';

/** A validation issue: the path of the invalid field (`answers.0.numberValue`) and the message. */
export interface ValidationIssue {
  path: string;
  message: string;
}

export interface ProblemOptions {
  details?: readonly ValidationIssue[] | Readonly<Record<string, unknown>>;
  /** Whole seconds; becomes the Retry-After header. */
  retryAfterSeconds?: number;
  /** Further headers of the reply. */
  headers?: readonly (readonly [string, string])[];
  cause?: unknown;
}

/** A refusal that a client may see. `message` and `details` never carry a query, a stack or a secret. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly details: ProblemOptions['details'];
  readonly retryAfterSeconds: number | undefined;
  readonly headers: readonly (readonly [string, string])[];

  constructor(code: ProblemCode, message?: string, options: ProblemOptions = {}) {
    super(message ?? problemTable[code].message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Problem';
    this.code = code;
    this.details = options.details;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.headers = options.headers ?? [];
  }

  get status(): number {
    return problemTable[this.code].status;
  }

  /**
   * The same refusal with further headers. A problem may be shared by several requests, so it is not changed itself.
   */
  with(headers: readonly (readonly [string, string])[]): Problem {
    return new Problem(this.code, this.message, {
      ...(this.details && { details: this.details }),
      ...(this.retryAfterSeconds !== undefined && { retryAfterSeconds: this.retryAfterSeconds }),
      headers: [...this.headers, ...headers],
      cause: this.cause,
    });
  }
}

/** Issues of a refusal beyond these are left out. */
export const maxIssuesShown = 20;

export function validationProblem(issues: readonly ValidationIssue[], message?: string): Problem {
  const first = issues[0];
  const summary =
    message ??
    (first
      ? [first.path, first.message].filter((part) => part !== '').join(': ')
      : problemTable.VALIDATION_ERROR.message);
  return new Problem('VALIDATION_ERROR', summary, { details: issues.slice(0, maxIssuesShown) });
}

export function conflict(reason: ConflictReason, message: string): Problem {
  return new Problem('CONFLICT', message, { details: { reason } });
}

export function notFound(what = 'resource'): Problem {
  return new Problem('NOT_FOUND', `There is no such ${what}`);
}

export function unavailable(message: string, retryAfterSeconds = 2, cause?: unknown): Problem {
  return new Problem('SERVICE_UNAVAILABLE', message, { retryAfterSeconds, cause });
}

/** The refusal after repeated concurrent changes; a retry after a second will probably succeed. */
export const changedTooOften = (what: 'survey' | 'response') =>
  ({
    code: 'SERVICE_UNAVAILABLE',
    message: `The ${what} is being changed too often right now`,
    retryAfterSeconds: 1,
  }) as const;

export function tooManyConflicts(what: 'survey' | 'response'): Problem {
  const { code, message, retryAfterSeconds } = changedTooOften(what);
  return new Problem(code, message, { retryAfterSeconds });
}

/** A pipeline step that must not be tried again: the input itself is wrong. */
export class PermanentFailure extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'PermanentFailure';
  }
}

/** Closes a union: the compiler refuses the call while a case is unhandled. */
export function assertNever(value: never): never {
  throw new Error(`unhandled case: ${JSON.stringify(value)}`);
}
