const changes = new Map<string, Set<Promise<unknown>>>();

/** Makes a change of a survey whose outcome is read after it: what the service tells of it is no news. */
export function noteChange<T>(id: string, change: Promise<T>): Promise<T> {
  const underWay = changes.get(id) ?? new Set();
  changes.set(id, underWay.add(change));
  return change.finally(() => {
    underWay.delete(change);
    if (underWay.size === 0) changes.delete(id);
  });
}

/** Resolves once no change of the survey is under way. */
export async function changesEnd(id: string): Promise<void> {
  for (let underWay = changes.get(id); underWay; underWay = changes.get(id)) await Promise.allSettled([...underWay]);
}
