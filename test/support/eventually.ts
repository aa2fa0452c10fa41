/**
 * Tries until it no longer throws, at most `withinMs`, which a slow machine may well need; then throws what was thrown
 * last.
 */
export async function eventually<T>(attempt: () => Promise<T> | T, withinMs = 30_000, everyMs = 25): Promise<T> {
  // A test may have stopped the clock.
  const until = performance.now() + withinMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > until) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
