import type { ClickHouse } from '../client.ts';
import { sqlName } from '../sql-literals.ts';

/**
 * Where the rows lie. On one server `responses` is the table itself; on a cluster it is a Distributed table over
 * `responses_local`, sharded by response so that all versions of one meet on one shard.
 */
export interface Placement {
  /** A cluster of the servers' configuration. */
  cluster?: string | undefined;
}

/** What an analysis found lies where its responses do. */
type StoredTable = 'responses' | 'findings' | 'idempotency_records';

/** The table that holds rows, as written in statements that change it on every server. */
export function storageTable(clickhouse: ClickHouse, placement: Placement, table: StoredTable = 'responses'): string {
  return placement.cluster === undefined
    ? clickhouse.table(table)
    : `${localTable(clickhouse, placement, table)} ${onCluster(placement.cluster)}`;
}

/** What a server calls its own rows. */
export function localTable(clickhouse: Pick<ClickHouse, 'table'>, { cluster }: Placement, table: StoredTable): string {
  return clickhouse.table(cluster === undefined ? table : `${table}_local`);
}

/** Every table that must learn of a new column, in the order in which they must. */
export function tablesToChange(clickhouse: ClickHouse, placement: Placement): string[] {
  const storage = storageTable(clickhouse, placement);
  return placement.cluster === undefined
    ? [storage]
    : [storage, `${clickhouse.table('responses')} ${onCluster(placement.cluster)}`];
}

export function onCluster(cluster: string): string {
  return `ON CLUSTER ${sqlName(cluster)}`;
}
