import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useMayEditSurvey, useSurveyId } from '../../app/survey-layout.tsx';
import { type ReportListItem, reportsQuery } from '../../data/reports.ts';
import { surveyQuery } from '../../data/surveys.ts';
import { Button } from '../../parts/button.tsx';
import { EmptyState, ErrorState, Loading } from '../../parts/feedback.tsx';
import { formatMoment } from '../../parts/format.ts';
import { Paging, useLastPage } from '../../parts/paging.tsx';
import { NewReport } from './new-report.tsx';
import { ReportView } from './report-view.tsx';
import styles from './reports.module.css';

const route = getRouteApi('/app/surveys/$surveyId/reports');
const pageSize = 20;

/** With an inferred type the routes, which import it, would be inferred from themselves. */
export function Screen(): ReactNode {
  const surveyId = useSurveyId();
  const { report: chosen, page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const isEditor = useMayEditSurvey();
  const { data: survey } = useQuery(surveyQuery(surveyId));
  const { data, error, refetch, isPlaceholderData } = useQuery(reportsQuery(surveyId, { page, limit: pageSize }));
  const [isAsking, setAsking] = useState(false);
  const [opened, setOpened] = useState<{ place: string; reportId: string }>();
  const onPage = (next: number, replace?: boolean) => void navigate({ search: { page: next }, replace });
  const read = data && !isPlaceholderData ? { rows: data.items.length, total: data.total } : undefined;
  const isBeyond = useLastPage({ page, pageSize, onPage }, read);

  if (error && !data) return <ErrorState error={error} onRetry={refetch} />;
  if (!data || !survey || isBeyond) return <Loading />;
  const newButton = isEditor && (
    <Button look="primary" icon={<Plus aria-hidden />} isDisabled={!survey.aiEnabled} onPress={() => setAsking(true)}>
      New report
    </Button>
  );
  const off = !survey.aiEnabled && <p className={styles.muted}>AI is switched off for this survey, in its settings.</p>;
  // The list is read again: a newer report does not take the place of one that is being read.
  const place = `${surveyId}/${page}`;
  const newest = data.items[0]?.reportId;
  if (newest !== undefined && !isPlaceholderData && opened?.place !== place) setOpened({ place, reportId: newest });
  const shown = chosen ?? (opened?.place === place ? opened.reportId : newest);
  return (
    <>
      {data.total === 0 ? (
        <EmptyState title="No reports yet" action={newButton}>
          A report is written by AI from the counts of all responses, and from the themes of open answers if they were
          analysed. It can be read here and saved as a PDF file.
          {off}
        </EmptyState>
      ) : (
        <div className={styles.split}>
          <div className={styles.side}>
            {newButton}
            {off}
            <ReportList items={data.items} shown={shown} />
            <Paging page={page} pageSize={pageSize} total={data.total} onPage={onPage} />
          </div>
          {shown !== undefined && <ReportView key={shown} survey={survey} reportId={shown} />}
        </div>
      )}
      {isAsking && (
        <NewReport
          survey={survey}
          onClose={() => setAsking(false)}
          onWritten={(reportId) => void navigate({ search: { report: reportId } })}
        />
      )}
    </>
  );
}

function ReportList({ items, shown }: { items: readonly ReportListItem[]; shown: string | undefined }) {
  return (
    <nav aria-label="Reports">
      <ul className={styles.list}>
        {items.map(({ reportId, title, createdAt }) => (
          <li key={reportId}>
            <Link
              from="/surveys/$surveyId/reports"
              search={(old) => ({ ...old, report: reportId })}
              aria-current={reportId === shown ? 'true' : undefined}
              className={styles.item}
            >
              <strong dir="auto">{title}</strong>
              <span className={styles.muted}>{formatMoment(createdAt)}</span>
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
