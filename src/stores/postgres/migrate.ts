import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../log.ts';
import { assetPath } from '../../platform/assets.ts';
import type { Sql } from './client.ts';
import { type ReservedSql, setReplyTimeout } from './driver.ts';
import { isLockTimeout } from './errors.ts';

/** Advisory lock held while migrating, so that processes that start concurrently migrate once. Any fixed number. */
const migrationLock = 7_203_514;
const lockPollMs = 50;
/**
 * How long a migration waits for a table, since everybody else who reads that table waits behind it: less than their
 * own lock_timeout. Between two tries they get on for a while.
 */
const tableLockTimeout = '2s';
const tableRetryMs = 2000;
/** Number of tries between two warnings. */
const triesPerWarning = 15;

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
      await applyMigration(connection, { name, text: await readFile(join(folder, name), 'utf8') }, log);
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

async function applyMigration(
  connection: ReservedSql,
  { name, text }: { name: string; text: string },
  log: Pick<Log, 'warn'> | undefined,
): Promise<void> {
  const index = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\w+)/m.exec(text)?.[1];
  if (index === undefined) return applyInTransaction(connection, { name, text }, log);
  // It must not run in a transaction. An interrupted one leaves an invalid index.
  await connection.unsafe(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`).simple();
  await connection.unsafe(text).simple();
  await connection`INSERT INTO migrations (name) VALUES (${name})`;
}

/** Tries until nobody else holds the tables that it changes, as a backup or a long transaction does, without limit. */
async function applyInTransaction(
  connection: ReservedSql,
  { name, text }: { name: string; text: string },
  log: Pick<Log, 'warn'> | undefined,
): Promise<void> {
  const noted = `INSERT INTO migrations (name) VALUES ('${name.replaceAll("'", "''")}')`;
  for (let tries = 0; ; tries += 1) {
    try {
      await connection
        .unsafe(`BEGIN; SET LOCAL lock_timeout = '${tableLockTimeout}'; ${text}\n; ${noted}; COMMIT`)
        .simple();
      return;
    } catch (error) {
      await connection
        .unsafe('ROLLBACK')
        .simple()
        .catch(() => undefined);
      if (!isLockTimeout(error)) throw error;
      if (tries % triesPerWarning === 0)
        log?.warn({ migration: name }, 'a migration waits for a table that another connection holds');
    }
    await sleep(tableRetryMs);
  }
}
