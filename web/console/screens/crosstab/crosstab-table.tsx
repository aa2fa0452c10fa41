import { TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../parts/button.tsx';
import { cx } from '../../parts/cx.ts';
import { ScrollArea } from '../../parts/scroll-area.tsx';
import styles from './crosstab-table.module.css';
import {
  cellText,
  countText,
  lettersOf,
  type Measure,
  measureNames,
  type ShownColumn,
  type ShownGroup,
  sumText,
  totalCell,
} from './layout.ts';

interface CrosstabTableProps {
  label: string;
  /** The name of the variable in the rows. */
  rowTitle: string;
  groups: readonly ShownGroup[];
  measures: readonly Measure[];
  isWeighted: boolean;
  /** The reply is that of the selection before. */
  isStale: boolean;
}

/** More cells than this would make the page slow; further rows are shown when they are asked for. */
const cellsAtOnce = 4000;
const fewestRows = 10;

/** The head and the first column stay in sight while the area scrolls. */
export function CrosstabTable({ label, rowTitle, groups, measures, isWeighted, isStale }: CrosstabTableProps) {
  const rows = groups[0]?.table.rows ?? [];
  const columnCount = groups.reduce((sum, { columns }) => sum + columns.length + 1, 0);
  const step = Math.max(fewestRows, Math.floor(cellsAtOnce / columnCount));
  const [shownCount, setShownCount] = useState(step);
  return (
    <>
      <ScrollArea label={label} isBusy={isStale}>
        <table className={styles.table} data-stale={isStale || undefined}>
          <caption className="visually-hidden">{label}</caption>
          <thead>
            <tr>
              <th rowSpan={2} scope="col" className={styles.corner}>
                <span className={styles.rowTitle} title={rowTitle}>
                  {rowTitle}
                </span>
                <span className={styles.measures}>{measures.map((measure) => measureNames[measure]).join(' · ')}</span>
              </th>
              {groups.map(({ key, title, columns }) => (
                <th key={key} colSpan={columns.length + 1} scope="colgroup" title={title} className={styles.group}>
                  <span className={styles.title}>{title}</span>
                </th>
              ))}
            </tr>
            <tr>
              {groups.map((group) => (
                <GroupHeads key={group.key} group={group} isWeighted={isWeighted} />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shownCount).map((row, index) => (
              <tr key={row.value}>
                <th scope="row" title={row.text} className={styles.row}>
                  {row.text}
                </th>
                {groups.map((group) => (
                  <GroupCells key={group.key} group={group} index={index} measures={measures} isWeighted={isWeighted} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollArea>
      {rows.length > shownCount && (
        <div className={styles.more}>
          <span>
            {countText(shownCount)} of {countText(rows.length)} rows
          </span>
          <Button onPress={() => setShownCount(shownCount + step)}>Show more rows</Button>
        </div>
      )}
    </>
  );
}

function GroupHeads({ group: { table, columns }, isWeighted }: { group: ShownGroup; isWeighted: boolean }) {
  return (
    <>
      <th scope="col" className={cx(styles.column, styles.first)}>
        <span className={styles.head}>Total</span>
        <Base total={table.total} effectiveBase={table.effectiveBase} isWeighted={isWeighted} />
      </th>
      {columns.map((column) => (
        <ColumnHead key={column.value} column={column} isWeighted={isWeighted} />
      ))}
    </>
  );
}

function ColumnHead({ column, isWeighted }: { column: ShownColumn; isWeighted: boolean }) {
  const { text, letter, isSmall } = column;
  return (
    <th scope="col" className={styles.column}>
      <span className={styles.head} title={text}>
        {text}
      </span>
      <span className={styles.letter}>
        {letter}
        {isSmall && <TriangleAlert role="img" aria-label="Small base" />}
      </span>
      <Base {...column} isWeighted={isWeighted} />
    </th>
  );
}

interface BaseProps {
  total: number;
  effectiveBase: number;
  isWeighted: boolean;
}

/** Respondents, unweighted; with weights also how many of equal weight they are worth. */
const Base = ({ total, effectiveBase, isWeighted }: BaseProps) => (
  <span className={styles.base} data-base>
    n {countText(total)}
    {isWeighted && <span> eff. {sumText(effectiveBase)}</span>}
  </span>
);

interface GroupCellsProps {
  group: ShownGroup;
  /** Of the row. */
  index: number;
  measures: readonly Measure[];
  isWeighted: boolean;
}

function GroupCells({ group, index, measures, isWeighted }: GroupCellsProps) {
  const { table, columns } = group;
  const row = table.rows[index];
  return (
    <>
      <td className={cx(styles.cell, styles.first)} data-total>
        {row && (
          <CellLines measures={measures} textOf={(measure) => cellText(totalCell(row, group), measure, isWeighted)} />
        )}
      </td>
      {table.cells[index]?.map((cell, at) => {
        const column = columns[at];
        return (
          <td key={column?.value ?? at} className={cx(styles.cell, column?.isSmall && styles.small)}>
            <CellLines
              measures={measures}
              textOf={(measure) => cellText(cell, measure, isWeighted)}
              letters={lettersOf(cell, group)}
            />
          </td>
        );
      })}
    </>
  );
}

interface CellLinesProps {
  measures: readonly Measure[];
  textOf(measure: Measure): string;
  letters?: string;
}

/** The measures of a cell, one a line; letters of significance stand beside the first. */
function CellLines({ measures, textOf, letters = '' }: CellLinesProps) {
  return measures.map((measure, at) => (
    <span key={measure} className={cx(styles.line, at > 0 && styles.further)} data-measure={measure}>
      <span data-value>{textOf(measure)}</span>
      {at === 0 && letters !== '' && (
        <abbr className={styles.over} title={`Significantly more than ${letters}`}>
          {letters}
        </abbr>
      )}
    </span>
  ));
}
