import type { QuestionStatistic } from '../data/analytics.ts';
import { formatCount, formatPercent } from '../parts/format.ts';
import styles from './charts.module.css';
import { npsGroups } from './variables.ts';

interface NpsBarProps {
  nps: NonNullable<QuestionStatistic['nps']>;
  /** How many respondents percentages refer to. */
  base: number;
}

/** Detractors, passives and promoters as parts of one bar, named in words below it. */
export function NpsBar({ nps, base }: NpsBarProps) {
  const percent = (count: number) => (base > 0 ? (count / base) * 100 : 0);
  const others = base - nps.detractors - nps.passives - nps.promoters;
  return (
    <>
      <div className={styles.stack} aria-hidden>
        {npsGroups.map(({ key }) => (
          <span key={key} className={`${styles.part} ${styles[key]}`} style={{ flexGrow: percent(nps[key]) }} />
        ))}
        {others > 0 && <span style={{ flexGrow: percent(others) }} />}
      </div>
      <ul className={styles.legend}>
        {npsGroups.map(({ key, label }) => (
          <li key={key}>
            <span className={`${styles.part} ${styles[key]}`} aria-hidden />
            {label}: {formatPercent(percent(nps[key]))} · {formatCount(nps[key])}
          </li>
        ))}
      </ul>
    </>
  );
}
