import { formatCount, formatPercent } from '../parts/format.ts';
import styles from './charts.module.css';
import { type Block, type Figure, valueText } from './figures.ts';
import type { Group, GroupedBlock } from './groups.ts';

interface BarTableProps {
  label: string;
  block: GroupedBlock;
  /** Their labels, which several may share, are shown where there is more than one. */
  groups: readonly Pick<Group, 'key' | 'label'>[];
}

/** Bars in a table: a row an answer, a column a group, with percentage and count beside each bar. */
export function BarTable({ label, block, groups }: BarTableProps) {
  const isCompared = groups.length > 1;
  return (
    // Many groups scroll: an area that scrolls can be focused, so that arrow keys move it.
    <section className={styles.scroller} aria-label={block.title ?? label} tabIndex={isCompared ? 0 : undefined}>
      <table className={styles.bars}>
        <caption className={block.title === undefined ? 'visually-hidden' : styles.caption}>
          {block.title ?? label}
        </caption>
        <thead className={isCompared ? undefined : 'visually-hidden'}>
          <tr>
            <th scope="col">Answer</th>
            {groups.map((group, index) => (
              <th key={group.key} scope="col">
                {group.label}
                {block.bases[index] !== undefined && (
                  <span className={styles.muted}> n = {formatCount(block.bases[index])}</span>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {block.rows.map(({ key, label: name, figures }) => (
            <tr key={key}>
              <Label name={name} />
              {groups.map((group, index) => (
                <td key={group.key}>
                  <BarCell figure={figures[index]} measure={block.measure} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** A word of so many letters still fits a few lines; a longer one is cut. */
const longWord = /(\S{80})\S+/gu;
const maxTitleLength = 500;

function Label({ name }: { name: string }) {
  const shown = name.replace(longWord, '$1…');
  return (
    <th scope="row" title={shown === name ? undefined : name.slice(0, maxTitleLength)}>
      {shown}
    </th>
  );
}

function BarCell({ figure, measure }: { figure: Figure | undefined; measure: Block['measure'] }) {
  return (
    <div className={styles.cell}>
      <span className={styles.track}>
        <span className={styles.fill} style={{ inlineSize: `${(figure?.bar ?? 0) * 100}%` }} />
      </span>
      {figure !== undefined && figure.percent !== null && (
        <span className={styles.percent}>{formatPercent(figure.percent)}</span>
      )}
      <span className={styles.count}>{valueText(figure, measure)}</span>
    </div>
  );
}
