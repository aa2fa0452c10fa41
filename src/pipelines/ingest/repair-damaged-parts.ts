import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { DamagedParts } from '../../stores/clickhouse/write/damaged-parts.ts';
import type { ScheduledTask } from '../schedule.ts';

export interface RepairDamagedPartsDeps {
  damagedParts: DamagedParts;
  log: Pick<Log, 'error'>;
  metrics: Pick<Metrics, 'partDamaged'>;
}

/** Until then queries that need a damaged part are refused as SERVICE_UNAVAILABLE. */
const everyMs = 5000;

/** Looks every few seconds whether ClickHouse can read what it has just written, and repairs what it cannot. */
export function repairDamagedParts({ damagedParts, log, metrics }: RepairDamagedPartsDeps): ScheduledTask {
  return {
    name: 'repair damaged parts',
    everyMs,
    async run() {
      for (const { name, reason, isRebuilt, isDetached } of await damagedParts.repairNewParts()) {
        metrics.partDamaged();
        log.error(
          { part: name, reason },
          isRebuilt
            ? 'ClickHouse wrote a part with a damaged projection: it was made anew'
            : isDetached
              ? 'ClickHouse wrote a damaged part: it was detached, and its rows will be stored again'
              : 'ClickHouse holds a damaged part that needs an operator: see "Damaged parts" in the operating manual',
        );
      }
    },
  };
}
