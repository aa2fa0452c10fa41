/** Longer than any caller looks back. */
const memoryMs = 60_000;

/** Keeps for a while when this process was notified of changed surveys. */
export function createRecentChanges() {
  /** Oldest first. */
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
    /** `sinceMs` is a value of `performance.now()`. */
    hasChangedSince: (surveyId: string, sinceMs: number): boolean => (changedAt.get(surveyId) ?? -Infinity) >= sinceMs,
  };
}

export type RecentChanges = ReturnType<typeof createRecentChanges>;
