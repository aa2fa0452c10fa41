import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import styles from './conflict.module.css';

/** A panel about what stands between a change and its being saved. */
export function ProblemPanel({ label, children }: { label: string; children: ReactNode }) {
  return (
    <section className={styles.conflict} aria-label={label} role="alert">
      {children}
    </section>
  );
}

interface FieldConflict {
  field: string;
  /** The name of the field, as it stands above it. */
  name: string;
  mine: string;
  theirs: string;
}

interface ConflictPanelProps {
  conflicts: readonly FieldConflict[];
  onResolve(field: string, choice: 'mine' | 'theirs'): void;
}

/** Fields that somebody else has changed meanwhile, with both values: neither overwrites the other unasked. */
export function ConflictPanel({ conflicts, onResolve }: ConflictPanelProps) {
  if (conflicts.length === 0) return null;
  return (
    <ProblemPanel label="Conflict">
      <h3>Somebody else has changed this meanwhile</h3>
      {conflicts.map(({ field, name, mine, theirs }) => (
        <div key={field} className={styles.sides}>
          <div>
            <h4>{name}: yours</h4>
            <p className={styles.value} dir="auto">
              {mine}
            </p>
            <Button onPress={() => onResolve(field, 'mine')}>Keep mine</Button>
          </div>
          <div>
            <h4>{name}: theirs</h4>
            <p className={styles.value} dir="auto">
              {theirs}
            </p>
            <Button onPress={() => onResolve(field, 'theirs')}>Take theirs</Button>
          </div>
        </div>
      ))}
    </ProblemPanel>
  );
}
