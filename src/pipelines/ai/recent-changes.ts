/** Longer than anybody wants to know. */
const memoryMs = 60_000;

/** Remembers for a while when surveys were changed, as this process heard of it. */
export function createRecentChanges() {
  /** The oldest first. */
  const changedAt = new Map<string, number>();
  return {
    record(surveyId: string): void {
      const now = performance.now();
      changedAt.delete(surveyId);
      changedAt.set(surveyId, now);
      for (const [id, at] of changedAt) {
        if (now - at <= memoryMs) break;
        changedAt.delete(id);
      }
    },
    /** By `performance.now()`. */
    hasChangedSince: (surveyId: string, sinceMs: number): boolean => (changedAt.get(surveyId) ?? -Infinity) >= sinceMs,
  };
}

export type RecentChanges = ReturnType<typeof createRecentChanges>;
