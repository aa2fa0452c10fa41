import { CircleUser } from 'lucide-react';
import { Button } from '../parts/button.tsx';
import { useUser } from './session-state.tsx';
import styles from './shell.module.css';

/** Opens the menu of the user; `onPress` remembers a press while the menu is being loaded. */
export function UserMenuButton({ onPress }: { onPress?: () => void }) {
  const user = useUser();
  return (
    <Button look="quiet" onPress={onPress} icon={<CircleUser aria-hidden />}>
      <span className={styles.email}>{user?.email ?? 'Account'}</span>
    </Button>
  );
}
