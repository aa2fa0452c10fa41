import { type UseQueryResult, useQueries, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useMemo, useState } from 'react';
import { AnalysisError } from '../../analytics/analysis-error.tsx';
import { type ComparedGroups, comparedGroups, countsBy, leftOutText } from '../../analytics/comparison.ts';
import { FilterBar } from '../../analytics/filter-bar.tsx';
import type { Group } from '../../analytics/groups.ts';
import { LiveControl } from '../../analytics/live-control.tsx';
import { useLiveStatistics } from '../../analytics/live-statistics.ts';
import { type AnalysisSearch, isSelecting, selectionOf } from '../../analytics/search.ts';
import { useFilterVariables } from '../../analytics/use-filter-variables.ts';
import { useSurveyId } from '../../app/survey-layout.tsx';
import { isWhole, type QuestionStatistic, type SurveyStatistics, statisticsQuery } from '../../data/analytics.ts';
import { definitionOf, type Question } from '../../data/questions.ts';
import { surveyQuery } from '../../data/surveys.ts';
import { readableQuestions } from '../../data/wording.ts';
import { Button } from '../../parts/button.tsx';
import { EmptyState, ErrorState, Loading, StaleNote } from '../../parts/feedback.tsx';
import { Head } from './head.tsx';
import { QuestionCard } from './question-card.tsx';
import styles from './results.module.css';

const route = getRouteApi('/app/surveys/$surveyId/results');

/** With an inferred type the routes, which import it, would be inferred from themselves. */
export function Screen(): ReactNode {
  const surveyId = useSurveyId();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [isPaused, setPaused] = useState(false);
  const { data: survey, error, refetch } = useQuery(surveyQuery(surveyId));
  const questions = useMemo(() => (survey ? readableQuestions(definitionOf(survey).questions) : []), [survey]);
  const { variables, found } = useFilterVariables(surveyId, questions);
  const all = useQuery(statisticsQuery(surveyId, selectionOf(search), isPaused));
  const variable = variables.find(({ key }) => key === search.compare);
  const known = all.isPlaceholderData ? undefined : all.data;
  const countOf = variable && known && countsBy(variable, known);
  // Groups are chosen by the first counts of a selection: later ones would exchange some of them while they are watched.
  const firstCountOf = useSteady(countOf, [
    surveyId,
    search.compare,
    JSON.stringify(selectionOf(search)),
    countOf === undefined,
  ]);
  const compared = comparedGroups(variable, firstCountOf);
  const calls = (isWhole(selectionOf(search)) ? 0 : 1) + compared.shown.length;
  const groups = useComparison(surveyId, search, compared, isPaused);
  const isFailing = all.error !== null || groups.error !== null;
  // A count that was refused is pending again while it is made anew.
  const isReady = !all.isPending || all.isFetched;
  const view = useLiveStatistics(surveyId, { calls, isReady, isPaused, isFailing });
  const change = (fields: AnalysisSearch) =>
    void navigate({ search: (old) => ({ ...old, ...fields }), resetScroll: false });
  if (error && !survey) return <ErrorState error={error} onRetry={refetch} />;
  if (!survey) return <Loading />;
  return (
    <>
      <FilterBar variables={variables} found={found} search={search} onChange={change} hasComparison>
        <LiveControl view={view} onPause={setPaused} />
      </FilterBar>
      <Results
        {...{ search, questions, all, groups }}
        note={leftOutText(compared)}
        onClear={() => change({ from: undefined, to: undefined, filter: undefined })}
      />
    </>
  );
}

interface ResultsProps {
  search: AnalysisSearch;
  questions: readonly Question[];
  /** The statistics of all responses that are selected. */
  all: UseQueryResult<SurveyStatistics>;
  groups: Comparison;
  /** What the comparison leaves out. */
  note: string;
  onClear(): void;
}

