/** Which build the service is of must be known in this time. */
const withinMs = 10_000;

/** Whether the service now has another build of the page than this one; false where it does not say. */
export async function isOfOtherBuild(build: string): Promise<boolean> {
  try {
    const reply = await fetch(location.pathname, {
      method: 'HEAD',
      cache: 'no-store',
      credentials: 'omit',
      signal: AbortSignal.timeout(withinMs),
    });
    const now = reply.headers.get('x-page-build');
    return now !== null && now !== build;
  } catch {
    return false;
  }
}
