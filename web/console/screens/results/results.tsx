import { useQueries, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { FilterBar } from '../../analytics/filter-bar.tsx';
import { type AnalysisSearch, isSelecting, selectionOf } from '../../analytics/search.ts';
import { type FilterVariable, filterVariables } from '../../analytics/variables.ts';
import { useSurveyId } from '../../app/survey-layout.tsx';
import { collectorNamesQuery, type SurveyStatistics, statisticsQuery } from '../../data/analytics.ts';
import { definitionOf } from '../../data/questions.ts';
import { surveyQuery } from '../../data/surveys.ts';
import { EmptyState, ErrorState, Loading } from '../../parts/feedback.tsx';
import { Head } from './head.tsx';
import { LiveState } from './live-state.tsx';
import { QuestionCard } from './question-card.tsx';
import styles from './results.module.css';
import { useLiveStatistics } from './use-live-statistics.ts';

const route = getRouteApi('/app/surveys/$surveyId/results');

/** Responses that are laid beside one another, with their statistics. */
interface CountedGroup {
  key: string;
  label: string;
  statistics: SurveyStatistics;
}

/**
 * What was answered: the head, and a card a question. The address names the selection, and the stream moves it. (With an
 * inferred type the routes, which import it, would be inferred from themselves.)
 */
export function Screen(): ReactNode {
  const surveyId = useSurveyId();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data: survey } = useQuery(surveyQuery(surveyId));
  const { data: collectors } = useQuery(collectorNamesQuery(surveyId));
  const whole = useQuery(statisticsQuery(surveyId, selectionOf(search)));
  useLiveStatistics(surveyId);
  const definition = survey && definitionOf(survey);
  const variables = useMemo(
    () => (definition ? filterVariables(definition.questions, collectors ?? []) : []),
    [definition, collectors],
  );
  const compared = useComparison(surveyId, search, variables);

  const change = (fields: AnalysisSearch) => void navigate({ search: (old) => ({ ...old, ...fields }), replace: true });
  const failure = whole.error ?? compared.error;
  if (!definition || (!whole.data && !failure)) return <Loading lines={8} />;
  const { data } = whole;
  const groups = compared.groups ?? (data ? [{ key: '', label: 'All', statistics: data }] : []);
  return (
    <>
      <FilterBar variables={variables} search={search} onChange={change} hasComparison>
        <LiveState isStale={whole.isPlaceholderData || compared.isPending} />
      </FilterBar>
      {failure && !data ? (
        <ErrorState error={failure} onRetry={() => Promise.all([whole.refetch(), compared.refetch()])} />
      ) : data && data.totalResponses === 0 ? (
        <EmptyState title={isSelecting(search) ? 'No response fits' : 'No responses yet'}>
          {isSelecting(search)
            ? 'Remove a filter, or choose other days.'
            : 'They appear here as they arrive. The link stands under Publish.'}
        </EmptyState>
      ) : (
        <div className={whole.isPlaceholderData ? styles.stale : undefined} aria-busy={whole.isPlaceholderData}>
          {data && <Head statistics={data} />}
          <Cards questions={definition.questions} groups={groups} />
        </div>
      )}
    </>
  );
}

/** The statistics of each value of the variable that is compared by; no groups where there is none. */
function useComparison(surveyId: string, search: AnalysisSearch, variables: readonly FilterVariable[]) {
  const variable = variables.find(({ key }) => key === search.compare);
  const results = useQueries({
    queries: (variable?.values ?? []).map(({ value }) =>
      statisticsQuery(surveyId, selectionOf(search, `${search.compare}:${value}`)),
    ),
  });
  const groups = results.flatMap(({ data }, index): CountedGroup[] => {
    const value = variable?.values[index];
    return data && value ? [{ key: value.value, label: value.label, statistics: data }] : [];
  });
  return {
    groups: variable && groups.length > 0 ? groups : undefined,
    error: results.find(({ error }) => error)?.error ?? null,
    isPending: results.some(({ isPending, isPlaceholderData }) => isPending || isPlaceholderData),
    refetch: () => Promise.all(results.map((result) => result.refetch())),
  };
}

interface CardsProps {
  questions: ReturnType<typeof definitionOf>['questions'];
  groups: readonly CountedGroup[];
}

function Cards({ questions, groups }: CardsProps) {
  const statisticOf = useMemo(
    () =>
      groups.map(({ key, label, statistics }) => ({
        key,
        label,
        byQuestion: new Map(statistics.questionStats.map((statistic) => [statistic.questionId, statistic])),
      })),
    [groups],
  );
  return (
    <ol className={styles.cards} aria-label="Questions">
      {questions.map((question, index) => (
        <li key={question.id} className={styles.item}>
          <QuestionCard
            question={question}
            number={index + 1}
            groups={statisticOf.flatMap(({ key, label, byQuestion }) => {
              const statistic = byQuestion.get(question.id);
              return statistic ? [{ key, label, statistic }] : [];
            })}
          />
        </li>
      ))}
    </ol>
  );
}
