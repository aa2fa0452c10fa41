import { type ReactNode, useState } from 'react';
import type { Found } from '../../data/open-answers.ts';
import { problemText } from '../../data/problems.ts';
import { Button } from '../../parts/button.tsx';
import { FormError, Loading } from '../../parts/feedback.tsx';
import { formatCount } from '../../parts/format.ts';
import styles from './texts.module.css';

interface FoundBarsProps {
  /** Null: no analysis yet; undefined: not loaded yet. */
  found: readonly Found[] | null | undefined;
  error: unknown;
  /** What stands here before the first analysis. */
  nothing: string;
  selected: string | undefined;
  nameOf(value: string): string;
  /** Undefined: no longer selected. */
  onSelect(value: string | undefined): void;
  /** A button beside the bar of a value. */
  menuOf?(value: string): ReactNode;
  /** What stands instead of the bar of this value, such as a field. */
  instead?: { value: string; content: ReactNode } | undefined;
}

const barsAtOnce = 12;
/** What an analysis found as bars; a press narrows the list to it, another one widens it again. */
export function FoundBars({ found, error, nothing, selected, nameOf, onSelect, menuOf, instead }: FoundBarsProps) {
  const [isWhole, setWhole] = useState(false);
  if (found === undefined) return error ? <FormError>{problemText(error).text}</FormError> : <Loading lines={3} />;
  if (found === null) return <p className="muted">{nothing}</p>;
  const values = found.filter(({ count: amount }) => amount > 0);
  if (values.length === 0) return <p className="muted">The analysis found none.</p>;
  const most = Math.max(...values.map(({ count: amount }) => amount));
  const shown = isWhole ? values : values.slice(0, barsAtOnce);
  return (
    <>
      <ul className={styles.bars}>
        {shown.map(({ value, count: amount }) => (
          <li key={value} className={styles.barRow}>
            {instead?.value === value ? (
              instead.content
            ) : (
              <>
                <button
                  type="button"
                  className={styles.bar}
                  data-value={value}
                  aria-pressed={value === selected}
                  onClick={() => onSelect(value === selected ? undefined : value)}
                >
                  <span className={styles.barName} dir="auto">
                    {nameOf(value)}
                  </span>
                  <span className={styles.barCount}>{formatCount(amount)}</span>
                  <progress className={styles.barLine} max={most} value={amount} aria-hidden />
                </button>
                {menuOf?.(value)}
              </>
            )}
          </li>
        ))}
      </ul>
      {values.length > barsAtOnce && (
        <Button look="quiet" onPress={() => setWhole(!isWhole)}>
          {isWhole ? 'Show fewer' : `Show all ${values.length}`}
        </Button>
      )}
    </>
  );
}
