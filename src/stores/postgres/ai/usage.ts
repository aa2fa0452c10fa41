import { type Sql, withPostgres } from '../client.ts';

/** A call to an AI provider. */
export interface ProviderCallUsage {
  id: string;
  provider: string;
  model: string;
  task: string;
  userId: string | null;
  surveyId: string | null;
  isFailed: boolean;
  inputTokens: number;
  outputTokens: number;
  /** US dollars; null if the price is unknown. */
  costUsd: number | null;
}

export interface UsageQuery {
  userId?: string | undefined;
  surveyId?: string | undefined;
  provider?: string | undefined;
  startDate?: Date | undefined;
  endDate?: Date | undefined;
}

export interface UsageSums {
  calls: number;
  failedCalls: number;
  inputTokens: number;
  outputTokens: number;
  /** Null if no price is known. */
  costUsd: number | null;
  /** Calls of unknown price, which `costUsd` leaves out. */
  unpricedCalls: number;
}

/** Usage of a model, a task or a day; of everything if all three are null. */
export interface UsageRow extends UsageSums {
  provider: string | null;
  model: string | null;
  task: string | null;
  day: string | null;
}

const retentionDays = 400;

export function createAiUsageStore(sql: Sql) {
  return {
    record: async ({
      id,
      provider,
      model,
      task,
      userId,
      surveyId,
      isFailed,
      inputTokens,
      outputTokens,
      costUsd,
    }: ProviderCallUsage): Promise<void> => {
      const row = {
        id,
        provider,
        model,
        task,
        user_id: userId,
        survey_id: surveyId,
        is_failed: isFailed,
        input_tokens: inputTokens,
        output_tokens: outputTokens,
        cost_usd: costUsd,
      };
      await sql`INSERT INTO ai_usage ${sql(row)} ON CONFLICT (id) DO NOTHING`;
    },

    sums: ({ userId, surveyId, provider, startDate, endDate }: UsageQuery): Promise<UsageRow[]> =>
      withPostgres(
        () => sql<UsageRow[]>`
        SELECT provider, model, task, to_char(day, 'YYYY-MM-DD') AS day, count(*) AS calls,
          count(*) FILTER (WHERE is_failed) AS "failedCalls", coalesce(sum(input_tokens), 0) AS "inputTokens",
          coalesce(sum(output_tokens), 0) AS "outputTokens", sum(cost_usd)::float8 AS "costUsd",
          count(*) FILTER (WHERE cost_usd IS NULL) AS "unpricedCalls"
        FROM (SELECT *, (at AT TIME ZONE 'UTC')::date AS day FROM ai_usage WHERE true
          ${userId === undefined ? sql`` : sql`AND user_id = ${userId}`}
          ${surveyId === undefined ? sql`` : sql`AND survey_id = ${surveyId}`}
          ${provider === undefined ? sql`` : sql`AND provider = ${provider}`}
          ${startDate === undefined ? sql`` : sql`AND at >= ${startDate}`}
          ${endDate === undefined ? sql`` : sql`AND at < ${endDate}`}) used
        GROUP BY GROUPING SETS ((), (provider, model), (task), (day))
        ORDER BY day, "costUsd" DESC NULLS LAST, provider, model, task`,
      ),

    /** Deletes old calls. */
    sweep: async (): Promise<number> =>
      (await sql`DELETE FROM ai_usage WHERE at < now() - ${`${retentionDays} days`}::interval`).count,
  };
}

export type AiUsageStore = ReturnType<typeof createAiUsageStore>;
