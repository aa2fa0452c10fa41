import { z } from 'zod';
import { type MetricFamilies, type MetricSample, type ReadMetric, readMetrics } from '../../metrics.ts';
import type { QueueCounts } from '../../pipelines/queues.ts';
import { within } from '../../platform/within.ts';
import { ok, type Route, route } from '../routing/route.ts';
import { countSchema, healthResult } from '../schemas/common.ts';
import type { HealthState } from './health.ts';

export interface ServiceStateDeps {
  version: string;
  checkHealth(): Promise<HealthState>;
  /** The metrics of all processes. */
  collectMetrics(): Promise<readonly MetricFamilies[]>;
  queues(): Promise<QueueCounts[]>;
  deadLetters(): Promise<number>;
  /** The versions of the stores, by their names. */
  storeVersions: Readonly<Record<string, () => Promise<string | undefined>>>;
  /** Longest wait for one store. */
  timeoutMs?: number;
}

const defaultTimeoutMs = 2000;

const seconds = z.number().min(0);
const named = (what: string) => z.array(z.strictObject({ name: z.string().describe(what), count: countSchema }));

const serviceStateSchema = z
  .strictObject({
    version: z.string().describe('Of the service'),
    storeVersions: z.record(z.string(), z.string().nullable()).describe('By store; null: it does not reply'),
    health: z.strictObject({
      isReady: z.boolean().describe('Submissions are taken'),
      reason: z.enum(['DRAINING', 'INTAKE_UNAVAILABLE', 'INTAKE_FULL']).nullable().describe('Why they are not'),
      checks: z.record(z.string(), healthResult).describe('As in /health/ready'),
      degraded: z
        .array(z.string())
        .describe('Checks that failed although submissions are taken: stores that are away, or hold damaged data'),
    }),
    intake: z
      .strictObject({
        lag: countSchema.nullable().describe('Accepted responses that are not yet in ClickHouse; null: not known'),
        oldestSeconds: seconds.nullable().describe('Age of the oldest of them; null: not known'),
        memoryRatio: z
          .number()
          .min(0)
          .nullable()
          .describe('Of the memory that the intake may use; above 0.8 it refuses; null: not known'),
        submissions: named('Outcome').describe('Submissions since the start, by outcome of the intake'),
      })
      .describe('What has been accepted and where it is'),
    deadLetters: countSchema.nullable().describe('Responses that ClickHouse refused; null: the intake does not reply'),
    outbox: z
      .strictObject({ oldestSeconds: seconds, failing: countSchema })
      .describe('Events that are still to be passed on, and those tried in vain so far'),
    webhooks: z
      .strictObject({ oldestPendingSeconds: seconds, disabledEndpoints: countSchema })
      .describe(
        'Deliveries that wait for endpoints to which they may be sent, and endpoints that the service has switched off',
      ),
    queues: z
      .array(
        z.strictObject({
          name: z.string(),
          waiting: countSchema,
          active: countSchema,
          delayed: countSchema,
          failed: countSchema.describe('Of the last thousand'),
        }),
      )
      .nullable()
      .describe('Jobs by queue; null: the Redis for jobs does not reply'),
    refusals: named('Code of the error').describe('Replies with an error since the start, most frequent first'),
    processes: z.array(
      z.strictObject({
        name: z.string(),
        startedAt: z.string().nullable(),
        memoryBytes: z.number(),
        requests: countSchema.describe('Answered since its start'),
      }),
    ),
  })
  .meta({ id: 'ServiceState', description: 'How the service is: health, lag, queues, refusals, versions.' });

type ServiceState = z.output<typeof serviceStateSchema>;

/** The state of the service as one JSON document. The console shows it; alerts should use /metrics. */
export function serviceStateRoute(deps: ServiceStateDeps): Route {
  return route({
    method: 'GET',
    path: '/service',
    operationId: 'getServiceState',
    tag: 'Service',
    summary: 'Read the state of the service',
    description:
      'Health, lag of the intake, queues, refusals and versions, of all processes together. Parts whose store does not reply are null. Counts are those since the processes started.',
    access: { kind: 'admin' },
    limit: 'api',
    reply: serviceStateSchema,
    replyStatus: 200,
    handle: async () => ok(await readState(deps)),
  });
}

async function readState(deps: ServiceStateDeps): Promise<ServiceState> {
  const { version, storeVersions, timeoutMs = defaultTimeoutMs } = deps;
  /** Null where a store does not reply in time or fails. */
  const orNull = <T>(read: () => Promise<T>): Promise<T | null> => {
    const reading = Promise.resolve()
      .then(read)
      .catch(() => null);
    return within(timeoutMs, reading, null);
  };
  const [health, families, queues, deadLetters, versions] = await Promise.all([
    deps.checkHealth(),
    deps.collectMetrics(),
    orNull(deps.queues),
    orNull(deps.deadLetters),
    Promise.all(
      Object.entries(storeVersions).map(async ([name, read]) => [name, (await orNull(read)) ?? null] as const),
    ),
  ]);
  const read = await readMetrics(families);
  return {
    version,
    storeVersions: Object.fromEntries(versions),
    health: {
      isReady: health.reason === undefined,
      reason: health.reason ?? null,
      checks: health.checks,
      degraded: health.degraded,
    },
    intake: {
      lag: ifMeasured(sum, read('ingest_lag_entries')),
      oldestSeconds: ifMeasured(greatest, read('ingest_oldest_unacknowledged_seconds')),
      memoryRatio: ifMeasured(greatest, read('intake_memory_ratio')),
      submissions: countsBy(read('intake_submissions_total'), 'outcome'),
    },
    deadLetters,
    outbox: { oldestSeconds: greatest(read('outbox_oldest_seconds')), failing: sum(read('outbox_failing_events')) },
    webhooks: {
      oldestPendingSeconds: greatest(read('webhook_oldest_pending_seconds')),
      disabledEndpoints: sum(read('webhook_disabled_endpoints')),
    },
    queues,
    refusals: countsBy(read('http_refusals_total'), 'code'),
    processes: processesIn(read),
  };
}

const sum = (samples: readonly MetricSample[]): number => samples.reduce((total, { value }) => total + value, 0);
const greatest = (samples: readonly MetricSample[]): number => Math.max(0, ...samples.map(({ value }) => value));

/** Null where no process could measure it, as while the intake does not reply or no ingest runs. */
const ifMeasured = (combine: typeof sum, samples: readonly MetricSample[]): number | null =>
  samples.length === 0 ? null : combine(samples);

/** Counts above 0 by the value of a label, the greatest first. */
function countsBy(samples: readonly MetricSample[], label: string): { name: string; count: number }[] {
  return samples
    .filter(({ value }) => value > 0)
    .map(({ labels, value }) => ({ name: String(labels[label]), count: value }))
    .sort((a, b) => b.count - a.count || a.name.localeCompare(b.name));
}

function processesIn(read: ReadMetric): ServiceState['processes'] {
  const sampleOf = (metric: string, process: unknown) =>
    read(metric).find(({ labels }) => labels['process'] === process)?.value;
  return read('process_resident_memory_bytes').map(({ labels, value }) => {
    const startSeconds = sampleOf('process_start_time_seconds', labels['process']);
    return {
      name: String(labels['process']),
      startedAt: startSeconds === undefined ? null : new Date(startSeconds * 1000).toISOString(),
      memoryBytes: value,
      requests: sampleOf('http_process_requests', labels['process']) ?? 0,
    };
  });
}
