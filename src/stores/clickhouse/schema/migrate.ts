import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assetPath } from '../../../platform/assets.ts';
import type { ClickHouse } from '../client.ts';
import { sqlName, sqlString } from '../sql-literals.ts';
import { codeColumnDefinitions, codeColumnStep, fitPartSize } from './code-columns.ts';
import { localTable, onCluster, type Placement } from './placement.ts';

/** The tables, by the file that creates each. */
const createdBy: Readonly<Record<string, 'responses' | 'findings' | 'idempotency_records'>> = {
  '001_responses.sql': 'responses',
  '002_findings.sql': 'findings',
  '005_idempotency_records.sql': 'idempotency_records',
};

/**
 * Applies the files of schema/ that are not applied yet, in the order of their names; `….cluster.sql` on clusters only.
 * Every statement may run twice, so processes may start concurrently and an interrupted start can be repeated. Tables
 * that were lost are created again, empty; returns their names.
 */
export async function migrateClickHouse(clickhouse: ClickHouse, placement: Placement = {}): Promise<string[]> {
  const everywhere = placement.cluster === undefined ? '' : onCluster(placement.cluster);
  const journal = clickhouse.table('schema_migrations');
  const engine =
    placement.cluster === undefined
      ? 'ReplacingMergeTree'
      : `ReplicatedReplacingMergeTree(${replicaOf(clickhouse, 'schema_migrations', false)})`;
  await clickhouse.command(`CREATE DATABASE IF NOT EXISTS ${sqlName(clickhouse.database)} ${everywhere}`);
  await clickhouse.command(
    `CREATE TABLE IF NOT EXISTS ${journal} ${everywhere} (name String) ENGINE = ${engine} ORDER BY name`,
  );
  const applied = new Set(
    (await clickhouse.select<[string]>(`SELECT name FROM ${journal}`)).map(([applied]) => applied),
  );
  const lost = await lostTables(clickhouse, applied);
  for (const file of await schemaFiles(placement)) {
    if (applied.has(file) && lost.length === 0) continue;
    await clickhouse.command(
      schemaStatement(await readFile(join(schemaFolder(), file), 'utf8'), clickhouse, placement),
    );
    await clickhouse.command(`INSERT INTO ${journal} VALUES (${sqlString(file)})`);
  }
  // Former versions set it only when they added columns, or never.
  await fitPartSize(clickhouse, placement);
  return lost;
}

/** Tables that were created and are gone. */
async function lostTables(clickhouse: ClickHouse, applied: ReadonlySet<string>): Promise<string[]> {
  const rows = await clickhouse.select<[string]>(
    `SELECT name FROM system.tables WHERE database = ${sqlString(clickhouse.database)}`,
  );
  const present = new Set(rows.map(([name]) => name));
  return Object.entries(createdBy).flatMap(([file, table]) =>
    applied.has(file) && !present.has(table) ? [table] : [],
  );
}

/** Replaces the placeholders of a schema file. */
export function schemaStatement(
  template: string,
  clickhouse: Pick<ClickHouse, 'database' | 'table'>,
  placement: Placement,
): string {
  const { cluster } = placement;
  const isCluster = cluster !== undefined;
  const values: Record<string, string> = {
    storage_table: localTable(clickhouse, placement, 'responses'),
    table: clickhouse.table('responses'),
    findings_storage: localTable(clickhouse, placement, 'findings'),
    findings: clickhouse.table('findings'),
    records_storage: localTable(clickhouse, placement, 'idempotency_records'),
    records: clickhouse.table('idempotency_records'),
    records_engine: isCluster
      ? `ReplicatedReplacingMergeTree(${replicaOf(clickhouse, 'idempotency_records', true)}, accepted_at)`
      : 'ReplacingMergeTree(accepted_at)',
    database: sqlString(clickhouse.database),
    cluster: sqlString(cluster ?? ''),
    on_cluster: isCluster ? onCluster(cluster) : '',
    code_columns: codeColumnDefinitions(0, codeColumnStep).join(', '),
    engine: isCluster
      ? `ReplicatedReplacingMergeTree(${replicaOf(clickhouse, 'responses', true)}, version, is_deleted)`
      : 'ReplacingMergeTree(version, is_deleted)',
    findings_engine: isCluster ? `ReplicatedMergeTree(${replicaOf(clickhouse, 'findings', true)})` : 'MergeTree',
    deduplication_window: isCluster ? 'replicated_deduplication_window' : 'non_replicated_deduplication_window',
  };
  return template.replace(/\{\{(\w+)\}\}/g, (_, key: string) => {
    const value = values[key];
    if (value === undefined) throw new Error(`unknown placeholder ${key} in a schema file`);
    return value;
  });
}

export async function schemaFiles({ cluster }: Placement): Promise<string[]> {
  const files = (await readdir(schemaFolder()))
    .filter((file) => file.endsWith('.sql'))
    .sort((one, other) => order(one).localeCompare(order(other)));
  return files.filter((file) => cluster !== undefined || !file.endsWith('.cluster.sql'));
}

function schemaFolder(): string {
  return assetPath('src/stores/clickhouse/schema');
}

/** Sorts a `.cluster.sql` file after the `.sql` file of the same name. */
const order = (file: string): string => file.replace(/(\.cluster)?\.sql$/, (ending) => (ending === '.sql' ? ' ' : '.'));

/** Coordination path of a replicated table: one for each shard, or one for all servers. */
function replicaOf({ database }: Pick<ClickHouse, 'database'>, table: string, isSharded: boolean): string {
  return `${sqlString(`/clickhouse/tables/${isSharded ? '{shard}' : 'all'}/${database}/${table}`)}, ${sqlString(isSharded ? '{replica}' : '{shard}-{replica}')}`;
}
