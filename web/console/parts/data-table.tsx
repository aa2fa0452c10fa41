import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from 'react';
import { cx } from './cx.ts';
import styles from './data-table.module.css';

export interface Column<Row> {
  id: string;
  title: string;
  cell(row: Row): ReactNode;
  /** A CSS width of a grid column, such as `8rem` or `minmax(12rem, 2fr)`; 1fr by default. */
  width?: string;
  isNumber?: boolean;
  /** A press on the head sorts by this column. */
  isSortable?: boolean;
  /** The title is read out but not shown, as for a column of menus. */
  isTitleHidden?: boolean;
}

interface Sort {
  column: string;
  isDescending: boolean;
}

export interface DataTableProps<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey(row: Row): string;
  sort?: Sort | undefined;
  onSort?(sort: Sort): void;
  /** Enter or a press on a row. Give the first cell a link as well. */
  onOpen?(row: Row): void;
  isSelected?(row: Row): boolean;
  /** The height of a row in px. */
  rowHeight?: number;
  /** A CSS size: the table scrolls within it and renders only the rows in sight. Without it all rows are rendered. */
  height?: string;
  /** The rows are being replaced. */
  isBusy?: boolean;
  /** Rows of the whole list where `rows` holds a part of it. */
  rowCount?: number;
  /** The rows of the whole list before those of `rows`. */
  rowsBefore?: number;
  /** With `height`: called while the last rows are almost in sight, to load further ones. */
  onNearEnd?(): void;
}

/** Rows that are rendered above and below those in sight. */
const overscan = 12;

/** A table with a sticky head. Arrow keys move between rows, Home and End to the first and last. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, columns, rows, rowKey, height, rowHeight = 44, onOpen, isSelected, onNearEnd } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan,
    enabled: height !== undefined,
  });
  const shown =
    height === undefined
      ? rows.map((_, index) => ({ index, start: undefined }))
      : virtualizer.getVirtualItems().map(({ index, start }) => ({ index, start }));
  const lastShown = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (height !== undefined && lastShown >= rows.length - 1 - overscan) onNearEnd?.();
  }, [height, lastShown, rows.length, onNearEnd]);
  const template = columns.map(({ width }) => width ?? 'minmax(6rem, 1fr)').join(' ');

  const focusRow = (index: number) => {
    const bounded = Math.max(0, Math.min(rows.length - 1, index));
    if (height !== undefined) virtualizer.scrollToIndex(bounded);
    requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>(`[data-row="${bounded}"]`)?.focus({ preventScroll: false }),
    );
  };
  const onKeyDown = (event: KeyboardEvent<HTMLElement>, index: number, row: Row) => {
    if (event.target !== event.currentTarget) return;
    const targets: Record<string, number> = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: rows.length - 1 };
    const target = targets[event.key];
    if (target !== undefined) focusRow(target);
    else if (event.key === 'Enter' && onOpen) onOpen(row);
    else return;
    event.preventDefault();
  };

  return (
    // An area that scrolls can be focused, so that arrow keys move it.
    <div
      ref={scroller}
      className={styles.scroller}
      style={{ maxBlockSize: height }}
      tabIndex={0}
      role="region"
      aria-label={label}
      aria-busy={props.isBusy ?? false}
    >
      {/* Roles are given, since `display: grid` takes those of a table away. */}
      <div role="table" aria-label={label} aria-rowcount={(props.rowCount ?? rows.length) + 1} className={styles.table}>
        <div role="rowgroup" className={styles.head}>
          <div role="row" className={styles.row} style={{ gridTemplateColumns: template }}>
            {columns.map((column) => (
              <HeadCell key={column.id} column={column} sort={props.sort} onSort={props.onSort} />
            ))}
          </div>
        </div>
        <div
          role="rowgroup"
          className={styles.body}
          style={height === undefined ? undefined : { blockSize: virtualizer.getTotalSize() }}
        >
          {shown.map(({ index, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            return (
              <div
                key={rowKey(row)}
                role="row"
                aria-rowindex={(props.rowsBefore ?? 0) + index + 2}
                aria-selected={isSelected?.(row)}
                data-row={index}
                tabIndex={index === (shown[0]?.index ?? 0) ? 0 : -1}
                className={cx(styles.row, onOpen && styles.openable, isSelected?.(row) && styles.selected)}
                style={{
                  gridTemplateColumns: template,
                  minBlockSize: rowHeight,
                  ...(start !== undefined && { position: 'absolute', insetBlockStart: start, blockSize: rowHeight }),
                }}
                onKeyDown={(event) => onKeyDown(event, index, row)}
                onClick={(event) => {
                  const isControl = (event.target as Element).closest('a, button, input, label, [role=menuitem]');
                  if (onOpen && !isControl && event.currentTarget.contains(event.target as Node)) onOpen(row);
                }}
              >
                {columns.map((column) => (
                  <div key={column.id} role="cell" className={cellClass(column)}>
                    {column.cell(row)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

const cellClass = <Row,>({ isNumber }: Column<Row>) => cx(styles.cell, isNumber && styles.number);

interface HeadCellProps<Row> {
  column: Column<Row>;
  sort: Sort | undefined;
  onSort: ((sort: Sort) => void) | undefined;
}

function HeadCell<Row>({ column, sort, onSort }: HeadCellProps<Row>) {
  const { id, title, isSortable, isNumber, isTitleHidden } = column;
  const isSorted = sort?.column === id;
  const direction = sort?.isDescending ? 'descending' : 'ascending';
  return (
    <div
      role="columnheader"
      className={cellClass(column)}
      aria-sort={isSortable ? (isSorted ? direction : 'none') : undefined}
    >
      {isSortable && onSort ? (
        <button
          type="button"
          className={styles.sort}
          onClick={() => onSort({ column: id, isDescending: isSorted ? !sort.isDescending : isNumber === true })}
        >
          {title}
          {isSorted && (sort.isDescending ? <ArrowDown aria-hidden /> : <ArrowUp aria-hidden />)}
        </button>
      ) : (
        <span className={isTitleHidden ? 'visually-hidden' : undefined}>{title}</span>
      )}
    </div>
  );
}
