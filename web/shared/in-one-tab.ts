/** Runs the work while no other tab of this browser runs work of this name, where the browser has locks for that. */
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
    return work();
  }
}
