import { CircleAlert, RotateCw } from 'lucide-react';
import type { ReactNode } from 'react';
import { ProgressBar as AriaProgressBar } from 'react-aria-components/ProgressBar';
import { problemText } from '../data/problems.ts';
import { Button } from './button.tsx';
import { cx } from './cx.ts';
import styles from './feedback.module.css';

/** The meaning of a colour; a word always stands beside it. */
export type Tone = 'neutral' | 'accent' | 'success' | 'warning' | 'error';

/** A state in a word. */
export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span className={cx(styles.badge, styles[tone])}>
      <span className={styles.spot} aria-hidden />
      {children}
    </span>
  );
}

interface EmptyStateProps {
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}

/** A view or list without anything in it: what would be here, and how to begin. */
export function EmptyState({ title, children, action }: EmptyStateProps) {
  return (
    <div className={styles.state}>
      <h2>{title}</h2>
      {children !== undefined && <div className={styles.muted}>{children}</div>}
      {action}
    </div>
  );
}

/** A view or list that could not be loaded. `onRetry` is offered where trying again may help. */
export function ErrorState({ error, onRetry }: { error: unknown; onRetry?: () => unknown }) {
  const { text, details } = problemText(error);
  return (
    <div className={styles.state} role="alert">
      <h2>This could not be loaded</h2>
      <p className={styles.muted}>{text}</p>
      {details.map(({ path, message }) => (
        <p key={path} className={styles.muted}>
          {path}: {message}
        </p>
      ))}
      {onRetry && (
        <Button icon={<RotateCw aria-hidden />} onPress={() => void onRetry()}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** Stands above what was loaded before, and could not be read anew. */
export function StaleNote({ error }: { error: unknown }) {
  return error ? <FormError>What follows may be out of date. {problemText(error).text}</FormError> : null;
}

/** Grey lines in the place of what is being loaded. */
export function Loading({ lines = 6, label = 'Loading' }: { lines?: number; label?: string }) {
  return (
    <div className={styles.loading} role="status">
      <span className="visually-hidden">{label}</span>
      {Array.from({ length: lines }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are alike and never move.
        <span key={index} className={styles.bone} />
      ))}
    </div>
  );
}

/** `value` from 0 to 1; without it, the work has no known length. */
export function ProgressBar({ label, value }: { label: string; value?: number }) {
  return (
    <AriaProgressBar
      className={styles.progress}
      value={(value ?? 0) * 100}
      isIndeterminate={value === undefined}
      aria-label={label}
    >
      <progress className={styles.bar} max={1} value={value} aria-hidden />
      {value !== undefined && <span className={styles.muted}>{Math.round(value * 100)} %</span>}
    </AriaProgressBar>
  );
}

/** What is wrong with a form as a whole; screen readers read it at once. */
export function FormError({ children }: { children: ReactNode }) {
  return (
    <p className={styles.formError} role="alert">
      <CircleAlert aria-hidden />
      <span>{children}</span>
    </p>
  );
}
