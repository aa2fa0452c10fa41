import type { Core } from '../actors/core.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Secrets } from '../platform/secrets.ts';
import type { Role, Settings } from '../settings.ts';
import type { Stores, StoreUrls } from '../stores/stores.ts';
import type { Workers } from './workers.ts';

/** What ingest and jobs of a process stand on. */
export interface PipelineOptions {
  roles: readonly Role[];
  stores: Stores;
  core: Core;
  workers: Workers;
  secrets: Secrets;
  urls: StoreUrls;
  settings: Settings;
  metrics: Metrics;
  log: Log;
  /** Names this process among all that may own a shard. */
  name: string;
}
