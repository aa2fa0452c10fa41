import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Download } from 'lucide-react';
import { useState } from 'react';
import { readable } from '../../../../src/domain/path/placeholders.ts';
import { problemText } from '../../data/problems.ts';
import { type Report, reportPdf, reportQuery } from '../../data/reports.ts';
import type { SurveyWithQuestions } from '../../data/surveys.ts';
import { Button } from '../../parts/button.tsx';
import { ErrorState, FormError, Loading } from '../../parts/feedback.tsx';
import { CopyButton } from '../../parts/page.tsx';
import { fileName, saveFile } from '../../parts/save-file.ts';
import styles from './reports.module.css';

/** A report to read. Its texts stand in the direction of their language. */
export function ReportView({ survey, reportId }: { survey: SurveyWithQuestions; reportId: string }) {
  const { data: report, error, refetch } = useQuery(reportQuery(survey.id, reportId));
  if (error && !report) return <ErrorState error={error} onRetry={refetch} />;
  if (!report) return <Loading lines={10} />;
  return (
    <article className={styles.report} aria-label={report.title}>
      <header className={styles.head}>
        <h2 dir="auto">{report.title}</h2>
        <Actions surveyId={survey.id} report={report} />
      </header>
      {report.sections.map((section, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the sections of a report never change.
        <section key={index} className={styles.section}>
          <h3 dir="auto">{section.heading}</h3>
          <Paragraphs text={section.text} />
          <Sources survey={survey} questionIds={section.questionIds ?? []} />
        </section>
      ))}
      {report.recommendations && report.recommendations.length > 0 && (
        <section className={styles.section}>
          <h3>Recommendations</h3>
          <ol className={styles.recommendations}>
            {report.recommendations.map((text, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the recommendations of a report never change.
              <li key={index} dir="auto">
                {text}
              </li>
            ))}
          </ol>
        </section>
      )}
    </article>
  );
}

function Actions({ surveyId, report }: { surveyId: string; report: Report }) {
  const [isPending, setPending] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const download = async () => {
    setPending(true);
    setFailure(undefined);
    try {
      saveFile(await reportPdf(surveyId, report.reportId), fileName(report.title, 'pdf'));
    } catch (error) {
      setFailure(error);
    } finally {
      setPending(false);
    }
  };
  return (
    <div className={styles.actions}>
      <CopyButton text={plainText(report)}>Copy text</CopyButton>
      <Button icon={<Download aria-hidden />} isPending={isPending} onPress={() => void download()}>
        PDF
      </Button>
      {failure !== undefined && <FormError>{problemText(failure).text}</FormError>}
    </div>
  );
}

const Paragraphs = ({ text }: { text: string }) =>
  text.split(/\n+/).map((paragraph, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the text of a report never changes.
    <p key={index} dir="auto">
      {paragraph}
    </p>
  ));

/** The questions that a section speaks of; each leads to its results. */
function Sources({ survey, questionIds }: { survey: SurveyWithQuestions; questionIds: readonly string[] }) {
  const questions = questionIds.flatMap((id) => survey.questions.find((question) => question.id === id) ?? []);
  if (questions.length === 0) return null;
  return (
    <ul className={styles.sources} aria-label="Questions of this section">
      {questions.map(({ id, text }) => (
        <li key={id} dir="auto">
          <Link to={`/surveys/${survey.id}/results` as string}>{readable(text)}</Link>
        </li>
      ))}
    </ul>
  );
}

const plainText = ({ title, sections, recommendations = [] }: Report): string =>
  [
    title,
    ...sections.map(({ heading, text }) => `${heading}\n${text}`),
    ...(recommendations.length > 0 ? [recommendations.map((text, index) => `${index + 1}. ${text}`).join('\n')] : []),
  ].join('\n\n');
