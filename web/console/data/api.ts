import { createSurveyClient, refusalOf } from '../../../client/src/index.ts';
import { accessToken, fetchSignedIn, tokenWhileLeaving } from '../app/session.ts';

export type { components, operations } from '../../../client/src/index.ts';
export { dataOf, refusalOf, SurveyApiError } from '../../../client/src/index.ts';

/** Every call of the console: the public REST API with the token of the session. */
export const api = createSurveyClient({ origin: location.origin, token: accessToken, fetch: fetchSignedIn });
api.use({
  onResponse({ request, response }) {
    if (response.status !== 403 && response.status !== 404) return;
    for (const listener of refusalListeners) listener(request, response.status);
  },
});

/** Makes a DELETE call while the page is left: the browser sends it after the page has gone. */
export async function deleteWhileLeaving(path: string): Promise<void> {
  const authorization = `Bearer ${await tokenWhileLeaving()}`;
  await fetch(`/api/v1${path}`, { method: 'DELETE', keepalive: true, headers: { authorization } });
}

type RefusalListener = (request: Request, status: 403 | 404) => void;

const refusalListeners = new Set<RefusalListener>();

/** Calls the listener when the user has no right to something that was asked for, or when that is not there. */
export function onRefusal(listener: RefusalListener): void {
  refusalListeners.add(listener);
}

interface Pagination {
  page: number;
  limit: number;
  total: number;
}

/** `data` and `pagination` of a list. Throws a SurveyApiError for a refusal. */
export async function pageOf<Item>(
  call: Promise<{ data?: { data: Item[]; pagination: Pagination }; error?: unknown; response: Response }>,
): Promise<{ items: Item[]; total: number }> {
  const { data, error, response } = await call;
  if (data) return { items: data.data, total: data.pagination.total };
  throw refusalOf(response, error);
}
