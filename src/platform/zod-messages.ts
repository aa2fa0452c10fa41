import type { z } from 'zod';
import { maxIssuesShown, type ValidationIssue } from '../errors.ts';

export type ValidationResult<T> = { isValid: true; data: T } | { isValid: false; issues: ValidationIssue[] };

export interface ValidationOptions {
  /** Where the value lies in what was sent. */
  prefix?: string;
  /** What is said of a field that the schema does not have. */
  unknownField?: string;
}

/**
 * Validates an external value. Issues have the service's own messages: the library's wording never reaches clients.
 * Those behind the first twenty are left out, of bad settings at a start too, since a body may have tens of thousands.
 */
export function validate<T extends z.ZodType>(
  schema: T,
  value: unknown,
  { prefix, unknownField = 'this field is not known' }: ValidationOptions = {},
): ValidationResult<z.output<T>> {
  const result = schema.safeParse(value, { error: messageOf });
  if (result.success) return { isValid: true, data: result.data };
  const pathOf = (parts: readonly PropertyKey[]) =>
    [...(prefix === undefined ? [] : [prefix]), ...parts].map(String).join('.');
  return {
    isValid: false,
    issues: result.error.issues
      .slice(0, maxIssuesShown)
      .flatMap((issue) =>
        issue.code === 'unrecognized_keys'
          ? issue.keys
              .slice(0, maxIssuesShown)
              .map((key) => ({ path: pathOf([...issue.path, key]), message: unknownField }))
          : [{ path: pathOf(issue.path), message: issue.message }],
      ),
  };
}

/** The message of every kind of zod issue; a schema's own message takes precedence. */
export function messageOf(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? 'is needed'
        : (typeMessages[issue.expected] ?? 'is not of the kind that is asked for');
    case 'invalid_value':
      return issue.input === undefined ? 'is needed' : oneOf(issue.values);
    case 'too_small':
      return tooSmallMessage(issue);
    case 'too_big':
      return tooBigMessage(issue);
    case 'invalid_format':
      return formatMessage(issue);
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return `has fields that are not known: ${issue.keys.slice(0, maxIssuesShown).join(', ')}`;
    case 'invalid_union':
      return unionMessage(issue);
    case 'invalid_key':
      return withReason('is a name that is not allowed', issue.issues);
    case 'invalid_element':
      return withReason('has a value that is not allowed', issue.issues);
    default:
      return 'is not allowed';
  }
}

type Issue<Code extends z.core.$ZodIssueCode> = Extract<z.core.$ZodRawIssue, { code: Code }>;

const typeMessages: Readonly<Record<string, string>> = {
  string: 'must be a text',
  number: 'must be a number',
  int: 'must be a whole number',
  bigint: 'must be a whole number',
  boolean: 'must be true or false',
  date: 'must be a time',
  array: 'must be a list',
  tuple: 'must be a list',
  set: 'must be a list',
  object: 'must be an object',
  record: 'must be an object',
  map: 'must be an object',
  null: 'must be null',
  undefined: 'must be left out',
  never: 'must be left out',
};

const oneOf = (values: readonly unknown[]): string =>
  values.length === 1 ? `must be ${String(values[0])}` : `must be one of ${values.map(String).join(', ')}`;

const units: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ['character', 'characters'],
  array: ['item', 'items'],
  set: ['item', 'items'],
  map: ['entry', 'entries'],
  file: ['byte', 'bytes'],
};

/** A size with its unit; undefined for plain numbers. */
function amount(origin: string, count: number | bigint): string | undefined {
  const unit = units[origin];
  return unit && `${count} ${unit[Number(count) === 1 ? 0 : 1]}`;
}

function tooSmallMessage({ origin, minimum, inclusive, exact }: Issue<'too_small'>): string {
  const size = amount(origin, minimum);
  if (size === undefined) return inclusive === false ? `must be above ${minimum}` : `must be at least ${minimum}`;
  if (exact === true) return `must have exactly ${size}`;
  return origin === 'string' && Number(minimum) === 1 ? 'must not be empty' : `must have at least ${size}`;
}

function tooBigMessage({ origin, maximum, inclusive, exact }: Issue<'too_big'>): string {
  const size = amount(origin, maximum);
  if (size === undefined) return inclusive === false ? `must be below ${maximum}` : `must be at most ${maximum}`;
  return exact === true ? `must have exactly ${size}` : `must have at most ${size}`;
}

const formatMessages: Readonly<Record<string, string>> = {
  email: 'must be an e-mail address',
  url: 'must be a URL',
  uuid: 'must be a UUID',
  date: 'must be a date (YYYY-MM-DD)',
  time: 'must be a time of day (HH:MM or HH:MM:SS)',
  datetime: 'must be an ISO 8601 time with Z or an offset, such as 2026-01-15T09:30:00Z',
  duration: 'must be an ISO 8601 duration',
  ipv4: 'must be an IPv4 address',
  ipv6: 'must be an IPv6 address',
  base64: 'must be base64',
  base64url: 'must be base64url',
};

function formatMessage({ format, ...issue }: Issue<'invalid_format'>): string {
  const part = issue['prefix'] ?? issue['suffix'] ?? issue['includes'];
  if (format === 'starts_with') return `must start with ${String(part)}`;
  if (format === 'ends_with') return `must end with ${String(part)}`;
  if (format === 'includes') return `must contain ${String(part)}`;
  return formatMessages[format] ?? 'does not have the form that is asked for';
}

function unionMessage(issue: Issue<'invalid_union'>): string {
  if (issue.input === undefined) return 'is needed';
  if ('options' in issue && Array.isArray(issue.options) && issue.options.length > 0) return oneOf(issue.options);
  // Only what is said of the value itself: what lies deeper in it makes sense for one of the forms alone.
  const reasons = new Set(
    issue.errors.flatMap((issues) =>
      issues.slice(0, 1).flatMap(({ path, message }) => (path.length === 0 ? [message] : [])),
    ),
  );
  return reasons.size === 0 ? 'has none of the forms that are allowed' : [...reasons].join(' or ');
}

function withReason(text: string, issues: readonly z.core.$ZodIssue[] = []): string {
  const reason = issues[0]?.message;
  return reason === undefined ? text : `${text}: ${reason}`;
}
