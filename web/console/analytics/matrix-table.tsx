import { formatCount, formatNumber, formatPercent } from '../parts/format.ts';
import styles from './charts.module.css';
import type { Block } from './figures.ts';

interface MatrixTableProps {
  label: string;
  blocks: readonly Block[];
  /** Mean column by row. */
  means: Readonly<Record<string, number | null>> | undefined;
}

/** Rows of a MATRIX against its columns; the darker a cell, the greater its percentage of the row. */
export function MatrixTable({ label, blocks, means }: MatrixTableProps) {
  const columns = blocks[0]?.figures ?? [];
  return (
    // An area that scrolls can be focused, so that arrow keys move it.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the area scrolls.
    <section className={styles.scroller} aria-label={label} tabIndex={0}>
      <table className={styles.matrix}>
        <caption className="visually-hidden">{label}</caption>
        <thead>
          <tr>
            <th scope="col">Row</th>
            {columns.map(({ key, label: name }) => (
              <th key={key} scope="col">
                {name}
              </th>
            ))}
            <th scope="col">Mean</th>
            <th scope="col">n</th>
          </tr>
        </thead>
        <tbody>
          {blocks.map(({ key, title, base, figures }) => (
            <tr key={key}>
              <th scope="row">{title}</th>
              {figures.map((figure) => (
                <td key={figure.key}>
                  <span className={styles.heat} style={{ opacity: figure.bar * 0.35 }} />
                  <span className={styles.shown}>{formatPercent(figure.percent ?? 0)}</span>{' '}
                  <span className={styles.muted}>{formatCount(figure.value ?? 0)}</span>
                </td>
              ))}
              <td>{means?.[key] === null || means?.[key] === undefined ? '–' : formatNumber(means[key])}</td>
              <td>{formatCount(base ?? 0)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
