import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../log.ts';
import { assetPath } from '../../platform/assets.ts';
import type { Sql } from './client.ts';
import { type ReservedSql, setReplyTimeout } from './driver.ts';

/** Advisory lock held while migrating, so that processes that start concurrently migrate once. Any fixed number. */
const migrationLock = 7_203_514;
const lockPollMs = 50;

/**
 * Applies the files of migrations/ that are not applied yet, in the order of their names, each in one transaction,
 * except those that create an index concurrently. A schema of a newer version is accepted, since migrations only add:
 * during an upgrade both versions run.
 */
export async function migratePostgres(sql: Sql, log?: Pick<Log, 'warn'>): Promise<void> {
  const folder = assetPath('src/stores/postgres/migrations');
  const files = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  const connection = await sql.reserve();
  try {
    // Migrating a large database may take long, in this process or in another one.
    await connection.unsafe('SET lock_timeout = 0; SET statement_timeout = 0').simple();
    await acquireMigrationLock(connection);
    await connection`CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY,
      applied_at timestamptz NOT NULL DEFAULT now())`;
    const applied = new Set((await connection<{ name: string }[]>`SELECT name FROM migrations`).map((row) => row.name));
    const newer = [...applied].filter((name) => !files.includes(name));
    if (newer.length > 0) log?.warn({ newer }, 'the database schema is newer than this version of the service');
    // Changing a large table sends nothing until it is done.
    setReplyTimeout(connection, 0);
    for (const name of files.filter((file) => !applied.has(file)))
      await applyMigration(connection, { name, text: await readFile(join(folder, name), 'utf8') });
  } finally {
    await connection`SELECT pg_advisory_unlock(${migrationLock})`.catch(() => undefined);
    await connection
      .unsafe('RESET lock_timeout; RESET statement_timeout')
      .simple()
      .catch(() => undefined);
    connection.release();
  }
}

/**
 * Polls instead of waiting: an index built concurrently waits for all running statements, also for one that waits for
 * this lock.
 */
async function acquireMigrationLock(connection: ReservedSql): Promise<void> {
  for (;;) {
    const [row] = await connection<{ isHeld: boolean }[]>`SELECT pg_try_advisory_lock(${migrationLock}) AS "isHeld"`;
    if (row?.isHeld) return;
    await sleep(lockPollMs);
  }
}

async function applyMigration(connection: ReservedSql, { name, text }: { name: string; text: string }): Promise<void> {
  const index = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\w+)/m.exec(text)?.[1];
  if (index === undefined) {
    await connection
      .unsafe(`BEGIN; ${text}\n; INSERT INTO migrations (name) VALUES ('${name.replaceAll("'", "''")}'); COMMIT`)
      .simple();
    return;
  }
  // It must not run in a transaction. An interrupted one leaves an invalid index.
  await connection.unsafe(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`).simple();
  await connection.unsafe(text).simple();
  await connection`INSERT INTO migrations (name) VALUES (${name})`;
}
