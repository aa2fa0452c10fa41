import type { ClickHouse } from '../client.ts';
import { localTable, localTableName, type Placement, storageTable } from '../schema/placement.ts';
import { sqlString } from '../sql-literals.ts';

/** A part whose data do not match its checksums. */
export interface DamagedPart {
  name: string;
  /** The message of ClickHouse, without its stack trace. */
  reason: string;
  /** The rows are intact; only the projection was damaged, and was rebuilt. */
  isRebuilt: boolean;
  /** The part was removed from the table, after its rows had been stored again. */
  isDropped: boolean;
}

/** A part of one insert whose rows are damaged. */
export interface PartToReplace {
  name: string;
  rows: number;
  /** It was written so many milliseconds ago at most. */
  ageMs: number;
  /** It was written before this time of ClickHouse. */
  writtenBeforeMs: number;
}

/** Stores the rows of a part again elsewhere, from another source; false where that was not seen to have all of them. */
export type StoreRowsOfPart = (part: PartToReplace) => Promise<boolean>;

type ListedPart = [
  name: string,
  partitionId: string,
  isOfOneInsert: number,
  writtenAt: number,
  ageSeconds: number,
  rows: number,
];

interface RepairOptions {
  reason: string;
  listedAtMs: number;
  storeAgain: StoreRowsOfPart;
  signal: AbortSignal | undefined;
}

/** Each part is checked once, soon after it was written. A new process checks the parts of the last minutes again. */
const maxAgeSeconds = 15 * 60;
/** Between tries with a part that is older and still not checked: each may read all that the streams keep. */
const defaultRetryOldMs = 60_000;
const checkTimeoutMs = 10 * 60_000;
/** Times of parts are whole seconds. */
const timeToleranceMs = 2000;

/**
 * Compares parts of `responses` that were written since the last call with their checksums, and repairs damaged ones.
 *
 * ClickHouse acknowledges an insert although a write to the files of its projection failed (EIO, ENOSPC). Every query
 * that uses the projection then fails, and at its next start ClickHouse detaches the whole part with its rows.
 *
 * - A damaged projection is rebuilt from the rows.
 * - A part of one insert whose rows are damaged is dropped once its rows have been stored again from the intake's
 *   streams. It stays where these were not seen to have all of them.
 * - A part that was merged or changed since stays if its rows are damaged: only an operator knows a source of them.
 *
 * On a cluster only the parts of one server are checked. Replicated tables repair theirs themselves, and none is dropped:
 * other shards have parts of the same names with other rows.
 */
