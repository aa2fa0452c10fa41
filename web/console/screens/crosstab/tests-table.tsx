import { ScrollArea } from '../../parts/scroll-area.tsx';
import { countText, type ShownGroup, sumText } from './layout.ts';
import styles from './tests-table.module.css';

const decimals = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const pValue = new Intl.NumberFormat('en', { minimumFractionDigits: 3, maximumFractionDigits: 3 });

const pText = (p: number | null): string => (p === null ? '–' : p < 0.001 ? '< 0.001' : pValue.format(p));
const numberText = (value: number | null): string => (value === null ? '–' : decimals.format(value));

/** The tests of association of the rows with each variable in columns. */
export function TestsTable({ groups, isWeighted }: { groups: readonly ShownGroup[]; isWeighted: boolean }) {
  return (
    <ScrollArea label="Tests of association">
      <table className={styles.table}>
        <caption>Association of the rows with each variable in columns</caption>
        <thead>
          <tr>
            <th scope="col">Columns</th>
            <th scope="col">Respondents</th>
            {isWeighted && <th scope="col">Weighted</th>}
            {isWeighted && <th scope="col">Effective base</th>}
            {isWeighted && <th scope="col">Without a weight</th>}
            <th scope="col">Chi-square</th>
            <th scope="col">df</th>
            <th scope="col">p</th>
            <th scope="col">Cramér’s V</th>
          </tr>
        </thead>
        <tbody>
          {groups.map(({ key, title, table }) => (
            <tr key={key}>
              <th scope="row">{title}</th>
              <td>{countText(table.total)}</td>
              {isWeighted && <td>{sumText(table.weightedTotal)}</td>}
              {isWeighted && <td>{sumText(table.effectiveBase)}</td>}
              {isWeighted && <td>{countText(table.unweightable ?? 0)}</td>}
              <td>{numberText(table.chiSquare.statistic)}</td>
              <td>{countText(table.chiSquare.degreesOfFreedom)}</td>
              <td>{pText(table.chiSquare.pValue)}</td>
              <td>{numberText(table.cramersV)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollArea>
  );
}
