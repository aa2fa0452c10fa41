import { type MetricFamilies, mergeMetrics } from '../metrics.ts';

/**
 * The last metrics of each process, and the counts of those that have ended. A sum that left out who is late or has died
 * would fall, and what reads counters takes a fall for a new beginning.
 */
export function createProcessMetrics() {
  const last = new Map<string, MetricFamilies>();
  let ofEnded: Promise<MetricFamilies> = Promise.resolve([]);

  return {
    reported: (name: string, metrics: MetricFamilies): void => void last.set(name, metrics),

    /** What the process has counted since its last report is lost. */
    ended(name: string): void {
      const counts = last.get(name)?.filter(({ type }) => isCount(type)) ?? [];
      last.delete(name);
      ofEnded = ofEnded.then((sum) => mergeMetrics([sum, counts]));
    },

    async all(): Promise<MetricFamilies[]> {
      const running = [...last.values()];
      return [await ofEnded, ...running];
    },
  };
}

/** The client names types in text, where its own declarations have numbers. */
const isCount = (type: unknown): boolean => type === 'counter' || type === 'histogram';
