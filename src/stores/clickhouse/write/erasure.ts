import { type Outcome, outcomeOfNumber } from '../../../domain/outcome.ts';
import { isId } from '../../../platform/ids.ts';
import type { ClickHouse } from '../client.ts';
import { localTable, localTableName, type Placement, storageTable } from '../schema/placement.ts';
import { sqlInteger, sqlMoment, sqlString, sqlUuid } from '../sql-literals.ts';

/** What is needed to delete a response. */
export interface ResponseMarkedForDeletion {
  surveyId: string;
  responseId: string;
  submittedAtMs: number;
  outcome: Outcome;
  /** When its last save was accepted; undefined where that is not known. */
  lastSavedAtMs?: number | undefined;
}

/** One of the responses that have had an id in a survey: a client may use its own again. */
export interface UseOfId {
  responseId: string;
  submittedAtMs: number;
  isDeleted: boolean;
  /** The uploads that its stored saves name. */
  uploadIds: string[];
}

/** Responses that name a respondent or have one of these ids, or those submitted before a time. */
export type DeletionCriterion = { respondent: string; responseIds: readonly string[] } | { before: Date };

/** A place in the order in which responses are found. */
export type DeletionPlace = Pick<ResponseMarkedForDeletion, 'submittedAtMs' | 'responseId'>;

const erasureTimeoutMs = 30 * 60_000;
/** The key that all versions of a response share. */
const key = 'survey_id, submitted_at, response_id';
/** A part of the table that holds rows to erase. */
type Part = readonly [partitionId: string, bytes: number];

export interface EraseOptions {
  /** Partitions whose parts with erased rows are larger, in bytes on disk, are left for another call. */
  maxPartBytes: number;
  /** Tombstones of responses that were deleted earlier are removed once the rows they hide are gone. */
  tombstonesBefore: Date;
  /** Responses whose tombstones stay, since rows of them may come back. */
  keepTombstonesOf: readonly string[];
  /** Ends the call at once; ClickHouse goes on with a rewrite that it has begun. */
  signal?: AbortSignal | undefined;
}

export interface ErasureOutcome {
  /** Partitions of which parts were rewritten. */
  partitions: number;
  /** Partitions that were left, because their parts are too large. */
  postponed: number;
}

