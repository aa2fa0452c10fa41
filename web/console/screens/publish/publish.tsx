import { useQuery } from '@tanstack/react-query';
import { useUser } from '../../app/session-state.tsx';
import { useSurveyId } from '../../app/survey-layout.tsx';
import { canEdit } from '../../data/me.ts';
import { surveyQuery } from '../../data/surveys.ts';
import { ErrorState, Loading } from '../../parts/feedback.tsx';
import { ChecksCard } from './checks-card.tsx';
import { CollectorsCard } from './collectors-card.tsx';
import { LinkCard } from './link-card.tsx';
import styles from './publish.module.css';
import { StatusCard } from './status-card.tsx';

/** Opening and closing a survey, and the ways by which respondents come to it. */
export function Screen() {
  const surveyId = useSurveyId();
  const user = useUser();
  const { data: survey, error, refetch } = useQuery(surveyQuery(surveyId));
  if (error && !survey) return <ErrorState error={error} onRetry={refetch} />;
  if (!survey || !user) return <Loading lines={8} />;
  const isReadOnly = !canEdit(user);
  return (
    <div className={styles.cards}>
      <ChecksCard survey={survey} />
      <StatusCard survey={survey} isReadOnly={isReadOnly} />
      <LinkCard survey={survey} />
      <CollectorsCard survey={survey} isReadOnly={isReadOnly} />
    </div>
  );
}
