import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { assetPath } from '../../assets.ts';
import type { Log } from '../../log.ts';
import type { Sql } from './client.ts';

/** Any fixed number: held while migrating, so that processes that start together migrate once. */
const migrationLock = 7_203_514;

/**
 * Brings the schema up to date: every file of migrations/ once, in the order of its name, each in one transaction. A schema that a newer
 * version has brought further is worked with as it is, since migrations only add: while versions change over, both run.
 */
export async function migratePostgres(sql: Sql, log?: Pick<Log, 'warn'>): Promise<void> {
  const folder = assetPath('src/stores/postgres/migrations');
  const files = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  const connection = await sql.reserve();
  try {
    // Another process may migrate a large database for long, and so may this one: neither is a reason not to start.
    await connection.unsafe('SET lock_timeout = 0; SET statement_timeout = 0').simple();
    await connection`SELECT pg_advisory_lock(${migrationLock})`;
    await connection`CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`;
    const applied = new Set((await connection<{ name: string }[]>`SELECT name FROM migrations`).map((row) => row.name));
    const newer = [...applied].filter((name) => !files.includes(name));
    if (newer.length > 0) log?.warn({ newer }, 'the database has been brought further by a newer version of the service');
    for (const name of files.filter((file) => !applied.has(file))) {
      const text = await readFile(join(folder, name), 'utf8');
      await connection.unsafe(`BEGIN; ${text}\n; INSERT INTO migrations (name) VALUES ('${name.replaceAll("'", "''")}'); COMMIT`).simple();
    }
  } finally {
    await connection`SELECT pg_advisory_unlock(${migrationLock})`.catch(() => undefined);
    await connection.unsafe('RESET lock_timeout; RESET statement_timeout').simple().catch(() => undefined);
    connection.release();
  }
}
