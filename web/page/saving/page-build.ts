import { fetchWithin } from './fetch-within.ts';

/** Which build the service is of must be known in this time. */
const withinMs = 10_000;

/** The reply to this page's address without its body; undefined: there is none. */
const head = (): Promise<Response | undefined> =>
  fetchWithin(withinMs, location.pathname, { method: 'HEAD', cache: 'no-store' }).catch(() => undefined);

/** Whether the service now has another build of the page than this one; false where it does not say. */
export async function isOfOtherBuild(build: string): Promise<boolean> {
  const now = (await head())?.headers.get('x-page-build') ?? build;
  return now !== build;
}

/** Whether the page would come if it were loaded anew, be it with a notice that is not about the service. */
export async function isServed(): Promise<boolean> {
  const reply = await head();
  return reply?.headers.has('x-page-build') === true && reply.status !== 429 && reply.status < 500;
}
