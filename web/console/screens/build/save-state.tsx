import { Check, CircleAlert, LoaderCircle } from 'lucide-react';
import { Button } from '../../parts/button.tsx';
import styles from './build.module.css';
import type { Draft } from './draft.ts';

const statesForAuthor: ReadonlySet<Draft['state']> = new Set(['invalid', 'conflict', 'broken', 'deleted']);

/** Whether what was typed is saved, in words. */
export function SaveState({ drafts, onRetry }: { drafts: ReadonlyMap<string, Draft>; onRetry(): void }) {
  const states = [...drafts.values()].map(({ state }) => state);
  const isStuck = states.includes('failed');
  const needsAuthor = states.some((state) => statesForAuthor.has(state));
  const text = isStuck ? 'Not saved' : needsAuthor ? 'Not saved yet' : states.length > 0 ? 'Saving …' : 'Saved';
  return (
    <span className={styles.saveState} data-problem={isStuck || needsAuthor || undefined}>
      {isStuck || needsAuthor ? (
        <CircleAlert aria-hidden />
      ) : states.length > 0 ? (
        <LoaderCircle aria-hidden />
      ) : (
        <Check aria-hidden />
      )}
      <span role="status">{text}</span>
      {isStuck && (
        <Button look="quiet" onPress={onRetry}>
          Try again
        </Button>
      )}
    </span>
  );
}
