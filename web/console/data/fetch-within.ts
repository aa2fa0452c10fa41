const limitMs = 30_000;

/** Calls that change nothing, some of which are a POST: a crosstab is only counted, a ticket opens a live stream. */
export const isOnlyRead = ({ method, url }: Pick<Request, 'method' | 'url'>): boolean =>
  method === 'GET' || (method === 'POST' && /\/(crosstab|live\/tickets)$/.test(url));

/** Calls that begin something: whoever waits for their reply may wait long, and they are not to be made twice. */
const beginsSomething = (request: Request): boolean =>
  request.method === 'POST' && !isOnlyRead(request) && !/\/auth\/(refresh|logout)$/.test(request.url);

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
