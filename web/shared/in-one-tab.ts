/** By name, the last work of this page that began without a lock, or waits for the one before. */
const lastHere = new Map<string, Promise<unknown>>();

/**
 * Runs the work while no other tab of this browser runs work of this name, where the browser has locks for that. Where it
 * has none, no other work of this name runs in this tab at least.
 */
export async function inOneTab<T>(name: string, work: () => Promise<T>): Promise<T> {
  let isBegun = false;
  try {
    // Browsers have locks on https and on this machine only, and refuse them where cookies are blocked.
    return await navigator.locks.request(name, () => {
      isBegun = true;
      return work();
    });
  } catch (error) {
    if (isBegun) throw error;
    const before = lastHere.get(name) ?? Promise.resolve();
    const result = before.then(work, work);
    lastHere.set(name, result);
    return result;
  }
}
