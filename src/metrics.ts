import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client';
import { createRequestDurationHistogram } from './platform/request-duration-histogram.ts';

/** A snapshot of one process's metrics, serialisable to other processes. */
export type MetricFamilies = MetricObjectWithValues<MetricValue<string>>[];

export const metricsMediaType: string = Registry.PROMETHEUS_CONTENT_TYPE;

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * All metrics of the service; their names are public. Service metrics are summed over the processes; process metrics
 * (memory, CPU, event loop delay) carry the label `process`.
 */
export function createMetrics(processName = 'main') {
  const registry = new Registry();
  const registers = [registry];
  const processRegistry = new Registry();
  processRegistry.setDefaultLabels({ process: processName });
  collectDefaultMetrics({ register: processRegistry });
  let requestCount = 0;
  new Gauge({
    name: 'http_process_requests',
    help: 'Requests that a process has answered since its start',
    registers: [processRegistry],
    collect() {
      this.set(requestCount);
    },
  });
  const requests = createRequestDurationHistogram({
    name: 'http_request_seconds',
    help: 'Time from request to reply',
    buckets: secondsBuckets,
  });
  const refusals = new Counter({
    name: 'http_refusals_total',
    help: 'Replies with an error, by code',
    labelNames: ['code'],
    registers,
  });
  const intake = new Counter({
    name: 'intake_submissions_total',
    help: 'Submissions by outcome of the intake',
    labelNames: ['outcome'],
    registers,
  });
  const quotaDifferences = new Counter({
    name: 'quota_count_differences_total',
    help: 'Seats by which counts of quotas by cell differed from the stored responses',
    registers,
  });
  const intakeTick = new Histogram({
    name: 'intake_batch_seconds',
    help: 'Time of one group commit',
    buckets: secondsBuckets,
    registers,
  });
  const intakeSize = new Histogram({
    name: 'intake_batch_submissions',
    help: 'Submissions in one group commit',
    buckets: [1, 2, 5, 10, 25, 50, 100, 250, 500],
    registers,
  });
  const batchRows = new Histogram({
    name: 'ingest_batch_rows',
    help: 'Rows in one insert',
    buckets: [1, 10, 100, 1000, 5000, 10_000, 25_000, 50_000],
    registers,
  });
  const batchSeconds = new Histogram({
    name: 'ingest_insert_seconds',
    help: 'Time of one insert',
    buckets: secondsBuckets,
    registers,
  });
  const retries = new Counter({ name: 'ingest_retries_total', help: 'Inserts that were tried again', registers });
  const missing = new Counter({
    name: 'ingest_missing_rows_total',
    help: 'Rows that the response store said it had stored and did not hold; they were stored again',
    registers,
  });
  const damagedParts = new Counter({
    name: 'clickhouse_damaged_parts_total',
    help: 'Parts of ClickHouse that could not be read; they were repaired, or an error in the log says why not',
    registers,
  });
  const recheckedAt = new Gauge({
    name: 'ingest_rechecked_timestamp_seconds',
    help: 'When it was last seen that the response store holds what was stored',
    labelNames: ['shard'],
    registers,
    aggregator: 'max',
  });
  const deadLetters = new Counter({
    name: 'ingest_dead_letters_total',
    help: 'Rows moved to the dead-letter stream',
    registers,
  });
  const fenced = new Counter({
    name: 'ingest_fenced_total',
    help: 'Writes refused because another owner took the shard',
    registers,
  });
  const lag = new Gauge({
    name: 'ingest_lag_entries',
    help: 'Stream entries not yet in ClickHouse',
    labelNames: ['shard'],
    registers,
  });
  const oldest = new Gauge({
    name: 'ingest_oldest_unacknowledged_seconds',
    help: 'Age of the oldest entry not yet in ClickHouse',
    labelNames: ['shard'],
    registers,
  });
  const unforwarded = new Gauge({
    name: 'ingest_oldest_unforwarded_seconds',
    help: 'Age of the oldest entry in ClickHouse not yet forwarded to webhooks, quotas and invitations',
    labelNames: ['shard'],
    registers,
  });
  const streamLength = new Gauge({
    name: 'intake_stream_entries',
    help: 'Entries in the intake stream',
    labelNames: ['shard'],
    registers,
  });
  const deadLettersWaiting = new Gauge({
    name: 'ingest_dead_letters_waiting',
    help: 'Rows in the dead-letter stream',
    labelNames: ['shard'],
    registers,
  });
  // Every process measures the same server, so the values must not be summed.
  const intakeMemory = new Gauge({
    name: 'intake_memory_ratio',
    help: 'Memory that the intake uses, of what it may use; 0 where it has no bound; above 0.8 submissions are refused',
    registers,
    aggregator: 'max',
  });
  const intakeUse = new Gauge({
    name: 'intake_memory_use_bytes',
    help: 'Memory of the intake by use: responses that wait for the response store, idempotency records and open responses, definitions of open surveys, the rest',
    labelNames: ['use'],
    registers,
    aggregator: 'max',
  });
  const exportsEnded = new Counter({
    name: 'exports_ended_total',
    help: 'Export files by how their making ended, without those that a deletion ended',
    labelNames: ['result'],
    registers,
  });
  const actors = new Gauge({ name: 'survey_actors', help: 'Surveys held in memory', registers });
  const webhookAttempts = new Counter({
    name: 'webhook_attempts_total',
    help: 'Attempts to deliver an event, by result',
    labelNames: ['result'],
    registers,
  });
  const webhookOldest = new Gauge({
    name: 'webhook_oldest_pending_seconds',
    help: 'Age of the oldest delivery that waits for an active endpoint of an owner who may receive it, or of the oldest event without its deliveries',
    registers,
  });
  const webhookDisabled = new Gauge({
    name: 'webhook_disabled_endpoints',
    help: 'Endpoints that the service has switched off',
    registers,
  });
  const webhookOverflow = new Counter({
    name: 'webhook_overflow_total',
    help: 'Deliveries that were not sent because too many were waiting for their endpoint',
    registers,
  });
  const outboxFailures = new Counter({
    name: 'outbox_failures_total',
    help: 'Events of the outbox that could not be delivered at a try',
    labelNames: ['kind'],
    registers,
  });
  const outboxOldest = new Gauge({
    name: 'outbox_oldest_seconds',
    help: 'Age of the oldest event that the outbox has not delivered',
    registers,
  });
  const outboxFailing = new Gauge({
    name: 'outbox_failing_events',
    help: 'Events that the outbox has tried in vain so far',
    registers,
  });
  const liveConnections = new Gauge({
    name: 'live_connections',
    help: 'Open live streams',
    labelNames: ['transport'],
    registers,
  });
  const liveEvents = new Counter({ name: 'live_events_sent_total', help: 'Responses sent to live streams', registers });
  const liveLags = new Counter({ name: 'live_lagged_total', help: 'Times that a client was too slow', registers });
  const liveSkipped = new Counter({
    name: 'live_lagged_events_total',
    help: 'Responses set aside for clients that were too slow',
    registers,
  });
  // Only the processes that measure these report them: a 0 from the others would hide that no such process runs.
  for (const gauge of [webhookOldest, webhookDisabled, outboxOldest, outboxFailing, intakeMemory]) gauge.remove();
  // Alerts use increase(), which misses the first event of a series unless it starts at 0.
  for (const result of ['completed', 'failed']) exportsEnded.inc({ result }, 0);
  for (const code of ['SERVICE_UNAVAILABLE', 'INTERNAL_ERROR']) refusals.inc({ code }, 0);
  return {
    /** The metrics of this process. */
    collect: async (): Promise<MetricFamilies> => [
      await requests.get(),
      ...(await registry.getMetricsAsJSON()),
      ...withSumAggregation(await processRegistry.getMetricsAsJSON()),
    ],
    requested(route: string, status: number, seconds: number) {
      requestCount += 1;
      requests.observe(route, status, seconds);
    },
    refused: (code: string) => refusals.inc({ code }),
    submitted: (outcome: string, count = 1) => intake.inc({ outcome }, count),
    quotaDifference: (seats: number) => quotaDifferences.inc(seats),
    committed(submissions: number, seconds: number) {
      intakeSize.observe(submissions);
      intakeTick.observe(seconds);
    },
    inserted(rows: number, seconds: number) {
      batchRows.observe(rows);
      batchSeconds.observe(seconds);
    },
    insertRetried: () => retries.inc(),
    rowsMissing: (rows: number) => missing.inc(rows),
    partDamaged: () => damagedParts.inc(),
    rechecked: (shard: number) => recheckedAt.set({ shard }, Date.now() / 1000),
    deadLettered: (rows: number) => deadLetters.inc(rows),
    ingestFenced: () => fenced.inc(),
    shardState(
      shard: number,
      state: { lag: number; oldestSeconds: number; unforwardedSeconds: number; length: number; deadLetters: number },
    ) {
      deadLettersWaiting.set({ shard }, state.deadLetters);
      lag.set({ shard }, state.lag);
      oldest.set({ shard }, state.oldestSeconds);
      unforwarded.set({ shard }, state.unforwardedSeconds);
      streamLength.set({ shard }, state.length);
    },
    /** Shows nothing of the shard until its state is known again. */
    shardUnknown(shard: number) {
      for (const gauge of [deadLettersWaiting, lag, oldest, unforwarded, streamLength]) gauge.remove({ shard });
    },
    intakeMemoryUsed(ratio: number, use: { waiting: number; idempotency: number; definitions: number; other: number }) {
      intakeMemory.set(ratio);
      for (const [name, bytes] of Object.entries(use)) intakeUse.set({ use: name }, bytes);
    },
    /** Shows nothing of the memory until it is measured again. */
    intakeMemoryUnknown() {
      intakeMemory.remove();
      intakeUse.reset();
    },
    exportEnded: (result: 'completed' | 'failed') => exportsEnded.inc({ result }),
    surveysCached: (count: number) => actors.set(count),
    liveConnected: (transport: 'websocket' | 'sse', change: 1 | -1) => liveConnections.inc({ transport }, change),
    liveSent: (events: number) => liveEvents.inc(events),
    liveLagged(events: number) {
      liveLags.inc();
      liveSkipped.inc(events);
    },
    webhookOverflowed: (deliveries: number) => webhookOverflow.inc(deliveries),
    outboxFailed: (kind: string) => outboxFailures.inc({ kind }),
    outboxState({ oldestSeconds, failing }: { oldestSeconds: number; failing: number }) {
      outboxOldest.set(oldestSeconds);
      outboxFailing.set(failing);
    },
    webhookAttempted: (result: string) => webhookAttempts.inc({ result }),
    webhookState({ oldestPendingSeconds, disabled }: { oldestPendingSeconds: number; disabled: number }) {
      webhookOldest.set(oldestPendingSeconds);
      webhookDisabled.set(disabled);
    },
  };
}

