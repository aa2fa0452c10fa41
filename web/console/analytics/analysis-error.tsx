import type { Question } from '../data/questions.ts';
import { EmptyState, ErrorState } from '../parts/feedback.tsx';

interface AnalysisErrorProps {
  error: unknown;
  /** What the address names: variables and filters by their keys. */
  keys: readonly (string | undefined)[];
  questions: readonly Pick<Question, 'id'>[];
  onRetry(): unknown;
}

/** Why responses could not be counted or listed: the address may be older than the deletion of a question. */
export function AnalysisError({ error, keys, questions, onRetry }: AnalysisErrorProps) {
  if (!namesDeleted(keys, questions)) return <ErrorState error={error} onRetry={onRetry} />;
  return (
    <EmptyState title="This names a question that was deleted">
      Pick another question, or take the filter away that names it.
    </EmptyState>
  );
}

/** A key begins with the id of a question, or with the name of something that every response has. */
function namesDeleted(keys: AnalysisErrorProps['keys'], questions: AnalysisErrorProps['questions']): boolean {
  const present = new Set(questions.map(({ id }) => id));
  const named = keys.flatMap((key = '') => /^[0-9a-f-]{36}(?![^:~])/.exec(key) ?? []);
  return named.some((id) => !present.has(id));
}
