import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleCheck, TriangleAlert } from 'lucide-react';
import { definitionOf } from '../../data/questions.ts';
import { quotaListQuery } from '../../data/quotas.ts';
import type { SurveyWithQuestions } from '../../data/surveys.ts';
import { languageListQuery, translationQuery } from '../../data/translations.ts';
import { ErrorState, Loading } from '../../parts/feedback.tsx';
import { Card } from '../../parts/page.tsx';
import { type CheckInput, findingsOf } from './checks.ts';
import styles from './publish.module.css';

/** What the checks of a survey look at besides its questions. */
interface Checked extends Pick<CheckInput, 'quotas' | 'translations'> {
  isPending: boolean;
  /** The first query that failed. */
  failed: { error: Error | null; refetch(): unknown } | undefined;
}

export function useChecked(surveyId: string): Checked {
  const quotas = useQuery(quotaListQuery(surveyId));
  const languages = useQuery(languageListQuery(surveyId));
  const others = (languages.data ?? []).filter(({ isOwn }) => !isOwn);
  const translations = useQueries({ queries: others.map(({ language }) => translationQuery(surveyId, language)) });
  const all = [quotas, languages, ...translations];
  return {
    isPending: all.some(({ isPending }) => isPending),
    failed: all.find(({ error }) => error),
    quotas: quotas.data ?? [],
    translations: translations.flatMap(({ data }) =>
      data ? [{ language: data.language, missing: data.missing.length, stale: data.stale.length }] : [],
    ),
  };
}

/** What to look at before publishing, each with a link to where it is mended. */
export function ChecksCard({ survey, checked }: { survey: SurveyWithQuestions; checked: Checked }) {
  const { isPending, failed, quotas, translations } = checked;
  if (failed)
    return (
      <Card title="Checks">
        <ErrorState error={failed.error} onRetry={failed.refetch} />
      </Card>
    );
  if (isPending)
    return (
      <Card title="Checks">
        <Loading lines={2} />
      </Card>
    );
  const findings = findingsOf({ survey: definitionOf(survey), quotas, translations });
  return (
    <Card title="Checks">
      {findings.length === 0 ? (
        <p className={styles.passed}>
          <CircleCheck aria-hidden /> Nothing is missing.
        </p>
      ) : (
        <ul className={styles.findings} aria-label="To mend">
          {findings.map(({ key, text, href }) => (
            <li key={key}>
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
