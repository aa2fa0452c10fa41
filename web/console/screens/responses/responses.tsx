import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Columns3, RefreshCw } from 'lucide-react';
import { useCallback, useMemo, useState } from 'react';
import { AnalysisError } from '../../analytics/analysis-error.tsx';
import { FilterBar } from '../../analytics/filter-bar.tsx';
import { OutcomeSelect } from '../../analytics/outcome-select.tsx';
import { isSelecting } from '../../analytics/search.ts';
import { useFilterVariables } from '../../analytics/use-filter-variables.ts';
import { useUser } from '../../app/session-state.tsx';
import { useSurveyId } from '../../app/survey-layout.tsx';
import { callsForAll } from '../../data/all-of.ts';
import { collectorNamesQuery } from '../../data/collectors.ts';
import { isAdmin } from '../../data/me.ts';
import { msOfCall, pollUnlessRefused, rereadMs } from '../../data/query-client.ts';
import { definitionOf, type Question } from '../../data/questions.ts';
import { outcomeNames, reloadResponses, responseListQuery, type StoredResponse } from '../../data/responses.ts';
import { surveyQuery } from '../../data/surveys.ts';
import { readableQuestions } from '../../data/wording.ts';
import { Button } from '../../parts/button.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { EmptyState, ErrorState, Loading, StaleNote } from '../../parts/feedback.tsx';
import { formatCount, formatMoment } from '../../parts/format.ts';
import { Toolbar } from '../../parts/page.tsx';
import { answerText } from './answers.ts';
import { ColumnsDialog } from './columns-dialog.tsx';
import { EraseRespondent } from './erase-respondent.tsx';
import { type Removed, useRemoved } from './removed.ts';
import { ResponseDialog } from './response-dialog.tsx';
import styles from './responses.module.css';

const route = getRouteApi('/app/surveys/$surveyId/responses');
const firstQuestions = 3;

