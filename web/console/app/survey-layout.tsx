import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useLocation, useParams } from '@tanstack/react-router';
import { useEffect } from 'react';
import { readable } from '../../../src/domain/path/placeholders.ts';
import { followSurvey } from '../data/live.ts';
import { surveyQuery } from '../data/surveys.ts';
import { ErrorState, Loading } from '../parts/feedback.tsx';
import { Page } from '../parts/page.tsx';
import { SurveyStatusBadge } from '../screens/surveys/survey-status.tsx';
import { surveyTabs } from './navigation.ts';
import styles from './shell.module.css';
import { useCurrentInView } from './use-current-in-view.ts';

/** The id of the survey in the address. */
export function useSurveyId(): string {
  const { surveyId } = useParams({ strict: false });
  if (surveyId === undefined) throw new Error('this view is not within a survey');
  return surveyId;
}

/** Whether the user may edit the survey in the address; false until that is known. */
export function useMayEditSurvey(): boolean {
  const { data: survey } = useQuery(surveyQuery(useSurveyId()));
  return survey !== undefined && survey.right !== 'read';
}

/** The head of every view of a survey: its title, status and tabs. They follow what others change. */
export function SurveyLayout() {
  const surveyId = useSurveyId();
  const { data: survey, error, refetch } = useQuery(surveyQuery(surveyId));
  useEffect(() => followSurvey(surveyId), [surveyId]);
  if (error && !survey) return <ErrorState error={error} onRetry={refetch} />;
  if (!survey) return <Loading />;
  return (
    <Page
      title={readable(survey.title)}
      status={<SurveyStatusBadge status={survey.status} />}
      tabs={<SurveyTabs id={surveyId} />}
    >
      {/* What a view holds belongs to its survey. */}
      <Outlet key={surveyId} />
    </Page>
  );
}

function SurveyTabs({ id }: { id: string }) {
  const { pathname } = useLocation();
  const navigation = useCurrentInView(pathname, surveyTabs.length);
  return (
    <nav ref={navigation} aria-label="Survey" className={styles.tabs}>
      {surveyTabs.map(({ title, view }) => {
        const href = `/surveys/${id}/${view}`;
        return (
          <Link key={view} to={href} aria-current={pathname.startsWith(href) ? 'page' : undefined}>
            {title}
          </Link>
        );
      })}
    </nav>
  );
}
