import { numberOfOutcome, type Outcome, outcomeOfNumber } from '../../../domain/outcome.ts';
import type { ClickHouse } from '../client.ts';
import type { Placement } from '../schema/placement.ts';
import { sqlString } from '../sql-literals.ts';
import { insertTimeoutMs } from './insert-timeout.ts';

/** Record of a submission that was accepted under an idempotency key or a response id. */
export interface IdempotencyRecord {
  /** Hash of the key or id, see stores/redis/intake/idempotency.ts. */
  hash: string;
  /** Version of the response that the submission created, from 1. */
  version: number;
  digest: string;
  surveyId: string;
  submittedAtMs: number;
  outcome: Outcome;
  /**
   * What the reply said of the path: `:` and the code of the quota by cell that was full, then `ignoredText`; '' where
   * the survey had no paths, and in records of earlier versions.
   */
  reply: string;
}

/** Short, as a respondent waits for it. */
const findTimeoutMs = 4000;

/**
 * A record as one line of JSONCompactEachRow, in the column order of the table. Without `reply`, which the intake adds
 * in a field of its own: processes of earlier versions cannot insert lines of more columns.
 */
export function encodeRecord({
  hash,
  version,
  digest,
  surveyId,
  submittedAtMs,
  outcome,
}: Omit<IdempotencyRecord, 'reply'>): string {
  return `["${hash}",${version},"${digest}","${surveyId}",${submittedAtMs},${numberOfOutcome(outcome)}]`;
}

/** Idempotency records of three days. The intake keeps them for an hour, and only their keys for longer. */
export function createIdempotencyRecords(clickhouse: ClickHouse, { cluster }: Placement = {}) {
  const table = clickhouse.table('idempotency_records');
  const insertSettings = [
    'input_format_json_compact_allow_variable_number_of_columns = 1',
    'insert_deduplicate = 0',
    'async_insert = 0',
    'max_partitions_per_insert_block = 0',
    // Otherwise the server confirms what waits in its own queue only, and may be lost with it.
    ...(cluster === undefined ? [] : ['distributed_foreground_insert = 1']),
  ].join(', ');
  return {
    /** Inserts lines of records; repeating it changes nothing. `attempt`: the number of previous attempts. */
    insert: (lines: Buffer, { attempt = 0, signal }: { attempt?: number; signal?: AbortSignal } = {}): Promise<void> =>
      clickhouse.insert(
        `INSERT INTO ${table} (hash, version, digest, survey_id, submitted_at, is_complete, reply) SETTINGS ${insertSettings} FORMAT JSONCompactEachRow`,
        [lines],
        { timeoutMs: insertTimeoutMs(attempt), ...(signal && { signal }) },
      ),

    /** The records of these hashes, in order of hash and version. */
    async find(hashes: readonly string[]): Promise<IdempotencyRecord[]> {
      if (hashes.length === 0) return [];
      const rows = await clickhouse.select<[string, number, string, string, number, number, string]>(
        `SELECT hash, version, digest, survey_id, toUnixTimestamp64Milli(submitted_at), is_complete, reply FROM ${table} WHERE hash IN (${hashes.map(sqlString).join(', ')}) ORDER BY hash, version, accepted_at DESC LIMIT 1 BY hash, version`,
        { timeoutMs: findTimeoutMs },
      );
      return rows.map(([hash, version, digest, surveyId, submittedAtMs, outcome, reply]) => ({
        hash,
        version,
        digest,
        surveyId,
        submittedAtMs,
        outcome: outcomeOfNumber(outcome),
        reply,
      }));
    },
  };
}
