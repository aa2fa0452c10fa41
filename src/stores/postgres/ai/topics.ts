import type { Sql, Tx } from '../client.ts';

/** An analysis of a survey by one model with one prompt. */
export interface AnalysisTopic {
  surveyId: string;
  topic: string;
}

/** A name that is counted under another one. */
export interface ThemeMerge {
  name: string;
  into: string;
}

/**
 * Locks the names of a topic until the end of the transaction. Deleting names of a million answers takes seconds, so
 * the lock timeout is longer than usual.
 */
export const lockTopic = (tx: Tx, { surveyId, topic }: AnalysisTopic) =>
  tx`SELECT set_config('lock_timeout', '60s', true), pg_advisory_xact_lock_shared(${namesLock(tx, surveyId)}),
    pg_advisory_xact_lock(hashtextextended(${`${surveyId}/${topic}`}, 0))`;

/** The key of the lock on the names that people gave to themes: shared by analyses, exclusive for changes. */
export const namesLock = (tx: Tx, surveyId: string) => tx`hashtextextended(${`${surveyId}/theme-names`}, 0)`;

/** Locks the survey against deletion; no row if it is deleted. Rows stored without this lock might never be erased. */
export const lockedExistingSurvey = (sql: Sql | Tx, surveyId: string) =>
  sql`SELECT id FROM surveys WHERE id = ${surveyId} AND deleted_at IS NULL FOR SHARE`;
