import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';
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

/** A screen that failed; the navigation around it goes on. */
export function ScreenError({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  return (
    <ErrorState
      error={error}
      onRetry={() => {
        reset();
        return router.invalidate();
      }}
    />
  );
}
