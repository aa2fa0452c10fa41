import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useMayEditSurvey, useSurveyId } from '../../app/survey-layout.tsx';
import { surveyQuery } from '../../data/surveys.ts';
import { ErrorState, Loading } from '../../parts/feedback.tsx';
import { ChecksCard, useChecked } from './checks-card.tsx';
import { CollectorsCard } from './collectors-card.tsx';
import { LinkCard } from './link-card.tsx';
import styles from './publish.module.css';
import { StatusCard } from './status-card.tsx';

/** Opening and closing a survey, and the ways by which respondents come to it. */
export function Screen() {
  const surveyId = useSurveyId();
  const isReadOnly = !useMayEditSurvey();
  const { data: survey, error, refetch } = useQuery(surveyQuery(surveyId));
  const checked = useChecked(surveyId);
  const [isComplete, setComplete] = useState(false);
  if (error && !survey) return <ErrorState error={error} onRetry={refetch} />;
  // The checks stand first: coming later, they would move the buttons below from under a pointer that presses.
  if (!isComplete && !checked.isPending) setComplete(true);
  if (!survey || !isComplete) return <Loading lines={8} />;
  return (
    <div className={styles.cards}>
      <ChecksCard survey={survey} checked={checked} />
      <StatusCard survey={survey} isReadOnly={isReadOnly} />
      <LinkCard survey={survey} />
      <CollectorsCard survey={survey} isReadOnly={isReadOnly} />
    </div>
  );
}
