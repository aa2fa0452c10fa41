import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { ArrowLeftRight } from 'lucide-react';
import { useMemo } from 'react';
import { useSurveyId } from '../../app/survey-layout.tsx';
import { crosstabQuery } from '../../data/crosstab.ts';
import { definitionOf } from '../../data/questions.ts';
import { surveyQuery } from '../../data/surveys.ts';
import { IconButton } from '../../parts/button.tsx';
import { ComboBox } from '../../parts/choice-fields.tsx';
import { EmptyState, ErrorState, Loading } from '../../parts/feedback.tsx';
import { ColumnsField } from './columns-field.tsx';
import styles from './crosstab.module.css';
import { CrosstabSettings, measuresOf } from './crosstab-settings.tsx';
import { CrosstabTable } from './crosstab-table.tsx';
import { groupsOf, smallBase } from './layout.ts';
import { type CrosstabSearch, requestOf } from './search.ts';
import { TestsTable } from './tests-table.tsx';
import { variablesOf } from './variables.ts';

const route = getRouteApi('/app/surveys/$surveyId/crosstab');

export function Screen() {
  const surveyId = useSurveyId();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data: survey, error, refetch } = useQuery(surveyQuery(surveyId));
  const variables = useMemo(() => (survey ? variablesOf(definitionOf(survey)) : []), [survey]);
  const change = (fields: CrosstabSearch) => void navigate({ search: (old) => ({ ...old, ...fields }) });

  if (error && !survey) return <ErrorState error={error} onRetry={refetch} />;
  if (!survey) return <Loading />;
  const { rows, columns = [] } = search;
  const options = variables.map(({ key, label }) => ({ value: key, label }));
  const [first] = columns;
  return (
    <>
      <section className={styles.picks} aria-label="What is crossed">
        <ComboBox
          label="Rows"
          placeholder="Pick a question …"
          options={options}
          value={rows ?? null}
          onChange={(key) => change({ rows: key ?? undefined })}
        />
        <IconButton
          label="Swap rows and columns"
          icon={<ArrowLeftRight aria-hidden />}
          isDisabled={rows === undefined || first === undefined || columns.includes(rows)}
          onPress={() => rows !== undefined && change({ rows: first, columns: [rows, ...columns.slice(1)] })}
        />
        <ColumnsField
          variables={variables}
          value={columns}
          onChange={(next) => change({ columns: next.length > 0 ? next : undefined })}
        />
      </section>
      <CrosstabSettings survey={definitionOf(survey)} search={search} onChange={change} />
      <Result surveyId={surveyId} search={search} labels={new Map(variables.map(({ key, label }) => [key, label]))} />
    </>
  );
}

interface ResultProps {
  surveyId: string;
  search: CrosstabSearch;
  /** The names of variables by their keys. */
  labels: ReadonlyMap<string, string>;
}

function Result({ surveyId, search, labels }: ResultProps) {
  const request = requestOf(search);
  const { data, error, refetch, isPlaceholderData } = useQuery(crosstabQuery(surveyId, request));
  if (request === undefined)
    return (
      <EmptyState title="Pick what to cross">
        One question for the rows, and one or more for the columns. Every count is exact, and the address of this page
        keeps the table.
      </EmptyState>
    );
  if (error && (!data || isPlaceholderData)) return <ErrorState error={error} onRetry={refetch} />;
  if (!data) return <Loading lines={10} label="Counting" />;

  const { rows = '', columns = [] } = search;
  const titleOf = (key: string) => labels.get(key) ?? key;
  const groups = groupsOf(data, columns, columns.map(titleOf));
  const isWeighted = data.unweightable !== undefined;
  const small = groups.flatMap((group) => group.columns.filter(({ isSmall }) => isSmall)).length;
  if (groups.every(({ table }) => table.total === 0))
    return (
      <EmptyState title="Nobody to count yet">
        {(data.unweightable ?? 0) > 0
          ? `None of the ${data.unweightable} respondents has a usable weight.`
          : 'No response answers both questions.'}
      </EmptyState>
    );
  return (
    <>
      {small > 0 && (
        <p className={styles.warning} role="status">
          {small === 1 ? 'One column has' : `${small} columns have`} a base below {smallBase}: percentages there are
          uncertain.
        </p>
      )}
      <CrosstabTable
        key={rows}
        label="Crosstab"
        rowTitle={titleOf(rows)}
        groups={groups}
        measures={measuresOf(search, isWeighted)}
        isWeighted={isWeighted}
        isStale={isPlaceholderData}
      />
      <p className={styles.legend}>
        A letter beside a value names a column of the same question that it exceeds significantly, by column
        percentages, at a confidence of {Math.round(Number(search.level ?? '0.95') * 100)} %
        {search.correction === 'bonferroni' && ', corrected by Bonferroni'}
        {search.correction === 'fdr' && ', corrected by Benjamini–Hochberg'}. n: respondents, unweighted
        {isWeighted && '; eff.: effective base, (Σw)² / Σw²'}.
      </p>
      <TestsTable groups={groups} isWeighted={isWeighted} />
    </>
  );
}
