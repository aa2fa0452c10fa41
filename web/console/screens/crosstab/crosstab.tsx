import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { readable } from '../../../../src/domain/path/placeholders.ts';
import { AnalysisError } from '../../analytics/analysis-error.tsx';
import { FilterBar } from '../../analytics/filter-bar.tsx';
import { isSelecting } from '../../analytics/search.ts';
import { useFilterVariables } from '../../analytics/use-filter-variables.ts';
import { useSurveyId } from '../../app/survey-layout.tsx';
import { crosstabQuery } from '../../data/crosstab.ts';
import { definitionOf, type Question } from '../../data/questions.ts';
import { surveyQuery } from '../../data/surveys.ts';
import { readableQuestions } from '../../data/wording.ts';
import { Button } from '../../parts/button.tsx';
import { EmptyState, ErrorState, Loading, StaleNote } from '../../parts/feedback.tsx';
import { ArrangementFields } from './arrangement-fields.tsx';
import styles from './crosstab.module.css';
import { CrosstabSettings, measuresOf } from './crosstab-settings.tsx';
import { CrosstabTable } from './crosstab-table.tsx';
import { groupsOf, partlyComparedText, smallBase } from './layout.ts';
import { type Names, notesOf } from './notes.ts';
import { type CrosstabSearch, correctionNames, keysOf, levelText, requestOf } from './search.ts';
import { crosstabSheet } from './sheet.ts';
import { TakeAway } from './take-away.tsx';
import { TestsTable } from './tests-table.tsx';
import { variablesOf, weightsOf } from './variables.ts';

const route = getRouteApi('/app/surveys/$surveyId/crosstab');

export function Screen() {
  const surveyId = useSurveyId();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data: survey, error, refetch } = useQuery(surveyQuery(surveyId));
  const questions = useMemo(() => (survey ? readableQuestions(definitionOf(survey).questions) : []), [survey]);
  const variables = useMemo(() => variablesOf({ questions }), [questions]);
  const filters = useFilterVariables(surveyId, questions);
  const change = (fields: CrosstabSearch) =>
    void navigate({ search: (old) => ({ ...old, ...fields }), resetScroll: false });

  if (error && !survey) return <ErrorState error={error} onRetry={refetch} />;
  if (!survey) return <Loading />;
  return (
    <>
      <FilterBar {...filters} search={search} onChange={change} />
      <ArrangementFields
        variables={variables}
        value={{ rows: search.rows, columns: search.columns ?? [] }}
        onChange={({ rows, columns }) => change({ rows, columns: columns.length > 0 ? [...columns] : undefined })}
      />
      <CrosstabSettings questions={questions} search={search} onChange={change} />
      <Result
        surveyId={surveyId}
        title={readable(survey.title)}
        questions={questions}
        search={search}
        labels={new Map(variables.map(({ key, label }) => [key, label]))}
        names={{ ...filters, weights: weightsOf(questions) }}
        onClear={() => change({ from: undefined, to: undefined, filter: undefined })}
      />
    </>
  );
}

interface ResultProps {
  surveyId: string;
  /** Of the survey. */
  title: string;
  questions: readonly Question[];
  search: CrosstabSearch;
  /** The names of variables by their keys. */
  labels: ReadonlyMap<string, string>;
  names: Names;
  /** Takes all filters away. */
  onClear(): void;
}

function Result({ surveyId, title, questions, search, labels, names, onClear }: ResultProps) {
  const request = requestOf(search);
  const { data, error, refetch, isPlaceholderData, dataUpdatedAt } = useQuery(crosstabQuery(surveyId, request));
  // While another table is counted, the last one keeps its heads.
  const [counted, setCounted] = useState(search);
  if (!isPlaceholderData && counted !== search) setCounted(search);
  const shown = isPlaceholderData ? counted : search;
  if (request === undefined)
    return (
      <EmptyState title="Pick what to cross">
        One question for the rows, and one or more for the columns. Every count is exact, and the address of this page
        keeps the table.
      </EmptyState>
    );
  if (error && (!data || isPlaceholderData))
    return <AnalysisError error={error} keys={keysOf(search)} questions={questions} onRetry={refetch} />;
  if (!data) return <Loading lines={10} label="Counting" />;

  const { rows = '', columns = [] } = shown;
  const titleOf = (key: string) => labels.get(key) ?? key;
  const groups = groupsOf(data, columns, columns.map(titleOf));
  const isWeighted = data.unweightable !== undefined;
  const small = groups.flatMap((group) => group.columns.filter(({ isSmall }) => isSmall)).length;
  const isEmpty = groups.every(({ table }) => table.total === 0);
  // That nothing fits is not known before it is counted.
  if (isEmpty && isPlaceholderData) return <Loading lines={10} label="Counting" />;
  if (isEmpty)
    return (
      <EmptyState
        title={isSelecting(search) ? 'No response fits' : 'Nobody to count yet'}
        action={isSelecting(search) && <Button onPress={onClear}>Clear filters</Button>}
      >
        {(data.unweightable ?? 0) > 0
          ? `None of the ${data.unweightable} respondents has a usable weight.`
          : 'No response answers both questions.'}
      </EmptyState>
    );
  const rowTitle = titleOf(rows);
  const measures = measuresOf(search, isWeighted);
  const sheetOf = () => {
    const notes = notesOf(search, names, {
      countedAt: new Date(dataUpdatedAt),
      isCompared: data.isCompared,
      groups,
    });
    return crosstabSheet({ title, rowTitle, notes }, groups, measures, isWeighted);
  };
  return (
    <>
      <StaleNote error={error} />
      <div className={styles.tableHead}>
        {small > 0 && (
          <p className={styles.warning} role="status">
            {small === 1 ? 'One column has' : `${small} columns have`} a base below {smallBase}: percentages there are
            uncertain.
          </p>
        )}
        <div className={styles.files}>
          <TakeAway name={`${title} – crosstab`} sheetOf={sheetOf} isDisabled={isPlaceholderData} />
        </div>
      </div>
      <CrosstabTable
        key={rows}
        label="Crosstab"
        rowTitle={rowTitle}
        groups={groups}
        measures={measures}
        isWeighted={isWeighted}
        isStale={isPlaceholderData}
      />
      <p>
        {data.isCompared
          ? comparisonText(shown)
          : 'Columns are not compared: there are too many for tests of significance.'}{' '}
        {partlyComparedText(groups)} n: respondents, unweighted
        {isWeighted && '; eff.: effective base, (Σw)² / Σw²'}.
      </p>
      <TestsTable groups={groups} isWeighted={isWeighted} />
    </>
  );
}

/** What the letters mean. */
const comparisonText = ({ level = '0.95', correction = 'none' }: CrosstabSearch): string =>
  [
    'A letter beside a value names a column of the same question that it exceeds significantly, by column percentages,',
    `at a confidence of ${levelText(level)}${correction === 'none' ? '' : `, corrected by ${correctionNames[correction]}`}.`,
  ].join(' ');
