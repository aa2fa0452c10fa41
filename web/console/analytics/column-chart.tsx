import styles from './charts.module.css';
import { formatCount } from './format.ts';

export interface ColumnPoint {
  key: string;
  label: string;
  count: number;
}

/** More columns than these have labels at the first, the middle and the last only. */
const mostLabels = 12;

/** Upright bars over a scale, bins, hours or days. Its numbers must also stand in a table or in words. */
export function ColumnChart({ label, points }: { label: string; points: readonly ColumnPoint[] }) {
  const most = Math.max(1, ...points.map(({ count }) => count));
  const middle = Math.floor((points.length - 1) / 2);
  const isLabelled = (index: number) =>
    points.length <= mostLabels || index === 0 || index === middle || index === points.length - 1;
  return (
    <div className={styles.columns} role="img" aria-label={label}>
      {points.map(({ key, label: name, count }, index) => (
        <div key={key} className={styles.column} title={`${name}: ${formatCount(count)}`}>
          <span className={styles.height}>
            {points.length <= mostLabels && <span className={styles.muted}>{formatCount(count)}</span>}
            <span className={styles.upright} style={{ blockSize: `${(count / most) * 80}%` }} />
          </span>
          <span className={styles.tick}>{isLabelled(index) ? name : ' '}</span>
        </div>
      ))}
    </div>
  );
}
