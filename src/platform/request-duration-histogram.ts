import { Histogram, type MetricObjectWithValues, type MetricValueWithName } from 'prom-client';

type Label = 'route' | 'status';
type Value = MetricValueWithName<Label | 'le'>;

interface Series {
  route: string;
  status: number;
  /** Requests by bucket (not cumulative); the last element counts those above all bounds. */
  counts: number[];
  count: number;
  sum: number;
}

/**
 * A histogram of request durations by route and status, in prom-client's format. Counts itself, because prom-client
 * would build a string from the labels for every request. `buckets`: ascending upper bounds in seconds.
 */
export function createRequestDurationHistogram({
  name,
  help,
  buckets,
}: {
  name: string;
  help: string;
  buckets: readonly number[];
}) {
  const histogram = new Histogram<Label>({
    name,
    help,
    buckets: [...buckets],
    labelNames: ['route', 'status'],
    registers: [],
  });
  const byRoute = new Map<string, Map<number, Series>>();
  const seriesOf = (route: string, status: number): Series => {
    let byStatus = byRoute.get(route);
    if (!byStatus) {
      byStatus = new Map();
      byRoute.set(route, byStatus);
    }
    let series = byStatus.get(status);
    if (!series) {
      series = { route, status, counts: Array.from({ length: buckets.length + 1 }, () => 0), count: 0, sum: 0 };
      byStatus.set(status, series);
    }
    return series;
  };
  return {
    observe(route: string, status: number, seconds: number): void {
      const series = seriesOf(route, status);
      let bucket = 0;
      while (bucket < buckets.length && seconds > (buckets[bucket] ?? 0)) bucket += 1;
      series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
      series.count += 1;
      series.sum += seconds;
    },
    get: async (): Promise<MetricObjectWithValues<Value>> => {
      const series = [...byRoute.values()].flatMap((byStatus) => [...byStatus.values()]);
      return { ...(await histogram.get()), values: series.flatMap((one) => valuesOf(one, name, buckets)) };
    },
  };
}

/** The samples of a series; Prometheus buckets are cumulative. */
function valuesOf({ route, status, counts, count, sum }: Series, name: string, buckets: readonly number[]): Value[] {
  const labels = { route, status };
  let cumulative = 0;
  const bounded = buckets.map((le, bucket): Value => {
    cumulative += counts[bucket] ?? 0;
    return { value: cumulative, metricName: `${name}_bucket`, labels: { le, ...labels } };
  });
  return [
    ...bounded,
    { value: count, metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels } },
    { value: sum, metricName: `${name}_sum`, labels },
    { value: count, metricName: `${name}_count`, labels },
  ];
}