function Results({ search, questions, all, groups, note, onClear }: ResultsProps) {
  const { data, error, refetch, isPlaceholderData } = all;
  if (error && (!data || isPlaceholderData))
    return <AnalysisError error={error} keys={search.filter ?? []} questions={questions} onRetry={refetch} />;
  // That nothing fits is not known before it is counted.
  if (!data || (isPlaceholderData && data.totalResponses === 0)) return <Loading lines={10} label="Counting" />;
  if (questions.length === 0)
    return <EmptyState title="No questions yet">Results stand here as soon as the survey asks something.</EmptyState>;
  if (data.totalResponses === 0)
    return isSelecting(search) ? (
      <EmptyState title="No response fits" action={<Button onPress={onClear}>Clear filters</Button>}>
        Take a filter away, or choose other days.
      </EmptyState>
    ) : (
      <EmptyState title="No responses yet">The first one appears here within two seconds of its arrival.</EmptyState>
    );
  const isCounting = isPlaceholderData || groups.isCounting;
  return (
    <div className={isCounting ? styles.stale : undefined} aria-busy={isCounting}>
      <StaleNote error={error ?? (groups.isMissing ? null : groups.error)} />
      <Head statistics={data} />
      {note !== '' && (
        <p className={styles.muted} role="status">
          {note}
        </p>
      )}
      {groups.isMissing && <ErrorState error={groups.error} />}
      <Cards questions={questions} all={data} groups={groups.found} />
    </div>
  );
}

interface NamedStatistics {
  key: string;
  label: string;
  statistics: SurveyStatistics;
}

interface Comparison {
  found: readonly NamedStatistics[];
  isCounting: boolean;
  error: unknown;
  /** One was never counted, because of the error. */
  isMissing: boolean;
}

/** The statistics of each group of the compared variable; none while they are counted for the first time. */
function useComparison(
  surveyId: string,
  search: AnalysisSearch,
  compared: ComparedGroups,
  isPaused: boolean,
): Comparison {
  const { shown } = compared;
  const queries = shown.map(({ value }) =>
    statisticsQuery(surveyId, selectionOf(search, `${search.compare}:${value}`), isPaused),
  );
  const results = useQueries({ queries });
  const found = shown.flatMap(({ value, label }, index): NamedStatistics[] => {
    const statistics = results[index]?.data;
    return statistics ? [{ key: value, label, statistics }] : [];
  });
  const failures = results.filter(({ error }) => error !== null);
  const failed = failures.find(({ data }) => data === undefined) ?? failures[0];
  return {
    found: found.length === shown.length ? found : [],
    isCounting: results.some(({ isPending, isPlaceholderData }) => isPending || isPlaceholderData),
    error: failed?.error ?? null,
    isMissing: failed !== undefined && failed.data === undefined,
  };
}

interface CardsProps {
  questions: readonly Question[];
  all: SurveyStatistics;
  groups: readonly NamedStatistics[];
}

function Cards({ questions, all, groups }: CardsProps) {
  const sources = groups.length > 0 ? groups : [{ key: 'all', label: 'All', statistics: all }];
  const maps = sources.map(({ key, label, statistics }) => ({
    key,
    label,
    byQuestion: new Map(statistics.questionStats.map((statistic) => [statistic.questionId, statistic])),
  }));
  return (
    <ol className={styles.cards} aria-label="Questions">
      {questions.map((question, index) => {
        const ofQuestion = maps.flatMap(({ key, label, byQuestion }): Group[] => {
          const statistic = byQuestion.get(question.id);
          return statistic ? [{ key, label, statistic }] : [];
        });
        return (
          ofQuestion.length > 0 && (
            <li key={question.id} className={styles.item}>
              <SteadyCard number={index + 1} question={question} groups={ofQuestion} />
            </li>
          )
        );
      })}
    </ol>
  );
}

/** A card whose groups stay the same object while their labels and statistics do, so that it is not drawn again. */
function SteadyCard({ number, question, groups }: { number: number; question: Question; groups: readonly Group[] }) {
  const parts: (QuestionStatistic | string)[] = groups.flatMap(({ key, label, statistic }) => [key, label, statistic]);
  const steady = useSteady(groups, parts);
  return <QuestionCard number={number} question={question} groups={steady} />;
}

/** The last value as long as the parts that it depends on are the same. */
function useSteady<Value>(value: Value, parts: readonly unknown[]): Value {
  const [kept, setKept] = useState({ value, parts });
  const isSame = kept.parts.length === parts.length && kept.parts.every((part, index) => part === parts[index]);
  if (isSame) return kept.value;
  setKept({ value, parts });
  return value;
}
