import { mostCrosstabColumns } from '../../data/crosstab.ts';

/** Which variables stand in rows and columns, by their keys. */
export interface Arrangement {
  rows: string | undefined;
  columns: readonly string[];
}

/** Where a variable is dragged from. */
type Place = 'rows' | 'columns' | 'list';

export interface Dragged {
  key: string;
  from: Place;
}

/** Rows, columns, or the place of a variable that is in the columns already. */
export type Target = 'rows' | 'columns' | { column: string };

/**
 * The arrangement after a variable was dropped. One that comes from the other side changes places with what it is
 * dropped on; among columns it is moved. The same arrangement if nothing changes.
 */
export function dropped(arrangement: Arrangement, { key, from }: Dragged, target: Target): Arrangement {
  const { rows, columns } = arrangement;
  const at = columns.indexOf(key);
  if (target === 'rows') {
    if (from === 'rows' || key === rows) return arrangement;
    if (from === 'list') return { rows: key, columns };
    const instead = rows !== undefined && !columns.includes(rows) ? [rows] : [];
    return { rows: key, columns: columns.toSpliced(at, 1, ...instead) };
  }
  if (from === 'columns') {
    const to = target === 'columns' ? columns.length - 1 : columns.indexOf(target.column);
    if (at < 0 || to < 0 || to === at) return arrangement;
    return { rows, columns: columns.toSpliced(at, 1).toSpliced(to, 0, key) };
  }
  if (at >= 0) return arrangement;
  if (from === 'rows' && target !== 'columns')
    return {
      rows: target.column,
      columns: columns.map((other) => (other === target.column ? key : other)),
    };
  if (columns.length >= mostCrosstabColumns) return arrangement;
  const to = target === 'columns' ? columns.length : columns.indexOf(target.column);
  return { rows: from === 'rows' ? undefined : rows, columns: columns.toSpliced(to, 0, key) };
}
