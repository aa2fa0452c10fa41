import { CircleUser } from 'lucide-react';
import { Button } from '../parts/button.tsx';
import type { PressHandlers } from '../parts/use-early-press.ts';
import { useUser } from './session-state.tsx';
import styles from './shell.module.css';

/** Opens the menu of the user; `handlers` remember a press while the menu is being loaded. */
export function UserMenuButton({ handlers }: { handlers?: PressHandlers }) {
  const user = useUser();
  return (
    <Button {...handlers} look="quiet" icon={<CircleUser aria-hidden />}>
      <span className={styles.email}>{user?.email ?? 'Account'}</span>
    </Button>
  );
}
