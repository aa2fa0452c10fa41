import { useEffect, useEffectEvent } from 'react';
import { Button } from './button.tsx';
import { formatCount } from './format.ts';
import styles from './paging.module.css';

export interface PagingProps {
  /** From 1. */
  page: number;
  pageSize: number;
  total: number;
  /** `replace`: the browser's Back does not lead to the page that was shown. */
  onPage(page: number, replace?: boolean): void;
}

/**
 * Previous and next page of a list; nothing where all fits on one. At an end the buttons do nothing, but keep the focus,
 * unlike a disabled one.
 */
export function Paging({ page, pageSize, total, onPage }: PagingProps) {
  if (page === 1 && total <= pageSize) return null;
  const hasPrevious = page > 1;
  const hasNext = page * pageSize < total;
  return (
    <nav className={styles.paging} aria-label="Pages">
      <span className="muted">
        {formatCount((page - 1) * pageSize + 1)}–{formatCount(Math.min(page * pageSize, total))} of {formatCount(total)}
      </span>
      <Button aria-disabled={!hasPrevious} onPress={() => hasPrevious && onPage(page - 1)}>
        Previous
      </Button>
      <Button aria-disabled={!hasNext} onPress={() => hasNext && onPage(page + 1)}>
        Next
      </Button>
    </nav>
  );
}

/** Of the page that was read: the rows that are shown of it, and those of all pages. */
interface ReadPage {
  rows: number;
  total: number;
}

/**
 * Leads to the last page that there is, where the shown one has no row: its last one was deleted, or the address names a
 * later one. Returns whether it does; until the other page comes, nothing is known of the list. `read` is undefined while
 * the page is being read.
 */
export function useLastPage(paging: Omit<PagingProps, 'total'>, read: ReadPage | undefined): boolean {
  const { page, pageSize, onPage } = paging;
  const isBeyond = read !== undefined && read.rows === 0 && page > 1;
  const last = isBeyond ? Math.max(1, Math.min(page - 1, Math.ceil(read.total / pageSize))) : undefined;
  const leave = useEffectEvent((to: number) => onPage(to, true));
  useEffect(() => {
    if (last !== undefined) leave(last);
  }, [last]);
  return isBeyond;
}
