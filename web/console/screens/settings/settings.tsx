import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useUser } from '../../app/session-state.tsx';
import { useSurveyId } from '../../app/survey-layout.tsx';
import { memberListQuery } from '../../data/members.ts';
import { pollUnlessRefused, rereadMs } from '../../data/query-client.ts';
import { surveyQuery } from '../../data/surveys.ts';
import { ErrorState, Loading } from '../../parts/feedback.tsx';
import { AccessCard } from './access-card.tsx';
import { AnswersCard } from './answers-card.tsx';
import { EmbeddingCard } from './embedding-card.tsx';
import { EndCard } from './end-card.tsx';
import { LogoCard } from './logo-card.tsx';
import { LookCard } from './look-card.tsx';
import styles from './settings.module.css';
import { SharingCard } from './sharing-card.tsx';

/** The settings of a survey. What it asks, with its title and description, is edited in Build. */
export function Screen() {
  const surveyId = useSurveyId();
  const user = useUser();
  // No stream tells of settings, which make no version of the survey.
  const refetchInterval = pollUnlessRefused(rereadMs);
  const { data: survey, error, refetch } = useQuery({ ...surveyQuery(surveyId), refetchInterval });
  const isOwner = survey?.right === 'own';
  const { isLoading: areMembersLoading } = useQuery({ ...memberListQuery(surveyId, 1), enabled: isOwner });
  if (error && !survey) return <ErrorState error={error} onRetry={refetch} />;
  if (!survey || !user) return <Loading lines={8} />;
  const isReadOnly = survey.right === 'read';
  return (
    <div className={styles.cards}>
      <p className="muted">
        Title, description and the order of sections are edited in{' '}
        <Link to="/surveys/$surveyId/build" params={{ surveyId }} search={{ item: surveyId }}>
          Build
        </Link>
        {isReadOnly && '. You may read this survey, and change none of its settings'}.
      </p>
      <LogoCard survey={survey} isReadOnly={isReadOnly} />
      <LookCard survey={survey} isReadOnly={isReadOnly} />
      <EmbeddingCard survey={survey} isReadOnly={isReadOnly} />
      <AccessCard survey={survey} isReadOnly={isReadOnly} />
      <AnswersCard survey={survey} isReadOnly={isReadOnly} />
      {isOwner && <SharingCard survey={survey} />}
      {/* The members would move its button while it is being pressed. */}
      {!areMembersLoading && <EndCard survey={survey} user={user} isOwner={isOwner} />}
    </div>
  );
}
