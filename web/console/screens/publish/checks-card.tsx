import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleCheck, TriangleAlert } from 'lucide-react';
import { definitionOf } from '../../data/questions.ts';
import { quotaListQuery } from '../../data/quotas.ts';
import type { SurveyWithQuestions } from '../../data/surveys.ts';
import { languageListQuery, translationQuery } from '../../data/translations.ts';
import { ErrorState, Loading } from '../../parts/feedback.tsx';
import { Card } from '../../parts/page.tsx';
import { findingsOf } from './checks.ts';
import styles from './publish.module.css';

/** What to look at before publishing, each with a link to where it is mended. */
export function ChecksCard({ survey }: { survey: SurveyWithQuestions }) {
  const quotas = useQuery(quotaListQuery(survey.id));
  const languages = useQuery(languageListQuery(survey.id));
  const others = (languages.data ?? []).filter(({ isOwn }) => !isOwn);
  const translations = useQueries({ queries: others.map(({ language }) => translationQuery(survey.id, language)) });
  const failed = [quotas, languages, ...translations].find(({ error }) => error);
  const isLoading = [quotas, languages, ...translations].some(({ isPending }) => isPending);
  if (failed)
    return (
      <Card title="Checks">
        <ErrorState error={failed.error} onRetry={failed.refetch} />
      </Card>
    );
  if (isLoading)
    return (
      <Card title="Checks">
        <Loading lines={2} />
      </Card>
    );
  const findings = findingsOf({
    survey: definitionOf(survey),
    quotas: quotas.data ?? [],
    translations: translations.flatMap(({ data }) =>
      data ? [{ language: data.language, missing: data.missing.length, stale: data.stale.length }] : [],
    ),
  });
  return (
    <Card title="Checks">
      {findings.length === 0 ? (
        <p className={styles.passed}>
          <CircleCheck aria-hidden /> Nothing is missing.
        </p>
      ) : (
        <ul className={styles.findings} aria-label="To mend">
          {findings.map(({ text, href }) => (
            <li key={`${href} ${text}`}>
              <TriangleAlert aria-hidden />
              <span dir="auto">{text}</span>
              <Link to={href}>Mend</Link>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