export function createDamagedParts(
  clickhouse: ClickHouse,
  placement: Placement,
  { retryOldMs = defaultRetryOldMs }: { retryOldMs?: number } = {},
) {
  const table = localTable(clickhouse, placement, 'responses');
  const tableName = localTableName(placement, 'responses');
  const storage = storageTable(clickhouse, placement);
  const checked = new Set<string>();
  /** Names of parts that could not be checked or repaired yet, which are listed at any age, and when that was tried. */
  const pending = new Map<string, number>();

  const listNewParts = async (): Promise<ListedPart[]> => {
    const parts = await clickhouse.select<ListedPart>(
      `SELECT name, partition_id, level <= 1 AND min_block_number = max_block_number AND data_version = min_block_number,
        toUnixTimestamp(modification_time), dateDiff('second', modification_time, now()), rows FROM system.parts
       WHERE active AND database = ${sqlString(clickhouse.database)} AND table = ${sqlString(tableName)} AND (modification_time > now() - ${maxAgeSeconds}${orPending()})`,
    );
    const known = new Set(parts.map(keyOf));
    for (const key of checked) if (!known.has(key)) checked.delete(key);
    const names = new Set(parts.map(([name]) => name));
    for (const name of pending.keys()) if (!names.has(name)) pending.delete(name);
    const unchecked = parts.filter((part) => !checked.has(keyOf(part)));
    for (const [name] of unchecked) if (!pending.has(name)) pending.set(name, Number.NEGATIVE_INFINITY);
    return unchecked.filter(
      ([name, , , , ageSeconds]) =>
        ageSeconds <= maxAgeSeconds || performance.now() - (pending.get(name) ?? 0) >= retryOldMs,
    );
  };

  const orPending = (): string =>
    pending.size === 0 ? '' : ` OR name IN (${[...pending.keys()].map(sqlString).join(', ')})`;

  /** The reason of the damage; undefined if the part is intact or was merged meanwhile. */
  const damageOf = async (name: string, signal?: AbortSignal): Promise<string | undefined> => {
    try {
      const rows = await clickhouse.select<[string, number, string]>(`CHECK TABLE ${table} PART ${sqlString(name)}`, {
        timeoutMs: checkTimeoutMs,
        signal,
        settings: { check_query_single_value_result: 0 },
      });
      return rows.flatMap(([, isPassed, message]) => (isPassed ? [] : [message.split(/,? Stack trace/)[0] ?? '']))[0];
    } catch (error) {
      if (isNoSuchPart(error)) return undefined;
      throw error;
    }
  };

  const repair = async (
    [name, partitionId, isOfOneInsert, writtenAt, ageSeconds, rows]: ListedPart,
    { reason, listedAtMs, storeAgain, signal }: RepairOptions,
  ): Promise<DamagedPart> => {
    const damaged = { name, reason, isRebuilt: false, isDropped: false };
    if (reason.includes('broken projection')) {
      await clickhouse.command(
        `ALTER TABLE ${storage} MATERIALIZE PROJECTION hours IN PARTITION ID ${sqlString(partitionId)} SETTINGS mutations_sync = 1`,
        { timeoutMs: checkTimeoutMs, signal },
      );
      return { ...damaged, isRebuilt: true };
    }
    if (placement.cluster !== undefined) return damaged;
    const ageMs = ageSeconds * 1000 + timeToleranceMs + Math.ceil(performance.now() - listedAtMs);
    const part = { name, rows, ageMs, writtenBeforeMs: writtenAt * 1000 + timeToleranceMs };
    if (!isOfOneInsert || !(await storeAgain(part))) return damaged;
    await clickhouse.command(`ALTER TABLE ${storage} DROP PART ${sqlString(name)}`);
    return { ...damaged, isDropped: true };
  };

  return {
    /**
     * Checks new parts and reports each damaged one as soon as it was dealt with. A part that cannot be checked or
     * repaired yet, as while ClickHouse is away, delays no other: the next calls try it again, and this one rejects at
     * its end. `signal` ends the call soon; a process that starts within 15 minutes looks at what is left.
     */
    async repairNewParts(
      storeAgain: StoreRowsOfPart,
      report: (part: DamagedPart) => void,
      signal?: AbortSignal,
    ): Promise<void> {
      const failures: Error[] = [];
      const listedAtMs = performance.now();
      for (const part of await listNewParts()) {
        if (signal?.aborted) break;
        const [name] = part;
        try {
          const reason = await damageOf(name, signal);
          const damaged =
            reason === undefined ? undefined : await repair(part, { reason, listedAtMs, storeAgain, signal });
          checked.add(keyOf(part));
          pending.delete(name);
          if (damaged) report(damaged);
        } catch (error) {
          pending.set(name, performance.now());
          failures.push(new Error(`the part ${name} could not be checked or repaired yet`, { cause: error }));
        }
      }
      if (failures[0]) throw failures[0];
    },
  };
}

export type DamagedParts = ReturnType<typeof createDamagedParts>;

/** With the time, because a name is used again after a restart that lost the part. */
const keyOf = ([name, , , writtenAt]: ListedPart): string => `${name} ${writtenAt}`;

function isNoSuchPart(error: unknown): boolean {
  return error instanceof Error && 'type' in error && error.type === 'NO_SUCH_DATA_PART';
}
