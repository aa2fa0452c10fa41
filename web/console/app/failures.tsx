import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';
import { useCallback, useEffect } from 'react';
import { retryAfterMs } from '../data/query-client.ts';
import { LinkButton } from '../parts/button.tsx';
import { EmptyState, ErrorState } from '../parts/feedback.tsx';

/** An address that names nothing. */
export function NotFound() {
  return (
    <EmptyState
      title="There is nothing at this address"
      action={<LinkButton href="/surveys">To the surveys</LinkButton>}
    >
      It may have been deleted, or the address is incomplete.
    </EmptyState>
  );
}

/** The console could not be opened: there is no frame around this. */
export function AppError(props: ErrorComponentProps) {
  return (
    <main>
      <h1 className="visually-hidden">Surveys</h1>
      <ScreenError {...props} />
    </main>
  );
}

/** Between two tries, whatever the service has said. */
const leastWaitMs = 1000;

/** A screen that failed; the navigation around it goes on. It is tried again when the service has said that it may. */
export function ScreenError({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const retry = useCallback(() => {
    reset();
    return router.invalidate();
  }, [reset, router]);
  useEffect(() => {
    const waitMs = retryAfterMs(error);
    if (waitMs === undefined) return;
    const timer = setTimeout(() => void retry(), Math.max(waitMs, leastWaitMs));
    return () => clearTimeout(timer);
  }, [error, retry]);
  return <ErrorState error={error} onRetry={retry} />;
}
