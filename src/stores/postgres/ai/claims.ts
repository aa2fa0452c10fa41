import type { Sql, Tx } from '../client.ts';
import type { AnalysisTopic } from './topics.ts';

/** A claimed job. Updates with this claim take effect until another process claims the job. */
export interface ClaimedJob {
  id: string;
  /** Null before the first claim. */
  claim: string | null;
}

/** A claimed analysis. */
export type ClaimedAnalysis = ClaimedJob & AnalysisTopic;

export const isClaimed = (sql: Sql | Tx, { id, claim }: ClaimedJob) =>
  sql`id = ${id} AND claim IS NOT DISTINCT FROM ${claim} AND status = 'RUNNING'`;

/**
 * Locks the claim of a job until the end of the transaction; no row if it was cancelled or claimed by another process.
 * A cancelled job learns so some seconds later, while the next analysis of the same topic may run already. Heartbeats
 * and cancellations wait for this lock: only short statements take it.
 */
export const lockedClaim = (sql: Sql | Tx, job: ClaimedJob) =>
  sql`SELECT id FROM ai_jobs WHERE ${isClaimed(sql, job)} FOR SHARE`;
