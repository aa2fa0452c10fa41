import type { Tx } from '../client.ts';
import { replacedThemes } from './theme-names.ts';
import { type ThemeCount, themeMentions } from './themes.ts';
import type { AnalysisTopic } from './topics.ts';

/** A theme with its responses, answers by sentiment, and the first twenty response ids. */
export interface CountedTheme extends ThemeCount {
  positive: number;
  negative: number;
  mixed: number;
  neutral: number;
  responseIds: string[];
}

/** Reads over all annotations of an analysis. `run` bounds their time and concurrency. */
export function createAiResults(run: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>) {
  return {
    /** Themes under the names that people gave them, most frequent first; `count` is the number of responses. */
    themes: (scope: AnalysisTopic, limit: number) =>
      run(async (tx) => {
        const replaced = await replacedThemes(tx, scope);
        return tx<CountedTheme[]>`
          SELECT name, count(DISTINCT response_id) AS count,
            (array_agg(DISTINCT response_id ORDER BY response_id))[1:20] AS "responseIds",
            count(*) FILTER (WHERE sentiment = 'positive') AS positive,
              count(*) FILTER (WHERE sentiment = 'negative') AS negative,
            count(*) FILTER (WHERE sentiment = 'mixed') AS mixed,
              count(*) FILTER (WHERE sentiment = 'neutral') AS neutral
          FROM (SELECT DISTINCT * FROM (${themeMentions(tx, scope, replaced)}) said) shown
          GROUP BY name ORDER BY count DESC, name LIMIT ${limit}`;
      }),

    /** Number of responses with an annotation, other than that the provider refused their answers. */
    analysedResponses: ({ surveyId, topic }: AnalysisTopic): Promise<number> =>
      run(
        async (tx) =>
          (
            await tx<{ count: number }[]>`
            SELECT count(DISTINCT response_id) AS count FROM ai_findings
            WHERE survey_id = ${surveyId} AND topic = ${topic} AND NOT jsonb_exists(finding, 'unjudged')`
          )[0]?.count ?? 0,
      ),

    /**
     * Answers by question and sentiment. `questionId` null: all questions; `sentiment` null: answers that the provider
     * refused.
     */
    sentiments: ({
      surveyId,
      topic,
    }: AnalysisTopic): Promise<{ questionId: string | null; sentiment: string | null; count: number }[]> =>
      run(
        (tx) => tx`
        SELECT question_id AS "questionId", finding->>'sentiment' AS sentiment, count(*) AS count FROM ai_findings
        WHERE survey_id = ${surveyId} AND topic = ${topic}
        GROUP BY GROUPING SETS ((question_id, finding->>'sentiment'), (finding->>'sentiment')) ORDER BY 1, 2`,
      ),

    sentimentPage: (
      { surveyId, topic }: AnalysisTopic,
      page: number,
      limit: number,
    ): Promise<{ responseId: string; questionId: string; sentiment: string }[]> =>
      // Skips rows by their keys only, so that a late page costs little more than the first.
      run(
        (tx) => tx`
        SELECT response_id AS "responseId", question_id AS "questionId", finding->>'sentiment' AS sentiment
        FROM ai_findings
        WHERE survey_id = ${surveyId} AND topic = ${topic} AND (response_id, question_id) IN (
          SELECT response_id, question_id FROM ai_findings
          WHERE survey_id = ${surveyId} AND topic = ${topic} AND NOT jsonb_exists(finding, 'unjudged')
          ORDER BY response_id, question_id LIMIT ${limit} OFFSET ${(page - 1) * limit})
        ORDER BY response_id, question_id`,
      ),
  };
}
