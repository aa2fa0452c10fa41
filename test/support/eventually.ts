/** Tries until it no longer throws, at most `withinMs`; then throws what was thrown last. */
export async function eventually<T>(attempt: () => Promise<T> | T, withinMs = 10_000, everyMs = 25): Promise<T> {
  const until = Date.now() + withinMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > until) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
