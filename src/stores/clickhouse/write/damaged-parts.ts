import type { ClickHouse } from '../client.ts';
import { localTable, type Placement, storageTable } from '../schema/placement.ts';
import { sqlString } from '../sql-literals.ts';

/** A part whose data do not match its checksums. */
export interface DamagedPart {
  name: string;
  /** The message of ClickHouse, without its stack trace. */
  reason: string;
  /** The rows are intact; only the projection was damaged, and was rebuilt. */
  isRebuilt: boolean;
  /** The part was detached from the table, after its rows had been stored again. */
  isDetached: boolean;
}

/** A part of one insert whose rows are damaged. */
export interface PartToReplace {
  name: string;
  /** Its rows were acknowledged at most so many milliseconds ago. */
  ageMs: number;
}

/** Stores the rows of a part again elsewhere, from another source; false where that may not have all of them. */
export type StoreRowsOfPart = (part: PartToReplace) => Promise<boolean>;

type ListedPart = [name: string, partitionId: string, isOfOneInsert: number, writtenAt: number, ageSeconds: number];

/** Each part is checked once, soon after it was written. A new process checks the parts of the last minutes again. */
const maxAgeSeconds = 15 * 60;
const checkTimeoutMs = 10 * 60_000;
/** Times of parts are whole seconds. */
const ageToleranceMs = 2000;

/**
 * Compares parts of `responses` that were written since the last call with their checksums, and repairs damaged ones.
 *
 * ClickHouse acknowledges an insert although a write to the files of its projection failed (EIO, ENOSPC). Every query
 * that uses the projection then fails, and at its next start ClickHouse detaches the whole part with its rows.
 *
 * - A damaged projection is rebuilt from the rows.
 * - A part of one insert whose rows are damaged is detached once its rows have been stored again from the intake's
 *   streams. It stays where these may not have all of them any more.
 * - A part that was merged or changed since stays if its rows are damaged: only an operator knows a source of them.
 *
 * On a cluster only the parts of one server are checked; replicated tables repair theirs themselves.
 */
export function createDamagedParts(clickhouse: ClickHouse, placement: Placement) {
  const table = localTable(clickhouse, placement, 'responses');
  const tableName = placement.cluster === undefined ? 'responses' : 'responses_local';
  const storage = storageTable(clickhouse, placement);
  const checked = new Set<string>();

  const listNewParts = async (): Promise<ListedPart[]> => {
    const parts = await clickhouse.select<ListedPart>(
      `SELECT name, partition_id, level <= 1 AND min_block_number = max_block_number AND data_version = min_block_number,
        toUnixTimestamp(modification_time), dateDiff('second', modification_time, now()) FROM system.parts
       WHERE active AND database = ${sqlString(clickhouse.database)} AND table = ${sqlString(tableName)} AND modification_time > now() - ${maxAgeSeconds}`,
    );
    const known = new Set(parts.map(keyOf));
    for (const key of checked) if (!known.has(key)) checked.delete(key);
    return parts.filter((part) => !checked.has(keyOf(part)));
  };

  /** The reason of the damage; undefined if the part is intact or was merged meanwhile. */
  const damageOf = async (name: string): Promise<string | undefined> => {
    try {
      const rows = await clickhouse.select<[string, number, string]>(`CHECK TABLE ${table} PART ${sqlString(name)}`, {
        timeoutMs: checkTimeoutMs,
        settings: { check_query_single_value_result: 0 },
      });
      return rows.flatMap(([, isPassed, message]) => (isPassed ? [] : [message.split(/,? Stack trace/)[0] ?? '']))[0];
    } catch (error) {
      if (isNoSuchPart(error)) return undefined;
      throw error;
    }
  };

  const repair = async (
    [name, partitionId, isOfOneInsert, , ageSeconds]: ListedPart,
    { reason, listedAtMs, storeAgain }: { reason: string; listedAtMs: number; storeAgain: StoreRowsOfPart },
  ): Promise<DamagedPart> => {
    const damaged = { name, reason, isRebuilt: false, isDetached: false };
    if (reason.includes('broken projection')) {
      await clickhouse.command(
        `ALTER TABLE ${storage} MATERIALIZE PROJECTION hours IN PARTITION ID ${sqlString(partitionId)} SETTINGS mutations_sync = 1`,
        { timeoutMs: checkTimeoutMs },
      );
      return { ...damaged, isRebuilt: true };
    }
    const ageMs = ageSeconds * 1000 + ageToleranceMs + Math.ceil(performance.now() - listedAtMs);
    if (!isOfOneInsert || !(await storeAgain({ name, ageMs }))) return damaged;
    await clickhouse.command(`ALTER TABLE ${storage} DETACH PART ${sqlString(name)}`);
    return { ...damaged, isDetached: true };
  };

  return {
    /** Checks new parts and returns the damaged ones. Rejects while ClickHouse is away; the next call continues. */
    async repairNewParts(storeAgain: StoreRowsOfPart): Promise<DamagedPart[]> {
      const found: DamagedPart[] = [];
      const listedAtMs = performance.now();
      for (const part of await listNewParts()) {
        const reason = await damageOf(part[0]);
        if (reason !== undefined) found.push(await repair(part, { reason, listedAtMs, storeAgain }));
        checked.add(keyOf(part));
      }
      return found;
    },
  };
}

export type DamagedParts = ReturnType<typeof createDamagedParts>;

/** With the time, because a name is used again after a restart that lost the part. */
const keyOf = ([name, , , writtenAt]: ListedPart): string => `${name} ${writtenAt}`;

function isNoSuchPart(error: unknown): boolean {
  return error instanceof Error && 'type' in error && error.type === 'NO_SUCH_DATA_PART';
}
