import type { HttpRequest } from 'uWebSockets.js';
import { validationProblem, type Problem } from '../errors.ts';

/**
 * Every header that the service reads; no other one reaches a handler. The word says what becomes of a value that holds anything but
 * visible ASCII, blanks and tabs:
 *
 * - `refused`: VALIDATION_ERROR.
 * - `exact`: nothing here. Its reader compares the whole value or matches it against an ASCII pattern, so that it equals no good value
 *   and has the consequence of any wrong one: 401 for authorization, 415 for content-type, 403 for x-survey-token, 400 with a message of
 *   their own for idempotency-key and x-filename; x-forwarded-for is not believed, and x-request-id is replaced.
 * - `present`: only whether the header is there counts.
 */
const readHeaders = {
  accept: 'refused',
  'access-control-request-method': 'refused',
  authorization: 'exact',
  'content-encoding': 'refused',
  'content-length': 'refused',
  'content-type': 'exact',
  expect: 'refused',
  forwarded: 'present',
  host: 'refused',
  'idempotency-key': 'exact',
  'if-none-match': 'refused',
  'if-range': 'refused',
  'last-event-id': 'refused',
  origin: 'refused',
  range: 'refused',
  'sec-websocket-extensions': 'refused',
  'sec-websocket-key': 'refused',
  'sec-websocket-protocol': 'refused',
  'transfer-encoding': 'refused',
  via: 'present',
  'x-filename': 'exact',
  'x-forwarded-for': 'exact',
  'x-forwarded-host': 'present',
  'x-forwarded-proto': 'present',
  'x-real-ip': 'present',
  'x-request-id': 'exact',
  'x-survey-token': 'exact',
} as const;

export type HeaderName = keyof typeof readHeaders;
export type HeaderValues = ReadonlyMap<HeaderName, string>;

const rules: ReadonlyMap<string, 'refused' | 'exact' | 'present'> = new Map(Object.entries(readHeaders));
const plainValue = /^[\t\x20-\x7e]*$/;

/** Whether a request is refused because of this header value. */
export const isRefused = (name: string, value: string): boolean => rules.get(name) === 'refused' && !plainValue.test(value);

export interface Head {
  method: string;
  path: string;
  query: string;
  headers: HeaderValues;
  /** Why the request is refused whatever it asks for. */
  problem: Problem | undefined;
  /** Where the request ends is doubtful, so that the connection has to be closed. */
  isUnclear: boolean;
}

/** Copies what is needed from the request: it is only valid until the first await. Repeated headers are joined by commas. */
export function readHead(req: HttpRequest): Head {
  const headers = new Map<HeaderName, string>();
  let problem: Problem | undefined;
  let isUnclear = false;
  const refuse = (path: HeaderName, message: string): void => {
    problem = validationProblem([{ path, message }]);
    isUnclear ||= framing.has(path);
  };
  req.forEach((name, value) => {
    if (!isRead(name)) return;
    if (isRefused(name, value)) return refuse(name, 'may hold visible ASCII characters, blanks and tabs only');
    const known = headers.get(name);
    if (known === undefined) headers.set(name, value);
    else if (framing.has(name)) refuse(name, 'the header is given twice');
    else headers.set(name, `${known}, ${value}`);
  });
  const encoding = headers.get('transfer-encoding');
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked') refuse('transfer-encoding', 'only chunked is known');
  return { method: req.getMethod().toUpperCase(), path: req.getUrl(), query: req.getQuery() ?? '', headers, problem, isUnclear };
}

/** They say where a request ends or whose it is: two readers must not understand them differently. */
const framing: ReadonlySet<string> = new Set<HeaderName>(['content-length', 'transfer-encoding', 'host']);

const isRead = (name: string): name is HeaderName => rules.has(name);
