import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { LostParts } from '../../stores/clickhouse/read/lost-parts.ts';
import type { DamagedPart, DamagedParts, StoreRowsOfPart } from '../../stores/clickhouse/write/damaged-parts.ts';
import type { ScheduledTask } from '../schedule.ts';

export interface RepairDamagedPartsDeps {
  damagedParts: DamagedParts;
  storeRowsOfPart: StoreRowsOfPart;
  lostParts: Pick<LostParts, 'find'>;
  log: Pick<Log, 'error'>;
  metrics: Pick<Metrics, 'partDamaged'>;
  /** Aborted when the service stops. */
  stopping: AbortSignal;
}

/** Until then queries that need a damaged part are refused as SERVICE_UNAVAILABLE. */
const everyMs = 5000;

const needsOperator =
  'ClickHouse holds a damaged part that needs an operator: see "Damaged parts" in the operating manual';

/**
 * Looks every few seconds whether ClickHouse can read what it has just written, and repairs what it cannot. Names parts
 * that ClickHouse itself has moved out of its tables, once a process.
 */
export function repairDamagedParts({
  damagedParts,
  storeRowsOfPart,
  lostParts,
  log,
  metrics,
  stopping,
}: RepairDamagedPartsDeps): ScheduledTask {
  let named = new Set<string>();

  const report = ({ name, reason, isRebuilt, isDropped }: DamagedPart): void => {
    metrics.partDamaged();
    log.error(
      { part: name, reason },
      isRebuilt
        ? 'ClickHouse wrote a part with a damaged projection: it was made anew'
        : isDropped
          ? 'ClickHouse wrote a damaged part: its rows were stored again, and it was dropped'
          : needsOperator,
    );
  };

  const nameLostParts = async (): Promise<void> => {
    const lost = await lostParts.find();
    for (const { table, name, path } of lost) {
      if (named.has(path)) continue;
      metrics.partDamaged();
      log.error({ table, part: name, path }, needsOperator);
    }
    named = new Set(lost.map(({ path }) => path));
  };

  return {
    name: 'repair damaged parts',
    everyMs,
    async run() {
      // Parts that cannot be repaired yet keep no lost ones from being named.
      try {
        await damagedParts.repairNewParts(storeRowsOfPart, report, stopping);
      } finally {
        await nameLostParts();
      }
    },
  };
}
