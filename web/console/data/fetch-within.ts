const limitMs = 30_000;

/** Calls that change nothing: a crosstab, whose call is a POST, is only counted. */
export const isOnlyRead = ({ method, url }: Pick<Request, 'method' | 'url'>): boolean =>
  method === 'GET' || (method === 'POST' && url.endsWith('/crosstab'));

/** Calls that begin something: whoever waits for their reply may wait long, and they are not to be made twice. */
const beginsSomething = (request: Request): boolean =>
  request.method === 'POST' && !isOnlyRead(request) && !/\/(live\/tickets|auth\/(refresh|logout))$/.test(request.url);

/**
 * `fetch` that gives up after half a minute without a reply, with the error of a service that cannot be reached: over a
 * connection that a network has dropped without a word it would wait for many minutes. A body that comes may take long.
 */
export async function fetchWithin(request: Request): Promise<Response> {
  if (beginsSomething(request)) return fetch(request);
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new TypeError('No reply in time')), limitMs);
  try {
    return await fetch(request, { signal: AbortSignal.any([request.signal, limit.signal]) });
  } finally {
    clearTimeout(timer);
  }
}