/** The stored responses of a survey, newest first. */
export function Screen(): React.ReactNode {
  const surveyId = useSurveyId();
  const user = useUser();
  const { outcome, columns, ...selection } = route.useSearch();
  const { from, to, filter } = selection;
  const navigate = route.useNavigate();
  const { data: survey } = useQuery(surveyQuery(surveyId));
  const { data: collectors } = useQuery({
    ...collectorNamesQuery(surveyId),
    refetchInterval: (query) =>
      pollUnlessRefused(Math.max(rereadMs, callsForAll(query.state.data?.length ?? 0) * msOfCall))(query),
  });
  const questions = useMemo(() => (survey ? readableQuestions(definitionOf(survey).questions) : []), [survey]);
  const filters = useFilterVariables(surveyId, questions);
  const list = useInfiniteQuery(
    responseListQuery(surveyId, questions.length, { outcome, startDate: from, endDate: to, filter }),
  );
  const pages = useMemo(() => list.data?.pages.map(({ items }) => items) ?? [], [list.data]);
  const rows = useMemo(() => pages.flat(), [pages]);
  const removed = useRemoved(survey, pages);
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = list;
  const mayLoadMore = hasNextPage && !isFetchingNextPage && !isFetchNextPageError;
  const loadMore = useCallback(() => mayLoadMore && void fetchNextPage(), [mayLoadMore, fetchNextPage]);
  const [isChoosing, setChoosing] = useState(false);
  const [isErasing, setErasing] = useState(false);
  const [opened, setOpened] = useState<StoredResponse>();
  const bar = (
    <FilterBar
      {...filters}
      search={selection}
      onChange={(fields) => void navigate({ search: (old) => ({ ...old, ...fields }) })}
    />
  );
  const failure = (
    <AnalysisError
      error={list.error}
      keys={survey ? (filter ?? []) : []}
      questions={questions}
      onRetry={list.refetch}
    />
  );
  if (!survey)
    return (
      <>
        {bar}
        {list.error ? failure : <Loading lines={8} />}
      </>
    );

  const collectorNames = collectors && new Map(collectors.map(({ id, name }) => [id, name]));
  const collectorOf = ({ collectorId }: StoredResponse) => {
    if (collectorId === null) return '–';
    return collectorNames ? (collectorNames.get(collectorId) ?? 'A former collector') : '…';
  };
  const all = columnsOf(questions, collectorOf, removed);
  const first = ['submittedAt', 'outcome', ...questions.slice(0, firstQuestions).map(({ id }) => id)];
  const named = all.filter(({ id }) => columns?.includes(id)).map(({ id }) => id);
  const shown = named.length > 0 ? named : first;
  const total = list.data?.pages[0]?.total ?? 0;
  const isFiltered = outcome !== undefined || isSelecting(selection);
  return (
    <>
      {bar}
      <Toolbar>
        <OutcomeSelect
          isLabelHidden
          value={outcome}
          onChange={(next) => void navigate({ search: (old) => ({ ...old, outcome: next }) })}
        />
        <Button icon={<Columns3 aria-hidden />} onPress={() => setChoosing(true)}>
          Columns
        </Button>
        {isAdmin(user) && !survey.isAnonymous && <Button onPress={() => setErasing(true)}>Erase a respondent</Button>}
        <Button
          icon={<RefreshCw aria-hidden />}
          isPending={list.isLoading}
          onPress={() => void reloadResponses(surveyId)}
        >
          Reload
        </Button>
        <span role="status" className={styles.muted}>
          {list.data && (total === 1 ? '1 response' : `${formatCount(total)} responses`)}
        </span>
      </Toolbar>
      {list.data && <StaleNote error={isFetchNextPageError ? null : list.error} />}
      {!list.data ? (
        list.error ? (
          failure
        ) : (
          <Loading lines={8} />
        )
      ) : rows.length === 0 ? (
        <EmptyState title={isFiltered ? 'No response fits' : 'No responses yet'}>
          {isFiltered
            ? 'Take a filter away, or choose another outcome or other days.'
            : 'Responses stand here some seconds after they arrive.'}
        </EmptyState>
      ) : (
        <DataTable
          label="Responses"
          columns={all.filter(({ id }) => shown.includes(id))}
          rows={rows}
          rowKey={({ id }) => id}
          rowCount={total}
          height="65vh"
          onOpen={(response) => setOpened(response)}
          onNearEnd={loadMore}
        />
      )}
      {isFetchNextPageError && <ErrorState error={list.error} onRetry={fetchNextPage} />}
      {isChoosing && (
        <ColumnsDialog
          columns={all}
          shown={shown}
          onClose={() => setChoosing(false)}
          onChoose={(chosen) => void navigate({ search: (old) => ({ ...old, columns: chosen }) })}
        />
      )}
      {isErasing && <EraseRespondent surveyId={surveyId} onClose={() => setErasing(false)} />}
      {opened && (
        <ResponseDialog
          questions={questions}
          response={opened}
          removed={removed}
          collector={collectorOf(opened)}
          onClose={() => setOpened(undefined)}
        />
      )}
    </>
  );
}

function columnsOf(
  questions: readonly Question[],
  collectorOf: (response: StoredResponse) => string,
  removed: Removed,
): Column<StoredResponse>[] {
  return [
    {
      id: 'submittedAt',
      title: 'Submitted',
      width: '12rem',
      cell: ({ submittedAt }) => formatMoment(submittedAt),
    },
    { id: 'outcome', title: 'Outcome', width: '8rem', cell: ({ outcome }) => outcomeNames[outcome] },
    ...questions.map(
      (question): Column<StoredResponse> => ({
        id: question.id,
        title: question.text,
        width: 'minmax(9rem, 1fr)',
        cell: ({ answers }) => (
          <span className={styles.answer} dir="auto">
            {answerText(question, answers, removed) || '–'}
          </span>
        ),
      }),
    ),
    { id: 'language', title: 'Language', width: '6rem', cell: ({ language }) => language },
    {
      id: 'duration',
      title: 'Seconds',
      width: '6rem',
      isNumber: true,
      cell: ({ durationSeconds }) => (durationSeconds === null ? '–' : formatCount(durationSeconds)),
    },
    { id: 'version', title: 'Version', width: '6rem', isNumber: true, cell: ({ surveyVersion }) => surveyVersion },
    { id: 'collector', title: 'Collector', cell: collectorOf },
    { id: 'respondent', title: 'Respondent', cell: ({ respondent }) => respondent ?? '–' },
  ];
}
