import type { Sql, Tx } from '../client.ts';

/** A claimed job. Updates with this claim take effect until another process claims the job. */
export interface ClaimedJob {
  id: string;
  /** Null before the first claim. */
  claim: string | null;
}

export const isClaimed = (sql: Sql | Tx, { id, claim }: ClaimedJob) =>
  sql`id = ${id} AND claim IS NOT DISTINCT FROM ${claim} AND status = 'RUNNING'`;