/** The metrics of all processes in Prometheus' text format. */
export function formatMetrics(families: readonly MetricFamilies[]): Promise<string> {
  return AggregatorRegistry.aggregate([...families]).metrics();
}

/** The sum of several processes' metrics as those of one. */
export function mergeMetrics(families: readonly MetricFamilies[]): Promise<MetricFamilies> {
  return AggregatorRegistry.aggregate([...families]).getMetricsAsJSON();
}

/** One value of a metric, with its labels. */
export interface MetricSample {
  labels: Readonly<Record<string, string | number>>;
  value: number;
}

/** Reads the values of a metric by its name; none where no process reports it. */
export type ReadMetric = (name: string) => MetricSample[];

/** The metrics of all processes, to be read one by one. */
export async function readMetrics(families: readonly MetricFamilies[]): Promise<ReadMetric> {
  const found = await AggregatorRegistry.aggregate([...families]).getMetricsAsJSON();
  const byName = new Map(found.map(({ name, values }) => [name, values as unknown as MetricSample[]]));
  return (name) => byName.get(name) ?? [];
}

/**
 * The `process` label keeps the series apart, so summing leaves them unchanged; other aggregators would drop or average
 * them.
 */
function withSumAggregation(families: MetricFamilies): MetricFamilies {
  return families.map((family) => ({ ...family, aggregator: 'sum' as const }));
}

export type Metrics = ReturnType<typeof createMetrics>;
