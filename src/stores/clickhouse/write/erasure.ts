import { setTimeout as pause } from 'node:timers/promises';
import type { ClickHouse } from '../client.ts';
import { type Placement, storageTable } from '../schema/placement.ts';
import { sqlInteger, sqlMoment, sqlString, sqlUuid } from '../sql-literals.ts';

/** What is needed to delete a response. */
export interface ResponseMarkedForDeletion {
  surveyId: string;
  responseId: string;
  submittedAtMs: number;
  isComplete: boolean;
}

/** Responses of a respondent, or those submitted before a time. */
export type DeletionCriterion = { respondent: string } | { before: Date };

const erasureTimeoutMs = 30 * 60_000;
const maxMergeAttempts = 5;
const mergeRetryMs = 250;
/** The key that all versions of a response share. */
const key = 'survey_id, submitted_at, response_id';
/** SQL condition for rows of deleted responses. */
const rowsOfDeletedResponses = (among: 'IN' | 'GLOBAL IN', all: string): string =>
  `is_deleted = 0 AND (${key}) ${among} (SELECT ${key} FROM ${all} WHERE is_deleted = 1)`;

/** Removes content from disk; slow, for jobs only. */
export function createErasure(clickhouse: ClickHouse, placement: Placement) {
  const table = clickhouse.table('responses');
  const storage = storageTable(clickhouse, placement);
  const partitionsWith = async (condition: string): Promise<string[]> =>
    (
      await clickhouse.select<[string]>(`SELECT DISTINCT _partition_id FROM ${table} WHERE ${condition}`, {
        timeoutMs: erasureTimeoutMs,
      })
    ).map(([month]) => month);
  return {
    /** Responses that match the criterion, oldest first, at most `limit`. */
    async findMarkedForDeletion(
      surveyId: string,
      criterion: DeletionCriterion,
      limit: number,
    ): Promise<ResponseMarkedForDeletion[]> {
      const reason =
        'respondent' in criterion
          ? `respondent = ${sqlString(criterion.respondent)}`
          : `submitted_at < ${sqlMoment(criterion.before)}`;
      const rows = await clickhouse.select<[string, number, number]>(
        `SELECT response_id, toUnixTimestamp64Milli(submitted_at) AS at, is_complete FROM ${table} FINAL WHERE survey_id = ${sqlUuid(surveyId)} AND ${reason} ORDER BY at, response_id LIMIT ${sqlInteger(limit)}`,
        { timeoutMs: erasureTimeoutMs },
      );
      return rows.map(([responseId, submittedAtMs, isComplete]) => ({
        surveyId,
        responseId,
        submittedAtMs,
        isComplete: isComplete === 1,
      }));
    },
    /** Ids above `after` of responses that are or were incomplete, in ascending order. */
    async findEverIncompleteIds(
      surveyId: string,
      { after, limit }: { after: string | undefined; limit: number },
    ): Promise<string[]> {
      const place = after === undefined ? '' : `AND response_id > ${sqlUuid(after)}`;
      const rows = await clickhouse.select<[string]>(
        `SELECT DISTINCT response_id FROM ${table} WHERE survey_id = ${sqlUuid(surveyId)} AND is_complete = 0 AND is_deleted = 0 ${place} ORDER BY response_id LIMIT ${sqlInteger(limit)}`,
        { timeoutMs: erasureTimeoutMs },
      );
      return rows.map(([responseId]) => responseId);
    },
    /** Removes all rows of a survey. Rows that arrive later stay. */
    async eraseSurvey(surveyId: string): Promise<void> {
      await clickhouse.command(
        `ALTER TABLE ${storage} DELETE WHERE survey_id = ${sqlUuid(surveyId)} SETTINGS mutations_sync = 2`,
        { timeoutMs: erasureTimeoutMs },
      );
    },
    /**
     * Removes the rows of deleted responses. Tombstones stay, so that a late redelivery restores nothing. Merges the
     * partitions concerned; if that does not help, deletes the rows. Returns the number of partitions.
     */
    async eraseDeleted(): Promise<number> {
      const erasedPartitions = new Set<string>();
      // A merge skips parts that another merge holds, so remaining rows are searched again.
      for (let attempt = 0; attempt < maxMergeAttempts; attempt += 1) {
        if (attempt > 0) await pause(attempt * mergeRetryMs);
        const concerned = await partitionsWith(rowsOfDeletedResponses('GLOBAL IN', table));
        if (concerned.length === 0) break;
        for (const month of concerned) {
          erasedPartitions.add(month);
          // A part emptied by deleting a survey has no projection, and prevents merges until the server drops it
          // minutes later.
          const isMerged = attempt === 0 || placement.cluster !== undefined;
          const statement = isMerged
            ? `OPTIMIZE TABLE ${storage} PARTITION ID ${sqlString(month)} FINAL`
            : `ALTER TABLE ${storage} DELETE IN PARTITION ID ${sqlString(month)} WHERE ${rowsOfDeletedResponses('IN', storage)} SETTINGS mutations_sync = 2`;
          await clickhouse.command(statement, { timeoutMs: erasureTimeoutMs });
        }
      }
      return erasedPartitions.size;
    },
  };
}