/** Removes content from disk; slow, for jobs only. */
export function createErasure(clickhouse: ClickHouse, placement: Placement) {
  const table = clickhouse.table('responses');
  const local = localTable(clickhouse, placement, 'responses');
  const storage = storageTable(clickhouse, placement);
  const localName = localTableName(placement, 'responses');
  const systemParts =
    placement.cluster === undefined
      ? 'system.parts'
      : `clusterAllReplicas(${sqlString(placement.cluster)}, system.parts)`;
  const partsWhere = `active AND database = ${sqlString(clickhouse.database)} AND table = ${sqlString(localName)}`;
  const change = (statement: string, signal?: AbortSignal) =>
    clickhouse.command(statement, { timeoutMs: erasureTimeoutMs, signal });

  /** Rows of deleted responses. Reads the tombstones, and the rows beside them by the sorting key. */
  const rowsOfDeletedResponses = (among: 'IN' | 'GLOBAL IN', all: string, month = ''): string =>
    `is_deleted = 0 ${month} AND (${key}) ${among} (SELECT ${key} FROM ${all} WHERE is_deleted = 1 ${month})`;

  const partsWithDeletedResponses = async (signal?: AbortSignal): Promise<Part[]> =>
    clickhouse.select<Part>(
      `SELECT partition_id, max(bytes_on_disk) FROM ${systemParts} WHERE ${partsWhere} AND name IN
        (SELECT DISTINCT _part FROM ${table} WHERE ${rowsOfDeletedResponses('GLOBAL IN', table)}) GROUP BY partition_id`,
      { timeoutMs: erasureTimeoutMs, signal },
    );
  const partsWithMaskedRows = (signal?: AbortSignal): Promise<Part[]> =>
    clickhouse.select<Part>(
      `SELECT partition_id, max(bytes_on_disk) FROM ${systemParts} WHERE ${partsWhere} AND has_lightweight_delete GROUP BY partition_id`,
      { timeoutMs: erasureTimeoutMs, signal },
    );
  const monthOf = (partitionId: string): string => `AND toYYYYMM(submitted_at) = ${sqlInteger(Number(partitionId))}`;

  return {
    /**
     * Responses that match the criterion, oldest first, at most `limit`. `after`: only those that follow this one.
     * Without it, all that were deleted since the last rewrite are read again.
     */
    async findMarkedForDeletion(
      surveyId: string,
      criterion: DeletionCriterion,
      limit: number,
      after?: DeletionPlace,
    ): Promise<ResponseMarkedForDeletion[]> {
      const rows = await clickhouse.select<[string, number, number, number, number]>(
        `SELECT response_id, toUnixTimestamp64Milli(submitted_at), is_complete, version, toUnixTimestamp64Milli(completed_at) FROM ${table} FINAL WHERE survey_id = ${sqlUuid(surveyId)} AND ${matches(criterion)} ${follows(after)} ORDER BY submitted_at, response_id LIMIT ${sqlInteger(limit)}`,
        { timeoutMs: erasureTimeoutMs },
      );
      return rows.map(([responseId, submittedAtMs, outcome, version, endedAtMs]) => ({
        surveyId,
        responseId,
        submittedAtMs,
        outcome: outcomeOfNumber(outcome),
        lastSavedAtMs: version === 1 ? submittedAtMs : endedAtMs || undefined,
      }));
    },
    /** All responses that these ids have had in the survey, as far as rows of them are left. */
    async findUses(surveyId: string, responseIds: readonly string[]): Promise<UseOfId[]> {
      const rows = await clickhouse.select<[string, number, number, string[]]>(
        `SELECT response_id, toUnixTimestamp64Milli(submitted_at), max(is_deleted), groupUniqArrayArray(arrayMap(text -> substring(text, 1, 36), texts)) FROM ${table}
          WHERE survey_id = ${sqlUuid(surveyId)} AND response_id IN (${responseIds.map(sqlUuid).join(', ')}) GROUP BY response_id, submitted_at`,
        { timeoutMs: erasureTimeoutMs },
      );
      return rows.map(([responseId, submittedAtMs, isDeleted, uploadIds]) => ({
        responseId,
        submittedAtMs,
        isDeleted: isDeleted === 1,
        uploadIds: uploadIds.filter(isId),
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
    /**
     * Hides all rows of a survey from every read, by a mask beside the parts that hold them; `eraseDeleted` removes
     * them from disk. Rows that arrive later stay.
     */
    async eraseSurvey(surveyId: string): Promise<void> {
      await change(
        `DELETE FROM ${storage} WHERE survey_id = ${sqlUuid(surveyId)} SETTINGS lightweight_deletes_sync = 2`,
      );
    },
    /**
     * Rewrites the parts of the table that hold rows of deleted responses or masked rows, without these; other parts
     * stay as they are. Tombstones stay until `tombstonesBefore`, so that a late redelivery restores nothing.
     */
    async eraseDeleted(options: EraseOptions): Promise<ErasureOutcome> {
      const { maxPartBytes, signal } = options;
      const outcome = { partitions: new Set<string>(), postponed: new Set<string>() };
      const rewrite = async (parts: readonly Part[], statement: (partitionId: string) => string): Promise<void> => {
        for (const [partitionId, bytes] of parts) {
          const isPostponed = bytes > maxPartBytes;
          (isPostponed ? outcome.postponed : outcome.partitions).add(partitionId);
          if (!isPostponed) await change(statement(partitionId), signal);
        }
      };
      const withRows = await partsWithDeletedResponses(signal);
      await rewrite(
        withRows,
        (partitionId) =>
          `ALTER TABLE ${storage} DELETE IN PARTITION ID ${sqlString(partitionId)} WHERE ${rowsOfDeletedResponses('IN', local, monthOf(partitionId))} SETTINGS mutations_sync = 2, allow_nondeterministic_mutations = 1`,
      );
      // Rows that came meanwhile keep the tombstones of their month for another call.
      const stillHiding = new Set((await partsWithDeletedResponses(signal)).map(([partitionId]) => partitionId));
      await hideTombstones(options, stillHiding);
      await rewrite(
        await partsWithMaskedRows(signal),
        (partitionId) =>
          `ALTER TABLE ${storage} APPLY DELETED MASK IN PARTITION ID ${sqlString(partitionId)} SETTINGS mutations_sync = 2`,
      );
      return { partitions: outcome.partitions.size, postponed: outcome.postponed.size };
    },
  };

  /** Masks tombstones that hide nothing any more. */
  async function hideTombstones(
    { tombstonesBefore: before, keepTombstonesOf: keepOf, signal }: EraseOptions,
    stillHiding: ReadonlySet<string>,
  ): Promise<void> {
    const kept = keepOf.length === 0 ? '' : `AND response_id NOT IN (${keepOf.map(sqlUuid).join(', ')})`;
    const over = `is_deleted = 1 AND completed_at > toDateTime64(0, 3, 'UTC') AND completed_at < ${sqlMoment(before)} ${kept}`;
    const rows = await clickhouse.select<[string]>(`SELECT DISTINCT _partition_id FROM ${table} WHERE ${over}`, {
      timeoutMs: erasureTimeoutMs,
      signal,
    });
    for (const [partitionId] of rows)
      if (!stillHiding.has(partitionId))
        await change(
          `DELETE FROM ${storage} IN PARTITION ID ${sqlString(partitionId)} WHERE ${over} SETTINGS lightweight_deletes_sync = 2`,
          signal,
        );
  }
}

/** The first condition is one of the sorting key, by which ClickHouse skips what lies before. */
function follows(place: DeletionPlace | undefined): string {
  if (!place) return '';
  const at = sqlMoment(new Date(place.submittedAtMs));
  return `AND submitted_at >= ${at} AND (submitted_at > ${at} OR response_id > ${sqlUuid(place.responseId)})`;
}

function matches(criterion: DeletionCriterion): string {
  if ('before' in criterion) return `submitted_at < ${sqlMoment(criterion.before)}`;
  const namesRespondent = `respondent = ${sqlString(criterion.respondent)}`;
  const ids = criterion.responseIds.map(sqlUuid);
  return ids.length === 0 ? namesRespondent : `(${namesRespondent} OR response_id IN (${ids.join(', ')}))`;
}
