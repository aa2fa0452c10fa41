import { type Sql, type Tx, transactionWithTimeout } from '../client.ts';

/** Longer than the lock timeout of `lockTopic`. */
const topicTimeoutMs = 70_000;

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
 * A transaction that holds the names of a topic. Deleting names of a million answers takes seconds, so it may wait a
 * minute for them, which is longer than other statements may take.
 */
export const withTopic = <T>(sql: Sql, scope: AnalysisTopic, work: (tx: Tx) => Promise<T>): Promise<T> =>
  transactionWithTimeout(sql, topicTimeoutMs, async (tx) => {
    await lockTopic(tx, scope);
    return work(tx);
  });

/** Locks the names of a topic until the end of a transaction whose statements may take longer than a minute. */
export const lockTopic = (tx: Tx, { surveyId, topic }: AnalysisTopic) =>
  tx`SELECT set_config('lock_timeout', '60s', true), pg_advisory_xact_lock_shared(${namesLock(tx, surveyId)}),
    pg_advisory_xact_lock(hashtextextended(${`${surveyId}/${topic}`}, 0))`;

/** The key of the lock on the names that people gave to themes: shared by analyses, exclusive for changes. */
export const namesLock = (tx: Tx, surveyId: string) => tx`hashtextextended(${`${surveyId}/theme-names`}, 0)`;

/** Locks the survey against deletion; no row if it is deleted. Rows stored without this lock might never be erased. */
export const lockedExistingSurvey = (sql: Sql | Tx, surveyId: string) =>
  sql`SELECT id FROM surveys WHERE id = ${surveyId} AND deleted_at IS NULL FOR SHARE`;
