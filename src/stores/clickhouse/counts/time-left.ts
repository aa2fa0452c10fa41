/** What is left of a bound in milliseconds, from now on; never nothing, which a server would take for no bound. */
export function createTimeBudget(boundMs: number, now: () => number = () => performance.now()): () => number {
  const endsAtMs = now() + boundMs;
  return () => Math.max(1, endsAtMs - now());
}
