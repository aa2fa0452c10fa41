import { Dialog } from '../parts/dialog.tsx';
import { activeKeys } from './keys.tsx';
import styles from './shell.module.css';

const modifier = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl';

/** Every key that works in the present view. */
export function KeyList({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Keys" isOpen onClose={onClose}>
      <dl className={styles.keys}>
        {activeKeys().map(({ key, title }) => (
          <div key={key + title} style={{ display: 'contents' }}>
            <dt>
              <kbd>{key.replace('Mod+', `${modifier} `)}</kbd>
            </dt>
            <dd>{title}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
