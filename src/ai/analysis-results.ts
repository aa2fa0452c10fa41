import { type Sentiment, sentiments } from '../domain/analytics/sentiment.ts';
import type { AiStore } from '../stores/postgres/ai/jobs.ts';
import { type AnalysisType, emptySummary, type StoredSummary } from './tasks/analyse-answers.ts';

type SentimentCounts = Record<Sentiment, number>;

export interface ResultQuery {
  surveyId: string;
  topic: string;
  type: AnalysisType;
  page: number;
  limit: number;
}

export interface Result {
  data: unknown;
  /** Number of paged items. */
  total: number;
}

const maxThemes = 200;

/** Computes the result of an analysis from the stored annotations, so that every count can be reproduced. */
export async function readResult(
  store: Pick<AiStore, 'sentiments' | 'sentimentPage' | 'themes' | 'lastResult'>,
  { type, page, limit, ...scope }: ResultQuery,
): Promise<Result> {
  if (type === 'themes') {
    const themes = await readThemes(store, scope, maxThemes);
    return { data: { themes }, total: themes.length };
  }
  if (type === 'summary') {
    const stored = (await store.lastResult(scope)) as StoredSummary | null;
    return { data: stored?.conclusion ?? emptySummary, total: 1 };
  }
  const [counts, perResponse] = await Promise.all([store.sentiments(scope), store.sentimentPage(scope, page, limit)]);
  const questionIds = [...new Set(counts.flatMap(({ questionId }) => questionId ?? []))];
  const of = (questionId: string | null): SentimentCounts => {
    const own = counts.filter((row) => row.questionId === questionId);
    const count = (sentiment: Sentiment) => own.find((row) => row.sentiment === sentiment)?.count ?? 0;
    return {
      positive: count('positive'),
      negative: count('negative'),
      neutral: count('neutral'),
      mixed: count('mixed'),
    };
  };
  const all = of(null);
  const unjudged = counts.find((row) => row.questionId === null && row.sentiment === null)?.count;
  return {
    data: {
      sentiment: all,
      ...(unjudged !== undefined && { unjudged }),
      perQuestion: questionIds.map((questionId) => ({ questionId, sentiment: of(questionId) })),
      perResponse,
    },
    total: sentiments.reduce((sum, sentiment) => sum + all[sentiment], 0),
  };
}

export interface Theme {
  name: string;
  /** Number of responses with this theme. */
  count: number;
  sentiment: Sentiment;
  /** Up to 20 of these responses. */
  responseIds: string[];
}

/** Returns the most frequent themes, most frequent first. */
export async function readThemes(
  store: Pick<AiStore, 'themes'>,
  scope: Pick<ResultQuery, 'surveyId' | 'topic'>,
  atMost: number,
): Promise<Theme[]> {
  const themes = await store.themes(scope, atMost);
  return themes.map(({ name, count, responseIds, ...counts }) => ({
    name,
    count,
    sentiment: prevailingSentiment(counts),
    responseIds,
  }));
}

/** The most frequent sentiment; mixed where positive and negative ones are the most frequent, equally many. */
export function prevailingSentiment(counts: SentimentCounts): Sentiment {
  const { positive, negative, neutral, mixed } = counts;
  if (positive > 0 && positive === negative && positive >= Math.max(neutral, mixed)) return 'mixed';
  return sentiments.reduce((best, sentiment) => (counts[sentiment] > counts[best] ? sentiment : best), 'positive');
}
