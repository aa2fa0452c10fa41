import { setTimeout as pause } from 'node:timers/promises';
import type { ClickHouse } from './client.ts';
import { storageTable, type Placement } from './placement.ts';
import { instant, text, uuid, whole } from './query/literals.ts';

/** What has to be known of a response to delete it. */
export interface DoomedResponse {
  surveyId: string;
  responseId: string;
  submittedAtMs: number;
  isComplete: boolean;
}

/** One respondent's responses, or those submitted before a moment. */
export type Doom = { respondent: string } | { before: Date };

const erasureTimeoutMs = 30 * 60_000;
const mostMerges = 5;
const mergeAgainMs = 250;
/** Versions of a response have it in common. */
const key = 'survey_id, submitted_at, response_id';
/** Rows of responses that have been deleted. */
const leftBehind = (among: 'IN' | 'GLOBAL IN', all: string): string => `is_deleted = 0 AND (${key}) ${among} (SELECT ${key} FROM ${all} WHERE is_deleted = 1)`;

/** Removes content from the disk itself; slow work for jobs. */
export function createErasure(clickhouse: ClickHouse, placement: Placement) {
  const table = clickhouse.table('responses');
  const storage = storageTable(clickhouse, placement);
  const months = async (condition: string): Promise<string[]> =>
    (await clickhouse.select<[string]>(`SELECT DISTINCT _partition_id FROM ${table} WHERE ${condition}`, { timeoutMs: erasureTimeoutMs })).map(([month]) => month);
  return {
    /** Responses that a reason to delete them holds for, oldest first, at most `limit`. */
    async doomed(surveyId: string, doom: Doom, limit: number): Promise<DoomedResponse[]> {
      const reason = 'respondent' in doom ? `respondent = ${text(doom.respondent)}` : `submitted_at < ${instant(doom.before)}`;
      const rows = await clickhouse.select<[string, number, number]>(
        `SELECT response_id, toUnixTimestamp64Milli(submitted_at) AS at, is_complete FROM ${table} FINAL WHERE survey_id = ${uuid(surveyId)} AND ${reason} ORDER BY at, response_id LIMIT ${whole(limit)}`,
        { timeoutMs: erasureTimeoutMs },
      );
      return rows.map(([responseId, submittedAtMs, isComplete]) => ({ surveyId, responseId, submittedAtMs, isComplete: isComplete === 1 }));
    },
    /** Ids of responses that are or once were incomplete, in their order, those after `after`. */
    async openIds(surveyId: string, { after, limit }: { after: string | undefined; limit: number }): Promise<string[]> {
      const place = after === undefined ? '' : `AND response_id > ${uuid(after)}`;
      const rows = await clickhouse.select<[string]>(
        `SELECT DISTINCT response_id FROM ${table} WHERE survey_id = ${uuid(surveyId)} AND is_complete = 0 AND is_deleted = 0 ${place} ORDER BY response_id LIMIT ${whole(limit)}`,
        { timeoutMs: erasureTimeoutMs },
      );
      return rows.map(([responseId]) => responseId);
    },
    /** Removes every row of a survey. Rows of it that arrive later stay. */
    async eraseSurvey(surveyId: string): Promise<void> {
      await clickhouse.command(`ALTER TABLE ${storage} DELETE WHERE survey_id = ${uuid(surveyId)} SETTINGS mutations_sync = 2`, { timeoutMs: erasureTimeoutMs });
    },
    /**
     * Removes what deleted responses have left behind. Their tombstones stay, so that a late redelivery brings nothing back. Works by
     * merging the months concerned, and where that does not help by deleting. Returns how many months were.
     */
    async eraseDeleted(): Promise<number> {
      const seen = new Set<string>();
      // Parts that another merge holds at the moment may be passed over: what is left is looked for again.
      for (let attempt = 0; attempt < mostMerges; attempt += 1) {
        if (attempt > 0) await pause(attempt * mergeAgainMs);
        const concerned = await months(leftBehind('GLOBAL IN', table));
        if (concerned.length === 0) break;
        for (const month of concerned) {
          seen.add(month);
          // A part that the deletion of a survey has emptied has no projection, and nothing merges across it until the server drops it, minutes later.
          const isMerged = attempt === 0 || placement.cluster !== undefined;
          const statement = isMerged
            ? `OPTIMIZE TABLE ${storage} PARTITION ID ${text(month)} FINAL`
            : `ALTER TABLE ${storage} DELETE IN PARTITION ID ${text(month)} WHERE ${leftBehind('IN', storage)} SETTINGS mutations_sync = 2`;
          await clickhouse.command(statement, { timeoutMs: erasureTimeoutMs });
        }
      }
      return seen.size;
    },
  };
}
