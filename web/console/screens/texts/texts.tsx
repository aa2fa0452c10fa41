import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { X } from 'lucide-react';
import { useMemo } from 'react';
import { useSurveyId } from '../../app/survey-layout.tsx';
import { definitionOf, isOpenQuestion, type Question } from '../../data/questions.ts';
import { surveyQuery } from '../../data/surveys.ts';
import { readableQuestions } from '../../data/wording.ts';
import { Button, LinkButton } from '../../parts/button.tsx';
import { Select } from '../../parts/choice-fields.tsx';
import { EmptyState, ErrorState, Loading } from '../../parts/feedback.tsx';
import { SearchBox } from '../../parts/search-box.tsx';
import { AnalysisPanel } from './analysis-panel.tsx';
import { AnswerList } from './answer-list.tsx';
import { viewsOf } from './elsewhere.tsx';
import type { TextsSearch } from './search.ts';
import { sentimentNames } from './sentiments.tsx';
import styles from './texts.module.css';

const route = getRouteApi('/app/surveys/$surveyId/texts');

export function Screen() {
  const surveyId = useSurveyId();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data: survey, error, refetch } = useQuery(surveyQuery(surveyId));
  const questions = useMemo(() => (survey ? readableQuestions(definitionOf(survey).questions) : []), [survey]);
  if (error && !survey) return <ErrorState error={error} onRetry={refetch} />;
  if (!survey) return <Loading />;

  const open = questions.filter(isOpenQuestion);
  const question = open.find(({ id }) => id === search.question) ?? open[0];
  if (!question)
    return (
      <EmptyState title="No open questions">
        Answers to questions of the types Short text and Long text are read here.
      </EmptyState>
    );
  const labelOf = (item: Question) => `${questions.indexOf(item) + 1}. ${item.text}`;
  const change = (fields: TextsSearch, replace = false) =>
    navigate({ search: (old) => ({ ...old, page: undefined, ...fields }), replace });
  return (
    <>
      <div className={styles.tools}>
        <div className={styles.question}>
          <Select
            label="Question"
            isLabelHidden
            options={open.map((item) => ({ value: item.id, label: labelOf(item) }))}
            value={question.id}
            onChange={(next) => change({ question: next, theme: undefined, sentiment: undefined })}
          />
        </div>
        <div className={styles.search}>
          <SearchBox
            label="Search answers"
            text={search.search ?? ''}
            onSearch={(text) => change({ search: text || undefined }, true)}
          />
        </div>
        <Filters surveyId={surveyId} question={question} search={search} onChange={change} />
      </div>
      <div className={styles.split}>
        <AnswerList
          surveyId={surveyId}
          question={question}
          search={search}
          onChange={change}
          onPage={(page, replace) => change({ page }, replace)}
        />
        <AnalysisPanel survey={survey} question={question} search={search} onChange={change} />
      </div>
    </>
  );
}

interface FiltersProps {
  surveyId: string;
  question: Question;
  search: TextsSearch;
  onChange(fields: TextsSearch): void;
}

/**
 * What an analysis found that the list is narrowed to; a press widens it again. Links lead to the other views with the
 * same responses.
 */
function Filters({ surveyId, question, search, onChange }: FiltersProps) {
  const { sentiment, theme } = search;
  const isFiltered = sentiment !== undefined || theme !== undefined;
  return (
    <>
      {sentiment !== undefined && (
        <Button icon={<X aria-hidden />} onPress={() => onChange({ sentiment: undefined })}>
          <span className="visually-hidden">Remove the filter </span>
          {sentimentNames[sentiment]}
        </Button>
      )}
      {theme !== undefined && (
        <Button icon={<X aria-hidden />} onPress={() => onChange({ theme: undefined })}>
          <span className="visually-hidden">Remove the filter </span>
          {theme}
        </Button>
      )}
      {isFiltered && (
        <nav className={styles.elsewhere} aria-label="These responses in other views">
          Show in
          {viewsOf(surveyId, question.id, { sentiment, theme }).map(({ name, href, icon }) => (
            <LinkButton key={name} look="quiet" href={href} icon={icon}>
              {name}
            </LinkButton>
          ))}
        </nav>
      )}
    </>
  );
}
