import type { Core } from '../../actors/core.ts';
import type { DrawReport } from '../../ai/tasks/report.ts';
import type { Log } from '../../log.ts';
import type { MetricFamilies, Metrics } from '../../metrics.ts';
import type { JobSender } from '../../pipelines/queues.ts';
import type { Secrets } from '../../platform/secrets.ts';
import type { Settings } from '../../settings.ts';
import type { Stores } from '../../stores/stores.ts';

/** What the interface of a process stands on. */
export interface ApiServerOptions {
  settings: Settings;
  stores: Stores;
  core: Core;
  jobs: JobSender;
  metrics: Metrics;
  secrets: Secrets;
  log: Log;
  drawReport: DrawReport;
  isPortShared: boolean;
  /** The figures of all processes, for /metrics. */
  collectMetrics(): Promise<readonly MetricFamilies[]>;
}
