import type { ClickHouse } from '../client.ts';
import { sqlName } from '../sql-literals.ts';

/**
 * Where rows are stored. On one server `responses` is the table; on a cluster it is a Distributed table over
 * `responses_local`, sharded by response, so that all versions of a response are on one shard.
 */
export interface Placement {
  /** Name of a cluster in the servers' configuration. */
  cluster?: string | undefined;
}

/** Annotations are sharded like responses. */
type StoredTable = 'responses' | 'findings' | 'idempotency_records';

/** The table that holds rows, for statements that change it on all servers. */
export function storageTable(clickhouse: ClickHouse, placement: Placement, table: StoredTable = 'responses'): string {
  return placement.cluster === undefined
    ? clickhouse.table(table)
    : `${localTable(clickhouse, placement, table)} ${onCluster(placement.cluster)}`;
}

/** The table that holds rows on each server. */
export function localTable(clickhouse: Pick<ClickHouse, 'table'>, placement: Placement, table: StoredTable): string {
  return clickhouse.table(localTableName(placement, table));
}

/** Its name without the database, as system tables have it. */
export function localTableName({ cluster }: Placement, table: StoredTable): string {
  return cluster === undefined ? table : `${table}_local`;
}

/** All tables that need a new column, in the order of changing them. */
export function tablesToChange(clickhouse: ClickHouse, placement: Placement): string[] {
  const storage = storageTable(clickhouse, placement);
  return placement.cluster === undefined
    ? [storage]
    : [storage, `${clickhouse.table('responses')} ${onCluster(placement.cluster)}`];
}

export function onCluster(cluster: string): string {
  return `ON CLUSTER ${sqlName(cluster)}`;
}
