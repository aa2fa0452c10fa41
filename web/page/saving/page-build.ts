/** Which build the service is of must be known in this time. */
const withinMs = 10_000;

const head = () =>
  fetch(location.pathname, {
    method: 'HEAD',
    cache: 'no-store',
    credentials: 'omit',
    signal: AbortSignal.timeout(withinMs),
  });

/** Whether the service now has another build of the page than this one; false where it does not say. */
export async function isOfOtherBuild(build: string): Promise<boolean> {
  try {
    const now = (await head()).headers.get('x-page-build');
    return now !== null && now !== build;
  } catch {
    return false;
  }
}

/** Whether the page would come if it were loaded anew, be it with a notice that is not about the service. */
export async function isServed(): Promise<boolean> {
  try {
    const { status, headers } = await head();
    return headers.has('x-page-build') && status !== 429 && status < 500;
  } catch {
    return false;
  }
}
