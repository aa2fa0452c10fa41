import type { ReactNode } from 'react';
import styles from './page.module.css';

interface ScrollAreaProps {
  label: string;
  /** What it shows is being replaced. */
  isBusy?: boolean;
  children: ReactNode;
}

/** A surface that scrolls by itself, such as of a wide table. It can be focused, so that arrow keys scroll it. */
export const ScrollArea = ({ label, isBusy = false, children }: ScrollAreaProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: without the focus it could not be scrolled by keys.
  <section className={styles.scroll} tabIndex={0} aria-label={label} aria-busy={isBusy}>
    {children}
  </section>
);
