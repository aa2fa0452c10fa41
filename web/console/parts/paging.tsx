import { Button } from './button.tsx';
import styles from './paging.module.css';

export interface PagingProps {
  /** From 1. */
  page: number;
  pageSize: number;
  total: number;
  onPage(page: number): void;
}

const count = new Intl.NumberFormat('en');

/** Previous and next page of a list; nothing where all fits on one. */
export function Paging({ page, pageSize, total, onPage }: PagingProps) {
  if (total <= pageSize) return null;
  return (
    <nav className={styles.paging} aria-label="Pages">
      <span className={styles.muted}>
        {count.format((page - 1) * pageSize + 1)}–{count.format(Math.min(page * pageSize, total))} of{' '}
        {count.format(total)}
      </span>
      <Button isDisabled={page === 1} onPress={() => onPage(page - 1)}>
        Previous
      </Button>
      <Button isDisabled={page * pageSize >= total} onPress={() => onPage(page + 1)}>
        Next
      </Button>
    </nav>
  );
}
