import { useEffect, useRef, useState } from 'react';
import { formatCount } from '../parts/format.ts';
import styles from './charts.module.css';

interface ColumnPoint {
  key: string;
  label: string;
  count: number;
}

/** The width of most letters and digits, as a part of the font size. */
const letterEm = 0.6;

/**
 * Upright bars over a scale, bins, hours or days. Only columns whose labels have room are labelled, so the numbers must
 * also stand in a table or in words.
 */
export function ColumnChart({ label, points }: { label: string; points: readonly ColumnPoint[] }) {
  const { ref, lettersPerColumn } = useLettersPerColumn(points.length);
  const most = Math.max(1, ...points.map(({ count }) => count));
  const longest = Math.max(...points.map(({ label: name }) => name.length));
  /** A label takes so many columns, with a space. */
  const step = Math.ceil((longest + 1) / lettersPerColumn);
  const last = points.length - 1;
  // The label of the last column ends with it; others begin with theirs.
  const isLabelled = (index: number) => index === last || (index % step === 0 && index + 2 * step <= points.length);
  return (
    <div ref={ref} className={styles.columns} role="img" aria-label={label}>
      {points.map(({ key, label: name, count }, index) => (
        <div key={key} className={styles.column} title={`${name}: ${formatCount(count)}`}>
          <span className={styles.height}>
            {formatCount(most).length < lettersPerColumn && <span className={styles.muted}>{formatCount(count)}</span>}
            <span className={styles.upright} style={{ blockSize: `${(count / most) * 80}%` }} />
          </span>
          <span className={styles.tick}>{isLabelled(index) ? <span dir="ltr">{name}</span> : ' '}</span>
        </div>
      ))}
    </div>
  );
}

/** How many letters are as wide as a column with the gap to the next one, once the chart is drawn. */
function useLettersPerColumn(columns: number) {
  const ref = useRef<HTMLDivElement>(null);
  const [lettersPerColumn, setLettersPerColumn] = useState(0);
  useEffect(() => {
    const chart = ref.current;
    if (!chart || columns === 0) return;
    const observer = new ResizeObserver(() => {
      const { left } = chart.getBoundingClientRect();
      const { right = left } = chart.lastElementChild?.getBoundingClientRect() ?? {};
      const letterPx = letterEm * Number.parseFloat(getComputedStyle(chart).fontSize);
      setLettersPerColumn((right - left) / columns / letterPx);
    });
    observer.observe(chart);
    return () => observer.disconnect();
  }, [columns]);
  return { ref, lettersPerColumn };
}
