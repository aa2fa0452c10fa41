import { useQuery } from '@tanstack/react-query';
import { type OpenAnswer, openAnswersQuery } from '../../data/open-answers.ts';
import type { Question } from '../../data/questions.ts';
import { EmptyState, ErrorState, Loading, StaleNote } from '../../parts/feedback.tsx';
import { formatCount, formatMoment } from '../../parts/format.ts';
import { CopyButton } from '../../parts/page.tsx';
import { Paging, useLastPage } from '../../parts/paging.tsx';
import type { TextsSearch } from './search.ts';
import { SentimentBadge } from './sentiments.tsx';
import styles from './texts.module.css';

const pageSize = 50;

interface AnswerListProps {
  surveyId: string;
  question: Question;
  search: TextsSearch;
  onChange(fields: TextsSearch): void;
  onPage(page: number, replace?: boolean): void;
}

/** The answers to a question, newest first. */
export function AnswerList({ surveyId, question, search, onChange, onPage }: AnswerListProps) {
  const { page = 1, search: words, sentiment, theme } = search;
  const query = openAnswersQuery(surveyId, question.id, { page, limit: pageSize, search: words, sentiment, theme });
  const { data, error, refetch, isPlaceholderData } = useQuery(query);
  const isRead = data !== undefined && !isPlaceholderData;
  const read = isRead ? { rows: data.items.length, total: data.total } : undefined;
  const isBeyond = useLastPage({ page, pageSize, onPage }, read);
  if (error && (!data || isPlaceholderData)) return <ErrorState error={error} onRetry={refetch} />;
  if (!data || isBeyond || (isPlaceholderData && data.items.length === 0)) return <Loading lines={8} />;
  const isFiltered = words !== undefined || sentiment !== undefined || theme !== undefined;
  if (data.items.length === 0)
    return (
      <>
        <StaleNote error={error} />
        {isFiltered ? (
          <EmptyState title="No answer fits">Try another search, or remove a filter.</EmptyState>
        ) : (
          <EmptyState title="No answers yet">Answers to this question stand here as soon as there are any.</EmptyState>
        )}
      </>
    );
  return (
    <section className={styles.answers} aria-label="Answers" aria-busy={isPlaceholderData}>
      <StaleNote error={error} />
      <div className={styles.count}>
        <span role="status">
          {formatCount(data.total)} {data.total === 1 ? 'answer' : 'answers'}
          {isFiltered && ' found'}
        </span>
        <CopyButton look="quiet" text={data.items.map(({ text }) => text).join('\n\n')}>
          Copy this page
        </CopyButton>
      </div>
      <ul className={styles.list} data-stale={isPlaceholderData || undefined}>
        {data.items.map((answer) => (
          <Answer key={answer.responseId} answer={answer} words={words} onTheme={(name) => onChange({ theme: name })} />
        ))}
      </ul>
      <Paging page={page} pageSize={pageSize} total={data.total} onPage={onPage} />
    </section>
  );
}

interface AnswerProps {
  answer: OpenAnswer;
  words: string | undefined;
  onTheme(name: string): void;
}

function Answer({ answer: { text, submittedAt, sentiment, themes }, words, onTheme }: AnswerProps) {
  return (
    <li className={styles.answer}>
      <p dir="auto" className={styles.text}>
        <Marked text={text} words={words} />
      </p>
      <div className={styles.about}>
        <time dateTime={submittedAt}>{formatMoment(submittedAt)}</time>
        {sentiment && <SentimentBadge sentiment={sentiment} />}
        {themes.map((name) => (
          <button key={name} type="button" className={styles.theme} onClick={() => onTheme(name)}>
            {name}
          </button>
        ))}
      </div>
    </li>
  );
}

/** A text in which what was searched for is marked. */
function Marked({ text, words }: { text: string; words: string | undefined }) {
  if (words === undefined) return text;
  const pieces = text.split(new RegExp(`(${words.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')})`, 'giu'));
  // Every second piece is what the pattern found.
  return pieces.map((piece, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a text never move.
    index % 2 === 1 ? <mark key={index}>{piece}</mark> : piece,
  );
}
