import { Histogram, type MetricObjectWithValues, type MetricValueWithName } from 'prom-client';

type Label = 'route' | 'status';
type Value = MetricValueWithName<Label | 'le'>;

interface Series {
  route: string;
  status: number;
  /** How many took longer than the bound before and not longer than this one; the last place is for those past all bounds. */
  counts: number[];
  count: number;
  sum: number;
}

/**
 * A histogram of the times of calls, by route and status, in the form of prom-client's. The counting is done here, as every call is
 * counted and prom-client would put a text together from the labels each time. `buckets`: upper bounds in seconds, ascending.
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
    if (!byStatus) byRoute.set(route, (byStatus = new Map()));
    let series = byStatus.get(status);
    if (!series)
      byStatus.set(
        status,
        (series = { route, status, counts: Array.from({ length: buckets.length + 1 }, () => 0), count: 0, sum: 0 }),
      );
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

/** Buckets count all that are not above their bound. */
function valuesOf({ route, status, counts, count, sum }: Series, name: string, buckets: readonly number[]): Value[] {
  const labels = { route, status };
  let upTo = 0;
  const bounded = buckets.map(
    (le, bucket): Value => ({
      value: (upTo += counts[bucket] ?? 0),
      metricName: `${name}_bucket`,
      labels: { le, ...labels },
    }),
  );
  return [
    ...bounded,
    { value: count, metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels } },
    { value: sum, metricName: `${name}_sum`, labels },
    { value: count, metricName: `${name}_count`, labels },
  ];
}
