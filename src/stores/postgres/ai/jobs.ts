import { Problem, type ProblemCode } from '../../../errors.ts';
import { createBoundedConcurrency } from '../bounded-concurrency.ts';
import { type Sql, withLongTimeout, withPostgres } from '../client.ts';
import type { OwnedDataTransfer } from '../users.ts';
import { type ClaimedJob, isClaimed } from './claims.ts';
import { createJobAnnotations } from './job-annotations.ts';
import { createAiNotes } from './notes.ts';
import { createAiResults } from './results.ts';
import { createAiThemes } from './themes.ts';
import type { AnalysisTopic } from './topics.ts';

export const aiJobStatuses = ['PENDING', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED'] as const;
export type AiJobStatus = (typeof aiJobStatuses)[number];

/** An AI job: it analyses a survey's answers or writes a survey. */
export interface AiJob {
  id: string;
  ownerId: string;
  /** Null for a job that writes a new survey. */
  surveyId: string | null;
  /** Kind of analysis, model and prompt. */
  topic: string;
  request: Record<string, string>;
  status: AiJobStatus;
  /** Progress, 0 to 1. */
  progress: number;
  error: { code: ProblemCode; message: string; retryAfterSeconds?: number } | null;
  /** Claim of the process that took it last; null before. */
  claim: string | null;
  /** How often it was taken over from a process that had died or fallen silent, since it last got further. */
  takeovers: number;
}

/** A job as shown to callers. */
export interface AiJobView extends AiJob {
  /** Whether it waits for its provider's limits, for more than a moment. */
  isWaiting: boolean;
}

/** A job to be put into its queue; `openBefore`: open jobs of the same user before it. */
export interface QueuedAiJob {
  id: string;
  openBefore: number;
}

export type StaleAiJob = QueuedAiJob & Pick<AiJob, 'request' | 'claim'>;

/** A job over a survey's answers. */
export type SurveyJob = AiJob & { surveyId: string };

export const isOfSurvey = (job: AiJob): job is SurveyJob => job.surveyId !== null;

/** Maximum open jobs of a user, because providers limit the calls of all users together. */
export const maxOpenAiJobs = 20;
const staleMs = 20_000;
const retentionDays = 30;

export function createAiStore(sql: Sql) {
  const columns = sql`id, owner_id AS "ownerId", survey_id AS "surveyId", topic, request, status, progress, error,
    claim, takeovers`;
  /** How many open jobs of the same user are before the one of the row; a row that is added is the last one. */
  const openBefore = ({ isAdded }: { isAdded: boolean }) => sql`(
    SELECT count(*) FROM ai_jobs other
    WHERE other.owner_id = ai_jobs.owner_id AND other.status IN ('PENDING', 'RUNNING')
      AND other.id ${isAdded ? sql`<>` : sql`<`} ai_jobs.id
  ) AS "openBefore"`;
  const staleBefore = () => new Date(Date.now() - staleMs);
  return {
    ...createJobAnnotations(sql),
    ...createAiThemes(sql),
    ...createAiNotes(sql),
    ...createAiResults((work) => withLongTimeout(sql, work)),
    /** The same reads for open requests. */
    results: createAiResults(createBoundedConcurrency(sql)),

    /**
     * Returns the open job for the same work, or adds the given one. Throws RATE_LIMITED where that is one more than a
     * user may have.
     */
    findOrCreate: ({
      id,
      ownerId,
      surveyId,
      topic,
      request,
    }: Pick<AiJob, 'id' | 'ownerId' | 'surveyId' | 'topic' | 'request'>): Promise<QueuedAiJob> =>
      withPostgres(async () => {
        const row = {
          id,
          owner_id: ownerId,
          survey_id: surveyId,
          topic,
          request: sql.json(request),
          status: 'PENDING',
        };
        const equal =
          surveyId === null
            ? sql`(owner_id, topic) WHERE survey_id IS NULL AND status IN ('PENDING', 'RUNNING')`
            : sql`(survey_id, topic) WHERE status IN ('PENDING', 'RUNNING')`;
        return sql.begin(async (tx) => {
          // Jobs of one user are added one after another, so that the bound is exact.
          const [owner] = await tx<{ isAllowed: boolean }[]>`
            SELECT NOT is_disabled AND role <> 'VIEWER' AS "isAllowed" FROM users WHERE id = ${ownerId}
            FOR NO KEY UPDATE`;
          // The right was looked up a moment ago, and may have ended since together with the user's other jobs.
          if (owner && !owner.isAllowed) throw new Problem('FORBIDDEN');
          const [job = { id, openBefore: 0 }] = await tx<QueuedAiJob[]>`
            INSERT INTO ai_jobs ${sql(row)} ON CONFLICT ${equal} DO UPDATE SET topic = excluded.topic
            RETURNING id, ${openBefore({ isAdded: true })}`;
          if (job.id === id && job.openBefore >= maxOpenAiJobs) throw tooManyJobs();
          return job;
        });
      }),

    find: (id: string): Promise<AiJobView | undefined> =>
      withPostgres(
        async () =>
          (
            await sql<
              AiJobView[]
            >`SELECT ${columns}, coalesce(waits_until > now(), false) AS "isWaiting" FROM ai_jobs WHERE id = ${id}`
          )[0],
      ),

    /** Claims a job for this process; undefined while another process has it or if it has ended. */
    claim: async (id: string): Promise<AiJob | undefined> =>
      (
        await sql<AiJob[]>`
        UPDATE ai_jobs SET status = 'RUNNING', claim = gen_random_uuid(), updated_at = now(),
          takeovers = takeovers + (status = 'RUNNING')::integer
        WHERE id = ${id} AND (status = 'PENDING' OR (status = 'RUNNING' AND updated_at < ${staleBefore()}))
        RETURNING ${columns}`
      )[0],

    /**
     * Renews the claim. Returns false if the job was cancelled, its survey deleted, or another process has claimed it.
     * Progress never falls, although the work of a job that was taken over begins anew.
     */
    heartbeat: async (job: ClaimedJob, progress: number | null): Promise<boolean> =>
      (
        await sql`UPDATE ai_jobs SET updated_at = now(), progress = greatest(progress, ${progress}),
            takeovers = CASE WHEN progress < ${progress} THEN 0 ELSE takeovers END
          WHERE ${isClaimed(sql, job)}`
      ).count > 0,

    /** Notes that it waits for its provider's limits, for this long from now. */
    markWaiting: async (job: ClaimedJob, ms: number): Promise<void> =>
      void (await sql`UPDATE ai_jobs SET waits_until = now() + ${`${Math.ceil(ms)} milliseconds`}::interval
        WHERE ${isClaimed(sql, job)}`),

    /** `result`: the result over all answers, if there is more than annotations. */
    complete: async (job: ClaimedJob, result: unknown): Promise<void> =>
      void (await sql`UPDATE ai_jobs
        SET status = 'COMPLETED', progress = 1, result = ${result === null ? null : sql.json(result as never)},
        updated_at = now() WHERE ${isClaimed(sql, job)}`),

    /** The result given to `complete`. */
    resultOf: (id: string): Promise<unknown> =>
      withPostgres(
        async () => (await sql<{ result: unknown }[]>`SELECT result FROM ai_jobs WHERE id = ${id}`)[0]?.result ?? null,
      ),

    /** The result of the newest completed job; null without one. */
    lastResult: ({ surveyId, topic }: AnalysisTopic): Promise<unknown> =>
      withPostgres(
        async () =>
          (
            await sql<
              { result: unknown }[]
            >`SELECT result FROM ai_jobs WHERE survey_id = ${surveyId} AND topic = ${topic} AND status = 'COMPLETED'
              ORDER BY id DESC LIMIT 1`
          )[0]?.result ?? null,
      ),

    /** Topic of the newest finished analysis of a kind. */
    lastTopic: async ({
      surveyId,
      analysisType,
    }: {
      surveyId: string;
      analysisType: string;
    }): Promise<string | undefined> =>
      (
        await sql<{ topic: string }[]>`
        SELECT topic FROM ai_jobs
        WHERE survey_id = ${surveyId} AND status = 'COMPLETED' AND request->>'analysisType' = ${analysisType}
        ORDER BY updated_at DESC, id DESC LIMIT 1`
      )[0]?.topic,

    fail: async (job: ClaimedJob, error: AiJob['error']): Promise<void> =>
      void (await sql`UPDATE ai_jobs SET status = 'FAILED', error = ${sql.json(error)}, updated_at = now()
        WHERE ${isClaimed(sql, job)}`),

    /** Releases a job that this process cannot finish. */
    release: async (job: ClaimedJob): Promise<void> =>
      void (await sql`UPDATE ai_jobs SET status = 'PENDING', updated_at = now() WHERE ${isClaimed(sql, job)}`),

    cancel: (id: string): Promise<void> =>
      withPostgres(
        async () =>
          void (await sql`UPDATE ai_jobs SET status = 'CANCELLED', updated_at = now()
            WHERE id = ${id} AND status IN ('PENDING', 'RUNNING')`),
      ),

    /** Unfinished jobs without a current claim, oldest first, after the given one. */
    listStale: async (after: string | undefined, limit: number): Promise<StaleAiJob[]> =>
      sql<StaleAiJob[]>`
        SELECT id, request, claim, ${openBefore({ isAdded: false })} FROM ai_jobs
        WHERE status IN ('PENDING', 'RUNNING')
          AND updated_at < ${staleBefore()} ${after === undefined ? sql`` : sql`AND id > ${after}`} ORDER BY id
        LIMIT ${limit}`,

    /**
     * Deletes old ended jobs, except the last finished one of each analysis, whose result is still read; returns how
     * many.
     */
    sweep: async (): Promise<number> =>
      (
        await sql`
        DELETE FROM ai_jobs job
        WHERE status IN ('COMPLETED', 'FAILED', 'CANCELLED')
          AND updated_at < now() - ${`${retentionDays} days`}::interval AND NOT (
          status = 'COMPLETED' AND survey_id IS NOT NULL AND request->>'analysisType' IS NOT NULL
          AND NOT EXISTS (SELECT FROM ai_jobs newer WHERE newer.survey_id = job.survey_id AND newer.topic = job.topic
            AND newer.status = 'COMPLETED' AND newer.id > job.id))`
      ).count,
  };
}

const tooManyJobs = (): Problem =>
  new Problem('RATE_LIMITED', `You have ${maxOpenAiJobs} AI jobs that have not ended: wait for them, or cancel some`, {
    retryAfterSeconds: 10,
  });

export type AiStore = ReturnType<typeof createAiStore>;

/** Gives the survey jobs of a deleted user to the owners of the surveys, because others read their results. */
export const transferAiJobs: OwnedDataTransfer = async (tx, fromUserId, toUserId) => {
  await tx`
    UPDATE ai_jobs j SET owner_id = CASE WHEN s.owner_id = ${fromUserId} THEN ${toUserId} ELSE s.owner_id END
    FROM surveys s WHERE s.id = j.survey_id AND j.owner_id = ${fromUserId}`;
};
