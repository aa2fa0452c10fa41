import { CircleUser } from 'lucide-react';
import { Button } from '../parts/button.tsx';
import type { StandInHandlers } from '../parts/use-stand-in.ts';
import { useUser } from './session-state.tsx';
import styles from './shell.module.css';

interface UserMenuButtonProps {
  /** They remember how the button is used while the menu is being loaded. */
  handlers?: StandInHandlers;
  isFocusedAtFirst?: boolean;
}

/** Opens the menu of the user. */
export function UserMenuButton({ handlers, isFocusedAtFirst = false }: UserMenuButtonProps) {
  const user = useUser();
  return (
    <Button {...handlers} autoFocus={isFocusedAtFirst} look="quiet" icon={<CircleUser aria-hidden />}>
      <span className={styles.email}>{user?.email ?? 'Account'}</span>
    </Button>
  );
}
