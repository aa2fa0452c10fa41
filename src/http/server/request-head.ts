import type { HttpRequest } from 'uWebSockets.js';
import { type Problem, validationProblem } from '../../errors.ts';
import { newId } from '../../platform/ids.ts';

/**
 * Every header that the service reads; no other one reaches a handler. The rule says what happens to a value with
 * anything but visible ASCII, blanks and tabs:
 *
 * - `refused`: VALIDATION_ERROR.
 * - `exact`: passed on. The reader compares the whole value or matches it against an ASCII pattern, so it is treated as
 * any wrong value:
 *   plain bytes for accept-encoding, no wish for accept-language, 401 for authorization and cookie, 415 for
 *   content-type, 403 for x-survey-token,
 *   400 for x-filename;
 *   x-forwarded-for is ignored, and x-request-id is replaced.
 * - `present`: only whether the header is there counts.
 */
const headerRules = {
  accept: 'refused',
  'accept-encoding': 'exact',
  'accept-language': 'exact',
  'access-control-request-method': 'refused',
  authorization: 'exact',
  'content-encoding': 'refused',
  'content-length': 'refused',
  'content-type': 'exact',
  cookie: 'exact',
  expect: 'refused',
  forwarded: 'present',
  host: 'refused',
  'idempotency-key': 'refused',
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

export type HeaderName = keyof typeof headerRules;
export type HeaderValues = ReadonlyMap<HeaderName, string>;

const rulesByName: ReadonlyMap<string, 'refused' | 'exact' | 'present'> = new Map(Object.entries(headerRules));
const visibleAscii = /^[\t\x20-\x7e]*$/;

/** Whether a header value holds nothing but visible ASCII, blanks and tabs, so that no request is refused for it. */
export const isVisibleAscii = (value: string): boolean => visibleAscii.test(value);

/**
 * Bounds of a query as it is sent, for all routes. Twenty filters of a thousand characters of ASCII and a hundred
 * ids fit, where one of Chinese counts as nine; reading takes time for each parameter.
 */
export const queryLimits = { characters: 32_768, parameters: 1000 } as const;

export interface RequestHead {
  method: string;
  path: string;
  query: string;
  headers: HeaderValues;
  /** A fault for which any route refuses the request. */
  problem: Problem | undefined;
  /** It is not certain where the request ends, so the connection must be closed. */
  isFramingAmbiguous: boolean;
}

/**
 * Copies the head of the request, which uWS keeps only until the first await. Repeated headers are joined by commas.
 */
export function readRequestHead(req: HttpRequest): RequestHead {
  const headers = new Map<HeaderName, string>();
  let problem: Problem | undefined;
  let isFramingAmbiguous = false;
  const refuse = (path: HeaderName, message: string): void => {
    problem = validationProblem([{ path, message }]);
    isFramingAmbiguous ||= framingHeaders.has(path);
  };
  req.forEach((name, value) => {
    if (!isKnownHeader(name)) return;
    const previous = headers.get(name);
    if (rulesByName.get(name) === 'refused' && !isVisibleAscii(value))
      refuse(name, 'may hold visible ASCII characters, blanks and tabs only');
    else if (previous === undefined) headers.set(name, value);
    else if (framingHeaders.has(name)) refuse(name, 'the header is given twice');
    else headers.set(name, `${previous}, ${value}`);
  });
  const query = req.getQuery() ?? '';
  const queryFault = faultOfQuery(query);
  if (queryFault !== undefined) problem = validationProblem([{ path: '', message: queryFault }]);
  const encoding = headers.get('transfer-encoding');
  if (encoding !== undefined) {
    // The engine takes a bare line feed for the end of a chunk's size, where a strict proxy reads on.
    isFramingAmbiguous = true;
    if (encoding.toLowerCase() !== 'chunked') refuse('transfer-encoding', 'only chunked is known');
    else if (!methodsWithBody.has(req.getMethod())) refuse('transfer-encoding', 'is for requests that have a body');
  }
  return {
    method: req.getMethod().toUpperCase(),
    path: req.getUrl(),
    query,
    headers,
    problem,
    isFramingAmbiguous,
  };
}

function faultOfQuery(query: string): string | undefined {
  if (query.length > queryLimits.characters) return `the query is longer than ${queryLimits.characters} characters`;
  let parameters = 1;
  for (let at = query.indexOf('&'); at >= 0; at = query.indexOf('&', at + 1)) parameters += 1;
  return parameters > queryLimits.parameters
    ? `the query has more than ${queryLimits.parameters} parameters`
    : undefined;
}

/** In lower case, as the engine gives them. */
const methodsWithBody: ReadonlySet<string> = new Set(['post', 'put', 'patch']);

/** Repeats are refused: if a proxy and the service read different values, requests could be smuggled. */
const framingHeaders: ReadonlySet<string> = new Set<HeaderName>(['content-length', 'transfer-encoding', 'host']);

const isKnownHeader = (name: string): name is HeaderName => rulesByName.has(name);

const requestIdPattern = /^[A-Za-z0-9._-]{1,64}$/;

/** The client's X-Request-Id if it is a plain one, else a new id. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && requestIdPattern.test(given) ? given : newId();
}
